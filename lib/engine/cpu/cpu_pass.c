/* cpu_pass - runs the steps of a plan over a batch. */
#include "engine/cpu/cpu.h"

#include "base/err.h"

#include <string.h>

/* What the steps of one pass share. */
struct pass {
	const struct cpu_set	 *set;
	bool			  train;
	float			 *g, *stats;	/* arguments of backward() */
	const struct engine_hook *hook;		/* NULL: none */
};

/* ------ steps ------ */

/* Computes the coefficients of a batch norm from its running statistics. */
static void
use_running_statistics(const struct engine_plan *p, struct cpu_bn *bn)
{
	const struct graph_node *l = &p->graph->node[bn->node];

	cpu_bn_coefficients(bn, p->aux + p->graph->aux[l->mean].first, p->aux + p->graph->aux[l->var].first, l->c,
	    l->eps);
}

static void
run_bn(struct engine_plan *p, const struct pass *pass, const struct cpu_step *s)
{
	const struct graph_node *l = &p->graph->node[s->node];
	struct cpu_bn *bn = &p->bn[s->state];

	if (!pass->train && bn->conv >= 0 && pass->set->folded[bn->conv] != NULL)
		return;		/* run_conv() has computed it */
	if (pass->train && !s->frozen) {
		cpu_bn_moments(&s->x, pass->set->n, p->scratch, bn);
		cpu_bn_coefficients(bn, bn->mean, bn->var, l->c, l->eps);
	} else
		use_running_statistics(p, bn);
	cpu_bn_forward(&s->x, &s->y, pass->set->n, bn, s->act);
}

/* A convolution, with the batch norm that evaluation folds into it. */
static int
run_conv(struct engine_plan *p, const struct pass *pass, const struct cpu_step *s)
{
	struct cpu_conv *folded = pass->train ? NULL : pass->set->folded[s->state];

	if (folded == NULL)
		return cpu_conv_run(pass->set->conv[s->state], DNNL_FORWARD, NULL);
	use_running_statistics(p, &p->bn[p->conv[s->state].bn]);
	return cpu_conv_run(folded, DNNL_FORWARD, NULL);
}

static int
run_conv_back(struct engine_plan *p, const struct pass *pass, const struct cpu_step *s)
{
	const struct graph_node *l = &p->graph->node[s->node];
	struct cpu_conv *conv = pass->set->conv[s->state];
	uint64_t from = cpu_profile_now(p);
	int e;

	if (!s->frozen) {
		ERR_TRY(cpu_conv_run(conv, DNNL_WEIGHT, pass->g + p->graph->w[l->weight].first));
		cpu_profile_add(p, s, ENGINE_WEIGHT, pass->set->n, from);
		if (l->bias_at >= 0)
			memcpy(pass->g + p->graph->w[l->bias_at].first, p->conv[s->state].dbias,
			    l->k * sizeof(*pass->g));
		if ((e = engine_report_grads(pass->hook, p->graph, l)) != 0)
			return e;
	}
	if (s->no_dx)
		return 0;
	from = cpu_profile_now(p);
	e = cpu_conv_run(conv, DNNL_DATA, NULL);
	cpu_profile_add(p, s, ENGINE_DATA, pass->set->n, from);
	return e;
}

static void
copy_statistics(const struct engine_plan *p, const struct cpu_step *s, float *stats)
{
	const struct graph_node *l = &p->graph->node[s->node];
	const struct cpu_bn *bn = &p->bn[s->state];

	memcpy(stats + p->graph->aux[l->mean].first, bn->mean, l->c * sizeof(*stats));
	memcpy(stats + p->graph->aux[l->var].first, bn->var, l->c * sizeof(*stats));
}

