/* ref_half - what a layer multiplies, rounded to bf16 before it runs, and its input put back behind it. */
#include "engine/ref.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* To nearest, ties to even; what is no number stays none. */
static float
rounded(float v)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	if (v != v)
		return v;
	u += 0x7fff + (u >> 16 & 1);
	u &= 0xffff0000u;
	memcpy(&v, &u, sizeof(v));
	return v;
}

static bool
multiplies(const struct graph_node *l)
{
	return l->op == GRAPH_CONV || l->op == GRAPH_FC;
}

int
ref_half_take(struct engine_plan *p)
{
	size_t most = 0;

	if (!p->bf16)
		return 0;
	for (uint32_t i = 1; i < p->graph->n; i++)
		if (multiplies(&p->graph->node[i]) && ref_floats(ref_in(p->graph, i, 0)) > most)
			most = ref_floats(ref_in(p->graph, i, 0));
	p->memory.scratch += most * p->batch * sizeof(*p->half);
	return (p->half = calloc(most + 1, p->batch * sizeof(*p->half))) != NULL ? 0 : err_nomem();
}

void
ref_half_round(const struct engine_plan *p, const float *from, float *to, size_t n)
{
	for (size_t j = 0; j < n; j++)
		to[j] = p->bf16 ? rounded(from[j]) : from[j];
}

void
ref_half_run(struct engine_plan *p, uint32_t i, void (*pass)(struct engine_plan *p, uint32_t i))
{
	const struct graph_node *l = &p->graph->node[i];
	float **x = &p->y[l->in[0]], *whole = *x;

	if (p->bf16 && multiplies(l)) {
		ref_half_round(p, whole, p->half, p->n * ref_floats(ref_in(p->graph, i, 0)));
		ref_half_round(p, p->dy[i], p->dy[i], p->n * ref_floats(l));
		*x = p->half;
	}
	pass(p, i);
	*x = whole;
}
