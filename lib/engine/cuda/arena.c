/* arena - places in GPU memory: buffers, which share it over time, and kept memory. */
#include "engine/cuda/exec_plan.h"

/* Extends the life of a view's buffer to a step. */
static void
touch_buffer(struct engine_plan *p, uint32_t step, uint32_t buf)
{
	struct memplan_buf *b = &p->buf[buf];

	if (b->first == EXEC_NONE)
		b->first = step;
	b->last = step;
}

static void
touch_step_buffers(struct engine_plan *p, uint32_t step)
{
	const struct exec_step *s = &p->step[step];
	const struct exec_view *v[] = { &s->x, &s->y, &s->dy, &s->dx, &s->passed, &s->fold_input };

	for (size_t k = 0; k < sizeof(v) / sizeof(*v); k++)
		if (v[k]->c > 0)
			touch_buffer(p, step, v[k]->buf);
	for (uint32_t k = 0; k < s->parts; k++)
		touch_buffer(p, step, s->part[k].buf);
	if (s->keep != EXEC_NONE)
		touch_buffer(p, step, s->keep);
}

static size_t
reserve_kept(struct exec_kept *k, size_t bytes)
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
	struct exec_kept *k = &p->kept;

	k->w = reserve_kept(k, p->graph->P * sizeof(float));
	k->g = reserve_kept(k, p->graph->P * sizeof(float));
	k->aux = reserve_kept(k, p->graph->A * sizeof(float));
	k->stats = reserve_kept(k, p->graph->A * sizeof(float));
	k->bn = reserve_kept(k, (size_t)p->bn_channels * 5 * sizeof(float));
	k->loss = reserve_kept(k, n * sizeof(float));
	k->rank = reserve_kept(k, n * sizeof(uint32_t));
	k->prob = reserve_kept(k, n * p->graph->classes * sizeof(float));
	k->parts = reserve_kept(k, p->graph->classes < KERNEL_MANY ? 0 :
	    n * KERNEL_WARP * sizeof(struct kernel_softmax_part));
	k->bad = reserve_kept(k, sizeof(uint32_t));
	k->arrived = reserve_kept(k, p->arrived_bytes);
	for (int t = 0; t < EXEC_TABLES; t++)
		k->moves[t] = reserve_kept(k, run_weights_memory(p));
	k->inputs = k->all;
	k->label = reserve_kept(k, n * sizeof(struct kernel_label));
	k->target = reserve_kept(k, n * graph_targets(p->graph) * sizeof(float));
	k->positive = reserve_kept(k, graph_targets(p->graph) * sizeof(float));
	k->key = reserve_kept(k, n * p->ndrop * sizeof(uint32_t));
	k->norm = reserve_kept(k, sizeof(struct kernel_norm));
	k->image = reserve_kept(k, n * sizeof(struct kernel_image));
	k->scale = reserve_kept(k, 2 * sizeof(float));
	k->input_bytes = k->all - k->inputs;
	k->mean = reserve_kept(k, (size_t)in->c * in->h * in->w * sizeof(float));
	k->batch = reserve_kept(k, 2 * memplan_round(n * in->c * in->h * in->w * sizeof(float) / 2));
	for (uint32_t i = 0; i < p->nproducts; i++) {
		struct exec_product *m = &p->product[i];

		m->weight_at = reserve_kept(k, m->weight_bytes);
		m->grad_at = reserve_kept(k, m->learns ? m->weight_bytes : 0);
		if (m->bn != EXEC_NONE)
			m->fold_at = reserve_kept(k, 2 * m->y.c * sizeof(float));
		if (m->type != KERNEL_F32 || exec_node_at(p, m->node)->bias_at < 0)
			m->typed_bias_at = reserve_kept(k, m->y.c * kernel_size(m->type));
	}
}

/* The memory that the engine's own kernels need, whatever the libraries choose. */
static void
size_step_memory(struct engine_plan *p)
{
	for (uint32_t i = 0; i < p->nstep; i++) {
		const struct exec_step *s = &p->step[i];
		const struct exec_view *v = s->kind == EXEC_BN ? &s->x : &s->dy;
		size_t bytes, arrived;

		if (s->kind != EXEC_BN && s->kind != EXEC_BN_BACK && s->kind != EXEC_BIAS_BACK)
			continue;
		run_bn_memory(p->batch * v->h * v->w, v->c, &bytes, &arrived);
		p->sums_bytes = bytes > p->sums_bytes ? bytes : p->sums_bytes;
		p->arrived_bytes = arrived > p->arrived_bytes ? arrived : p->arrived_bytes;
	}
}

int
arena_place(struct engine_plan *p)
{
	for (uint32_t s = 0; s < p->nstep; s++)
		touch_step_buffers(p, s);
	if (memplan_place(p->buf, p->nbuf, &p->arena_bytes) < 0)
		return device_nomem(p->dev->host);
	size_step_memory(p);
	place_kept(p);
	return 0;
}
