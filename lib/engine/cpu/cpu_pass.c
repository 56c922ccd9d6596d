/* cpu_pass - batches into losses and gradients: the steps of a plan, run in turn. */
#include "engine/cpu/cpu.h"

#include "base/err.h"

#include <string.h>

/* ------ hooks ------ */

/* Calls a hook for one learned array; -1 is none. */
static int
call_hook(int (*hook)(void *arg, uint32_t a), const struct engine_hook *h, int32_t a)
{
	return hook == NULL || a < 0 ? 0 : hook(h->arg, (uint32_t)a);
}

static int
ask_node_params(const struct engine_hook *h, const struct graph_node *l)
{
	int e;

	if (h == NULL)
		return 0;
	if ((e = call_hook(h->param_needed, h, l->weight)) != 0 ||
	    (e = call_hook(h->param_needed, h, l->bias_at)) != 0 ||
	    (e = call_hook(h->param_needed, h, l->gamma)) != 0)
		return e;
	return call_hook(h->param_needed, h, l->beta);
}

static int
report_grads(const struct engine_hook *h, const struct graph *g, const struct graph_node *l)
{
	const int32_t has[] = { l->weight, l->bias_at, l->gamma, l->beta };
	int e = 0;

	for (size_t i = 0; h != NULL && i < sizeof(has) / sizeof(*has) && e == 0; i++)
		if (has[i] >= 0 && !g->w[has[i]].frozen)
			e = call_hook(h->grad_ready, h, has[i]);
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
		return cpu_conv_forward(set->mul[s->state]);
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
bind_batch(struct engine_plan *p, const struct samples *s, bool train)
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
run_cpu_pass(struct engine_plan *p, const struct samples *in, bool train, const struct engine_hook *hook)
{
	const struct graph_node *data = &p->graph->node[0];
	struct cpu_set *set;
	int e;

	assert(in->n > 0 && in->n <= p->batch && in->c == data->c && in->h == data->h && in->w == data->w);
	p->n = 0;
	cpu_enter(p->dev);
	if ((e = cpu_set_get(p, in->n, &set)) < 0 || (e = bind_batch(p, in, train)) < 0)
		return e;
	for (uint32_t i = 0; i < p->nforward; i++) {
		const struct cpu_step *s = &p->step[i];

		if ((s->kind == CPU_MUL || s->kind == CPU_BN) &&
		    (e = ask_node_params(hook, &p->graph->node[s->node])) != 0)
			return e;
		if ((e = step_forward(p, set, s, train)) < 0) {
			err_within("layer %s", p->graph->node[s->node].name);
			return e;
		}
		if (hook != NULL && hook->output_ready != NULL && (e = hook->output_ready(hook->arg, s->node,
		    cpu_finite(p, s, in->n))) != 0)
			return e;
	}
	return 0;
}

int
cpu_pass_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
    const struct engine_hook *hook, struct engine_result *result)
{
	int e;

	p->draw = draw != NULL ? *draw : (struct engine_draw){ 0 };
	if ((e = run_cpu_pass(p, s, true, hook)) == 0) {
		p->n = s->n;
		*result = p->result;
	}
	return e;
}

int
cpu_pass_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *result, float *prob)
{
	int e = run_cpu_pass(p, s, false, NULL);

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
	struct cpu_conv *m = set->mul[s->state];
	int e;

	if (s->frozen)
		return s->absent ? 0 : cpu_conv_data(m);
	if ((e = cpu_conv_weight(m, g + p->graph->w[l->weight].first)) < 0)
		return e;
	if (l->bias_at >= 0)
		memcpy(g + p->graph->w[l->bias_at].first, p->mul[s->state].dbias, l->k * sizeof(*g));
	if ((e = report_grads(hook, p->graph, l)) != 0)
		return e;
	return s->absent ? 0 : cpu_conv_data(m);
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
	return report_grads(hook, p->graph, l);
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

int
cpu_pass_statistics(struct engine_plan *p, float *stats)
{
	assert(p->n > 0);
	for (uint32_t i = 0; i < p->nforward; i++)
		if (p->step[i].kind == CPU_BN)
			bn_statistics(p, &p->step[i], stats);
	return 0;
}

int
cpu_pass_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook)
{
	struct cpu_set *set;
	int e;

	assert(p->n > 0);	/* a forward before, and nothing since: its outputs are written over on the way */
	cpu_enter(p->dev);
	if ((e = cpu_set_get(p, p->n, &set)) < 0)
		return e;
	p->n = 0;
	for (uint32_t i = p->nforward; i < p->nstep; i++)
		if ((e = step_backward(p, set, &p->step[i], g, stats, hook)) != 0)
			return e;
	return 0;
}
