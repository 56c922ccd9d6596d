/* cpu - batches into losses and gradients: the steps of a plan, run in turn. */
#include "engine/cpu.h"

#include "base/err.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/*
 * oneDNN deals its work to as many threads as a team may have: were a team smaller than it was told, as under
 * OMP_THREAD_LIMIT or OMP_DYNAMIC, gradients would lack the share of those that are missing.
 */
static unsigned
team(unsigned threads)
{
	unsigned most = (unsigned)omp_get_thread_limit();

	omp_set_dynamic(0);
	if (threads == 0)
		threads = (unsigned)omp_get_max_threads();
	return threads < most ? threads : most;
}

static int
cpu_open(uint32_t index, unsigned threads, struct engine_dev **dev)
{
	struct engine_dev *d = calloc(1, sizeof(*d));
	int e;

	(void)index;
	if (d == NULL)
		return err_nomem();
	d->threads = team(threads);
	if ((e = dnnl_dev_open(&d->dnnl)) < 0) {
		free(d);
		return e;
	}
	*dev = d;
	return 0;
}

static void
cpu_close(struct engine_dev *dev)
{
	if (dev != NULL)
		dnnl_dev_close(dev->dnnl);
	free(dev);
}

static int
cpu_describe(const struct engine_dev *dev, struct buf *out)
{
	int e;

	if ((e = buf_put_fmt(out, "cpu: ")) < 0 || (e = dnnl_dev_describe(dev->dnnl, out)) < 0)
		return e;
	return buf_put_fmt(out, ", %u thread%s", dev->threads, dev->threads > 1 ? "s" : "");
}

/* How many threads a parallel loop takes is known to the calling thread alone: say it at each entry. */
static void
enter(const struct engine_dev *dev)
{
	omp_set_num_threads((int)dev->threads);
}

/* ------ plan ------ */

static void
cpu_plan_free(struct engine_plan *p)
{
	if (p == NULL)
		return;
	cpu_set_free(p);
	for (uint32_t i = 0; i < CPU_SETS; i++)
		free(p->set[i].mul);
	cpu_arena_free(p);
	free(p->step);
	free(p->buf);
	free(p->mul);
	free(p->bn);
	free(p->pool);
	free(p->state);
	free(p->label);
	free(p->mix);
	free(p);
}

/* Gamma counts as 1 where it is fixed, whatever is loaded. */
static void
fix_gammas(struct engine_plan *p)
{
	for (uint32_t i = 0; i < p->nbn; i++) {
		const struct graph_node *l = &p->graph->node[p->bn[i].node];

		for (uint32_t c = 0; l->fix_gamma && c < l->c; c++)
			p->bn[i].gamma[c] = 1;
	}
}

static int
cpu_sketch(struct engine_dev *dev, const struct graph *graph, uint32_t batch, enum engine_precision precision,
    struct engine_plan **plan)
{
	struct engine_plan *p;
	int e;

	assert(batch > 0 && graph->classes > 0);
	*plan = NULL;
	if (precision != ENGINE_F32 && precision != ENGINE_BF16)
		return err_fail(ERR_NOTSUP, "engine cpu computes in f32 and bf16, not in %s", engine_precision_name(precision));
	if (precision == ENGINE_BF16 && (e = dnnl_dev_bf16(dev->dnnl)) < 0)
		return e;
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_nomem();
	enter(dev);
	p->dev = dev;
	p->graph = graph;
	p->batch = batch;
	p->bf16 = precision == ENGINE_BF16;
	if ((e = cpu_plan_make(p)) < 0 || (e = cpu_arena_place(p)) < 0) {
		cpu_plan_free(p);
		return e;
	}
	*plan = p;
	return 0;
}

static int
cpu_take(struct engine_plan *p)
{
	int e;

	enter(p->dev);
	if ((e = cpu_arena_take(p)) < 0 || (e = cpu_set_first(p)) < 0)
		return e;
	fix_gammas(p);
	return 0;
}

static int
cpu_plan(struct engine_dev *dev, const struct graph *graph, uint32_t batch, enum engine_precision precision,
    struct engine_plan **plan)
{
	return engine_plan_beside(&engine_cpu, dev, graph, batch, precision, 0, plan);
}

static void
cpu_memory(const struct engine_plan *p, struct engine_memory *m)
{
	*m = (struct engine_memory) { p->arena_bytes, p->kept_bytes, p->scratch_bytes };
}

