/* ref - loss and gradients of a graph by plain loops, slow and obvious, to compare the other engines with. */
#include "engine/ref/ref.h"

#include "base/err.h"
#include "base/num.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct engine_dev {
	char nothing;	/* ref has one thread and no library */
};

static const struct ref_op *const ops[GRAPH_OPS] = {
	[GRAPH_CONV] = &ref_conv,
	[GRAPH_FC] = &ref_fc,
	[GRAPH_BN] = &ref_bn,
	[GRAPH_ACT] = &ref_act,
	[GRAPH_POOL] = &ref_pool,
	[GRAPH_CONCAT] = &ref_concat,
	[GRAPH_FLATTEN] = &ref_flatten,
	[GRAPH_ADD] = &ref_add,
	[GRAPH_MUL] = &ref_mul,
	[GRAPH_PAD] = &ref_pad,
	[GRAPH_LRN] = &ref_lrn,
	[GRAPH_DROPOUT] = &ref_dropout,
	[GRAPH_SOFTMAX] = &ref_softmax,
};

static int
ref_open(uint32_t index, unsigned threads, struct engine_dev **dev)
{
	(void)index;
	(void)threads;
	*dev = calloc(1, sizeof(**dev));
	return *dev != NULL ? 0 : err_nomem();
}

static void
ref_close(struct engine_dev *dev)
{
	free(dev);
}

static int
ref_describe(const struct engine_dev *dev, struct buf *out)
{
	(void)dev;
	return buf_put_fmt(out, "ref: plain loops, summed in f64, 1 thread");
}

static void
ref_plan_free(struct engine_plan *p)
{
	if (p == NULL)
		return;
	free(p->outputs);
	free(p->y);
	free(p->dy);
	free(p->w);
	free(p->aux);
	free(p->stat);
	free(p->scratch);
	free(p->label);
	free(p->mix);
	free(p->target);
	free(p);
}

static int
measure_plan(struct engine_plan *p)
{
	const struct graph *g = p->graph;
	size_t floats = ref_floats(&g->node[0]), most = 0;

	for (uint32_t i = 1; i < g->n; i++) {
		const struct ref_op *op = ops[g->node[i].op];
		size_t n = 0;

		if (op->scratch != NULL && op->scratch(g, i, &n) < 0)
			return err_wrap(ERR_LIMIT, "%s", g->node[i].name);
		most = n > most ? n : most;
		floats += ref_floats(&g->node[i]);
	}
	p->memory.weights = (g->P + g->A) * sizeof(float) + g->A * sizeof(double);
	p->memory.scratch = most * sizeof(double);
	return num_mul(2 * sizeof(float) * floats, p->batch, &p->memory.activations);
}

static int
ref_plan(struct engine_dev *dev, const struct graph *graph, uint32_t batch, enum engine_precision precision,
	struct engine_plan **plan)
{
	struct engine_plan *p;
	int e;

	(void)dev;
	assert(batch > 0 && graph->classes > 0);
	*plan = NULL;
	if (precision != ENGINE_F32 && precision != ENGINE_BF16)
		return err_fail(ERR_NOTSUP, "engine ref computes in f32 and bf16, not in %s",
		    engine_precision_name(precision));
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_nomem();
	p->graph = graph;
	p->batch = batch;
	p->bf16 = precision == ENGINE_BF16;
	if ((e = measure_plan(p)) < 0) {
		ref_plan_free(p);
		return e;
	}
	*plan = p;
	return 0;
}

static int
ref_commit(struct engine_plan *p)
{
	const struct graph *g = p->graph;
	size_t half = p->memory.activations / (2 * sizeof(float)), at = 0;

	/* calloc() may return NULL for 0 elements, so sizes that can be 0 get one more. */
	p->y = calloc(g->n, sizeof(*p->y));
	p->dy = calloc(g->n, sizeof(*p->dy));
	p->outputs = calloc(2 * half, sizeof(*p->outputs));
	p->w = calloc(g->P + 1, sizeof(*p->w));
	p->aux = calloc(g->A + 1, sizeof(*p->aux));
	p->stat = calloc(g->A + 1, sizeof(*p->stat));
	p->scratch = calloc(p->memory.scratch / sizeof(*p->scratch) + 1, sizeof(*p->scratch));
	p->label = calloc(p->batch, sizeof(*p->label));
	p->mix = calloc(p->batch, sizeof(*p->mix));
	p->target = calloc((size_t)p->batch * graph_targets(g) + 1, sizeof(*p->target));
	if (p->y == NULL || p->dy == NULL || p->outputs == NULL || p->w == NULL || p->aux == NULL || p->stat == NULL ||
	    p->scratch == NULL || p->label == NULL || p->mix == NULL || p->target == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < g->n; i++) {
		p->y[i] = p->outputs + at;
		p->dy[i] = p->y[i] + half;
		at += ref_floats(&g->node[i]) * p->batch;
	}
	return 0;
}

