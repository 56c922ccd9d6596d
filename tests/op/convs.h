/*
 * convs - a convolution in f64, with which tests compare those of the cpu engine.  Maps have blocks of channels.
 */
#ifndef TESTS_OP_CONVS_H
#define TESTS_OP_CONVS_H

#include "tap.h"

#include "base/err.h"
#include "base/rng.h"
#include "engine/cpu/cpu_vec.h"
#include "engine/cpu/dnnl/dnnl.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

__attribute__((unused)) static void
must(int e)
{
	if (e == 0)
		return;
	printf("Bail out! %s\n", err_line());
	exit(1);
}

/* Frees the maps, packed weights and scratch. */
__attribute__((unused)) static void
free_place(const struct dnnl_place *at)
{
	free(at->x);
	free(at->y);
	free(at->dx);
	free(at->dy);
	free(at->packed);
	free(at->scratch);
}

/* One layer, with plain operands [n, c, h, w]. */
struct layer {
	struct dnnl_shape shape;
	uint32_t	  block;
	uint32_t	  oh, ow;
	size_t		  xs, ys, ws;	/* elements of x, y and w */
	float		 *x, *w, *dy, *bias;
	float		 *y, *dx, *dw, *dbias;
};

static void *
room(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);

	if (p == NULL) {
		printf("Bail out! out of memory\n");
		exit(1);
	}
	memset(p, 0, (bytes + 64) / 64 * 64);
	return p;
}

static float *
numbers(struct rng *r, size_t count)
{
	float *p = room(count * sizeof(*p));

	for (size_t i = 0; i < count; i++)
		p[i] = rng_normal(r);
	return p;
}

static uint32_t
outputs(const struct dnnl_shape *s, int axis)
{
	const uint32_t in = axis == 0 ? s->h : s->w, taps = axis == 0 ? s->r : s->s;

	return (in + 2 * s->pad[axis] - s->dilate[axis] * (taps - 1) - 1) / s->stride[axis] + 1;
}

static struct layer
layer_new(struct dnnl_shape s, uint32_t block)
{
	struct rng r = rng_start(7, s.c, s.h);
	struct layer l = { .shape = s, .block = block, .oh = outputs(&s, 0), .ow = outputs(&s, 1),
		.xs = (size_t)s.n * s.c * s.h * s.w, .ws = (size_t)s.k * s.c * s.r * s.s };

	l.ys = (size_t)s.n * s.k * l.oh * l.ow;
	l.x = numbers(&r, l.xs);
	l.w = numbers(&r, l.ws);
	l.dy = numbers(&r, l.ys);
	l.bias = numbers(&r, s.k);
	l.y = room(l.ys * sizeof(float));
	l.dx = room(l.xs * sizeof(float));
	l.dw = room(l.ws * sizeof(float));
	l.dbias = room(s.k * sizeof(float));
	return l;
}

static void
layer_free(struct layer *l)
{
	float *all[] = { l->x, l->w, l->dy, l->bias, l->y, l->dx, l->dw, l->dbias };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		free(all[i]);
}

/* The pixels and channels of a sample of x, or of y. */
static size_t
pixels_of(const struct layer *l, bool y)
{
	return y ? (size_t)l->oh * l->ow : (size_t)l->shape.h * l->shape.w;
}

static size_t
channels_of(const struct layer *l, bool y)
{
	return y ? l->shape.k : l->shape.c;
}

/* The channels of a block; in bf16 a block has all. */
static size_t
block_of(const struct layer *l, bool y)
{
	return l->shape.bf16 ? channels_of(l, y) : l->block;
}

/* Numbers of x or y in blocks. */
static size_t
blocked(const struct layer *l, bool y)
{
	const size_t block = block_of(l, y);

	return (channels_of(l, y) + block - 1) / block * block * l->shape.n * pixels_of(l, y);
}

/* The index of channel c of pixel i of sample n in a blocked layout. */
static size_t
place(const struct layer *l, bool y, size_t n, size_t c, size_t i)
{
	const size_t pixels = pixels_of(l, y), block = block_of(l, y), blocks = (channels_of(l, y) + block - 1) / block;

	return ((n * blocks + c / block) * pixels + i) * block + c % block;
}

/* Copies [n, c, h, w] to blocks, or back. */
static void
copy(const struct layer *l, bool y, float *plain, float *blocks, bool back)
{
	size_t pixels = pixels_of(l, y), channels = channels_of(l, y);

	for (size_t n = 0; n < l->shape.n; n++)
		for (size_t c = 0; c < channels; c++)
			for (size_t i = 0; i < pixels; i++) {
				float *a = &plain[(n * channels + c) * pixels + i];
				float *b = &blocks[place(l, y, n, c, i)];

				*(back ? a : b) = *(back ? b : a);
			}
}

/* Are the lanes after the last channel zero? */
__attribute__((unused)) static bool
padded(const struct layer *l, bool y, const float *blocks)
{
	size_t channels = channels_of(l, y), block = block_of(l, y);
	size_t whole = (channels + block - 1) / block * block;

	for (size_t n = 0; n < l->shape.n; n++)
		for (size_t c = channels; c < whole; c++)
			for (size_t i = 0; i < pixels_of(l, y); i++)
				if (blocks[place(l, y, n, c, i)] != 0)
					return false;
	return true;
}

