/*
 * cpu_act - activations.
 *
 * The formulas are in ref_act.c.  The backward pass reads y if it can, so that y may overwrite x; gelu and swish need
 * x.
 *
 * exp(x) is 2^k exp(r), |r| <= log(2)/2, with exp(r) by a polynomial.  tanh(x) is a polynomial near 0, and elsewhere
 * 1 - 2 / (exp(2|x|) + 1) with the sign of x.  Both are within 2 units in the last place.  Polynomials: Moshier, Cephes
 * library, expf.c and tanhf.c.  The error function is within 1.5e-7: Abramowitz, Stegun, "Handbook of mathematical
 * functions", 1964, 7.1.26.
 *
 * In bf16 the normal distribution and the slope of gelu come from polynomials (bn_gelu.h).
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/bn/bn_gelu.h"
#include "engine/cpu/cpu_vec.h"

#include <math.h>
#include <omp.h>

ISA_INLINE float
exp_of(float x)
{
	const float most = 88.0f, log2e = 1.44269504f, high = 0.693359375f, low = -2.12194440e-4f;
	float k, r, p;
	union { float f; uint32_t u; } two;

	x = x > most ? most : x < -most ? -most : x;
	/* Adding and subtracting 1.5 * 2^23 rounds to an integer. */
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

ISA_INLINE float
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

/* exp(x) - 1 for x <= 0 and a little above, accurate near 0 too. */
ISA_INLINE float
expm1_of(float x)
{
	float t = tanh_of(0.5f * x);

	return 2.0f * t / (1.0f - t);
}

/* P(Z <= x) of a normal Z; e = exp(-x^2 / 2). */
ISA_INLINE float
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

/* 1/2 + x p(x^2), as in bn_gelu.h. */
ISA_INLINE float
half_plus_odd(float x, const float c[BN_GELU_TERMS])
{
	const float most = BN_GELU_MOST;
	float z, p = c[0];

	x = x > most ? most : x < -most ? -most : x;
	z = x * x;
	#pragma GCC unroll 7
	for (int i = 1; i < BN_GELU_TERMS; i++)
		p = fmaf(p, z, c[i]);
	return fmaf(x, p, 0.5f);
}

/* normal_of() with a larger error. */
ISA_INLINE float
rough_normal_of(float x)
{
	static const float c[] = BN_GELU_NORMAL;

	x = half_plus_odd(x, c);
	return x < 0 ? 0 : x;	/* at -4 it is a little below 0, which gelu would multiply by any x */
}

/* The slope of gelu in the same way. */
ISA_INLINE float
rough_gelu_slope_of(float x)
{
	static const float c[] = BN_GELU_SLOPE;

	return half_plus_odd(x, c);
}

ISA_INLINE float
sigmoid_of(float x)
{
	return 1.0f / (1.0f + exp_of(-x));
}

/* The tanh of gelu_tanh: of sqrt(2 / pi) (x + 0.044715 x^3). */
ISA_INLINE float
gelu_tanh_of(float x)
{
	return tanh_of(0.79788456f * (x + 0.044715f * x * x * x));
}

/* bf16: the result will be rounded to bf16. */
ISA_INLINE float
act_of(enum graph_act act, float alpha, float x, bool bf16)
{
	switch (act) {
	case GRAPH_RELU:
		return x <= 0 ? 0 : x;
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
		return x * (bf16 ? rough_normal_of(x) : normal_of(x, exp_of(-0.5f * x * x)));
	case GRAPH_GELU_TANH:
		return 0.5f * x * (1.0f + gelu_tanh_of(x));
	default:
		return x * sigmoid_of(x);
	}
}

/* v is y, or x if cpu_act_wants_x(). */
ISA_INLINE float
slope_of(enum graph_act act, float alpha, float v, bool bf16)
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
		if (bf16)
			return rough_gelu_slope_of(v);
		t = exp_of(-0.5f * v * v);
		return normal_of(v, t) + v * t * 0.39894228f;
	case GRAPH_GELU_TANH:
		t = gelu_tanh_of(v);
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

