/* resize - resizes images. */
#include "image/resize.h"
#include "base/err.h"
#include "image/resize_pass.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#define AXES	16u		/* axes kept: two for each plane, and photographs come in few sizes */
#define KEEP	(1u << 25)	/* bytes kept for the next image */

/* The state of resize_rows_put(). */
struct rows {
	const struct resize_axis *ay, *ax;
	struct resize_view	 to;
	uint32_t		 given, done;	/* rows of the image and of the result */
	uint32_t		 base, n;	/* rows in `across`: the first of the image, and their number */
	size_t			 row, out_row;	/* bytes of a row of the image and of the result */
};

struct resize {
	struct resize_axis	 axis[AXES];
	uint64_t		 used[AXES];	/* value of calls at the last use */
	uint64_t		 calls;
	struct buf		 scratch;
	struct buf		 across;	/* rows that have the width of the result */
	struct buf		 out;		/* result of resize_img() */
	struct rows		 rows;
	struct buf		 waiting;	/* rows of the image that resize_pass_across() will take together */
};

int
resize_new(struct resize **r)
{
	*r = calloc(1, sizeof(**r));
	return *r != NULL ? 0 : err_nomem();
}

void
resize_free(struct resize *r)
{
	if (r == NULL)
		return;
	for (uint32_t i = 0; i < AXES; i++)
		resize_axis_free(&r->axis[i]);
	buf_free(&r->scratch);
	buf_free(&r->across);
	buf_free(&r->out);
	buf_free(&r->waiting);
	free(r);
}

static enum resize_inter
choose_filter(enum resize_inter inter, const struct resize_region *region, uint32_t h, uint32_t w)
{
	bool larger = h > region->h && w > region->w, smaller = h <= region->h && w <= region->w;

	if (inter == RESIZE_AUTO)
		return larger ? RESIZE_CUBIC : smaller ? RESIZE_AREA : RESIZE_BILINEAR;
	return inter == RESIZE_AREA && !smaller ? RESIZE_BILINEAR : inter;
}

static bool
are_keys_equal(const struct resize_axis_key *a, const struct resize_axis_key *b)
{
	return a->inter == b->inter && a->in == b->in && a->out == b->out && a->at == b->at && a->size == b->size;
}

/* Finds the axis of that key, or makes it in place of the least recently used one. */
static int
find_axis(struct resize *r, const struct resize_axis_key *k, const struct resize_axis **axis)
{
	uint32_t oldest = 0, i;
	int e = 0;

	for (i = 0; i < AXES && !are_keys_equal(&r->axis[i].key, k); i++)
		oldest = r->used[i] < r->used[oldest] ? i : oldest;
	if (i == AXES) {
		i = oldest;
		buf_trim(&r->axis[i].room, KEEP / AXES);
		e = resize_axis_make(&r->axis[i], k);
	}
	r->used[i] = ++r->calls;
	*axis = &r->axis[i];
	return e;
}

static int
find_axes(struct resize *r, enum resize_inter inter, uint32_t fh, uint32_t fw, const struct resize_region *wanted,
    uint32_t h, uint32_t w, const struct resize_axis **ay, const struct resize_axis **ax)
{
	struct resize_region region = wanted != NULL ? *wanted : (struct resize_region){ .h = fh, .w = fw };
	struct resize_axis_key y = { choose_filter(inter, &region, h, w), fh, h, region.y, region.h };
	struct resize_axis_key x = { y.inter, fw, w, region.x, region.w };

	ERR_TRY(find_axis(r, &y, ay));
	return find_axis(r, &x, ax);
}

/* As in Pillow and PyTorch, rows are made narrower or wider first, and rounded to pixels. */
static int
resize_with_axes(struct resize *r, const struct resize_view *from, const struct resize_axis *ay,
    const struct resize_axis *ax, const struct resize_view *to)
{
	uint32_t first = ay->first[0], n = ay->first[ay->key.out - 1] + ay->taps - first;
	struct resize_view in = { from->p + first * from->stride, from->stride, from->c };
	struct resize_view across = { NULL, (size_t)ax->key.out * from->c, from->c };

	buf_trim(&r->scratch, KEEP);
	buf_trim(&r->across, KEEP);
	r->across.n = 0;
	ERR_TRY(buf_room(&r->across, n * across.stride));
	across.p = r->across.p;
	ERR_TRY(resize_pass_across(&in, n, ax, &across, &r->scratch));
	resize_pass_down(&across, first, across.stride, ay, 0, ay->key.out, to);
	return 0;
}

