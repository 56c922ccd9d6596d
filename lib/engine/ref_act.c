/*
 * ref_act - each value into its activation.
 *
 *	relu     y = max(x, 0)          dx += dy where y > 0
 *	tanh     y = tanh x             dx += dy (1 - y^2)
 *	sigmoid  y = 1 / (1 + exp -x)   dx += dy y (1 - y)
 *
 * At 0, where relu has no derivative, it is 0, as in MXNet and cuDNN.
 */
#include "engine/ref.h"

#include <math.h>

static void
forward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	const float *x = p->y[l->in[0]];
	size_t count = p->n * ref_floats(l);
	float *y = p->y[i];

	switch (l->act) {
	case GRAPH_RELU:
		for (size_t j = 0; j < count; j++)
			y[j] = x[j] > 0 ? x[j] : 0;
		break;
	case GRAPH_TANH:
		for (size_t j = 0; j < count; j++)
			y[j] = (float)tanh(x[j]);
		break;
	case GRAPH_SIGMOID:
		for (size_t j = 0; j < count; j++)
			y[j] = (float)(1 / (1 + exp(-(double)x[j])));
		break;
	}
}

static void
backward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	const float *y = p->y[i], *dy = p->dy[i];
	size_t count = p->n * ref_floats(l);
	float *dx = p->dy[l->in[0]];

	switch (l->act) {
	case GRAPH_RELU:
		for (size_t j = 0; j < count; j++)
			dx[j] += y[j] > 0 ? dy[j] : 0;
		break;
	case GRAPH_TANH:
		for (size_t j = 0; j < count; j++)
			dx[j] += (float)(dy[j] * (1 - (double)y[j] * y[j]));
		break;
	case GRAPH_SIGMOID:
		for (size_t j = 0; j < count; j++)
			dx[j] += (float)(dy[j] * (double)y[j] * (1 - (double)y[j]));
		break;
	}
}

const struct ref_op ref_act = { "act", forward, backward, NULL };
