/*
 * cpu_act - each value into its activation, many at a time.
 *
 * The formulas are in ref_act.c.  The way back goes by y where it can, so that y
 * may lie over x; gelu and swish need x.
 *
 * exp is 2^k exp(r), |r| <= log(2)/2, exp(r) by a polynomial; tanh is one near 0
 * and (e - 1) / (e + 1), e = exp(2|x|), elsewhere.  Within 2 units in the last
 * place.  Polynomials: Moshier, Cephes library, expf.c and tanhf.c.  The error
 * function is within 1.5e-7: Abramowitz, Stegun, "Handbook of mathematical
 * functions", 1964, 7.1.26.
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

/* exp x - 1 for x <= 0 and what lies a little above, without losing the digits near 0: two tanh's worth. */
CPU_INLINE float
expm1_of(float x)
{
	float t = tanh_of(0.5f * x);

	return 2.0f * t / (1.0f - t);
}

/* P(Z <= x) of a normal Z; e = exp(-x^2 / 2). */
CPU_INLINE float
normal_of(float x, float e)
{
	float a = (x < 0 ? -x : x) * 0.70710678f, t = 1.0f / (1.0f + 0.3275911f * a), p;

	p = 1.061405429f;
	p = p * t - 1.453152027f;
	p = p * t + 1.421413741f;
	p = p * t - 0.284496736f;
	p = p * t + 0.254829592f;
	p = 0.5f * p * t * e;
	return x < 0 ? p : 1.0f - p;
}

CPU_INLINE float
sigmoid_of(float x)
{
	return 1.0f / (1.0f + exp_of(-x));
}

/* The inside of gelu_tanh's tanh: sqrt(2 / pi) (x + 0.044715 x^3). */
CPU_INLINE float
inner_of(float x)
{
	return tanh_of(0.79788456f * (x + 0.044715f * x * x * x));
}

CPU_INLINE float
act_of(enum graph_act act, float alpha, float x)
{
	switch (act) {
	case GRAPH_RELU:
		return x > 0 ? x : 0;
	case GRAPH_TANH:
		return tanh_of(x);
	case GRAPH_SIGMOID:
		return sigmoid_of(x);
	case GRAPH_LINEAR:
		return alpha * x;
	case GRAPH_LEAKY:
		return x > 0 ? x : alpha * x;
	case GRAPH_ELU:
		return x > 0 ? x : alpha * expm1_of(x);
	case GRAPH_GELU:
		return x * normal_of(x, exp_of(-0.5f * x * x));
	case GRAPH_GELU_TANH:
		return 0.5f * x * (1.0f + inner_of(x));
	default:
		return x * sigmoid_of(x);
	}
}

/* By y for the first six, by x for the rest, and for those of a negative alpha. */
CPU_INLINE float
slope_of(enum graph_act act, float alpha, float v)
{
	float t;

	switch (act) {
	case GRAPH_RELU:
		return v > 0 ? 1.0f : 0.0f;
	case GRAPH_TANH:
		return 1.0f - v * v;
	case GRAPH_SIGMOID:
		return v * (1.0f - v);
	case GRAPH_LINEAR:
		return alpha;
	case GRAPH_LEAKY:
		return v > 0 ? 1.0f : alpha;
	case GRAPH_ELU:
		return v > 0 ? 1.0f : alpha < 0 ? alpha * exp_of(v) : v + alpha;
	case GRAPH_GELU:
		t = exp_of(-0.5f * v * v);
		return normal_of(v, t) + v * t * 0.39894228f;
	case GRAPH_GELU_TANH:
		t = inner_of(v);
		return 0.5f * (1.0f + t + v * (1.0f - t * t) * 0.79788456f * (1.0f + 0.134145f * v * v));
	default:
		t = sigmoid_of(v);
		return t * (1.0f + v * (1.0f - t));
	}
}

bool
cpu_act_wants_x(const struct graph_node *node)
{
	return node->act >= GRAPH_GELU || ((node->act == GRAPH_LEAKY || node->act == GRAPH_ELU) && node->alpha < 0);
}

/* A loop for each kind, so that what is inside has no branches. */
#define EACH_ACT(DO) \
	switch (act) { \
	case GRAPH_RELU:	DO(GRAPH_RELU); break; \
	case GRAPH_TANH:	DO(GRAPH_TANH); break; \
	case GRAPH_SIGMOID:	DO(GRAPH_SIGMOID); break; \
	case GRAPH_LINEAR:	DO(GRAPH_LINEAR); break; \
	case GRAPH_LEAKY:	DO(GRAPH_LEAKY); break; \
	case GRAPH_ELU:		DO(GRAPH_ELU); break; \
	case GRAPH_GELU:	DO(GRAPH_GELU); break; \
	case GRAPH_GELU_TANH:	DO(GRAPH_GELU_TANH); break; \
	case GRAPH_SWISH:	DO(GRAPH_SWISH); break; \
	}

/* y may be x. */
CPU_INLINE void
forward(enum graph_act act, float alpha, const float *x, float *y, size_t count)
{
	for (size_t j = 0; j < count; j++)
		y[j] = act_of(act, alpha, x[j]);
}

CPU_CLONES static void
run_forward(enum graph_act act, float alpha, const float *x, float *y, size_t count)
{
#define FORWARD(kind) forward(kind, alpha, x, y, count)
	EACH_ACT(FORWARD)
}

/* dx may be d0; d1 is NULL when the gradient comes in one part. */
CPU_INLINE void
backward(enum graph_act act, float alpha, const float *restrict v, const float *d0, const float *restrict d1, float *dx,
    size_t count)
{
	if (d1 == NULL)
		for (size_t j = 0; j < count; j++)
			dx[j] = d0[j] * slope_of(act, alpha, v[j]);
	else
		for (size_t j = 0; j < count; j++)
			dx[j] = (d0[j] + d1[j]) * slope_of(act, alpha, v[j]);
}

CPU_CLONES static void
run_backward(enum graph_act act, float alpha, const float *restrict v, const float *d0, const float *restrict d1,
    float *dx, size_t count)
{
#define BACKWARD(kind) backward(kind, alpha, v, d0, d1, dx, count)
	EACH_ACT(BACKWARD)
}

void
cpu_act_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint32_t n)
{
	size_t blocks = cpu_blocks(y), unit = cpu_unit(y), fill = y->c % y->block;

	#pragma omp parallel for
	for (size_t i = 0; i < n; i++) {
		float *last = cpu_at(y, i, blocks - 1);

		run_forward(node->act, node->alpha, cpu_at(x, i, 0), cpu_at(y, i, 0), blocks * unit);
		for (size_t j = 0; node->act == GRAPH_SIGMOID && fill > 0 && j < unit; j++)
			if (j % y->block >= fill)
				last[j] = 0;
	}
}

void
cpu_act_backward(const struct graph_node *node, const struct cpu_view *from, const struct cpu_view *dy, uint32_t ndy,
    const struct cpu_view *dx, uint32_t n)
{
	size_t count = cpu_blocks(from) * cpu_unit(from);

	#pragma omp parallel for
	for (size_t i = 0; i < n; i++)
		run_backward(node->act, node->alpha, cpu_at(from, i, 0), cpu_at(&dy[0], i, 0),
		    ndy > 1 ? cpu_at(&dy[1], i, 0) : NULL, cpu_at(dx, i, 0), count);
}