/* A loop for each activation and type, so that its body has no branches. */
#define EACH_ACT(DO, bf16) \
	switch (act) { \
	case GRAPH_RELU:	DO(GRAPH_RELU, bf16); break; \
	case GRAPH_TANH:	DO(GRAPH_TANH, bf16); break; \
	case GRAPH_SIGMOID:	DO(GRAPH_SIGMOID, bf16); break; \
	case GRAPH_LINEAR:	DO(GRAPH_LINEAR, bf16); break; \
	case GRAPH_LEAKY:	DO(GRAPH_LEAKY, bf16); break; \
	case GRAPH_ELU:		DO(GRAPH_ELU, bf16); break; \
	case GRAPH_GELU:	DO(GRAPH_GELU, bf16); break; \
	case GRAPH_GELU_TANH:	DO(GRAPH_GELU_TANH, bf16); break; \
	case GRAPH_SWISH:	DO(GRAPH_SWISH, bf16); break; \
	}

/* y may be x. */
ISA_INLINE void
act_forward_line(enum graph_act act, float alpha, const void *x, void *y, size_t count, bool bf16)
{
	ISA_IVDEP
	for (size_t j = 0; j < count; j++)
		cpu_write(y, j, bf16, act_of(act, alpha, cpu_read(x, j, bf16), bf16));
}

ISA_CLONES(static, void, run_forward, (enum graph_act act, float alpha, const void *x, void *y, size_t count,
    bool bf16),
    (act, alpha, x, y, count, bf16))
{
#define FORWARD(kind, bf16) act_forward_line(kind, alpha, x, y, count, bf16)
	if (bf16)
		EACH_ACT(FORWARD, true)
	else
		EACH_ACT(FORWARD, false)
}

/* dx may be d0.  The gradient of y is d0 + d1; d1 NULL: d0 alone. */
ISA_INLINE void
act_backward_line(enum graph_act act, float alpha, const void *restrict v, const void *d0, const void *restrict d1,
    void *dx, size_t count, bool bf16)
{
	if (d1 == NULL) {
		ISA_IVDEP
		for (size_t j = 0; j < count; j++)
			cpu_write(dx, j, bf16,
			    cpu_read(d0, j, bf16) * slope_of(act, alpha, cpu_read(v, j, bf16), bf16));
	} else {
		ISA_IVDEP
		for (size_t j = 0; j < count; j++)
			cpu_write(dx, j, bf16, (cpu_read(d0, j, bf16) + cpu_read(d1, j, bf16)) *
			    slope_of(act, alpha, cpu_read(v, j, bf16), bf16));
	}
}

ISA_CLONES(static, void, run_backward, (enum graph_act act, float alpha, const void *restrict v, const void *d0,
    const void *restrict d1, void *dx, size_t count, bool bf16),
    (act, alpha, v, d0, d1, dx, count, bf16))
{
#define BACKWARD(kind, bf16) act_backward_line(kind, alpha, v, d0, d1, dx, count, bf16)
	if (bf16)
		EACH_ACT(BACKWARD, true)
	else
		EACH_ACT(BACKWARD, false)
}

void
cpu_act_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint32_t n)
{
	size_t blocks = cpu_blocks(y), unit = cpu_unit(y), fill = y->c % y->block;
	struct cpu_lines l = cpu_lines_of(x, cpu_lines(y));

	#pragma omp parallel for
	for (size_t k = 0; k < n * l.lines; k++) {
		size_t i = k / l.lines, line = k % l.lines;

		run_forward(node->act, node->alpha, cpu_elem(x, i, line * x->pitch), cpu_elem(y, i, line * y->pitch),
		    l.count, y->bf16);
		if (node->act == GRAPH_SIGMOID && fill > 0)	/* sigmoid(0) is 1/2, and padding lanes must be 0 */
			for (size_t j = 0; j < unit; j++)
				if (j % y->block >= fill)
					cpu_write(cpu_at(y, i, blocks - 1), j, y->bf16, 0);
	}
}

void
cpu_act_backward(const struct graph_node *node, const struct cpu_view *v, const struct cpu_view *dy, uint32_t ndy,
    const struct cpu_view *dx, uint32_t n)
{
	struct cpu_lines l = cpu_lines_of(dx, cpu_lines_of(&dy[0], cpu_lines(v)));

	if (ndy > 1)
		l = cpu_lines_of(&dy[1], l);
	#pragma omp parallel for
	for (size_t k = 0; k < n * l.lines; k++) {
		size_t i = k / l.lines, line = k % l.lines;

		run_backward(node->act, node->alpha, cpu_elem(v, i, line * v->pitch),
		    cpu_elem(&dy[0], i, line * dy[0].pitch), ndy > 1 ? cpu_elem(&dy[1], i, line * dy[1].pitch) :
		    NULL, cpu_elem(dx, i, line * dx->pitch), l.count, dx->bf16);
	}
}