/* ------ arrays in and out ------ */

static int
cpu_load(struct engine_plan *p, uint32_t a, const float *w)
{
	const struct graph_array *array = &p->graph->w[a];
	uint32_t state = p->state[array->node];
	size_t bytes = array->count * sizeof(*w);

	assert(a < p->graph->nw);
	switch (array->role) {
	case GRAPH_WEIGHT:
		enter(p->dev);
		return dnnl_mul_load(p->set[0].mul[state], w);
	case GRAPH_BIAS:
		memcpy(p->mul[state].bias, w, bytes);
		return 0;
	case GRAPH_GAMMA:
		if (!p->graph->node[array->node].fix_gamma)
			memcpy(p->bn[state].gamma, w, bytes);
		return 0;
	default:
		memcpy(p->bn[state].beta, w, bytes);
		return 0;
	}
}

static int
cpu_load_aux(struct engine_plan *p, const float *aux)
{
	if (p->graph->A > 0)	/* without batch norm aux may be NULL */
		memcpy(p->aux, aux, p->graph->A * sizeof(*aux));
	return 0;
}

/* Calls a hook for one learned array; -1 is none. */
static int
call(int (*hook)(void *arg, uint32_t a), const struct engine_hook *h, int32_t a)
{
	return hook == NULL || a < 0 ? 0 : hook(h->arg, (uint32_t)a);
}

static int
need(const struct engine_hook *h, const struct graph_node *l)
{
	int e;

	if (h == NULL)
		return 0;
	if ((e = call(h->need, h, l->weight)) != 0 || (e = call(h->need, h, l->bias_at)) != 0 ||
	    (e = call(h->need, h, l->gamma)) != 0)
		return e;
	return call(h->need, h, l->beta);
}

static int
born(const struct engine_hook *h, const struct graph *g, const struct graph_node *l)
{
	const int32_t has[] = { l->weight, l->bias_at, l->gamma, l->beta };
	int e = 0;

	for (size_t i = 0; h != NULL && i < sizeof(has) / sizeof(*has) && e == 0; i++)
		if (has[i] >= 0 && !g->w[has[i]].frozen)
			e = call(h->born, h, has[i]);
	return e;
}

/* ------ forward ------ */

static void
bn_forward(struct engine_plan *p, const struct cpu_step *s, uint32_t n, bool train)
{
	const struct graph_node *l = &p->graph->node[s->node];
	struct cpu_bn *bn = &p->bn[s->state];

	if (train && !s->frozen) {
		cpu_bn_moments(&s->x, n, p->scratch, bn);
		cpu_bn_coefficients(bn, bn->mean, bn->var, l->c, l->eps);
	} else
		cpu_bn_coefficients(bn, p->aux + p->graph->aux[l->mean].first, p->aux + p->graph->aux[l->var].first,
		    l->c, l->eps);
	cpu_bn_forward(&s->x, &s->y, n, bn, s->relu);
}

static int
step_forward(struct engine_plan *p, const struct cpu_set *set, const struct cpu_step *s, bool train)
{
	const struct graph_node *l = &p->graph->node[s->node];

	switch (s->kind) {
	case CPU_MUL:
		return dnnl_mul_forward(set->mul[s->state]);
	case CPU_BN:
		bn_forward(p, s, set->n, train);
		break;
	case CPU_ACT:
		cpu_act_forward(l, &s->x, &s->y, set->n);
		break;
	case CPU_POOL:
		cpu_pool_forward(l, &s->x, &s->y, p->pool[s->state].which, set->n);
		break;
	case CPU_COPY:
		cpu_copy(&s->x, s->x_first, &s->y, s->y_first, s->count, set->n);
		break;
	case CPU_SUM:
		cpu_sum(s->dy, s->ndy, &s->y, s->relu, set->n);
		break;
	case CPU_TIMES:
		cpu_sum_times(s->dy, s->ndy, &s->y, set->n);
		break;
	case CPU_PAD:
		cpu_pad_forward(l, &s->x, &s->y, set->n);
		break;
	case CPU_LRN:
		cpu_lrn_forward(l, &s->x, &s->y, p->scratch, set->n);
		break;
	case CPU_DROP:
		cpu_drop(l, s->node, train ? &p->draw : NULL, &s->x, 1, &s->y, set->n);
		break;
	default:
		assert(s->kind == CPU_LOSS);
		cpu_head_forward(&s->x, &s->y, p->label, p->mix, train ? l->smooth : 0, set->n, &p->result);
	}
	return 0;
}