static void
run_bn_back(struct engine_plan *p, const struct pass *pass, const struct cpu_step *s)
{
	const struct graph_node *l = &p->graph->node[s->node];
	struct cpu_bn *bn = &p->bn[s->state];
	float *dgamma = pass->g + p->graph->w[l->gamma].first;

	if (bn->beta_conv >= 0)
		cpu_beta_backward(&p->conv[bn->beta_conv].shape, p->conv[bn->beta_conv].loaded, s->dy, pass->set->n,
		    p->scratch, bn->dbeta);
	else
		cpu_bn_backward(&s->x, s->dy, s->ndy, s->plus.c > 0 ? &s->plus : NULL, s->no_dx ? NULL : &s->dx,
		    pass->set->n, p->scratch, bn, s->act, s->frozen, l->eps);
	if (s->frozen)
		return;
	if (l->fix_gamma)
		memset(dgamma, 0, l->c * sizeof(*dgamma));
	else
		memcpy(dgamma, bn->dgamma, l->c * sizeof(*dgamma));
	memcpy(pass->g + p->graph->w[l->beta].first, bn->dbeta, l->c * sizeof(*dgamma));
	copy_statistics(p, s, pass->stats);
}

static int
run_step(struct engine_plan *p, const struct pass *pass, const struct cpu_step *s)
{
	const struct graph_node *l = &p->graph->node[s->node];
	uint32_t n = pass->set->n;

	switch (s->kind) {
	case CPU_CONV:
		return run_conv(p, pass, s);
	case CPU_CONV_BACK:
		return run_conv_back(p, pass, s);
	case CPU_BN:
		run_bn(p, pass, s);
		break;
	case CPU_BN_BACK:
		run_bn_back(p, pass, s);
		break;
	case CPU_ACT:
		cpu_act_forward(l, &s->x, &s->y, n);
		break;
	case CPU_ACT_BACK:
		cpu_act_backward(l, &s->y, s->dy, s->ndy, &s->dx, n);
		break;
	case CPU_POOL:
		cpu_pool_forward(l, &s->x, &s->y, p->pool[s->state].argmax, n);
		break;
	case CPU_POOL_BACK:
		cpu_pool_backward(l, s->dy, s->ndy, &s->dx, p->pool[s->state].argmax, n);
		break;
	case CPU_LOSS:
		if (l->loss == GRAPH_LOSS_SOFTMAX)
			cpu_head_forward(&s->x, &s->y, p->label, p->mix, pass->train ? l->smooth : 0, n, &p->result);
		else
			cpu_head_targets(&s->x, &s->y, l->loss, p->target, p->positive, p->mix, n,
			    &p->result);
		break;
	case CPU_LOSS_BACK:
		if (l->loss == GRAPH_LOSS_SOFTMAX)
			cpu_head_backward(&s->y, p->label, p->mix, l->smooth, n);
		else
			cpu_head_targets_back(&s->y, l->loss, p->target, p->positive, p->mix, n);
		break;
	case CPU_COPY:
		cpu_copy(&s->x, s->x_first, &s->y, s->y_first, s->count, n);
		break;
	case CPU_SUM:
		assert(s->act != BN_GELU);
		cpu_sum(s->dy, s->ndy, &s->y, s->act == BN_RELU, n);
		break;
	case CPU_PRODUCT:
		cpu_sum_product(s->dy, s->ndy, &s->y, n);
		break;
	case CPU_PAD:
		cpu_pad_forward(l, &s->x, &s->y, n);
		break;
	case CPU_PAD_BACK:
		cpu_pad_backward(l, s->dy, s->ndy, &s->dx, n);
		break;
	case CPU_LRN:
		cpu_lrn_forward(l, &s->x, &s->y, p->scratch, n);
		break;
	case CPU_LRN_BACK:
		cpu_lrn_backward(l, &s->x, s->dy, s->ndy, &s->dx, p->scratch, n);
		break;
	case CPU_DROP:
		cpu_drop(l, s->node, pass->train ? &p->draw : NULL, &s->x, 1, &s->y, n);
		break;
	case CPU_DROP_BACK:
		cpu_drop(l, s->node, &p->draw, s->dy, s->ndy, &s->dx, n);
	}
	return 0;
}

