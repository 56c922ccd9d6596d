/* resize - pixels in, pixels of another size out. */
#include "image/resize.h"
#include "base/err.h"
#include "image/resize_lanes.h"
#include "image/resize_sum.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#define AXES	16u		/* kept: two a plane, and photographs come in few sizes */
#define KEEP	(1u << 25)	/* bytes that are kept for the next picture */

struct resize {
	struct resize_axis	 axis[AXES];
	uint64_t		 used[AXES];	/* when, in calls */
	uint64_t		 calls;
	struct buf		 tmp;
	struct buf		 out;		/* of resize_img() */
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
	buf_free(&r->tmp);
	buf_free(&r->out);
	free(r);
}

static enum resize_inter
chosen(enum resize_inter inter, const struct resize_region *part, uint32_t h, uint32_t w)
{
	bool larger = h > part->h && w > part->w, smaller = h <= part->h && w <= part->w;

	if (inter == RESIZE_AUTO)
		return larger ? RESIZE_CUBIC : smaller ? RESIZE_AREA : RESIZE_BILINEAR;
	return inter == RESIZE_AREA && !smaller ? RESIZE_BILINEAR : inter;
}

static bool
same(const struct resize_axis_key *a, const struct resize_axis_key *b)
{
	return a->inter == b->inter && a->in == b->in && a->out == b->out && a->at == b->at && a->size == b->size &&
	    a->mean == b->mean;
}

/* Finds or makes it, in the place of the one that lay idle longest. */
static int
axis_for(struct resize *r, const struct resize_axis_key *k, const struct resize_axis **axis)
{
	uint32_t old = 0, i;
	int e = 0;

	for (i = 0; i < AXES && !same(&r->axis[i].key, k); i++)
		old = r->used[i] < r->used[old] ? i : old;
	if (i == AXES) {
		i = old;
		buf_trim(&r->axis[i].room, KEEP / AXES);
		e = resize_axis_make(&r->axis[i], k);
	}
	r->used[i] = ++r->calls;
	*axis = &r->axis[i];
	return e;
}

static int
run(struct resize *r, enum resize_inter inter, const struct resize_view *from, uint32_t fh, uint32_t fw,
    const struct resize_region *some, const struct resize_view *to, uint32_t h, uint32_t w)
{
	struct resize_region part = some != NULL ? *some : (struct resize_region){ .h = fh, .w = fw };
	struct resize_axis_key y = { chosen(inter, &part, h, w), fh, h, part.y, part.h, part.mean };
	struct resize_axis_key x = { y.inter, fw, w, part.x, part.w, part.mean };
	const struct resize_axis *ay, *ax;
	int e;

	if ((e = axis_for(r, &y, &ay)) < 0 || (e = axis_for(r, &x, &ax)) < 0)
		return e;
	buf_trim(&r->tmp, KEEP);
	return ay->whole != NULL && ax->whole != NULL ? resize_lanes(from, ay, ax, to, &r->tmp)
	    : resize_sum(from, ay, ax, to, &r->tmp);
}

int
resize_plane(struct resize *r, enum resize_inter inter, const struct resize_plane *from,
    const struct resize_region *part, const struct resize_plane *to)
{
	struct resize_view in = { from->p, from->stride, 1 }, out = { to->p, to->stride, 1 };

	return run(r, inter, &in, from->h, from->w, part, &out, to->h, to->w);
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
resize_img(struct resize *r, enum resize_inter inter, const struct img *from, const struct resize_region *part,
    uint32_t h, uint32_t w, struct img *out)
{
	struct resize_view in = { (uint8_t *)from->p, (size_t)from->w * from->c, from->c }, to = { .c = from->c };
	int e;

	assert(from->h > 0 && from->w > 0 && h > 0 && w > 0);
	if ((uint64_t)h * w > IMG_PIXELS)
		return err_fail(ERR_LIMIT, "%ux%u is more than %u pixels", w, h, IMG_PIXELS);
	buf_trim(&r->out, KEEP);
	if ((e = buf_room(&r->out, (size_t)h * w * from->c)) < 0)
		return e;
	to.p = r->out.p;
	to.stride = (size_t)w * from->c;
	e = run(r, inter, &in, from->h, from->w, part, &to, h, w);
	*out = (struct img){ .p = r->out.p, .c = from->c, .h = h, .w = w };
	return e;
}
