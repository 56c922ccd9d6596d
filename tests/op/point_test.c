/*
 * point_test - a 1x1 convolution against a direct one in f64.
 *
 * Channels that blocks do not divide, one and several chunks, few and many samples, gradients in one and in several
 * parts.  Any number of threads must give the same bits.
 */
#include "op/convs.h"

#include "base/err.h"
#include "engine/cpu/point/point.h"

#include <omp.h>

#define BOUND 6e-7	/* 3.3e-7 was measured */
#define GAP 48		/* floats between the samples of y with y_step */

static float *
filled(size_t count, int byte)
{
	float *p = room(count * sizeof(*p));

	memset(p, byte, count * sizeof(*p));
	return p;
}

/* Runs all three directions.  Returns true if they keep the padding lanes zero. */
static bool
run(struct layer *l, int threads)
{
	const struct dnnl_shape *s = &l->shape;
	const size_t y = blocked(l, true);
	struct dnnl_place at = { .x = room(blocked(l, false) * 4), .y = filled(y, 0xff), .dx = filled(blocked(l, false), 0xff),
		.dy = room(y * 4), .bias = l->bias, .dbias = l->dbias };
	struct point *p;
	bool zero;

	omp_set_num_threads(threads);
	if (point_new(s, &p) < 0) {
		printf("Bail out! %s\n", err_line());
		exit(1);
	}
	at.packed = filled(point_needs(p)->packed / 4, 0xff);
	at.scratch = filled(point_needs(p)->scratch / 4, 0xff);	/* NaN: must be written before it is read */
	copy(l, false, l->x, at.x, false);
	copy(l, true, l->dy, at.dy, false);
	point_bind(p, &at);
	point_load(p, l->w);
	point_run(p, DNNL_FORWARD, NULL);
	point_run(p, DNNL_DATA, NULL);
	point_run(p, DNNL_WEIGHT, l->dw);
	copy(l, true, l->y, at.y, true);
	copy(l, false, l->dx, at.dx, true);
	zero = padded(l, true, at.y) && padded(l, false, at.dx);
	point_free(p);
	free_place(&at);
	return zero;
}

static void
compare(struct dnnl_shape s)
{
	struct layer l, other;
	char name[80];

	s.r = s.s = s.stride[0] = s.stride[1] = s.dilate[0] = s.dilate[1] = s.groups = 1;
	s.data = true;
	snprintf(name, sizeof(name), "%u of %ux%ux%u to %u", s.n, s.c, s.h, s.w, s.k);
	ok(point_fits(&s), "%s: fits", name);
	l = layer_new(s, 16);
	other = layer_new(s, 16);
	compare_layer(&l, &other, run, BOUND, BOUND, name);
}

/* Makes the layer anew, and computes y from l->x into the place. */
static void
run_forward(struct layer *l, const struct dnnl_place *at)
{
	struct dnnl_place all = *at;
	struct point *p;

	copy(l, false, l->x, all.x, false);
	if (point_new(&l->shape, &p) < 0) {
		printf("Bail out! %s\n", err_line());
		exit(1);
	}
	all.packed = room(point_needs(p)->packed);
	point_bind(p, &all);
	point_load(p, l->w);
	point_run(p, DNNL_FORWARD, NULL);
	point_free(p);
	free(all.packed);
}

/* Scales, shifts and gaps between samples, as for a batch norm that evaluation folds into a concatenation. */
static void
compare_scaled(void)
{
	const uint32_t k = 40, pixels = 121, padded_k = 48;
	struct layer l = layer_new((struct dnnl_shape){ .n = 2, .c = 32, .h = 11, .w = 11, .k = k, .r = 1, .s = 1,
		.stride = { 1, 1 }, .dilate = { 1, 1 }, .groups = 1, .bias = true, .scaled = true,
		.y_step = padded_k * pixels + GAP }, 16);
	float scale[48] = { 0 }, shift[48] = { 0 }, *y = filled(2 * l.shape.y_step, 0xff);
	struct dnnl_place at = { .x = room(blocked(&l, false) * 4), .y = y, .bias = l.bias, .scale = scale, .shift = shift };
	struct sums want = direct(&l);
	size_t wrong = 0, gap = 0;

	for (uint32_t i = 0; i < k; i++) {
		scale[i] = 0.5f + 0.03125f * (float)i;
		shift[i] = (float)i - 20;
	}
	run_forward(&l, &at);
	for (size_t n = 0; n < 2; n++) {
		for (size_t c = 0; c < k; c++)
			for (size_t i = 0; i < pixels; i++) {
				double got = y[n * l.shape.y_step + (c / 16 * pixels + i) * 16 + c % 16];
				double wanted = scale[c] * want.y[(n * k + c) * pixels + i] + shift[c];

				wrong += !(fabs(got - wanted) <= 1e-4);
			}
		for (size_t i = 0; i < GAP; i++)
			gap += !isnan(y[n * l.shape.y_step + padded_k * pixels + i]);
	}
	is(wrong, 0, "a bias, then a scale and a shift, are in y");
	is(gap, 0, "the floats between the samples of y stay");
	sums_free(&want);
	layer_free(&l);
	free(at.x);
	free(y);
}

