/* amx - makes the layers of the library, turns weights, and passes the directions on. */
#include "engine/cpu/amx/amx.h"

#include "base/err.h"
#include "engine/cpu/amx/amx_weight.h"
#include "engine/memplan.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES	16u
#define NAME	64
#define STRIDE	4u	/* the largest */
#define PLANES	(STRIDE * STRIDE)

/*
 * How lines of a plane of dx are sums of lines of dy, along an axis.  The taps are first, first + stride, and so on.
 * Output i + skip of a convolution with this padding is line i of the plane.
 */
struct axis {
	uint32_t lines;		/* how many the plane has */
	uint32_t first, taps;
	uint32_t pad, skip;
};

/* The pixels of dx that are a stride apart, as a convolution of dy; layer NULL: zeros. */
struct plane {
	struct axis	   axis[2];
	struct dnnl_layer *layer;
	struct dnnl_shape  shape;
	size_t		   packed, outputs;	/* offsets of the layer's weights, and of its y in scratch */
	size_t		  *tap, taps;	/* its taps in reverse, as indices of those of the weights */
};

struct amx {
	struct dnnl_shape  shape;
	struct dnnl_layer *forward;
	struct plane	   plane[PLANES];
	uint32_t	   planes;	/* 0: no dx */
	size_t		   outputs;	/* bytes of scratch for planes that share lines of dx */
	struct amx_weight  weight;
	struct dnnl_needs  needs;
	char		   data_name[NAME];
	struct dnnl_place  place;
};

bool
amx_fits(const struct dnnl_shape *s)
{
	return s->bf16 && !s->fc && !s->y_f32 && s->groups == 1 && s->dilate[0] == 1 && s->dilate[1] == 1 &&
	    s->c % LANES == 0 && s->k % LANES == 0 && s->stride[0] <= STRIDE && s->stride[1] <= STRIDE &&
	    s->pad[0] < s->r && s->pad[1] < s->s && dnnl_dev_tiles();
}

/* ------ dx ------ */

/* Does the one plane have all of dx? */
static bool
is_whole(const struct amx *a)
{
	return a->shape.stride[0] == 1 && a->shape.stride[1] == 1;
}

/* nth counts the planes along this axis. */
static struct axis
cut_axis(const struct dnnl_shape *s, int axis, uint32_t nth)
{
	const uint32_t in = axis == 0 ? s->h : s->w, taps = axis == 0 ? s->r : s->s, stride = s->stride[axis];
	const uint32_t out = dnnl_layer_side(s, axis), before = (nth + s->pad[axis]) / stride;
	struct axis a = { .lines = in > nth ? (in - nth + stride - 1) / stride : 0,
		.first = (nth + s->pad[axis]) % stride };

	if (a.first >= taps || a.lines == 0)
		return a;
	a.taps = (taps - a.first + stride - 1) / stride;
	/* The least padding with which the outputs include all lines, or that of a full convolution. */
	a.pad = before < a.taps ? a.taps - 1 - before : 0;
	while (a.pad + 1 < a.taps && out + a.pad < before + a.lines)
		a.pad++;
	a.skip = before + a.pad + 1 - a.taps;
	return a;
}

/* The convolution of dy that is a plane. */
static struct dnnl_shape
turn_shape(const struct dnnl_shape *s, const struct axis axis[2])
{
	struct dnnl_shape t = *s;

	t.c = s->k;
	t.h = dnnl_layer_side(s, 0);
	t.w = dnnl_layer_side(s, 1);
	t.k = s->c;
	t.r = axis[0].taps;
	t.s = axis[1].taps;
	for (int i = 0; i < 2; i++) {
		t.stride[i] = 1;
		t.pad[i] = axis[i].pad;
	}
	t.bias = t.relu = t.data = t.plus = false;
	t.no_dw = true;
	return t;
}

static int
list_taps(const struct dnnl_shape *s, struct plane *p)
{
	const struct axis *down = &p->axis[0], *right = &p->axis[1];
	size_t *to = malloc((size_t)down->taps * right->taps * sizeof(*to));

	if (to == NULL)
		return err_nomem();
	p->tap = to;
	p->taps = (size_t)down->taps * right->taps;
	for (size_t i = down->taps; i-- > 0;)
		for (size_t j = right->taps; j-- > 0;)
			*to++ = (down->first + i * s->stride[0]) * s->s + right->first + j * s->stride[1];
	return 0;
}