/* ------ passes ------ */

static int
bind_batch(struct engine_plan *p, const struct samples *s, bool train)
{
	ERR_TRY(samples_check(s, p->graph->classes, graph_targets(p->graph)));
	#pragma omp parallel for
	for (uint32_t i = 0; i < s->n; i++)
		samples_f32(s, i, 1, cpu_at(&p->data, i, 0));
	memcpy(p->label, s->y, s->n * sizeof(*s->y));
	if (s->target != NULL)
		memcpy(p->target, s->target, (size_t)s->n * s->targets * sizeof(*s->target));
	p->positive = train ? s->positive : NULL;
	for (uint32_t i = 0; i < s->n; i++)
		p->mix[i] = train && s->mix != NULL ? s->mix[i] : (struct samples_mix){ .weight = 1 };
	return 0;
}

static int
run_forward_pass(struct engine_plan *p, const struct samples *in, bool train, const struct engine_hook *hook)
{
	const struct graph_node *data = &p->graph->node[0];
	struct pass pass = { .train = train, .hook = hook };
	int e;

	assert(in->n > 0 && in->n <= p->batch && in->c == data->c && in->h == data->h && in->w == data->w);
	p->n = 0;
	cpu_enter(p->dev);
	ERR_TRY(cpu_set_get(p, in->n, !train, &pass.set));
	ERR_TRY(bind_batch(p, in, train));
	for (uint32_t i = 0; i < p->nforward; i++) {
		const struct cpu_step *s = &p->step[i];
		const struct graph_node *l = &p->graph->node[s->node];
		uint64_t from;

		if ((s->kind == CPU_CONV || s->kind == CPU_BN) && (e = engine_ask_params(hook, l)) != 0)
			return e;
		from = cpu_profile_now(p);
		ERR_TRY(err_wrap(run_step(p, &pass, s), "layer %s", l->name));
		cpu_profile_add(p, s, ENGINE_FORWARD, in->n, from);
		if (hook != NULL && hook->output_ready != NULL &&
		    (e = hook->output_ready(hook->arg, s->node, cpu_finite(p, s, in->n))) != 0)
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
	if ((e = run_forward_pass(p, s, true, hook)) == 0) {
		p->n = s->n;
		*result = p->result;
	}
	return e;
}

int
cpu_pass_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *result, float *prob)
{
	ERR_TRY(run_forward_pass(p, s, false, NULL));
	*result = p->result;
	for (uint32_t i = 0; prob != NULL && i < s->n; i++)
		memcpy(prob + (size_t)i * p->prob.c, cpu_at(&p->prob, i, 0), p->prob.c * sizeof(*prob));
	return 0;
}

int
cpu_pass_statistics(struct engine_plan *p, float *stats)
{
	assert(p->n > 0);
	for (uint32_t i = 0; i < p->nforward; i++)
		if (p->step[i].kind == CPU_BN)
			copy_statistics(p, &p->step[i], stats);
	return 0;
}

int
cpu_pass_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook)
{
	struct pass pass = { .train = true, .g = g, .stats = stats, .hook = hook };
	int e;

	assert(p->n > 0);	/* forward() was the last pass; backward() overwrites its outputs */
	cpu_enter(p->dev);
	ERR_TRY(cpu_set_get(p, p->n, false, &pass.set));
	p->n = 0;
	for (uint32_t i = p->nforward; i < p->nstep; i++) {
		const struct cpu_step *s = &p->step[i];
		uint64_t from = cpu_profile_now(p);

		if ((e = run_step(p, &pass, s)) != 0)
			return e;
		if (s->kind != CPU_CONV_BACK)	/* has two kernels, which it adds itself */
			cpu_profile_add(p, s, ENGINE_BACKWARD, pass.set->n, from);
		if (s->kind == CPU_BN_BACK && !s->frozen &&
		    (e = engine_report_grads(hook, p->graph, &p->graph->node[s->node])) != 0)
			return e;
	}
	return 0;
}
