/* cpu_dense - fills the matrix of a convolution, and adds up its gradient. */
#include "engine/cpu/cpu_dense.h"

#include "base/err.h"
#include "engine/memplan.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME 64

struct cpu_dense {
	struct dnnl_shape  shape;
	struct dnnl_layer *layer;	/* the product */
	struct dnnl_needs  needs;
	char		   kernel[DNNL_DIRECTIONS][NAME];
	uint32_t	   oh, ow;
	size_t		   threads;
	size_t		   rows, columns;	/* a sample's outputs and inputs */
	struct dnnl_place  place;
};

bool
cpu_dense_fits(const struct dnnl_shape *s)
{
	const size_t in = (size_t)s->h * s->w, taps = (size_t)s->r * s->s;

	return !s->fc && s->groups == 1 && !s->channels_last && s->c % dnnl_dev_block() == 0 &&
	    s->k % dnnl_dev_block() == 0 && 2 * in <= taps &&
	    in * dnnl_layer_side(s, 0) * dnnl_layer_side(s, 1) <= 2 * taps;
}

static size_t
matrix_bytes(const struct cpu_dense *d)
{
	return memplan_round(d->rows * d->columns * sizeof(float));
}

/* Of the weights of one output channel. */
static size_t
lines_bytes(const struct cpu_dense *d)
{
	return memplan_round((size_t)d->shape.c * d->shape.r * d->shape.s * sizeof(float));
}

/* Scratch besides the layer's: a matrix, and lines of each thread. */
static size_t
own_bytes(const struct cpu_dense *d)
{
	return matrix_bytes(d) + d->threads * lines_bytes(d);
}

static size_t
layer_bytes(const struct cpu_dense *d)
{
	return memplan_round(dnnl_layer_needs(d->layer)->packed);
}

/* The memory of the layer's weights, then its bias and the gradient of that, with one number for each output. */
static void
describe_needs(struct cpu_dense *d)
{
	const struct dnnl_needs *layer = dnnl_layer_needs(d->layer);
	const struct dnnl_shape *s = &d->shape;

	d->needs = (struct dnnl_needs) { .x_block = s->bf16 ? s->c : dnnl_dev_block(),
	    .y_block = s->bf16 ? s->k : dnnl_dev_block(),
	    .packed = layer_bytes(d) + 2 * memplan_round(d->rows * sizeof(float)),
	    .scratch = own_bytes(d) + layer->scratch };
	for (int i = 0; i < DNNL_DIRECTIONS; i++) {
		snprintf(d->kernel[i], NAME, "%s%s", strcmp(layer->kernel[i], "-") != 0 ? "dense:" : "",
		    layer->kernel[i]);
		d->needs.kernel[i] = d->kernel[i];
	}
}

int
cpu_dense_new(struct dnnl_dev *dev, const struct dnnl_shape *shape, const struct cpu_dense *like,
    struct cpu_dense **dense)
{
	struct cpu_dense *d = calloc(1, sizeof(*d));
	struct dnnl_shape product = *shape;
	int e;

	if (d == NULL)
		return err_nomem();
	d->shape = *shape;
	d->threads = (size_t)omp_get_max_threads();
	d->oh = dnnl_layer_side(shape, 0);
	d->ow = dnnl_layer_side(shape, 1);
	d->rows = (size_t)shape->k * d->oh * d->ow;
	d->columns = (size_t)shape->c * shape->h * shape->w;
	product.fc = true;
	product.c = (uint32_t)d->columns;
	product.k = (uint32_t)d->rows;
	product.h = product.w = 1;
	if ((e = dnnl_layer_new(dev, &product, like != NULL ? like->layer : NULL, &d->layer)) < 0) {
		cpu_dense_free(d);
		return e;
	}
	describe_needs(d);
	*dense = d;
	return 0;
}

void
cpu_dense_free(struct cpu_dense *d)
{
	if (d == NULL)
		return;
	dnnl_layer_free(d->layer);
	free(d);
}

const struct dnnl_needs *
cpu_dense_needs(const struct cpu_dense *d)
{
	return &d->needs;
}

static float *
get_bias(const struct cpu_dense *d)
{
	return (float *)((char *)d->place.packed + layer_bytes(d));
}

static float *
get_dbias(const struct cpu_dense *d)
{
	return (float *)((char *)get_bias(d) + memplan_round(d->rows * sizeof(float)));
}

int
cpu_dense_bind(struct cpu_dense *d, const struct dnnl_place *place)
{
	struct dnnl_place product = *place;

	d->place = *place;
	product.bias = get_bias(d);
	product.dbias = get_dbias(d);
	product.scratch = (char *)place->scratch + own_bytes(d);
	return dnnl_layer_bind(d->layer, &product);
}

/* ------ places ------ */

/* Where channel c of pixel p is in a sample of this block and this many pixels. */
static size_t
find_element(uint32_t block, size_t pixels, size_t c, size_t p)
{
	return (c / block * pixels + p) * block + c % block;
}

/* The tap between an output's and an input's pixel, or -1. */
static int
find_tap(const struct cpu_dense *d, uint32_t out, uint32_t in)
{
	const struct dnnl_shape *s = &d->shape;
	const uint32_t o[2] = { out / d->ow, out % d->ow }, i[2] = { in / s->w, in % s->w }, taps[2] = { s->r, s->s };
	uint32_t tap[2];

	for (int axis = 0; axis < 2; axis++) {
		const uint32_t from = i[axis] + s->pad[axis], first = o[axis] * s->stride[axis];

		if (from < first || (from - first) % s->dilate[axis] != 0)
			return -1;
		tap[axis] = (from - first) / s->dilate[axis];
		if (tap[axis] >= taps[axis])
			return -1;
	}
	return (int)(tap[0] * s->s + tap[1]);
}

