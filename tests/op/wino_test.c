/*
 * wino_test - Winograd's algorithm against a direct convolution in f64.
 *
 * Maps that tiles do not divide, channels that blocks do not divide, few and many tiles.  Any number of threads must
 * give the same bits.
 */
#include "tap.h"

#include "base/err.h"
#include "base/rng.h"
#include "engine/cpu/wino/wino.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BOUND 3e-6	/* relative error in the 2-norm; 1.3e-6 was measured */

/* One layer, with plain operands [n, c, h, w]. */
struct layer {
	struct dnnl_shape shape;
	uint32_t	  block;
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

static struct layer
layer_new(struct dnnl_shape s, uint32_t block)
{
	struct rng r = rng_start(7, s.c, s.h);
	struct layer l = { .shape = s, .block = block, .xs = (size_t)s.n * s.c * s.h * s.w,
		.ys = (size_t)s.n * s.k * s.h * s.w, .ws = (size_t)s.k * s.c * 9 };

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

static size_t
blocked(const struct layer *l, uint32_t channels)
{
	return (channels + l->block - 1) / l->block * l->block * (size_t)l->shape.n * l->shape.h * l->shape.w;
}

/* The index of channel c of pixel i of sample n in a blocked layout. */
static size_t
place(const struct layer *l, uint32_t channels, size_t n, size_t c, size_t i)
{
	size_t pixels = (size_t)l->shape.h * l->shape.w, blocks = (channels + l->block - 1) / l->block;

	return ((n * blocks + c / l->block) * pixels + i) * l->block + c % l->block;
}

/* Copies [n, c, h, w] to blocks, or back. */
static void
copy(const struct layer *l, uint32_t channels, float *plain, float *blocks, bool back)
{
	size_t pixels = (size_t)l->shape.h * l->shape.w;

	for (size_t n = 0; n < l->shape.n; n++)
		for (size_t c = 0; c < channels; c++)
			for (size_t i = 0; i < pixels; i++) {
				float *a = &plain[(n * channels + c) * pixels + i];
				float *b = &blocks[place(l, channels, n, c, i)];

				*(back ? a : b) = *(back ? b : a);
			}
}

/* Are the lanes after the last channel zero? */
static bool
padded(const struct layer *l, uint32_t channels, const float *blocks)
{
	size_t whole = (channels + l->block - 1) / l->block * l->block;

	for (size_t n = 0; n < l->shape.n; n++)
		for (size_t c = channels; c < whole; c++)
			for (size_t i = 0; i < (size_t)l->shape.h * l->shape.w; i++)
				if (blocks[place(l, channels, n, c, i)] != 0)
					return false;
	return true;
}

/* Runs all three directions.  Returns true if they succeed and keep the padding lanes zero. */
static bool
run(struct layer *l, int threads)
{
	const struct dnnl_shape *s = &l->shape;
	struct dnnl_place at = { .x = room(blocked(l, s->c) * 4), .y = room(blocked(l, s->k) * 4),
		.dx = room(blocked(l, s->c) * 4), .dy = room(blocked(l, s->k) * 4), .bias = l->bias,
		.dbias = l->dbias };
	struct wino *w;
	int e;
	bool zero;

	omp_set_num_threads(threads);
	if (wino_new(s, l->block, &w) < 0) {
		printf("Bail out! %s\n", err_line());
		exit(1);
	}
	at.packed = room(wino_needs(w)->packed);
	at.scratch = room(wino_needs(w)->scratch);
	memset(at.scratch, 0xff, wino_needs(w)->scratch);	/* NaN: must be written before it is read */
	memset(at.y, 0xff, blocked(l, s->k) * 4);
	memset(at.dx, 0xff, blocked(l, s->c) * 4);
	copy(l, s->c, l->x, at.x, false);
	copy(l, s->k, l->dy, at.dy, false);
	wino_bind(w, &at);
	wino_load(w, l->w);
	e = wino_run(w, DNNL_FORWARD, NULL);
	e = e < 0 ? e : wino_run(w, DNNL_DATA, NULL);
	e = e < 0 ? e : wino_run(w, DNNL_WEIGHT, l->dw);
	if (e < 0)
		printf("# %s\n", err_line());
	copy(l, s->k, l->y, at.y, true);
	copy(l, s->c, l->dx, at.dx, true);
	zero = padded(l, s->k, at.y) && padded(l, s->c, at.dx);
	wino_free(w);
	free(at.x);
	free(at.y);
	free(at.dx);
	free(at.dy);
	free(at.packed);
	free(at.scratch);
	return e == 0 && zero;
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
	const size_t weight = (k * s->c + c) * 9 + tap;
	const long down = (long)tap / 3 - 1, right = (long)tap % 3 - 1;

	for (size_t n = 0; n < s->n; n++)
		for (long i = 0; i < (long)s->h; i++)
			for (long j = 0; j < (long)s->w; j++) {
				size_t y = ((n * s->k + k) * s->h + (size_t)i) * s->w + (size_t)j;
				size_t x = ((n * s->c + c) * s->h + (size_t)(i + down)) * s->w + (size_t)(j + right);

				if (i + down < 0 || i + down >= (long)s->h || j + right < 0 || j + right >= (long)s->w)
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
	size_t pixels = (size_t)s->h * s->w;

	for (size_t k = 0; k < s->k; k++)
		for (size_t c = 0; c < s->c; c++)
			for (size_t tap = 0; tap < 9; tap++)
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
close_to(const float *got, const double *want, size_t n, const char *shape, const char *what)
{
	double off = 0, size = 0;

	for (size_t i = 0; i < n; i++) {
		off += (got[i] - want[i]) * (got[i] - want[i]);
		size += want[i] * want[i];
	}
	if (!ok(sqrt(off) <= BOUND * sqrt(size), "%s: %s", shape, what))
		printf("# relative error %.2g\n", sqrt(off / size));
}

static void
compare(struct dnnl_shape s, uint32_t block)
{
	struct layer l, other;
	struct sums want;
	char name[80];

	s.r = s.s = 3;
	s.stride[0] = s.stride[1] = s.pad[0] = s.pad[1] = s.dilate[0] = s.dilate[1] = s.groups = 1;
	s.data = true;
	snprintf(name, sizeof(name), "%u of %ux%ux%u to %u in blocks of %u", s.n, s.c, s.h, s.w, s.k, block);
	ok(wino_fits(&s), "%s: fits", name);
	l = layer_new(s, block);
	other = layer_new(s, block);
	ok(run(&l, 1), "%s: lanes after the last channel stay zero", name);
	want = direct(&l);
	close_to(l.y, want.y, l.ys, name, s.relu ? "y, bias and ReLU" : "y");
	close_to(l.dx, want.dx, l.xs, name, "dx");
	close_to(l.dw, want.dw, l.ws, name, "dw");
	if (s.bias)
		close_to(l.dbias, want.dbias, s.k, name, "dbias");
	for (int threads = 2; threads <= 3; threads++) {
		run(&other, threads);
		ok(memcmp(l.y, other.y, l.ys * 4) == 0 && memcmp(l.dx, other.dx, l.xs * 4) == 0 &&
		    memcmp(l.dw, other.dw, l.ws * 4) == 0 && memcmp(l.dbias, other.dbias, s.k * 4) == 0,
		    "%s: %d threads give the bits of one thread", name, threads);
	}
	free(want.y);
	free(want.dx);
	free(want.dw);
	free(want.dbias);
	layer_free(&l);
	layer_free(&other);
}

/* A NaN in x becomes 0 with ReLU, and stays NaN without. */
static void
nan_pixel(bool relu)
{
	struct layer l = layer_new((struct dnnl_shape){ .n = 1, .c = 32, .h = 8, .w = 8, .k = 32, .relu = relu }, 16);
	size_t nan = 0;

	l.x[0] = NAN;
	run(&l, 1);
	for (size_t i = 0; i < l.ys; i++)
		nan += isnan(l.y[i]);
	ok(relu ? nan == 0 : nan >= 32 * 4, "NaN %s", relu ? "becomes 0 with ReLU" : "stays NaN without ReLU");
	layer_free(&l);
}

static void
rule(void)
{
	const struct dnnl_shape fits = { .n = 1, .c = 32, .h = 4, .w = 4, .k = 32, .r = 3, .s = 3, .stride = { 1, 1 },
		.pad = { 1, 1 }, .dilate = { 1, 1 }, .groups = 1 };
	struct dnnl_shape s[] = { fits, fits, fits, fits, fits, fits, fits, fits };
	bool any = false;

	s[0].c = 31;
	s[1].k = 31;
	s[2].h = 3;
	s[3].stride[1] = 2;
	s[4].pad[0] = 0;
	s[5].bf16 = true;
	s[6].channels_last = true;
	s[7].groups = 2;
	for (size_t i = 0; i < sizeof(s) / sizeof(*s); i++)
		any = any || wino_fits(&s[i]);
	ok(wino_fits(&fits) && !any, "wino_fits accepts 32 channels of 4x4 and refuses smaller or other shapes");
}

int
main(void)
{
	rule();
	compare((struct dnnl_shape){ .n = 1, .c = 32, .h = 4, .w = 4, .k = 32 }, 16);
	compare((struct dnnl_shape){ .n = 1, .c = 33, .h = 5, .w = 6, .k = 47, .bias = true }, 16);
	compare((struct dnnl_shape){ .n = 3, .c = 40, .h = 7, .w = 9, .k = 36, .bias = true, .relu = true }, 8);
	compare((struct dnnl_shape){ .n = 13, .c = 64, .h = 13, .w = 12, .k = 32, .bias = true }, 16);
	compare((struct dnnl_shape){ .n = 50, .c = 35, .h = 11, .w = 28, .k = 33, .relu = true }, 8);
	compare((struct dnnl_shape){ .n = 2, .c = 256, .h = 4, .w = 31, .k = 272, .bias = true }, 16);
	nan_pixel(false);
	nan_pixel(true);
	return done();
}
