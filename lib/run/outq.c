/* outq - a queue of bytes for a descriptor whose reader may be slow. */
#include "run/outq.h"

#include "base/err.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

/* Moves the waiting bytes to the front once they are no more than those already written. */
static void
compact_queue(struct outq *q)
{
	if (q->at < q->b.n - q->at)
		return;
	if (q->at > 0)
		memcpy(q->b.p, q->b.p + q->at, q->b.n - q->at);
	q->b.n -= q->at;
	q->at = 0;
}

int
outq_put(struct outq *q, const void *p, size_t n)
{
	compact_queue(q);
	return q->broken ? 0 : buf_put(&q->b, p, n);
}

int
outq_put_lines(struct outq *q, const char *name, const char *text, size_t n)
{
	const char *to = text + n, *end;
	int e = 0;

	compact_queue(q);
	for (; text < to && e == 0 && !q->broken; text = end) {
		end = memchr(text, '\n', (size_t)(to - text));
		end = end != NULL ? end + 1 : to;
		if ((e = buf_put_fmt(&q->b, "%s: ", name)) == 0)
			e = buf_put(&q->b, text, (size_t)(end - text));
	}
	return e;
}

size_t
outq_size(const struct outq *q)
{
	return q->b.n - q->at;
}

struct pollfd
outq_poll(const struct outq *q)
{
	return (struct pollfd){ .fd = outq_size(q) > 0 ? q->fd : -1, .events = POLLOUT };
}

int
outq_run(struct outq *q)
{
	/* A pipe that poll reports ready takes this much without blocking (pipe(7)). */
	size_t n = outq_size(q) < PIPE_BUF ? outq_size(q) : PIPE_BUF;
	ssize_t r = n > 0 ? write(q->fd, q->b.p + q->at, n) : 0;

	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (r < 0) {
		int e = err_sys("write");

		q->broken = 1;
		q->at = q->b.n = 0;
		return e;
	}
	q->at += (size_t)r;
	if (q->at == q->b.n)
		q->at = q->b.n = 0;
	return 0;
}

void
outq_free(struct outq *q)
{
	buf_free(&q->b);
	q->at = 0;
}
