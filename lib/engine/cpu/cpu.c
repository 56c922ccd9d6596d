/* cpu - opens devices, makes plans and loads arrays; the table of the engine. */
#include "engine/cpu/cpu.h"

#include "base/err.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/*
 * oneDNN divides its work by the requested number of threads.  If OpenMP started fewer (OMP_THREAD_LIMIT,
 * OMP_MAX_ACTIVE_LEVELS, OMP_DYNAMIC), gradients would lack the parts of the missing threads, or the others would wait
 * for them forever.
 */
static unsigned
choose_team_size(unsigned threads)
{
	unsigned most = omp_get_max_active_levels() > 0 ? (unsigned)omp_get_thread_limit() : 1;

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
	d->threads = choose_team_size(threads);
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
	ERR_TRY(buf_put_fmt(out, "cpu: "));
	ERR_TRY(dnnl_dev_describe(out));
	return buf_put_fmt(out, ", %u thread%s", dev->threads, dev->threads > 1 ? "s" : "");
}

/* OpenMP keeps both settings in each calling thread, so every entry must set them. */
void
cpu_enter(const struct engine_dev *dev)
{
	omp_set_dynamic(0);
	omp_set_num_threads((int)dev->threads);
}

/* ------ plan ------ */

static void
cpu_plan_free(struct engine_plan *p)
{
	if (p == NULL)
		return;
	cpu_set_free(p);
	for (uint32_t i = 0; i < CPU_SETS; i++) {
		free(p->set[i].conv);
		free(p->set[i].folded);
	}
	cpu_arena_free(p);
	free(p->step);
	free(p->buf);
	free(p->conv);
	free(p->bn);
	free(p->pool);
	free(p->state);
	free(p->label);
	free(p->mix);
	free(p->target);
	free(p->cost);
	free(p);
}

/* A fixed gamma is 1, whatever is loaded. */
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
cpu_plan(struct engine_dev *dev, const struct graph *graph, uint32_t batch, enum engine_precision precision,
    struct engine_plan **plan)
{
	struct engine_plan *p;
	int e;

	assert(batch > 0 && graph->classes > 0);
	*plan = NULL;
	if (precision != ENGINE_F32 && precision != ENGINE_BF16)
		return err_fail(ERR_NOTSUP, "engine cpu computes in f32 and bf16, not in %s",
		    engine_precision_name(precision));
	if (precision == ENGINE_BF16)
		ERR_TRY(dnnl_dev_bf16());
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return err_nomem();
	cpu_enter(dev);
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
cpu_commit(struct engine_plan *p)
{
	cpu_enter(p->dev);
	ERR_TRY(cpu_arena_allocate(p));
	ERR_TRY(cpu_set_bind(p, &p->set[0]));
	fix_gammas(p);
	return 0;
}

static void
cpu_memory(const struct engine_plan *p, struct engine_memory *m)
{
	*m = (struct engine_memory) { .activations = p->arena_bytes, .weights = p->kept_bytes,
	    .scratch = p->scratch_bytes,
	    .host = p->arena_bytes + p->kept_bytes + p->scratch_bytes };
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
		cpu_enter(p->dev);
		if (p->conv[state].loaded != NULL)
			memcpy(p->conv[state].loaded, w, bytes);
		return cpu_conv_load(p->set[0].conv[state], w);
	case GRAPH_BIAS:
		memcpy(p->conv[state].bias, w, bytes);
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

/* ------ update ------ */

static int
cpu_update(struct engine_dev *dev, float *w, float *state, const float *g, size_t count, double n,
    const struct opt_hyper *hyper)
{
	uint32_t states = opt_states(hyper->rule);
	size_t pieces = (count + 65535) / 65536;	/* 256 KB of each array, which fit a core's cache */

	cpu_enter(dev);
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
	.commit = cpu_commit,
	.plan_free = cpu_plan_free,
	.explain = cpu_explain,
	.memory = cpu_memory,
	.load = cpu_load,
	.load_aux = cpu_load_aux,
	.forward = cpu_pass_forward,
	.backward = cpu_pass_backward,
	.statistics = cpu_pass_statistics,
	.evaluate = cpu_pass_evaluate,
	.update = cpu_update,
	.profiler = &cpu_profiler,
};
