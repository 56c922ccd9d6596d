/*
 * ref_act - activations of single values.
 *
 *	relu       y = 0 where x <= 0, else x        y' = 1 where y > 0
 *	tanh       y = tanh x                        y' = 1 - y^2
 *	sigmoid    y = 1 / (1 + exp -x)              y' = y (1 - y)
 *	linear     y = a x                           y' = a
 *	leaky      y = x where x > 0, else a x       y' = 1, a
 *	elu        y = x where x > 0, else a (exp x - 1)    y' = 1, a exp x
 *	gelu       y = x P(x), P(x) = (1 + erf(x / sqrt 2)) / 2    y' = P(x) + x exp(-x^2 / 2) / sqrt(2 pi)
 *	gelu_tanh  y = x (1 + tanh u) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3)
 *	                                             y' = (1 + t + x (1 - t^2) u') / 2, t = tanh u
 *	swish      y = x s, s = 1 / (1 + exp -x)     y' = s (1 + x (1 - s))
 *
 * a is alpha; dx += dy y'.  At 0, relu, leaky and elu have no derivative and use that of the left side, as MXNet, cuDNN
 * and PyTorch do.  Sources: Clevert, Unterthiner, Hochreiter, "ELU", ICLR 2016; Hendrycks, Gimpel, "GELU", 2016;
 * Ramachandran, Zoph, Le, "Searching for Activation Functions", 2017.
 */
#include "engine/ref/ref.h"

#include <math.h>

static double
compute_sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

/* P(Z <= x) for a standard normal Z. */
static double
compute_normal_cdf(double x)
{
	return erfc(-x * M_SQRT1_2) / 2;
}

/* t of gelu_tanh. */
static double
compute_gelu_inner(double x)
{
	return tanh(sqrt(M_2_PI) * (x + 0.044715 * x * x * x));
}

static double
compute_act(const struct graph_node *l, double x)
{
	switch (l->act) {
	case GRAPH_RELU:
		return x <= 0 ? 0 : x;
	case GRAPH_TANH:
		return tanh(x);
	case GRAPH_SIGMOID:
		return compute_sigmoid(x);
	case GRAPH_LINEAR:
		return l->alpha * x;
	case GRAPH_LEAKY:
		return x > 0 ? x : l->alpha * x;
	case GRAPH_ELU:
		return x > 0 ? x : l->alpha * expm1(x);
	case GRAPH_GELU:
		return x * compute_normal_cdf(x);
	case GRAPH_GELU_TANH:
		return x * (1 + compute_gelu_inner(x)) / 2;
	default:
		return x * compute_sigmoid(x);
	}
}

static double
compute_act_slope(const struct graph_node *l, double x)
{
	double t;

	switch (l->act) {
	case GRAPH_RELU:
		return x > 0;
	case GRAPH_TANH:
		t = tanh(x);
		return 1 - t * t;
	case GRAPH_SIGMOID:
		t = compute_sigmoid(x);
		return t * (1 - t);
	case GRAPH_LINEAR:
		return l->alpha;
	case GRAPH_LEAKY:
		return x > 0 ? 1 : l->alpha;
	case GRAPH_ELU:
		return x > 0 ? 1 : l->alpha * exp(x);
	case GRAPH_GELU:
		return compute_normal_cdf(x) + x * exp(-x * x / 2) / sqrt(2 * M_PI);
	case GRAPH_GELU_TANH:
		t = compute_gelu_inner(x);
		return (1 + t + x * (1 - t * t) * sqrt(M_2_PI) * (1 + 3 * 0.044715 * x * x)) / 2;
	default:
		t = compute_sigmoid(x);
		return t * (1 + x * (1 - t));
	}
}

static void
ref_act_forward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	const float *x = p->y[l->in[0]];
	size_t count = p->n * ref_floats(l);
	float *y = p->y[i];

	for (size_t j = 0; j < count; j++)
		y[j] = (float)compute_act(l, x[j]);
}

static void
ref_act_backward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	const float *x = p->y[l->in[0]], *dy = p->dy[i];
	size_t count = p->n * ref_floats(l);
	float *dx = p->dy[l->in[0]];

	for (size_t j = 0; j < count; j++)
		dx[j] += (float)(dy[j] * compute_act_slope(l, x[j]));
}

const struct ref_op ref_act = { "act", ref_act_forward, ref_act_backward, NULL };
