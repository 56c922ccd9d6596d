/* idx - the index of a .rec file: the offset of each record. */
#include "record/idx.h"
#include "base/err.h"
#include "base/grow.h"
#include "base/io.h"
#include "record/rec.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#define NEAR	65536u	/* bytes per read if the next head is near */
#define FAR	512u	/* bytes per read if it is far */
#define JUMP	16384u	/* the successor of a longer record is far */

void
idx_free(struct idx *x)
{
	free(x->at);
	*x = (struct idx){ 0 };
}

static int
add_offset(struct idx *x, uint64_t at)
{
	uint64_t *p;

	if (x->n == UINT32_MAX)
		return err_fail(ERR_LIMIT, "record at %" PRIu64 ": more than %u records", at, UINT32_MAX);
	if ((p = grow_by_one(x->at, x->n, &x->cap, sizeof(*p))) == NULL)
		return ERR_NOMEM;
	x->at = p;
	x->at[x->n++] = at;
	return 0;
}

static int
compare_offsets(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Reads digits and the byte stop after them.  Returns false if there is no such number. */
static bool
parse_idx_number(const uint8_t **p, const uint8_t *end, uint8_t stop, uint64_t *v)
{
	const uint8_t *q = *p;

	for (*v = 0; q < end && *q >= '0' && *q <= '9'; q++) {
		if (*v > (UINT64_MAX - (uint64_t)(*q - '0')) / 10)
			return false;
		*v = *v * 10 + (uint64_t)(*q - '0');
	}
	if (q == *p || (q < end ? *q != stop : stop != '\n'))
		return false;
	*p = q < end ? q + 1 : q;
	return true;
}

int
idx_line(const uint8_t **p, const uint8_t *end, uint64_t *key, uint64_t *at)
{
	if (*p >= end)
		return 0;
	if (!parse_idx_number(p, end, '\t', key) || !parse_idx_number(p, end, '\n', at) || *at > INT64_MAX)
		return err_fail(ERR_FORMAT, "not a key, a tab and an offset");
	return 1;
}

int
idx_parse(struct idx *x, const uint8_t *text, size_t n)
{
	const uint8_t *p = text, *end = n > 0 ? text + n : text;
	uint64_t key, at;
	int e;

	x->n = 0;
	while ((e = idx_line(&p, end, &key, &at)) > 0)
		if ((e = add_offset(x, at)) < 0)
			return e;
	ERR_TRY(err_wrap(e, "line %zu", x->n + 1));
	/* MXNet's tools may write an index in the order of its keys. */
	if (x->n > 0)
		qsort(x->at, x->n, sizeof(*x->at), compare_offsets);
	for (size_t i = 1; i < x->n; i++)
		if (x->at[i] == x->at[i - 1])
			return err_fail(ERR_FORMAT, "offset %" PRIu64 " appears twice", x->at[i]);
	return 0;
}

int
idx_put(struct buf *text, uint64_t key, uint64_t at)
{
	return buf_put_fmt(text, "%" PRIu64 "\t%" PRIu64 "\n", key, at);
}

/* The part of the file that is in memory. */
struct window {
	int		fd;
	uint64_t	size;	/* bytes of the file */
	uint64_t	at;
	size_t		n;
	uint8_t		p[NEAR];
};

/* Returns the head at an offset, and moves the window there if it does not hold the head. */
static int
read_record_head(struct window *w, uint64_t at, uint64_t jump, const uint8_t **p)
{
	if (w->size - at < REC_HEAD)
		return err_fail(ERR_SHORT, "record at %" PRIu64 ": the file ends inside its head%s", at,
		    at == 0 ? "; im2rec packs images into a .rec file" : "");
	if (at < w->at || at - w->at + REC_HEAD > w->n) {
		w->at = at;
		w->n = jump > JUMP ? FAR : NEAR;
		if (w->n > w->size - at)
			w->n = (size_t)(w->size - at);
		ERR_TRY(io_pread(w->fd, w->p, w->n, at));
	}
	*p = w->p + (at - w->at);
	return 0;
}

int
idx_scan(struct idx *x, int fd, uint64_t size)
{
	struct window *w = malloc(sizeof(*w));
	uint64_t at = 0, jump = 0;
	bool inside = false;	/* a first part was read, and not its last */
	enum rec_part part;
	const uint8_t *p;
	uint32_t n;
	int e = 0;

	if (w == NULL)
		return err_nomem();
	w->fd = fd;
	w->size = size;
	w->at = w->n = 0;
	for (x->n = 0; at < size; at += jump) {
		if ((e = read_record_head(w, at, jump, &p)) < 0 || (e = rec_head(p, at, inside, &part, &n)) < 0)
			break;
		jump = rec_extent(n);
		if (jump > size - at) {
			e = err_fail(ERR_SHORT, "record at %" PRIu64 ": the file ends inside it", at);
			break;
		}
		if (!inside && (e = add_offset(x, at)) < 0)
			break;
		inside = part == REC_FIRST || part == REC_MIDDLE;
	}
	if (e == 0 && inside)
		e = err_fail(ERR_SHORT, "record at %" PRIu64 ": the file ends between its parts", x->at[x->n - 1]);
	free(w);
	return e;
}
