/* cpu_finite - is what a step forward gave all numbers? */
#include "engine/cpu.h"
#include "base/num.h"

static bool
finite_view(const struct cpu_view *v, uint32_t n)
{
	bool all = true;

	for (uint32_t i = 0; i < n && all; i++)
		all = num_finite(cpu_at(v, i, 0), cpu_blocks(v) * cpu_unit(v));
	return all;
}

bool
cpu_finite(const struct engine_plan *p, const struct cpu_step *s, uint32_t n)
{
	/* ReLU hides what its batch norm made, but not by what it made it. */
	const struct cpu_bn *bn = s->kind == CPU_BN ? &p->bn[s->state] : NULL;
	size_t c = p->graph->node[s->node].c;

	/* A copy is a part of what its node gives, and its source was looked at. */
	if (s->kind == CPU_COPY)
		return true;
	return finite_view(&s->y, n) && (bn == NULL || (num_finite(bn->scale, c) && num_finite(bn->shift, c)));
}
