/*
 * cpu_act - each value into its activation, many at a time.
 *
 *	relu     y = max(x, 0)           dx = dy where y > 0
 *	tanh     y = tanh x              dx = dy (1 - y^2)
 *	sigmoid  y = 1 / (1 + exp -x)    dx = dy y (1 - y)
 *
 * exp is 2^k exp(r), |r| <= log(2)/2, exp(r) by a polynomial; tanh is one near 0
 * and (e - 1) / (e + 1), e = exp(2|x|), elsewhere.  Within 2 units in the last
 * place.  Polynomials: Moshier, Cephes library, expf.c and tanhf.c.
 */
#include "engine/cpu.h"
#include "engine/cpu_isa.h"

#include <omp.h>

CPU_INLINE float
exp_of(float x)
{
	const float most = 88.0f, log2e = 1.44269504f, high = 0.693359375f, low = -2.12194440e-4f;
	float k, r, p;
	union { float f; uint32_t u; } two;

	x = x > most ? most : x < -most ? -most : x;
	/* Rounded to a whole number by adding and taking off 1.5 * 2^23. */
	k = (x * log2e + 12582912.0f) - 12582912.0f;
	r = x - k * high - k * low;
	p = 1.9875691500e-4f;
	p = p * r + 1.3981999507e-3f;
	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	two.u = (uint32_t)((int32_t)k + 127) << 23;
	return (p * r * r + r + 1.0f) * two.f;
}

CPU_INLINE float
tanh_of(float x)
{
	float a = x < 0 ? -x : x, z = x * x, e = exp_of(2 * a), far = 1.0f - 2.0f / (e + 1.0f), p;

	p = -5.70498872745e-3f;
	p = p * z + 2.06390887954e-2f;
	p = p * z - 5.37397155531e-2f;
	p = p * z + 1.33314422036e-1f;
	p = p * z - 3.33332819422e-1f;
	return a < 0.625f ? p * z * x + x : x < 0 ? -far : far;
}

CPU_INLINE float
act_of(enum graph_act act, float x)
{
	switch (act) {
	case GRAPH_RELU:
		return x > 0 ? x : 0;
	case GRAPH_TANH:
		return tanh_of(x);
	default:
		return 1.0f / (1.0f + exp_of(-x));
	}
}

CPU_INLINE float
slope_of(enum graph_act act, float y)
{
	switch (act) {
	case GRAPH_RELU:
		return y > 0 ? 1.0f : 0.0f;
	case GRAPH_TANH:
		return 1.0f - y * y;
	default:
		return y * (1.0f - y);
	}
}

/* y may be x. */
CPU_CLONES static void
run_forward(enum graph_act act, const float *x, float *y, size_t count)
{
	switch (act) {
	case GRAPH_RELU:
		for (size_t j = 0; j < count; j++)
			y[j] = act_of(GRAPH_RELU, x[j]);
		break;
	case GRAPH_TANH:
		for (size_t j = 0; j < count; j++)
			y[j] = act_of(GRAPH_TANH, x[j]);
		break;
	case GRAPH_SIGMOID:
		for (size_t j = 0; j < count; j++)
			y[j] = act_of(GRAPH_SIGMOID, x[j]);
		break;
	}
}

/* dx may be d0; d1 is NULL when the gradient comes in one part. */
CPU_INLINE void
backward(enum graph_act act, const float *restrict y, const float *d0, const float *restrict d1, float *dx, size_t count)
{
	if (d1 == NULL)
		for (size_t j = 0; j < count; j++)
			dx[j] = d0[j] * slope_of(act, y[j]);
	else
		for (size_t j = 0; j < count; j++)
			dx[j] = (d0[j] + d1[j]) * slope_of(act, y[j]);
}

CPU_CLONES static void
run_backward(enum graph_act act, const float *restrict y, const float *d0, const float *restrict d1, float *dx,
    size_t count)
{
	switch (act) {
	case GRAPH_RELU:
		backward(GRAPH_RELU, y, d0, d1, dx, count);
		break;
	case GRAPH_TANH:
		backward(GRAPH_TANH, y, d0, d1, dx, count);
		break;
	case GRAPH_SIGMOID:
		backward(GRAPH_SIGMOID, y, d0, d1, dx, count);
		break;
	}
}

void
cpu_act_forward(enum graph_act act, const struct cpu_view *x, const struct cpu_view *y, uint32_t n)
{
	size_t blocks = cpu_blocks(y), unit = cpu_unit(y), fill = y->c % y->block;

	#pragma omp parallel for
	for (size_t i = 0; i < n; i++) {
		float *last = cpu_at(y, i, blocks - 1);

		run_forward(act, cpu_at(x, i, 0), cpu_at(y, i, 0), blocks * unit);
		for (size_t j = 0; act == GRAPH_SIGMOID && fill > 0 && j < unit; j++)
			if (j % y->block >= fill)
				last[j] = 0;
	}
}

void
cpu_act_backward(enum graph_act act, const struct cpu_view *y, const struct cpu_view *dy, uint32_t ndy,
    const struct cpu_view *dx, uint32_t n)
{
	size_t count = cpu_blocks(y) * cpu_unit(y);

	#pragma omp parallel for
	for (size_t i = 0; i < n; i++)
		run_backward(act, cpu_at(y, i, 0), cpu_at(&dy[0], i, 0), ndy > 1 ? cpu_at(&dy[1], i, 0) : NULL,
		    cpu_at(dx, i, 0), count);
}
