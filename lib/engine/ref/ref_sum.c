/*
 * ref_sum - elementwise sum or product of inputs of one shape.
 *
 *	add  y = x[0] + x[1] + ...;  dx of each += dy
 *	mul  y = x[0] x[1] ...;      dx[k] += dy times all x except x[k]
 */
#include "engine/ref/ref.h"

static void
ref_add_forward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	size_t count = p->n * ref_floats(l);

	for (size_t j = 0; j < count; j++) {
		double sum = 0;

		for (uint32_t k = 0; k < l->nin; k++)
			sum += p->y[l->in[k]][j];
		p->y[i][j] = (float)sum;
	}
}

static void
ref_add_backward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	size_t count = p->n * ref_floats(l);

	for (uint32_t k = 0; k < l->nin; k++)
		for (size_t j = 0; j < count; j++)
			p->dy[l->in[k]][j] += p->dy[i][j];
}

/* The product of element j of all inputs except number `but`. */
static double
multiply_others(const struct engine_plan *p, const struct graph_node *l, size_t j, uint32_t but)
{
	double all = 1;

	for (uint32_t k = 0; k < l->nin; k++)
		if (k != but)
			all *= p->y[l->in[k]][j];
	return all;
}

static void
ref_mul_forward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	size_t count = p->n * ref_floats(l);

	for (size_t j = 0; j < count; j++)
		p->y[i][j] = (float)multiply_others(p, l, j, l->nin);
}

static void
ref_mul_backward(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = &p->graph->node[i];
	size_t count = p->n * ref_floats(l);

	for (uint32_t k = 0; k < l->nin; k++)
		for (size_t j = 0; j < count; j++)
			p->dy[l->in[k]][j] += (float)(p->dy[i][j] * multiply_others(p, l, j, k));
}

const struct ref_op ref_add = { "add", ref_add_forward, ref_add_backward, NULL };
const struct ref_op ref_mul = { "mul", ref_mul_forward, ref_mul_backward, NULL };
