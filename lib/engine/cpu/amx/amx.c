/* amx - makes the layers of the library, turns weights, and passes the directions on. */
#include "engine/cpu/amx/amx.h"

#include "base/err.h"
#include "engine/cpu/amx/amx_weight.h"
#include "engine/memplan.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define LANES	16u
#define NAME	64

struct amx {
	struct dnnl_shape  shape;
	struct dnnl_layer *forward;	/* y, and dx if the layer has a stride */
	struct dnnl_layer *data;	/* dx as a convolution of dy; NULL: none */
	struct amx_weight  weight;
	struct dnnl_needs  needs;
	char		   data_name[NAME];
	struct dnnl_place  place;
};

bool
amx_fits(const struct dnnl_shape *s)
{
	return s->bf16 && !s->fc && !s->y_f32 && s->groups == 1 && s->dilate[0] == 1 && s->dilate[1] == 1 &&
	    s->c % LANES == 0 && s->k % LANES == 0 && s->pad[0] < s->r && s->pad[1] < s->s && dnnl_dev_tiles();
}

static bool
turns_data(const struct dnnl_shape *s)
{
	return s->data && !s->scaled && s->stride[0] == 1 && s->stride[1] == 1;
}

/* The convolution of dy that is dx. */
static struct dnnl_shape
turn_shape(const struct dnnl_shape *s)
{
	struct dnnl_shape t = *s;

	t.c = s->k;
	t.h = dnnl_layer_side(s, 0);
	t.w = dnnl_layer_side(s, 1);
	t.k = s->c;
	t.pad[0] = s->r - 1 - s->pad[0];
	t.pad[1] = s->s - 1 - s->pad[1];
	t.bias = t.relu = t.data = false;
	t.no_dw = true;
	return t;
}

static size_t
count_weights(const struct dnnl_shape *s)
{
	return (size_t)s->c * s->k * s->r * s->s;
}

static void
describe_needs(struct amx *a)
{
	const struct dnnl_needs *forward = dnnl_layer_needs(a->forward);
	size_t scratch = forward->scratch;

	a->needs = *forward;
	if (a->data != NULL) {
		const struct dnnl_needs *data = dnnl_layer_needs(a->data);

		snprintf(a->data_name, NAME, "turned:%s", data->kernel[DNNL_FORWARD]);
		a->needs.kernel[DNNL_DATA] = a->data_name;
		a->needs.packed = memplan_round(forward->packed) + data->packed;
		a->needs.canonical = false;
		scratch = data->scratch > scratch ? data->scratch : scratch;
		if (scratch < count_weights(&a->shape) * sizeof(float))
			scratch = count_weights(&a->shape) * sizeof(float);
	}
	if (!a->shape.scaled) {
		a->needs.kernel[DNNL_WEIGHT] = "own:amx";
		if (scratch < amx_weight_scratch(&a->weight))
			scratch = amx_weight_scratch(&a->weight);
	}
	a->needs.scratch = scratch;
}

int
amx_new(struct dnnl_dev *dev, const struct dnnl_shape *shape, const struct amx *like, struct amx **made)
{
	struct amx *a = calloc(1, sizeof(*a));
	struct dnnl_shape forward = *shape;
	int e;

	if (a == NULL)
		return err_nomem();
	a->shape = *shape;
	forward.data = shape->data && !turns_data(shape);
	forward.no_dw = true;
	e = dnnl_layer_new(dev, &forward, like != NULL ? like->forward : NULL, &a->forward);
	if (e == 0 && turns_data(shape)) {
		forward = turn_shape(shape);
		e = dnnl_layer_new(dev, &forward, like != NULL ? like->data : NULL, &a->data);
	}
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
	dnnl_layer_free(a->data);
	free(a);
}

const struct dnnl_needs *
amx_needs(const struct amx *a)
{
	return &a->needs;
}

int
amx_bind(struct amx *a, const struct dnnl_place *p)
{
	const struct dnnl_place data = { .x = p->dy, .y = p->dx, .scratch = p->scratch,
		.packed = p->packed == NULL ? NULL :
		    (char *)p->packed + memplan_round(dnnl_layer_needs(a->forward)->packed) };
	int e = dnnl_layer_bind(a->forward, p);

	a->place = *p;
	return e < 0 || a->data == NULL ? e : dnnl_layer_bind(a->data, &data);
}

/* [K,C,R,S] to [C,K,R,S], with the taps in reverse. */
static void
turn_weights(const struct dnnl_shape *s, const float *w, float *turned)
{
	const size_t taps = (size_t)s->r * s->s;

	#pragma omp parallel for
	for (size_t c = 0; c < s->c; c++)
		for (size_t k = 0; k < s->k; k++)
			for (size_t t = 0; t < taps; t++)
				turned[(c * s->k + k) * taps + t] = w[(k * s->c + c) * taps + taps - 1 - t];
}

int
amx_load(struct amx *a, const float *w)
{
	ERR_TRY(dnnl_layer_load(a->forward, w));
	if (a->data == NULL)
		return 0;
	turn_weights(&a->shape, w, a->place.scratch);
	return dnnl_layer_load(a->data, a->place.scratch);
}

int
amx_run(struct amx *a, enum dnnl_direction dir, float *dw)
{
	if (dir == DNNL_WEIGHT) {
		amx_weight_run(&a->weight, &a->place, dw);
		return 0;
	}
	return dir == DNNL_DATA && a->data != NULL ? dnnl_layer_run(a->data, DNNL_FORWARD, NULL) :
	    dnnl_layer_run(a->forward, dir, NULL);
}