int
resize_plane(struct resize *r, enum resize_inter inter, const struct resize_plane *from,
    const struct resize_region *region, const struct resize_plane *to)
{
	struct resize_view in = { from->p, from->stride, 1 }, out = { to->p, to->stride, 1 };
	const struct resize_axis *ay, *ax;

	ERR_TRY(find_axes(r, inter, from->h, from->w, region, to->h, to->w, &ay, &ax));
	return resize_with_axes(r, &in, ay, ax, &out);
}

int
resize_room(struct buf *room, struct resize_plane *plane)
{
	int e;

	plane->stride = RESIZE_STRIDE(plane->w);
	buf_trim(room, KEEP);
	if ((e = buf_room(room, plane->h * plane->stride + RESIZE_ALIGN)) == 0)
		plane->p = room->p + (-(uintptr_t)room->p & (RESIZE_ALIGN - 1));
	return e;
}

/* Makes room for the result and finds the axes. */
static int
start_image(struct resize *r, enum resize_inter inter, const struct img *from, const struct resize_region *region,
    uint32_t h, uint32_t w, struct img *out)
{
	assert(from->h > 0 && from->w > 0 && h > 0 && w > 0);
	r->rows = (struct rows){ .row = (size_t)from->w * from->c, .out_row = (size_t)w * from->c };
	buf_trim(&r->out, KEEP);
	ERR_TRY(find_axes(r, inter, from->h, from->w, region, h, w, &r->rows.ay, &r->rows.ax));
	ERR_TRY(buf_room(&r->out, (size_t)h * w * from->c));
	r->rows.to = (struct resize_view){ r->out.p, r->rows.out_row, from->c };
	*out = (struct img){ .p = r->out.p, .c = from->c, .h = h, .w = w };
	return 0;
}

int
resize_img(struct resize *r, enum resize_inter inter, const struct img *from, const struct resize_region *region,
    uint32_t h, uint32_t w, struct img *out)
{
	struct resize_view in = { (uint8_t *)from->p, (size_t)from->w * from->c, from->c };

	ERR_TRY(start_image(r, inter, from, region, h, w, out));
	return resize_with_axes(r, &in, r->rows.ay, r->rows.ax, &r->rows.to);
}

int
resize_rows_start(struct resize *r, enum resize_inter inter, const struct img *from,
    const struct resize_region *region, uint32_t h, uint32_t w, struct img *out)
{
	ERR_TRY(start_image(r, inter, from, region, h, w, out));
	r->rows.base = r->rows.ay->first[0];
	buf_trim(&r->across, KEEP);
	buf_trim(&r->waiting, KEEP);
	r->across.n = r->waiting.n = 0;
	return buf_room(&r->waiting, RESIZE_PASS_ROWS * r->rows.row);
}

/* Makes the waiting rows as wide as the result. */
static int
widen_waiting(struct resize *r)
{
	struct rows *s = &r->rows;
	struct resize_view from = { r->waiting.p, s->row, s->to.c }, to = { NULL, s->out_row, s->to.c };
	uint32_t n = (uint32_t)(r->waiting.n / s->row);

	ERR_TRY(buf_room(&r->across, n * s->out_row));
	to.p = r->across.p + r->across.n;
	ERR_TRY(resize_pass_across(&from, n, s->ax, &to, &r->scratch));
	r->across.n += n * s->out_row;
	r->waiting.n = 0;
	s->n += n;
	return 0;
}

/* Makes all rows of the result that the rows until now suffice for, and drops those that no later one needs. */
static void
make_rows_below(struct resize *r)
{
	struct rows *s = &r->rows;
	struct resize_view from = { r->across.p, s->out_row, s->to.c };
	uint32_t end = s->done, drop;

	while (end < s->ay->key.out && s->ay->first[end] + s->ay->taps <= s->base + s->n)
		end++;
	resize_pass_down(&from, s->base, s->out_row, s->ay, s->done, end, &s->to);
	s->done = end;
	drop = end < s->ay->key.out ? s->ay->first[end] - s->base : s->n;
	drop = drop < s->n ? drop : s->n;
	r->across.n -= drop * s->out_row;
	memmove(r->across.p, r->across.p + drop * s->out_row, r->across.n);
	s->base += drop;
	s->n -= drop;
}

int
resize_rows_put(struct resize *r, const uint8_t *row)
{
	struct rows *s = &r->rows;
	const struct resize_axis *ay = s->ay;
	uint32_t at = s->given++, end = ay->first[ay->key.out - 1] + ay->taps;

	if (at < ay->first[0] || at >= end)
		return 0;
	ERR_TRY(buf_put(&r->waiting, row, s->row));
	if (at + 1 < end && r->waiting.n < RESIZE_PASS_ROWS * s->row)
		return 0;
	ERR_TRY(widen_waiting(r));
	make_rows_below(r);
	return 0;
}
