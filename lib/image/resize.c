/* resize - pixels in, pixels of another size out. */
#include "image/resize.h"
#include "base/err.h"
#include "image/resize_sum.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zimg.h>

#define GRAPHS	128u		/* kept, of 40 KB and more; photographs come in few sizes */
#define KEEP	(1u << 25)	/* bytes that are kept for the next picture */

/* What a graph was made for. */
struct key {
	enum resize_inter	 inter;
	uint32_t		 fh, fw, th, tw;
	struct resize_part	 part;
};

struct graph {
	struct key		 key;
	zimg_filter_graph	*g;
	uint64_t		 used;		/* when, in calls */
};

struct resize {
	struct graph	 graph[GRAPHS];
	uint64_t	 calls;
	struct buf	 tmp;			/* zimg's, or weights */
	struct buf	 from, to;		/* planes of resize_img() */
	struct buf	 out;
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
	for (uint32_t i = 0; i < GRAPHS; i++)
		zimg_filter_graph_free(r->graph[i].g);
	buf_free(&r->tmp);
	buf_free(&r->from);
	buf_free(&r->to);
	buf_free(&r->out);
	free(r);
}

static uint8_t *
aligned(uint8_t *p)
{
	return p + (-(uintptr_t)p & (RESIZE_ALIGN - 1));
}

static enum resize_inter
chosen(enum resize_inter inter, const struct resize_part *part, uint32_t h, uint32_t w)
{
	bool larger = h > part->h && w > part->w, smaller = h <= part->h && w <= part->w;

	if (inter == RESIZE_AUTO)
		return larger ? RESIZE_CUBIC : smaller ? RESIZE_AREA : RESIZE_BILINEAR;
	return inter == RESIZE_AREA && !smaller ? RESIZE_BILINEAR : inter;
}

static bool
same(const struct key *a, const struct key *b)
{
	return a->fh == b->fh && a->fw == b->fw && a->th == b->th && a->tw == b->tw && a->inter == b->inter &&
	    a->part.y == b->part.y && a->part.x == b->part.x && a->part.h == b->part.h && a->part.w == b->part.w;
}

/* NULL when zimg cannot, as where a filter is wider than the picture. */
static zimg_filter_graph *
build(const struct key *k)
{
	static const zimg_resample_filter_e filter[] = {
		[RESIZE_NEAREST] = ZIMG_RESIZE_POINT, [RESIZE_BILINEAR] = ZIMG_RESIZE_BILINEAR,
		[RESIZE_CUBIC] = ZIMG_RESIZE_BICUBIC, [RESIZE_LANCZOS] = ZIMG_RESIZE_LANCZOS,
	};
	zimg_graph_builder_params params;
	zimg_image_format from, to;

	zimg_image_format_default(&from, ZIMG_API_VERSION);
	from.pixel_type = ZIMG_PIXEL_BYTE;
	from.pixel_range = ZIMG_RANGE_FULL;
	to = from;
	from.width = k->fw;
	from.height = k->fh;
	from.active_region.left = k->part.x;
	from.active_region.top = k->part.y;
	from.active_region.width = k->part.w;
	from.active_region.height = k->part.h;
	to.width = k->tw;
	to.height = k->th;
	zimg_graph_builder_params_default(&params, ZIMG_API_VERSION);
	params.resample_filter = filter[k->inter];
	params.cpu_type = ZIMG_CPU_AUTO_64B;
	if (k->inter == RESIZE_CUBIC) {
		params.filter_param_a = 0;
		params.filter_param_b = 0.5;
	} else if (k->inter == RESIZE_LANCZOS)
		params.filter_param_a = 3;
	return zimg_filter_graph_build(&from, &to, &params);
}

/* Finds or makes it, in the place of the one that lay idle longest. */
static zimg_filter_graph *
graph_for(struct resize *r, const struct key *k)
{
	struct graph *old = &r->graph[0];

	r->calls++;
	for (struct graph *g = r->graph; g < r->graph + GRAPHS; g++) {
		if (g->g != NULL && same(&g->key, k)) {
			g->used = r->calls;
			return g->g;
		}
		if (g->used < old->used)
			old = g;
	}
	zimg_filter_graph_free(old->g);
	*old = (struct graph){ .key = *k, .g = build(k), .used = r->calls };
	return old->g;
}

