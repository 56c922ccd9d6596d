/* cpu_finite - looks for NaN and infinities in the output of a step. */
#include "engine/cpu/cpu.h"
#include "base/isa.h"
#include "base/num.h"

/* A bf16 whose exponent bits are all ones is infinite or NaN. */
ISA_CLONES(static, bool, finite_bf16, (const uint16_t *p, size_t n), (p, n))
{
	unsigned bad = 0;

	for (size_t j = 0; j < n; j++)
		bad |= (p[j] & 0x7f80) == 0x7f80;
	return bad == 0;
}

static bool
is_view_finite(const struct cpu_view *v, uint32_t n)
{
	struct cpu_lines l = cpu_lines(v);
	bool all = true;

	for (size_t k = 0; k < n * l.lines && all; k++) {
		const void *line = cpu_elem(v, k / l.lines, k % l.lines * v->pitch);

		all = v->bf16 ? finite_bf16(line, l.count) : num_finite(line, l.count);
	}
	return all;
}

bool
cpu_finite(const struct engine_plan *p, const struct cpu_step *s, uint32_t n)
{
	/* ReLU hides a batch norm's -infinity, but not the infinite scale or shift that caused it. */
	const struct cpu_bn *bn = s->kind == CPU_BN ? &p->bn[s->state] : NULL;
	size_t c = p->graph->node[s->node].c;

	/* A copy is a part of its node's output, and its source has been checked. */
	if (s->kind == CPU_COPY)
		return true;
	return is_view_finite(&s->y, n) && (bn == NULL || (num_finite(bn->scale, c) && num_finite(bn->shift, c)));
}
