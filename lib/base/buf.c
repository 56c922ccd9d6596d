/* buf - a byte buffer that grows. */
#include "base/buf.h"
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BUF_LEAST 64

int
buf_room(struct buf *b, size_t more)
{
	size_t cap = b->cap < BUF_LEAST ? BUF_LEAST : b->cap;
	uint8_t *p;

	if (more > SIZE_MAX / 2 - b->n)
		return err_nomem();
	while (cap < b->n + more)
		cap *= 2;
	if (cap == b->cap)
		return 0;
	if ((p = b->wipes ? malloc(cap) : realloc(b->p, cap)) == NULL)
		return err_nomem();
	if (b->wipes && b->p != NULL) {
		memcpy(p, b->p, b->n);
		explicit_bzero(b->p, b->cap);
		free(b->p);
	}
	b->p = p;
	b->cap = cap;
	return 0;
}

int
buf_put(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return 0;
	ERR_TRY(buf_room(b, n));
	memcpy(b->p + b->n, p, n);
	b->n += n;
	return 0;
}

int
buf_put_fmt(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return err_nomem();	/* the text has 2 GB or more */
	ERR_TRY(buf_room(b, (size_t)n + 1));
	va_start(ap, fmt);
	vsnprintf((char *)b->p + b->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
	return 0;
}

int
buf_terminate(struct buf *b)
{
	int e = buf_room(b, 1);

	if (e == 0)
		b->p[b->n] = 0;
	return e;
}

void
buf_free(struct buf *b)
{
	if (b->wipes && b->p != NULL)
		explicit_bzero(b->p, b->cap);
	free(b->p);
	*b = (struct buf){ .wipes = b->wipes };
}

void
buf_trim(struct buf *b, size_t keep)
{
	b->n = 0;
	if (b->cap > keep)
		buf_free(b);
}