/* The row of a matrix that gives channel k of pixel `out`. */
static float *
get_row(const struct cpu_dense *d, float *matrix, uint32_t k, uint32_t out)
{
	return matrix + find_element(d->needs.y_block, (size_t)d->oh * d->ow, k, out) * d->columns;
}

/* ------ weights ------ */

/* A thread's weights of one output channel, a line [c] for each tap. */
static float *
get_lines(const struct cpu_dense *d)
{
	return (float *)((char *)d->place.scratch + matrix_bytes(d) + (size_t)omp_get_thread_num() * lines_bytes(d));
}

/* Copies the taps of w [c][taps] to lines, or back. */
static void
split_taps(const struct dnnl_shape *s, const float *w, float *lines)
{
	const size_t taps = (size_t)s->r * s->s;

	for (size_t t = 0; t < taps; t++)
		for (size_t c = 0; c < s->c; c++)
			lines[t * s->c + c] = w[c * taps + t];
}

static void
join_taps(const struct dnnl_shape *s, const float *lines, float *w)
{
	const size_t taps = (size_t)s->r * s->s;

	for (size_t c = 0; c < s->c; c++)
		for (size_t t = 0; t < taps; t++)
			w[c * taps + t] = lines[t * s->c + c];
}

/* Copies a tap's line to the part of a row that reads pixel `in`; NULL: zeros. */
static void
fill_pixel(const struct cpu_dense *d, const float *line, uint32_t in, float *row)
{
	const size_t block = d->needs.x_block, step = (size_t)d->shape.h * d->shape.w * block;

	row += in * block;
	for (size_t c = 0; c < d->shape.c; c += block, row += step)
		if (line != NULL)
			memcpy(row, line + c, block * sizeof(*row));
		else
			memset(row, 0, block * sizeof(*row));
}

/* Adds that part of a row to a tap's line. */
static void
add_pixel(const struct cpu_dense *d, const float *row, uint32_t in, float *line)
{
	const size_t block = d->needs.x_block, step = (size_t)d->shape.h * d->shape.w * block;

	row += in * block;
	for (size_t c = 0; c < d->shape.c; c += block, row += step)
		for (size_t l = 0; l < block; l++)
			line[c + l] += row[l];
}

/* Goes over the pairs of pixels of output channel k: fills its rows from lines, or with `add` adds them to lines. */
static void
visit_rows(const struct cpu_dense *d, float *matrix, uint32_t k, bool add, float *lines)
{
	for (uint32_t out = 0; out < d->oh * d->ow; out++)
		for (uint32_t in = 0; in < d->shape.h * d->shape.w; in++) {
			const int tap = find_tap(d, out, in);
			float *line = tap < 0 ? NULL : lines + (size_t)tap * d->shape.c;

			if (!add)
				fill_pixel(d, line, in, get_row(d, matrix, k, out));
			else if (line != NULL)
				add_pixel(d, get_row(d, matrix, k, out), in, line);
		}
}

static void
fill_matrix(const struct cpu_dense *d, const float *w, float *matrix)
{
	const struct dnnl_shape *s = &d->shape;

	#pragma omp parallel for
	for (uint32_t k = 0; k < s->k; k++) {
		split_taps(s, w + (size_t)k * s->c * s->r * s->s, get_lines(d));
		visit_rows(d, matrix, k, false, get_lines(d));
	}
}

static void
add_matrix(const struct cpu_dense *d, float *dw)
{
	const struct dnnl_shape *s = &d->shape;

	#pragma omp parallel for
	for (uint32_t k = 0; k < s->k; k++) {
		memset(get_lines(d), 0, lines_bytes(d));
		visit_rows(d, d->place.scratch, k, true, get_lines(d));
		join_taps(s, get_lines(d), dw + (size_t)k * s->c * s->r * s->s);
	}
}

int
cpu_dense_load(struct cpu_dense *d, const float *w)
{
	const bool canonical = dnnl_layer_needs(d->layer)->canonical;

	fill_matrix(d, w, canonical ? d->place.packed : d->place.scratch);
	return canonical ? 0 : dnnl_layer_load(d->layer, d->place.scratch);
}

/* ------ passes ------ */

static void
spread_bias(const struct cpu_dense *d)
{
	const uint32_t pixels = d->oh * d->ow;

	for (uint32_t k = 0; k < d->shape.k; k++)
		for (uint32_t p = 0; p < pixels; p++)
			get_bias(d)[find_element(d->needs.y_block, pixels, k, p)] = d->place.bias[k];
}

static void
add_bias(const struct cpu_dense *d)
{
	const uint32_t pixels = d->oh * d->ow;

	for (uint32_t k = 0; k < d->shape.k; k++) {
		double sum = 0;

		for (uint32_t p = 0; p < pixels; p++)
			sum += (double)get_dbias(d)[find_element(d->needs.y_block, pixels, k, p)];
		d->place.dbias[k] = (float)sum;
	}
}

int
cpu_dense_run(struct cpu_dense *d, enum dnnl_direction dir, float *dw)
{
	if (dir == DNNL_FORWARD && d->shape.bias)
		spread_bias(d);
	ERR_TRY(dnnl_layer_run(d->layer, dir, d->place.scratch));
	if (dir != DNNL_WEIGHT)
		return 0;
	add_matrix(d, dw);
	if (d->shape.bias)
		add_bias(d);
	return 0;
}