static int
process(struct resize *r, const zimg_filter_graph *g, const struct resize_plane *from, const struct resize_plane *to)
{
	zimg_image_buffer_const in = { .version = ZIMG_API_VERSION };
	zimg_image_buffer out = { .version = ZIMG_API_VERSION };
	size_t n;
	int e;

	in.plane[0].data = from->p;
	in.plane[0].stride = (ptrdiff_t)from->stride;
	in.plane[0].mask = out.plane[0].mask = ZIMG_BUFFER_MAX;
	out.plane[0].data = to->p;
	out.plane[0].stride = (ptrdiff_t)to->stride;
	buf_trim(&r->tmp, KEEP);
	if (zimg_filter_graph_get_tmp_size(g, &n) != ZIMG_ERROR_SUCCESS)
		return err_nomem();
	if ((e = buf_room(&r->tmp, n + RESIZE_ALIGN)) < 0)
		return e;
	return zimg_filter_graph_process(g, &in, &out, aligned(r->tmp.p), NULL, NULL, NULL, NULL) == ZIMG_ERROR_SUCCESS
	    ? 0 : err_nomem();
}

int
resize_plane(struct resize *r, enum resize_inter inter, const struct resize_plane *from,
    const struct resize_part *part, const struct resize_plane *to)
{
	struct key k = { .fh = from->h, .fw = from->w, .th = to->h, .tw = to->w };
	zimg_filter_graph *g;

	assert(((uintptr_t)from->p | (uintptr_t)to->p | from->stride | to->stride) % RESIZE_ALIGN == 0);
	k.part = part != NULL ? *part : (struct resize_part){ .h = from->h, .w = from->w };
	k.inter = chosen(inter, &k.part, to->h, to->w);
	if (k.inter != RESIZE_AREA && (g = graph_for(r, &k)) != NULL)
		return process(r, g, from, to);
	return resize_sum(k.inter, from, &k.part, to, &r->tmp);
}

static void
split(const struct img *in, uint32_t c, const struct resize_plane *to)
{
	for (uint32_t y = 0; y < in->h; y++) {
		const uint8_t *restrict p = in->p + (size_t)y * in->w * in->c + c;
		uint8_t *restrict q = to->p + y * to->stride;

		if (in->c == 1)
			memcpy(q, p, in->w);
		else
			for (uint32_t x = 0; x < in->w; x++)
				q[x] = p[(size_t)x * in->c];
	}
}

static void
join(const struct resize_plane *from, uint32_t c, uint32_t channels, uint8_t *out)
{
	for (uint32_t y = 0; y < from->h; y++) {
		const uint8_t *restrict p = from->p + y * from->stride;
		uint8_t *restrict q = out + (size_t)y * from->w * channels + c;

		for (uint32_t x = 0; x < from->w; x++)
			q[(size_t)x * channels] = p[x];
	}
}

int
resize_room(struct buf *room, struct resize_plane *plane)
{
	int e;

	plane->stride = RESIZE_STRIDE(plane->w);
	buf_trim(room, KEEP);
	if ((e = buf_room(room, plane->h * plane->stride + RESIZE_ALIGN)) == 0)
		plane->p = aligned(room->p);
	return e;
}

int
resize_img(struct resize *r, enum resize_inter inter, const struct img *from, const struct resize_part *part,
    uint32_t h, uint32_t w, struct img *out)
{
	struct resize_plane in = { .h = from->h, .w = from->w }, res = { .h = h, .w = w };
	int e;

	assert(from->h > 0 && from->w > 0 && h > 0 && w > 0);
	if ((uint64_t)h * w > IMG_PIXELS)
		return err_fail(ERR_LIMIT, "%ux%u is more than %u pixels", w, h, IMG_PIXELS);
	buf_trim(&r->out, KEEP);
	if ((e = buf_room(&r->out, (size_t)h * w * from->c)) < 0 ||
	    (e = resize_room(&r->from, &in)) < 0 || (e = resize_room(&r->to, &res)) < 0)
		return e;
	for (uint32_t c = 0; c < from->c && e == 0; c++) {
		split(from, c, &in);
		if ((e = resize_plane(r, inter, &in, part, &res)) == 0)
			join(&res, c, from->c, r->out.p);
	}
	*out = (struct img){ .p = r->out.p, .c = from->c, .h = h, .w = w };
	return e;
}
