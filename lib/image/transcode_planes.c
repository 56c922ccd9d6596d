/* transcode_planes - resizes a JPEG by its planes, without conversion to RGB.  For transcode. */
#include "image/transcode_planes.h"
#include "base/err.h"
#include "image/jpeg/img_jpeg.h"

#include <assert.h>
#include <stdlib.h>

#define KEEP	(1u << 25)	/* bytes kept for the next image */
#define MARGIN	5u

struct transcode_planes {
	struct img_jpeg		*jpeg;
	struct resize		*resize;
	struct buf		 in;		/* decoded planes */
	struct buf		 resized[3];	/* resized planes */
	struct buf		 oriented[3];	/* planes made upright */
};

int
transcode_planes_new(struct transcode_planes **out)
{
	struct transcode_planes *p = calloc(1, sizeof(*p));
	int e;

	*out = NULL;
	if (p == NULL)
		return err_nomem();
	if ((e = img_jpeg_new(&p->jpeg)) < 0 || (e = resize_new(&p->resize)) < 0) {
		transcode_planes_free(p);
		return e;
	}
	*out = p;
	return 0;
}

void
transcode_planes_free(struct transcode_planes *p)
{
	if (p == NULL)
		return;
	img_jpeg_free(p->jpeg);
	resize_free(p->resize);
	buf_free(&p->in);
	for (unsigned i = 0; i < 3; i++) {
		buf_free(&p->resized[i]);
		buf_free(&p->oriented[i]);
	}
	free(p);
}

/* Width and height, in pixels of the result, of a sample of plane i. */
static uint32_t
get_plane_step(unsigned i)
{
	return i > 0 ? 2 : 1;
}

/*
 * The largest factor by which a plane of h by w pixels can be decoded smaller with no side less than MARGIN times the
 * result's.  Smaller blocks of libjpeg alias: without a margin, images are 32 to 40 dB from the filter's result, with 2
 * at least 36, with 3 and 4 at least 42 (black text on white), with 5 at least 46.
 */
static unsigned
choose_shrink(uint64_t h, uint64_t w, uint64_t out_h, uint64_t out_w)
{
	unsigned k = 8;

	while (k > 1 && (h < MARGIN * out_h * k || w < MARGIN * out_w * k))
		k /= 2;
	return k;
}

static unsigned
choose_plane_shrink(const struct transcode_shape *s, const struct img_jpeg_head *head, unsigned i)
{
	uint32_t step = get_plane_step(i);

	return choose_shrink((uint64_t)head->h * step, (uint64_t)head->w * step,
	    (uint64_t)s->h * (i > 0 ? head->sub_h : 1), (uint64_t)s->w * (i > 0 ? head->sub_w : 1));
}

bool
transcode_planes_are_small(const struct transcode_shape *s, const struct img_head *head)
{
	unsigned k = choose_shrink(head->h, head->w, s->h, s->w);

	return (uint64_t)head->h * head->w < (uint64_t)IMG_LARGE * k * k;
}

/* Allocates a plane with one more row and column, which the encoder needs. */
static int
allocate_plane(struct buf *room, uint32_t h, uint32_t w, struct resize_plane *plane)
{
	int e;

	*plane = (struct resize_plane){ .h = h + 1, .w = w + 1 };
	e = resize_room(room, plane);
	plane->h = h;
	plane->w = w;
	return e;
}

/* Makes plane i of the result, not yet upright.  A plane that keeps its size is not copied. */
static int
resize_to_shape(struct transcode_planes *p, const struct transcode_opt *opt, const struct transcode_shape *s,
    const struct img_jpeg_head *head, unsigned shrink, const struct resize_plane *from, unsigned i,
    struct resize_plane *to)
{
	uint32_t step = get_plane_step(i), sub_h = i > 0 ? head->sub_h : 1, sub_w = i > 0 ? head->sub_w : 1;
	uint32_t h = (s->cut.h + step - 1) / step, w = (s->cut.w + step - 1) / step;
	struct img_head size = { .h = head->h, .w = head->w };
	struct resize_region region = transcode_shape_region(s, &size, shrink, sub_h, sub_w, step);

	if (from->h == h && from->w == w && region.y == 0 && region.x == 0 && region.h == h && region.w == w) {
		*to = *from;
		return 0;
	}
	ERR_TRY(allocate_plane(&p->resized[i], h, w, to));
	return resize_plane(p->resize, opt->inter, from, &region, to);
}

static int
orient_plane(struct transcode_planes *p, unsigned orientation, unsigned i, struct resize_plane *plane)
{
	struct resize_plane from = *plane;
	bool swaps = orient_swaps(orientation);
	int e;

	if ((e = allocate_plane(&p->oriented[i], swaps ? from.w : from.h, swaps ? from.h : from.w, plane)) == 0)
		orient_pixels(orientation, from.p, from.h, from.w, 1, from.stride, plane->p, plane->stride);
	return e;
}

/* Makes neutral chroma for a grey image that becomes a colour one. */
static int
make_neutral_chroma(struct transcode_planes *p, const struct resize_plane *luma, unsigned i, struct resize_plane *plane)
{
	int e = allocate_plane(&p->resized[i], (luma->h + 1) / 2, (luma->w + 1) / 2, plane);

	if (e == 0)
		memset(plane->p, 128, plane->h * plane->stride);
	return e;
}

int
transcode_planes_run(struct transcode_planes *p, const struct transcode_opt *opt, const struct transcode_shape *s,
    uint32_t c, const uint8_t *data, size_t n, struct buf *out)
{
	struct resize_plane from[3], plane[3];
	struct img_jpeg_head head;
	unsigned shrink[3];
	int e;

	ERR_TRY(img_jpeg_head(p->jpeg, data, n, opt->pixels, &head));
	assert(head.ycc && (c == 1 || c == 3));
	for (unsigned i = 0; i < 3; i++)
		shrink[i] = choose_plane_shrink(s, &head, i);
	ERR_TRY(img_jpeg_planes(p->jpeg, data, n, &head, shrink, &p->in, from));
	for (unsigned i = 0; i < c; i++) {
		if (i >= head.c)
			e = make_neutral_chroma(p, &plane[0], i, &plane[i]);
		else if ((e = resize_to_shape(p, opt, s, &head, shrink[i], &from[i], i, &plane[i])) == 0 &&
		    s->orientation > 1)
			e = orient_plane(p, s->orientation, i, &plane[i]);
		if (e < 0)
			return e;
	}
	e = img_jpeg_encode_planes(p->jpeg, plane, c, opt->quality, out);
	buf_trim(&p->in, KEEP);
	for (unsigned i = 0; i < 3; i++) {
		buf_trim(&p->resized[i], KEEP);
		buf_trim(&p->oriented[i], KEEP);
	}
	return e;
}

int
transcode_planes_orient(struct transcode_planes *p, const struct transcode_opt *opt, const uint8_t *data, size_t n,
    struct buf *out)
{
	struct img_jpeg_head head;

	ERR_TRY(img_jpeg_head(p->jpeg, data, n, opt->pixels, &head));
	return img_jpeg_orient(p->jpeg, data, n, &head, out);
}
