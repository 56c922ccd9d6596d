/* arena - places in the GPU's memory: buffers where they are alive, and what a plan keeps, one behind the other. */
#include "engine/cuda/plan.h"

void
arena_views(const struct plan_step *s, void (*each)(void *arg, const struct plan_view *v), void *arg)
{
	const struct plan_view *v[] = { &s->x, &s->y, &s->dy, &s->dx, &s->before };

	for (size_t k = 0; k < sizeof(v) / sizeof(*v); k++)
		if (v[k]->c > 0)
			each(arg, v[k]);
	for (uint32_t k = 0; k < s->parts; k++)
		each(arg, &s->part[k]);
	if (s->keep != PLAN_NONE)
		each(arg, &(struct plan_view){ .buf = s->keep });
}

struct life {
	struct engine_plan *p;
	uint32_t	    step;
};

static void
touch_view_buffer(void *arg, const struct plan_view *v)
{
	struct life *t = arg;
	struct memplan_buf *b = &t->p->buf[v->buf];

	if (b->first == PLAN_NONE)
		b->first = t->step;
	b->last = t->step;
}

static size_t
reserve_kept(struct plan_kept *k, size_t bytes)
{
	size_t at = k->all;

	k->all += memplan_round(bytes);
	return at;
}

static void
place_kept(struct engine_plan *p)
{
	const struct graph_node *in = &p->graph->node[0];
	size_t n = p->batch;
	struct plan_kept *k = &p->kept;

	k->w = reserve_kept(k, p->graph->P * sizeof(float));
	k->g = reserve_kept(k, p->graph->P * sizeof(float));
	k->aux = reserve_kept(k, p->graph->A * sizeof(float));
	k->stats = reserve_kept(k, p->graph->A * sizeof(float));
	k->bn = reserve_kept(k, (size_t)p->lanes * 5 * sizeof(float));
	k->loss = reserve_kept(k, n * sizeof(float));
	k->before = reserve_kept(k, n * sizeof(uint32_t));
	k->prob = reserve_kept(k, n * p->graph->classes * sizeof(float));
	k->bad = reserve_kept(k, sizeof(uint32_t));
	k->small = k->all;
	k->label = reserve_kept(k, n * sizeof(struct kernel_label));
	k->key = reserve_kept(k, n * p->ndrop * sizeof(uint32_t));
	k->norm = reserve_kept(k, sizeof(struct kernel_norm));
	k->place = reserve_kept(k, n * sizeof(struct kernel_place));
	k->scale = reserve_kept(k, 2 * sizeof(float));
	k->small_bytes = k->all - k->small;
	k->mean = reserve_kept(k, (size_t)in->c * in->h * in->w * sizeof(float));
	k->batch = reserve_kept(k, 2 * memplan_round(n * in->c * in->h * in->w * sizeof(float) / 2));
	for (uint32_t i = 0; i < p->nmul; i++)
		p->mul[i].held = reserve_kept(k, p->mul[i].weight_bytes);
	for (uint32_t i = 0; i < p->nmul; i++) {
		if (p->mul[i].bn != PLAN_NONE)
			p->mul[i].bias = reserve_kept(k, 2 * p->mul[i].y.c * sizeof(float));
		if (p->type != KERNEL_F32)
			p->mul[i].added = reserve_kept(k, p->mul[i].y.c * kernel_size(p->type));
	}
}

/* What steps want of scratch, whatever the libraries do. */
static void
size_step_scratch(struct engine_plan *p)
{
	for (uint32_t i = 0; i < p->nstep; i++) {
		const struct plan_step *s = &p->step[i];
		const struct plan_view *v = s->kind == PLAN_BN ? &s->x : &s->dy;
		size_t bytes;

		if (s->kind != PLAN_BN && s->kind != PLAN_BN_BACK && s->kind != PLAN_BIAS_BACK)
			continue;
		bytes = run_bn_scratch(p->batch * v->h * v->w, v->c);
		if (bytes > p->sums_bytes)
			p->sums_bytes = bytes;
	}
	for (uint32_t i = 0; i < p->nmul; i++)
		if (memplan_round(p->mul[i].weight_bytes) > p->weight_bytes)
			p->weight_bytes = memplan_round(p->mul[i].weight_bytes);
}

int
arena_place(struct engine_plan *p)
{
	for (uint32_t s = 0; s < p->nstep; s++)
		arena_views(&p->step[s], touch_view_buffer, &(struct life){ p, s });
	if (memplan_place(p->buf, p->nbuf, &p->arena_bytes) < 0)
		return plan_nomem(p);
	place_kept(p);
	size_step_scratch(p);
	return 0;
}
