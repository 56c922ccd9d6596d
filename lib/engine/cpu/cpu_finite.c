/* cpu_finite - is what a step forward gave all numbers? */
#include "engine/cpu/cpu.h"
#include "base/isa.h"
#include "base/num.h"

/* Sixteen bits whose exponent is all ones are an infinity or no number. */
ISA_CLONES(static, bool, finite_halves, (const uint16_t *p, size_t n), (p, n))
{
	unsigned bad = 0;

	for (size_t j = 0; j < n; j++)
		bad |= (p[j] & 0x7f80) == 0x7f80;
	return bad == 0;
}

static bool
finite_view(const struct cpu_view *v, uint32_t n)
{
	struct cpu_lines l = cpu_lines(v);
	bool all = true;

	for (size_t k = 0; k < n * l.lines && all; k++) {
		const void *line = cpu_nth(v, k / l.lines, k % l.lines * v->pitch);

		all = v->half ? finite_halves(line, l.count) : num_finite(line, l.count);
	}
	return all;
}

bool
cpu_finite(const struct engine_plan *p, const struct cpu_step *s, uint32_t n)
{
	/* ReLU makes 0 of what its batch norm made of -infinity, but not of what made that. */
	const struct cpu_bn *bn = s->kind == CPU_BN ? &p->bn[s->state] : NULL;
	size_t c = p->graph->node[s->node].c;

	/* A copy is a part of what its node gives, and its source was looked at. */
	if (s->kind == CPU_COPY)
		return true;
	return finite_view(&s->y, n) && (bn == NULL || (num_finite(bn->scale, c) && num_finite(bn->shift, c)));
}