static int
ref_explain(const struct engine_plan *p, struct buf *out)
{
	for (uint32_t i = 1; i < p->graph->n; i++) {
		const char *name = p->graph->node[i].name, *op = ops[p->graph->node[i].op]->name;

		ERR_TRY(buf_put_fmt(out, "%s forward ref:%s\n%s backward ref:%s\n", name, op, name, op));
	}
	return 0;
}

static void
ref_memory(const struct engine_plan *p, struct engine_memory *m)
{
	*m = p->memory;
	m->host = m->activations + m->weights + m->scratch;
}

static int
ref_load(struct engine_plan *p, uint32_t a, const float *w)
{
	const struct graph_array *to = &p->graph->w[a];

	assert(a < p->graph->nw);
	if (to->role == GRAPH_WEIGHT)
		ref_half_round(p, w, p->w + to->first, to->count);
	else
		memcpy(p->w + to->first, w, to->count * sizeof(*w));
	return 0;
}

static int
ref_load_aux(struct engine_plan *p, const float *aux)
{
	if (p->graph->A > 0)	/* without batch norm aux may be NULL */
		memcpy(p->aux, aux, p->graph->A * sizeof(*aux));
	return 0;
}

static int
copy_batch(struct engine_plan *p, const struct samples *s, bool train)
{
	const struct graph_node *in = &p->graph->node[0];

	assert(s->n > 0 && s->n <= p->batch && s->c == in->c && s->h == in->h && s->w == in->w);
	p->n = 0;
	ERR_TRY(samples_check(s, p->graph->classes, graph_targets(p->graph)));
	samples_f32(s, 0, s->n, p->y[0]);
	memcpy(p->label, s->y, s->n * sizeof(*s->y));
	if (s->target != NULL)
		memcpy(p->target, s->target, (size_t)s->n * s->targets * sizeof(*s->target));
	p->positive = train ? s->positive : NULL;
	for (uint32_t i = 0; i < s->n; i++)
		p->mix[i] = train && s->mix != NULL ? s->mix[i] : (struct samples_mix){ .weight = 1 };
	p->n = s->n;
	ref_half_output(p, 0);
	return 0;
}

static int
run_ref_pass(struct engine_plan *p, bool train, const struct engine_hook *hook)
{
	const struct graph *g = p->graph;
	int e;

	p->train = train;
	for (uint32_t i = 1; i < g->n; i++) {
		if ((e = engine_ask_params(hook, &g->node[i])) != 0)
			return e;
		ops[g->node[i].op]->forward(p, i);
		ref_half_output(p, i);
		if (hook != NULL && hook->output_ready != NULL &&
		    (e = hook->output_ready(hook->arg, i, num_finite(p->y[i], p->n * ref_floats(&g->node[i])))) != 0)
			return e;
	}
	return 0;
}

static int
ref_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
	const struct engine_hook *hook, struct engine_result *result)
{
	int e;

	p->draw = draw != NULL ? *draw : (struct engine_draw){ 0 };
	ERR_TRY(copy_batch(p, s, true));
	if ((e = run_ref_pass(p, true, hook)) != 0) {
		p->n = 0;
		return e;
	}
	*result = p->result;
	return 0;
}

static int
ref_statistics(struct engine_plan *p, float *stats)
{
	assert(p->n > 0);
	for (size_t k = 0; k < p->graph->A; k++)
		stats[k] = (float)p->stat[k];
	return 0;
}

static int
ref_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook)
{
	const struct graph *graph = p->graph;
	int e;

	assert(p->n > 0);
	p->g = g;
	(void)ref_statistics(p, stats);
	for (uint32_t i = 0; i < graph->n; i++)
		memset(p->dy[i], 0, p->n * ref_floats(&graph->node[i]) * sizeof(*p->dy[i]));
	for (uint32_t i = graph->n - 1; i > 0; i--) {
		ref_half_gradient(p, i);
		ops[graph->node[i].op]->backward(p, i);
		if ((e = engine_report_grads(hook, graph, &graph->node[i])) != 0)
			return e;
	}
	return 0;
}

static int
ref_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *result, float *prob)
{
	ERR_TRY(copy_batch(p, s, false));
	ERR_TRY(run_ref_pass(p, false, NULL));
	*result = p->result;
	if (prob != NULL)
		memcpy(prob, p->y[p->graph->n - 1], (size_t)s->n * p->graph->classes * sizeof(*prob));
	p->n = 0;
	return 0;
}

static int
ref_update(struct engine_dev *dev, float *w, float *state, const float *g, size_t count, double n,
	const struct opt_hyper *hyper)
{
	(void)dev;
	opt_step(w, state, g, count, n, hyper);
	return 0;
}

const struct engine engine_ref = {
	.name = "ref",
	.open = ref_open,
	.close = ref_close,
	.describe = ref_describe,
	.plan = ref_plan,
	.commit = ref_commit,
	.plan_free = ref_plan_free,
	.explain = ref_explain,
	.memory = ref_memory,
	.load = ref_load,
	.load_aux = ref_load_aux,
	.forward = ref_forward,
	.backward = ref_backward,
	.statistics = ref_statistics,
	.evaluate = ref_evaluate,
	.update = ref_update,
};