static int
take_batch(struct engine_plan *p, const struct samples *s, bool train)
{
	int e = samples_check(s, p->graph->classes);

	if (e < 0)
		return e;
	#pragma omp parallel for
	for (uint32_t i = 0; i < s->n; i++)
		samples_f32(s, i, 1, cpu_at(&p->data, i, 0));
	memcpy(p->label, s->y, s->n * sizeof(*s->y));
	memset(p->mix, 0, s->n * sizeof(*p->mix));
	if (train && s->mix != NULL)
		memcpy(p->mix, s->mix, s->n * sizeof(*p->mix));
	return 0;
}

static int
pass(struct engine_plan *p, const struct samples *in, bool train, const struct engine_hook *hook)
{
	const struct graph_node *data = &p->graph->node[0];
	struct cpu_set *set;
	int e;

	assert(in->n > 0 && in->n <= p->batch && in->c == data->c && in->h == data->h && in->w == data->w);
	p->n = 0;
	enter(p->dev);
	if ((e = cpu_set_get(p, in->n, &set)) < 0 || (e = take_batch(p, in, train)) < 0)
		return e;
	for (uint32_t i = 0; i < p->nforward; i++) {
		const struct cpu_step *s = &p->step[i];

		if ((s->kind == CPU_MUL || s->kind == CPU_BN) && (e = need(hook, &p->graph->node[s->node])) != 0)
			return e;
		if ((e = step_forward(p, set, s, train)) < 0) {
			err_within("layer %s", p->graph->node[s->node].name);
			return e;
		}
		if (hook != NULL && hook->made != NULL && (e = hook->made(hook->arg, s->node, cpu_finite(p, s, in->n))) != 0)
			return e;
	}
	return 0;
}

static int
cpu_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
    const struct engine_hook *hook, struct engine_result *result)
{
	int e;

	p->draw = draw != NULL ? *draw : (struct engine_draw){ 0 };
	if ((e = pass(p, s, true, hook)) == 0) {
		p->n = s->n;
		*result = p->result;
	}
	return e;
}

static int
cpu_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *result, float *prob)
{
	int e = pass(p, s, false, NULL);

	if (e < 0)
		return e;
	*result = p->result;
	for (uint32_t i = 0; prob != NULL && i < s->n; i++)
		memcpy(prob + (size_t)i * p->prob.c, cpu_at(&p->prob, i, 0), p->prob.c * sizeof(*prob));
	return 0;
}

/* ------ backward ------ */

static int
mul_backward(struct engine_plan *p, struct cpu_set *set, const struct cpu_step *s, float *g,
    const struct engine_hook *hook)
{
	const struct graph_node *l = &p->graph->node[s->node];
	struct dnnl_mul *m = set->mul[s->state];
	int e;

	if (s->frozen)
		return s->absent ? 0 : dnnl_mul_data(m);
	if ((e = dnnl_mul_weight(m, g + p->graph->w[l->weight].first)) < 0)
		return e;
	if (l->bias_at >= 0)
		memcpy(g + p->graph->w[l->bias_at].first, p->mul[s->state].dbias, l->k * sizeof(*g));
	if ((e = born(hook, p->graph, l)) != 0)
		return e;
	return s->absent ? 0 : dnnl_mul_data(m);
}

static void
bn_statistics(const struct engine_plan *p, const struct cpu_step *s, float *stats)
{
	const struct graph_node *l = &p->graph->node[s->node];
	const struct cpu_bn *bn = &p->bn[s->state];

	memcpy(stats + p->graph->aux[l->mean].first, bn->mean, l->c * sizeof(*stats));
	memcpy(stats + p->graph->aux[l->var].first, bn->var, l->c * sizeof(*stats));
}