/* y has a bias if it has ReLU.  That of 512x257 is written with non-temporal stores. */
static void
compare_plus(uint32_t h, uint32_t w, bool relu)
{
	struct layer l = layer_new((struct dnnl_shape){ .n = 1, .c = 16, .h = h, .w = w, .k = 64, .r = 1, .s = 1,
		.stride = { 1, 1 }, .dilate = { 1, 1 }, .groups = 1, .bias = relu, .relu = relu, .plus = true }, 16);
	struct rng r = rng_start(5, h, w);
	float *plus = numbers(&r, l.ys), *packed_plus = room(l.ys * 4);
	struct dnnl_place at = { .x = room(blocked(&l, false) * 4), .y = filled(l.ys, 0xff), .bias = l.bias,
		.plus = packed_plus };
	struct sums want;
	size_t wrong = 0;

	l.shape.relu = false;	/* direct() has it before the sum */
	want = direct(&l);
	l.shape.relu = relu;
	copy(&l, true, plus, packed_plus, false);
	run_forward(&l, &at);
	copy(&l, true, l.y, at.y, true);
	for (size_t i = 0; i < l.ys; i++) {
		double wanted = want.y[i] + (double)plus[i];

		wrong += !(fabs(l.y[i] - (relu && wanted < 0 ? 0 : wanted)) <= 1e-5);
	}
	is(wrong, 0, "%ux%u pixels: a second map is in y%s", h, w, relu ? ", before ReLU" : "");
	sums_free(&want);
	layer_free(&l);
	free(plus);
	free(packed_plus);
	free(at.x);
	free(at.y);
}

static void
rule(void)
{
	const struct dnnl_shape fits = { .n = 1, .c = 64, .h = 7, .w = 7, .k = 16384, .r = 1, .s = 1, .stride = { 1, 1 },
		.dilate = { 1, 1 }, .groups = 1 };
	struct dnnl_shape s[] = { fits, fits, fits, fits, fits, fits, fits, fits };
	bool any = false;

	s[0].c = 65;
	s[1].w = 6;
	s[2].stride[1] = 2;
	s[3].pad[0] = 1;
	s[4].r = 3;
	s[5].bf16 = true;
	s[6].groups = 2;
	s[7].channels_last = true;
	for (size_t i = 0; i < sizeof(s) / sizeof(s[0]); i++)
		any |= point_fits(&s[i]);
	ok(point_fits(&fits) && !any, "the rule takes 1x1 convolutions of 1,048,576 weights and 49 pixels, and no others");
}

int
main(void)
{
	const struct dnnl_shape probe = { .n = 1, .c = 64, .h = 10, .w = 10, .k = 64, .r = 1, .s = 1, .stride = { 1, 1 },
		.dilate = { 1, 1 }, .groups = 1 };

	if (!point_fits(&probe)) {
		skip("point", "this processor has no AVX-512");
		return done();
	}
	rule();
	compare((struct dnnl_shape){ .n = 1, .c = 16, .h = 10, .w = 10, .k = 16 });
	compare((struct dnnl_shape){ .n = 3, .c = 20, .h = 13, .w = 11, .k = 33, .bias = true, .relu = true });
	compare((struct dnnl_shape){ .n = 5, .c = 96, .h = 28, .w = 28, .k = 32, .bias = true });
	compare((struct dnnl_shape){ .n = 35, .c = 40, .h = 14, .w = 14, .k = 112 });
	compare((struct dnnl_shape){ .n = 2, .c = 500, .h = 12, .w = 9, .k = 130, .relu = true });
	compare((struct dnnl_shape){ .n = 3, .c = 48, .h = 21, .w = 18, .k = 80 });
	compare((struct dnnl_shape){ .n = 9, .c = 264, .h = 7, .w = 7, .k = 1040, .bias = true });
	compare((struct dnnl_shape){ .n = 2, .c = 1072, .h = 7, .w = 8, .k = 130 });
	compare_scaled();
	compare_plus(11, 13, false);
	compare_plus(11, 13, true);
	compare_plus(512, 257, false);
	return done();
}
