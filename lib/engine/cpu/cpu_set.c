/*
 * cpu_set - oneDNN's kernels for each batch size met: the full one, and a few others for short batches.
 *
 * All sizes work in the same buffers, since a picture's place in a view does not
 * depend on how many there are, and on the same held weights.  Of the sizes beside
 * the full one, the one not used for longest makes room.
 */
#include "engine/cpu/cpu.h"

#include "base/err.h"

static int
bind_set(struct engine_plan *p, const struct cpu_set *set)
{
	int e = 0;

	for (uint32_t i = 0; i < p->nmul && e == 0; i++) {
		const struct cpu_mul *m = &p->mul[i];
		struct dnnl_place at = { .x = m->x.p, .y = m->y.p, .dx = m->dx.p, .dy = m->dy.p, .held = m->held,
		    .bias = m->bias, .dbias = m->dbias, .scratch = p->scratch };

		e = cpu_conv_bind(set->mul[i], &at);
	}
	return e;
}

size_t
cpu_set_scratch(const struct engine_plan *p, const struct cpu_set *set)
{
	size_t most = p->scratch_least;

	for (uint32_t i = 0; i < p->nmul; i++)
		if (cpu_conv_scratch(set->mul[i]) > most)
			most = cpu_conv_scratch(set->mul[i]);
	return most;
}

/* Makes room in scratch for a set, and binds it; all sets when scratch has moved. */
static int
settle_set(struct engine_plan *p, const struct cpu_set *set)
{
	int e = cpu_arena_scratch(p, cpu_set_scratch(p, set));

	if (e <= 0)
		return e < 0 ? e : bind_set(p, set);
	for (uint32_t i = 0; i < CPU_SETS; i++)
		if (p->set[i].n > 0 && (e = bind_set(p, &p->set[i])) < 0)
			return e;
	return 0;
}

static void
clear_set(const struct engine_plan *p, struct cpu_set *set)
{
	for (uint32_t i = 0; i < p->nmul && set->mul != NULL; i++) {
		cpu_conv_free(set->mul[i]);
		set->mul[i] = NULL;
	}
	set->n = 0;
}

static int
fill_set(struct engine_plan *p, struct cpu_set *set, uint32_t n)
{
	for (uint32_t i = 0; i < p->nmul; i++) {
		struct dnnl_shape shape = p->mul[i].shape;
		int e;

		shape.n = n;
		if ((e = cpu_conv_new(p->dev->dnnl, &shape, p->set[0].mul[i], &set->mul[i])) < 0) {
			err_within("layer %s", p->graph->node[p->mul[i].node].name);
			return e;
		}
	}
	set->n = n;
	return settle_set(p, set);
}

int
cpu_set_first(struct engine_plan *p)
{
	return settle_set(p, &p->set[0]);
}

int
cpu_set_get(struct engine_plan *p, uint32_t n, struct cpu_set **set)
{
	struct cpu_set *s = NULL;
	int e;

	for (uint32_t i = 0; i < CPU_SETS && s == NULL; i++)
		if (p->set[i].n == n)
			s = &p->set[i];
	if (s == NULL) {
		s = &p->set[1];
		for (uint32_t i = 2; i < CPU_SETS; i++)
			if (p->set[i].used < s->used)
				s = &p->set[i];
		clear_set(p, s);
		if ((e = fill_set(p, s, n)) < 0) {
			clear_set(p, s);
			return e;
		}
	}
	s->used = ++p->clock;
	*set = s;
	return 0;
}

void
cpu_set_free(struct engine_plan *p)
{
	for (uint32_t i = 0; i < CPU_SETS; i++)
		clear_set(p, &p->set[i]);
}