static int
make_planes(struct dnnl_dev *dev, const struct amx *like, struct amx *a)
{
	const struct dnnl_shape *s = &a->shape;

	for (uint32_t i = 0; i < s->stride[0] * s->stride[1]; i++) {
		struct plane *p = &a->plane[a->planes++];

		p->axis[0] = cut_axis(s, 0, i / s->stride[1]);
		p->axis[1] = cut_axis(s, 1, i % s->stride[1]);
		if (p->axis[0].taps == 0 || p->axis[1].taps == 0)
			continue;
		p->shape = turn_shape(s, p->axis);
		ERR_TRY(list_taps(s, p));
		ERR_TRY(dnnl_layer_new(dev, &p->shape, like != NULL ? like->plane[i].layer : NULL, &p->layer));
	}
	return 0;
}

/* Bytes of a plane's outputs, unless they are dx itself. */
static size_t
measure_outputs(const struct amx *a, const struct plane *p)
{
	return is_whole(a) || p->layer == NULL ? 0 : memplan_round((size_t)p->shape.n * dnnl_layer_side(&p->shape, 0) *
	    dnnl_layer_side(&p->shape, 1) * p->shape.k * sizeof(uint16_t));
}

static size_t
get_max(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Planes that share lines of dx have their outputs at the same time. */
static void
place_outputs(struct amx *a)
{
	size_t at = 0;

	for (uint32_t i = 0; i < a->planes; i++) {
		at = i % a->shape.stride[1] == 0 ? 0 : at;
		a->plane[i].outputs = at;
		at += measure_outputs(a, &a->plane[i]);
		a->outputs = get_max(a->outputs, at);
	}
}

/* The weights of the planes follow those of the forward layer. */
static void
add_needs_of_planes(struct amx *a)
{
	struct dnnl_needs *n = &a->needs;

	for (struct plane *p = a->plane; p < a->plane + a->planes; p++) {
		const struct dnnl_needs *needs;

		if (p->layer == NULL)
			continue;
		needs = dnnl_layer_needs(p->layer);
		p->packed = memplan_round(n->packed);
		n->packed = p->packed + needs->packed;
		n->scratch = get_max(n->scratch, a->outputs + needs->scratch);
		snprintf(a->data_name, NAME, "turned:%s", needs->kernel[DNNL_FORWARD]);
		n->kernel[DNNL_DATA] = a->data_name;
	}
}

static void
describe_needs(struct amx *a)
{
	a->needs = *dnnl_layer_needs(a->forward);
	place_outputs(a);
	add_needs_of_planes(a);
	if (a->shape.scaled)
		return;
	a->needs.kernel[DNNL_WEIGHT] = "own:amx";
	/* This is more than turned weights take. */
	a->needs.scratch = get_max(a->needs.scratch, amx_weight_scratch(&a->weight));
}

/* ------ the layer ------ */

int
amx_new(struct dnnl_dev *dev, const struct dnnl_shape *shape, const struct amx *like, struct amx **made)
{
	struct amx *a = calloc(1, sizeof(*a));
	struct dnnl_shape forward = *shape;
	int e;

	if (a == NULL)
		return err_nomem();
	a->shape = *shape;
	forward.data = false;
	forward.no_dw = true;
	e = dnnl_layer_new(dev, &forward, like != NULL ? like->forward : NULL, &a->forward);
	if (e == 0 && shape->data && !shape->scaled)
		e = make_planes(dev, like, a);
	if (e < 0) {
		amx_free(a);
		return e;
	}
	amx_weight_plan(shape, (size_t)omp_get_max_threads(), &a->weight);
	describe_needs(a);
	*made = a;
	return 0;
}

void
amx_free(struct amx *a)
{
	if (a == NULL)
		return;
	dnnl_layer_free(a->forward);
	for (uint32_t i = 0; i < a->planes; i++) {
		dnnl_layer_free(a->plane[i].layer);
		free(a->plane[i].tap);
	}
	free(a);
}

const struct dnnl_needs *
amx_needs(const struct amx *a)
{
	return &a->needs;
}

int
amx_bind(struct amx *a, const struct dnnl_place *place)
{
	a->place = *place;
	for (const struct plane *p = a->plane; p < a->plane + a->planes; p++) {
		char *scratch = place->scratch;
		const struct dnnl_place at = { .x = place->dy, .y = is_whole(a) ? place->dx : scratch + p->outputs,
			.packed = (char *)place->packed + p->packed, .scratch = scratch + a->outputs };

		if (p->layer != NULL)
			ERR_TRY(dnnl_layer_bind(p->layer, &at));
	}
	return dnnl_layer_bind(a->forward, place);
}

/* The weights of a plane, [c, k, taps], of w [k, c, r, s], for 16 channels from c and from k on. */
static void
turn_block(const struct dnnl_shape *s, const struct plane *p, const float *w, size_t c, size_t k, float *turned)
{
	for (size_t l = c; l < c + LANES; l++) {
		float *to = turned + (l * s->k + k) * p->taps;

		for (size_t i = k; i < k + LANES; i++)
			for (size_t t = 0; t < p->taps; t++)
				*to++ = w[(i * s->c + l) * s->r * s->s + p->tap[t]];
	}
}

/* Whole blocks of channels, so that lines of the cache are read and written once. */
static void
turn_weights(const struct dnnl_shape *s, const struct plane *p, const float *w, float *turned)
{
	#pragma omp parallel for
	for (size_t k = 0; k < s->k; k += LANES)
		for (size_t c = 0; c < s->c; c += LANES)
			turn_block(s, p, w, c, k, turned);
}

int
amx_load(struct amx *a, const float *w)
{
	for (const struct plane *p = a->plane; p < a->plane + a->planes; p++) {
		if (p->layer == NULL)
			continue;
		turn_weights(&a->shape, p, w, a->place.scratch);
		ERR_TRY(dnnl_layer_load(p->layer, a->place.scratch));
	}
	return dnnl_layer_load(a->forward, w);
}

/* Copies the outputs of a plane to its pixels of a line of dx, or zeros where it has none. */
static void
copy_plane_line(const struct amx *a, const struct plane *p, size_t sample, size_t line, uint16_t *dx)
{
	const size_t rows = p->layer != NULL ? dnnl_layer_side(&p->shape, 0) : 0;
	const size_t columns = p->layer != NULL ? dnnl_layer_side(&p->shape, 1) : 0;
	const size_t row = line + p->axis[0].skip, channels = a->shape.c;
	const uint16_t *outputs = (const uint16_t *)((const char *)a->place.scratch + p->outputs);
	const uint16_t *from = outputs + (sample * rows + row) * columns * channels;

	for (size_t i = 0; i < p->axis[1].lines; i++, dx += a->shape.stride[1] * channels)
		if (row < rows && i + p->axis[1].skip < columns)
			memcpy(dx, from + (i + p->axis[1].skip) * channels, channels * sizeof(*dx));
		else
			memset(dx, 0, channels * sizeof(*dx));
}

/* Copies the planes that share lines of dx, of which p is the first, line by line: memory gets each line once. */
static void
copy_lines(const struct amx *a, const struct plane *p)
{
	const struct dnnl_shape *s = &a->shape;
	const size_t lines = p->axis[0].lines, top = (size_t)(p - a->plane) / s->stride[1];

	#pragma omp parallel for
	for (size_t i = 0; i < s->n * lines; i++) {
		const size_t row = i / lines * s->h + i % lines * s->stride[0] + top;
		uint16_t *dx = (uint16_t *)a->place.dx + row * s->w * s->c;

		for (size_t j = 0; j < s->stride[1]; j++)
			copy_plane_line(a, p + j, i / lines, i % lines, dx + j * s->c);
	}
}

static int
compute_planes(const struct amx *a)
{
	const size_t each = a->shape.stride[1];

	for (const struct plane *p = a->plane; p < a->plane + a->planes; p += each) {
		for (size_t j = 0; j < each; j++)
			if (p[j].layer != NULL)
				ERR_TRY(dnnl_layer_run(p[j].layer, DNNL_FORWARD, NULL));
		if (!is_whole(a))
			copy_lines(a, p);
	}
	return 0;
}

int
amx_run(struct amx *a, enum dnnl_direction dir, float *dw)
{
	if (dir == DNNL_FORWARD)
		return dnnl_layer_run(a->forward, dir, NULL);
	if (dir == DNNL_DATA)
		return compute_planes(a);
	amx_weight_run(&a->weight, &a->place, dw);
	return 0;
}