/* The numbers of a map in f32 become bf16 that fill the first half of its memory, if the layer has bf16; and back. */
__attribute__((unused)) static void
round_map(const struct layer *l, bool y, float *map)
{
	uint16_t *to = (uint16_t *)(void *)map;

	for (size_t i = 0; i < blocked(l, y) && l->shape.bf16; i++) {
		float f = map[i];

		cpu_write(to, i, true, f);
	}
}

__attribute__((unused)) static void
widen_map(const struct layer *l, bool y, float *map)
{
	for (size_t i = blocked(l, y); i-- > 0 && l->shape.bf16;)
		map[i] = cpu_read(map, i, true);
}

/* Rounds to numbers that bf16 has. */
__attribute__((unused)) static void
round_numbers(float *p, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint16_t half;

		cpu_write(&half, 0, true, p[i]);
		p[i] = cpu_read(&half, 0, true);
	}
}

/* ------ direct convolution ------ */

struct sums {
	double *y, *dx, *dw, *dbias;
};

/* Adds the products of one tap of weight (k, c) to all sums. */
static void
add_tap(const struct layer *l, struct sums *to, size_t k, size_t c, size_t tap)
{
	const struct dnnl_shape *s = &l->shape;
	const size_t weight = (k * s->c + c) * s->r * s->s + tap;
	const long down = (long)(tap / s->s * s->dilate[0]) - (long)s->pad[0];
	const long right = (long)(tap % s->s * s->dilate[1]) - (long)s->pad[1];

	for (size_t n = 0; n < s->n; n++)
		for (size_t i = 0; i < l->oh; i++)
			for (size_t j = 0; j < l->ow; j++) {
				const long h = (long)(i * s->stride[0]) + down, w = (long)(j * s->stride[1]) + right;
				size_t y = ((n * s->k + k) * l->oh + i) * l->ow + j;
				size_t x = ((n * s->c + c) * s->h + (size_t)h) * s->w + (size_t)w;

				if (h < 0 || h >= (long)s->h || w < 0 || w >= (long)s->w)
					continue;
				to->y[y] += (double)l->w[weight] * l->x[x];
				to->dx[x] += (double)l->w[weight] * l->dy[y];
				to->dw[weight] += (double)l->x[x] * l->dy[y];
			}
}

static struct sums
direct(const struct layer *l)
{
	const struct dnnl_shape *s = &l->shape;
	struct sums to = { room(l->ys * 8), room(l->xs * 8), room(l->ws * 8), room(s->k * 8) };
	size_t pixels = pixels_of(l, true);

	for (size_t k = 0; k < s->k; k++)
		for (size_t c = 0; c < s->c; c++)
			for (size_t tap = 0; tap < (size_t)s->r * s->s; tap++)
				add_tap(l, &to, k, c, tap);
	for (size_t n = 0; n < s->n; n++)
		for (size_t k = 0; k < s->k; k++)
			for (size_t i = 0; i < pixels; i++) {
				double *y = &to.y[(n * s->k + k) * pixels + i];

				*y += s->bias ? (double)l->bias[k] : 0;
				*y = s->relu && *y < 0 ? 0 : *y;
				to.dbias[k] += l->dy[(n * s->k + k) * pixels + i];
			}
	return to;
}

static void
sums_free(struct sums *s)
{
	free(s->y);
	free(s->dx);
	free(s->dw);
	free(s->dbias);
}

/* Is the relative error in the 2-norm at most this? */
static void
close_to(const float *got, const double *want, size_t n, double bound, const char *shape, const char *what)
{
	double off = 0, size = 0;

	for (size_t i = 0; i < n; i++) {
		off += (got[i] - want[i]) * (got[i] - want[i]);
		size += want[i] * want[i];
	}
	if (!ok(sqrt(off) <= bound * sqrt(size), "%s: %s", shape, what))
		printf("# relative error %.2g\n", sqrt(off / size));
}

/*
 * Compares all directions with direct sums, and two and three threads with one.  run() computes a layer, and returns
 * whether the lanes after the last channel are zero; `other` has the numbers of l.  The bounds are those of y and dx,
 * and of dw and dbias.  Frees both.
 */
__attribute__((unused)) static void
compare_layer(struct layer *l, struct layer *other, bool (*run)(struct layer *, int threads), double bound,
    double weight_bound, const char *name)
{
	const struct dnnl_shape *s = &l->shape;
	struct sums want;

	ok(run(l, 1), "%s: lanes after the last channel stay zero", name);
	want = direct(l);
	close_to(l->y, want.y, l->ys, bound, name, s->relu ? "y, bias and ReLU" : "y");
	close_to(l->dx, want.dx, l->xs, bound, name, "dx");
	close_to(l->dw, want.dw, l->ws, weight_bound, name, "dw");
	if (s->bias)
		close_to(l->dbias, want.dbias, s->k, weight_bound, name, "dbias");
	for (int threads = 2; threads <= 3; threads++) {
		run(other, threads);
		ok(memcmp(l->y, other->y, l->ys * 4) == 0 && memcmp(l->dx, other->dx, l->xs * 4) == 0 &&
		    memcmp(l->dw, other->dw, l->ws * 4) == 0 && memcmp(l->dbias, other->dbias, s->k * 4) == 0,
		    "%s: %d threads give the bits of one thread", name, threads);
	}
	sums_free(&want);
	layer_free(l);
	layer_free(other);
}

#endif