static int
bn_backward(struct engine_plan *p, const struct cpu_step *s, uint32_t n, float *g, float *stats,
    const struct engine_hook *hook)
{
	const struct graph_node *l = &p->graph->node[s->node];
	struct cpu_bn *bn = &p->bn[s->state];
	float *dgamma = g + p->graph->w[l->gamma].first;

	cpu_bn_backward(&s->x, s->dy, s->ndy, s->absent ? NULL : &s->dx, n, p->scratch, bn, s->relu, s->frozen, l->eps);
	if (s->frozen)
		return 0;
	if (l->fix_gamma)
		memset(dgamma, 0, l->c * sizeof(*g));
	else
		memcpy(dgamma, bn->dgamma, l->c * sizeof(*g));
	memcpy(g + p->graph->w[l->beta].first, bn->dbeta, l->c * sizeof(*g));
	bn_statistics(p, s, stats);
	return born(hook, p->graph, l);
}

static int
step_backward(struct engine_plan *p, struct cpu_set *set, const struct cpu_step *s, float *g, float *stats,
    const struct engine_hook *hook)
{
	const struct graph_node *l = &p->graph->node[s->node];

	switch (s->kind) {
	case CPU_MUL_BACK:
		return mul_backward(p, set, s, g, hook);
	case CPU_BN_BACK:
		return bn_backward(p, s, set->n, g, stats, hook);
	case CPU_ACT_BACK:
		cpu_act_backward(l, &s->y, s->dy, s->ndy, &s->dx, set->n);
		break;
	case CPU_POOL_BACK:
		cpu_pool_backward(l, s->dy, s->ndy, &s->dx, p->pool[s->state].which, set->n);
		break;
	case CPU_COPY:
		cpu_copy(&s->x, s->x_first, &s->y, s->y_first, s->count, set->n);
		break;
	case CPU_SUM:
		cpu_sum(s->dy, s->ndy, &s->y, false, set->n);
		break;
	case CPU_TIMES:
		cpu_sum_times(s->dy, s->ndy, &s->y, set->n);
		break;
	case CPU_PAD_BACK:
		cpu_pad_backward(l, s->dy, s->ndy, &s->dx, set->n);
		break;
	case CPU_LRN_BACK:
		cpu_lrn_backward(l, &s->x, s->dy, s->ndy, &s->dx, p->scratch, set->n);
		break;
	case CPU_DROP_BACK:
		cpu_drop(l, s->node, &p->draw, s->dy, s->ndy, &s->dx, set->n);
		break;
	default:
		assert(s->kind == CPU_LOSS_BACK);
		cpu_head_backward(&s->y, p->label, p->mix, l->smooth, set->n);
	}
	return 0;
}

static int
cpu_statistics(struct engine_plan *p, float *stats)
{
	assert(p->n > 0);
	for (uint32_t i = 0; i < p->nforward; i++)
		if (p->step[i].kind == CPU_BN)
			bn_statistics(p, &p->step[i], stats);
	return 0;
}

static int
cpu_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook)
{
	struct cpu_set *set;
	int e;

	assert(p->n > 0);	/* a forward before, and nothing since: its outputs are written over on the way */
	enter(p->dev);
	if ((e = cpu_set_get(p, p->n, &set)) < 0)
		return e;
	p->n = 0;
	for (uint32_t i = p->nforward; i < p->nstep; i++)
		if ((e = step_backward(p, set, &p->step[i], g, stats, hook)) != 0)
			return e;
	return 0;
}

/* ------ update ------ */

static int
cpu_update(struct engine_dev *dev, float *w, float *state, const float *g, size_t count, double n,
    const struct opt_hyper *hyper)
{
	uint32_t states = opt_states(hyper->rule);
	size_t pieces = (count + 65535) / 65536;	/* 256 KB of each array: they stay in the cache of a core */

	enter(dev);
	#pragma omp parallel for
	for (size_t k = 0; k < pieces; k++) {
		size_t at = k * 65536, some = count - at < 65536 ? count - at : 65536;

		opt_step(w + at, state + at * states, g + at, some, n, hyper);
	}
	return 0;
}

const struct engine engine_cpu = {
	.name = "cpu",
	.open = cpu_open,
	.close = cpu_close,
	.describe = cpu_describe,
	.plan = cpu_plan,
	.sketch = cpu_sketch,
	.take = cpu_take,
	.plan_free = cpu_plan_free,
	.explain = cpu_explain,
	.memory = cpu_memory,
	.load = cpu_load,
	.load_aux = cpu_load_aux,
	.forward = cpu_forward,
	.backward = cpu_backward,
	.statistics = cpu_statistics,
	.evaluate = cpu_evaluate,
	.update = cpu_update,
};
