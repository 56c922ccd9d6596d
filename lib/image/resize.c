/* resize - resizes images. */
#include "image/resize.h"
#include "base/err.h"
#include "image/resize_lanes.h"
#include "image/resize_sum.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#define AXES	16u		/* axes kept: two for each plane, and photographs come in few sizes */
#define KEEP	(1u << 25)	/* bytes kept for the next image */
#define BAND	32u		/* rows of the result that resize_lanes() makes at a time */

/* The state of resize_rows_put(). */
struct rows {
	const struct resize_axis *ay, *ax;
	struct resize_view	 to;
	uint32_t		 given, done;	/* rows of the image and of the result */
	uint32_t		 base;		/* the first row kept */
	size_t			 row;		/* bytes of a row of the image */
};

struct resize {
	struct resize_axis	 axis[AXES];
	uint64_t		 used[AXES];	/* value of calls at the last use */
	uint64_t		 calls;
	struct buf		 scratch;
	struct buf		 out;		/* result of resize_img() */
	struct rows		 rows;
	struct buf		 kept;		/* rows of the image from rows.base on */
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
	buf_free(&r->out);
	buf_free(&r->kept);
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
keys_equal(const struct resize_axis_key *a, const struct resize_axis_key *b)
{
	return a->inter == b->inter && a->in == b->in && a->out == b->out && a->at == b->at && a->size == b->size &&
	    a->mean == b->mean;
}

/* Finds the axis of that key, or makes it in place of the least recently used one. */
static int
find_axis(struct resize *r, const struct resize_axis_key *k, const struct resize_axis **axis)
{
	uint32_t oldest = 0, i;
	int e = 0;

	for (i = 0; i < AXES && !keys_equal(&r->axis[i].key, k); i++)
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
	struct resize_axis_key y = { choose_filter(inter, &region, h, w), fh, h, region.y, region.h, region.mean };
	struct resize_axis_key x = { y.inter, fw, w, region.x, region.w, region.mean };
	int e = find_axis(r, &y, ay);

	return e < 0 ? e : find_axis(r, &x, ax);
}

static int
resize_with_axes(struct resize *r, const struct resize_view *from, const struct resize_axis *ay,
    const struct resize_axis *ax, const struct resize_view *to)
{
	buf_trim(&r->scratch, KEEP);
	return ay->whole != NULL && ax->whole != NULL ? resize_lanes(from, ay, ax, to, &r->scratch)
	    : resize_sum(from, ay, ax, to, &r->scratch);
}

int
resize_plane(struct resize *r, enum resize_inter inter, const struct resize_plane *from,
    const struct resize_region *region, const struct resize_plane *to)
{
	struct resize_view in = { from->p, from->stride, 1 }, out = { to->p, to->stride, 1 };
	const struct resize_axis *ay, *ax;
	int e = find_axes(r, inter, from->h, from->w, region, to->h, to->w, &ay, &ax);

	return e < 0 ? e : resize_with_axes(r, &in, ay, ax, &out);
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
	int e;

	assert(from->h > 0 && from->w > 0 && h > 0 && w > 0);
	r->rows = (struct rows){ .row = (size_t)from->w * from->c };
	buf_trim(&r->out, KEEP);
	if ((e = find_axes(r, inter, from->h, from->w, region, h, w, &r->rows.ay, &r->rows.ax)) < 0 ||
	    (e = buf_room(&r->out, (size_t)h * w * from->c)) < 0)
		return e;
	r->rows.to = (struct resize_view){ r->out.p, (size_t)w * from->c, from->c };
	*out = (struct img){ .p = r->out.p, .c = from->c, .h = h, .w = w };
	return 0;
}

int
resize_img(struct resize *r, enum resize_inter inter, const struct img *from, const struct resize_region *region,
    uint32_t h, uint32_t w, struct img *out)
{
	struct resize_view in = { (uint8_t *)from->p, (size_t)from->w * from->c, from->c };
	int e = start_image(r, inter, from, region, h, w, out);

	return e < 0 ? e : resize_with_axes(r, &in, r->rows.ay, r->rows.ax, &r->rows.to);
}

int
resize_rows_start(struct resize *r, enum resize_inter inter, const struct img *from,
    const struct resize_region *region, uint32_t h, uint32_t w, struct img *out)
{
	buf_trim(&r->kept, KEEP);
	return start_image(r, inter, from, region, h, w, out);
}

/* Rows of the result to make at a time: with many taps a row needs so many rows of the image that more take room. */
static uint32_t
band_rows(const struct rows *s)
{
	uint32_t left = s->ay->key.out - s->done, most = s->ay->whole != NULL ? BAND : 1;

	return left < most ? left : most;
}

/* Makes the next n rows of the result, and drops the rows of the image that no later one needs. */
static int
make_band(struct resize *r, uint32_t n)
{
	struct rows *s = &r->rows;
	struct resize_view from = { r->kept.p, s->row, s->to.c }, to = s->to;
	struct resize_axis band = *s->ay;
	uint32_t first[BAND], drop;
	int e;

	for (uint32_t i = 0; i < n; i++)
		first[i] = s->ay->first[s->done + i] - s->base;
	band.first = first;
	band.key.out = n;
	band.weight += (size_t)s->done * band.taps;
	if (band.whole != NULL)
		band.whole += (size_t)s->done * band.taps;
	to.p += s->done * to.stride;
	if ((e = resize_with_axes(r, &from, &band, s->ax, &to)) < 0)
		return e;
	s->done += n;
	drop = s->done < s->ay->key.out ? s->ay->first[s->done] - s->base : 0;
	drop = drop < s->given - s->base ? drop : s->given - s->base;
	r->kept.n -= drop * s->row;
	memmove(r->kept.p, r->kept.p + drop * s->row, r->kept.n);
	s->base += drop;
	return 0;
}

int
resize_rows_put(struct resize *r, const uint8_t *row)
{
	struct rows *s = &r->rows;
	uint32_t n = band_rows(s), at = s->given++;
	int e;

	if (n == 0)
		return 0;
	if (at < s->ay->first[s->done]) {
		s->base = s->given;
		return 0;
	}
	if ((e = buf_put(&r->kept, row, s->row)) < 0)
		return e;
	while (e == 0 && n > 0 && s->ay->first[s->done + n - 1] + s->ay->taps <= s->given)
		if ((e = make_band(r, n)) == 0)
			n = band_rows(s);
	return e;
}
