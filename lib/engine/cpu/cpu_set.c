/*
 * cpu_set - the kernels of each batch size: the full one, and the last few short ones.
 *
 * All sizes share the buffers, because a sample's place in a view does not depend on the batch size, and the packed
 * weights.  A new short size replaces the least recently used one.  Evaluation makes its own kernels of a size when it
 * first runs.
 */
#include "engine/cpu/cpu.h"

#include "base/err.h"

#include <string.h>

static int
bind_set(struct engine_plan *p, const struct cpu_set *set)
{
	for (uint32_t i = 0; i < p->nconv; i++) {
		const struct cpu_conv_layer *m = &p->conv[i];
		struct dnnl_place at = { .x = m->x.p, .y = m->y.p, .dx = m->dx.p, .dy = m->dy.p, .packed = m->packed,
		    .bias = m->bias, .dbias = m->dbias, .plus = m->plus.p, .scratch = p->scratch,
		    .argmax = m->pool < 0 ? NULL : p->pool[m->pool].argmax };

		ERR_TRY(cpu_conv_bind(set->conv[i], &at));
		if (set->folded[i] == NULL)
			continue;
		at.y = m->bn_y.p;
		at.scale = p->bn[m->bn].scale;
		at.shift = p->bn[m->bn].shift;
		ERR_TRY(cpu_conv_bind(set->folded[i], &at));
	}
	return 0;
}

size_t
cpu_set_scratch(const struct engine_plan *p, const struct cpu_set *set)
{
	size_t most = p->scratch_least;

	for (uint32_t i = 0; i < p->nconv; i++) {
		if (cpu_conv_needs(set->conv[i])->scratch > most)
			most = cpu_conv_needs(set->conv[i])->scratch;
		if (set->folded[i] != NULL && cpu_conv_needs(set->folded[i])->scratch > most)
			most = cpu_conv_needs(set->folded[i])->scratch;
	}
	return most;
}

/* If scratch moved, all sets must be bound again. */
int
cpu_set_bind(struct engine_plan *p, const struct cpu_set *set)
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
	for (uint32_t i = 0; i < p->nconv && set->conv != NULL && set->folded != NULL; i++) {
		cpu_conv_free(set->conv[i]);
		cpu_conv_free(set->folded[i]);
		set->conv[i] = set->folded[i] = NULL;
	}
	set->n = 0;
	set->evaluates = false;
}

static int
fill_set(struct engine_plan *p, struct cpu_set *set, uint32_t n)
{
	for (uint32_t i = 0; i < p->nconv; i++) {
		struct dnnl_shape shape = p->conv[i].shape;
		int e;

		shape.n = n;
		if ((e = cpu_conv_new(p->dev->dnnl, &shape, p->set[0].conv[i], &set->conv[i])) < 0) {
			err_within("layer %s", p->graph->node[p->conv[i].node].name);
			return e;
		}
	}
	set->n = n;
	return cpu_set_bind(p, set);
}

/*
 * Makes the kernel that computes a convolution with its batch norm.  There is none where the library has only another
 * kernel than without: a slower one, or one that adds in another order.
 */
static int
fold_conv(struct engine_plan *p, struct cpu_set *set, uint32_t i)
{
	struct dnnl_shape shape = p->conv[i].shape;
	struct cpu_conv **folded = &set->folded[i];
	int e;

	shape.n = set->n;
	shape.scaled = true;
	shape.relu = p->conv[i].bn_relu;
	shape.data = false;
	shape.y_step = p->conv[i].bn_y.step;
	e = cpu_conv_new(p->dev->dnnl, &shape, set->conv[i], folded);
	if (e == 0 && strcmp(cpu_conv_needs(*folded)->kernel[DNNL_FORWARD],
	    cpu_conv_needs(set->conv[i])->kernel[DNNL_FORWARD]) != 0) {
		cpu_conv_free(*folded);
		*folded = NULL;
	}
	return e == ERR_NOTSUP ? 0 : e;
}

static int
fold_set(struct engine_plan *p, struct cpu_set *set)
{
	for (uint32_t i = 0; i < p->nconv; i++)
		if (p->conv[i].bn >= 0 && set->folded[i] == NULL)
			ERR_TRY(fold_conv(p, set, i));
	set->evaluates = true;
	return cpu_set_bind(p, set);
}

int
cpu_set_get(struct engine_plan *p, uint32_t n, bool evaluate, const struct cpu_set **set)
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
	if (evaluate && !s->evaluates)
		ERR_TRY(fold_set(p, s));
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
