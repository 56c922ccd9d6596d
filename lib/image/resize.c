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

struct resize {
	struct resize_axis	 axis[AXES];
	uint64_t		 used[AXES];	/* value of calls at the last use */
	uint64_t		 calls;
	struct buf		 scratch;
	struct buf		 out;		/* result of resize_img() */
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
resize_pixels(struct resize *r, enum resize_inter inter, const struct resize_view *from, uint32_t fh, uint32_t fw,
    const struct resize_region *wanted, const struct resize_view *to, uint32_t h, uint32_t w)
{
	struct resize_region region = wanted != NULL ? *wanted : (struct resize_region){ .h = fh, .w = fw };
	struct resize_axis_key y = { choose_filter(inter, &region, h, w), fh, h, region.y, region.h, region.mean };
	struct resize_axis_key x = { y.inter, fw, w, region.x, region.w, region.mean };
	const struct resize_axis *ay, *ax;
	int e;

	if ((e = find_axis(r, &y, &ay)) < 0 || (e = find_axis(r, &x, &ax)) < 0)
		return e;
	buf_trim(&r->scratch, KEEP);
	return ay->whole != NULL && ax->whole != NULL ? resize_lanes(from, ay, ax, to, &r->scratch)
	    : resize_sum(from, ay, ax, to, &r->scratch);
}

int
resize_plane(struct resize *r, enum resize_inter inter, const struct resize_plane *from,
    const struct resize_region *region, const struct resize_plane *to)
{
	struct resize_view in = { from->p, from->stride, 1 }, out = { to->p, to->stride, 1 };

	return resize_pixels(r, inter, &in, from->h, from->w, region, &out, to->h, to->w);
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

int
resize_img(struct resize *r, enum resize_inter inter, const struct img *from, const struct resize_region *region,
    uint32_t h, uint32_t w, struct img *out)
{
	struct resize_view in = { (uint8_t *)from->p, (size_t)from->w * from->c, from->c }, to = { .c = from->c };
	int e;

	assert(from->h > 0 && from->w > 0 && h > 0 && w > 0);
	buf_trim(&r->out, KEEP);
	if ((e = buf_room(&r->out, (size_t)h * w * from->c)) < 0)
		return e;
	to.p = r->out.p;
	to.stride = (size_t)w * from->c;
	e = resize_pixels(r, inter, &in, from->h, from->w, region, &to, h, w);
	*out = (struct img){ .p = r->out.p, .c = from->c, .h = h, .w = w };
	return e;
}
