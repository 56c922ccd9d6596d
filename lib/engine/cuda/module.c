/* module - the module's one exported table, and the engine in it. */
#include "engine/cuda/join.h"
#include "engine/cuda/timeline.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
module_close(struct engine_dev *dev)
{
	if (dev == NULL)
		return;
	join_close(dev);
	if (dev->images != NULL && device_make_current(dev->d) == 0)
		device_free(dev->d, dev->images);
	device_close(dev->d);
	free(dev);
}

static int
module_open(const struct cuda_host *host, uint32_t number, struct engine_dev **dev)
{
	int e;

	if ((*dev = calloc(1, sizeof(**dev))) == NULL)
		return device_nomem(host);
	(*dev)->host = host;
	if ((e = device_open(host, number, &(*dev)->d)) < 0) {
		module_close(*dev);
		*dev = NULL;
	}
	return e;
}

static int
module_describe(const struct engine_dev *dev, struct buf *out)
{
	int e = dev->host->put(out, "cuda: ");

	if (e < 0 || (e = device_describe(dev->d, out)) < 0 || dev->join == NULL)
		return e;
	return (e = dev->host->put(out, ", ")) < 0 ? e : join_describe(dev, out);
}

static int
module_locate(const struct engine_dev *dev, uint32_t *number, char bus[ENGINE_BUS])
{
	*number = (uint32_t)device_number(dev->d);
	return device_bus(dev->d, bus);
}

static void
module_tune(struct engine_dev *dev, const struct engine_tune *how)
{
	dev->tune = *how;
}

static int
module_cache_images(struct engine_dev *dev, const uint8_t *pixels, size_t bytes)
{
	struct device *d = dev->d;
	size_t left, all;
	void *at;
	int e = device_make_current(d);

	if (e < 0 || (e = device_wait(d)) < 0)
		return e;
	device_free(d, dev->images);
	dev->images = NULL;
	if ((e = device_memory(d, &left, &all)) < 0)
		return e;
	if (bytes > left) {
		dev->host->note(0, "GPU %d: the images take %.1f MB of its memory, and %.1f of %.1f are free",
		    device_number(d), (double)bytes * 1e-6, (double)left * 1e-6, (double)all * 1e-6);
		return ERR_NOMEM;
	}
	if ((e = device_alloc(d, bytes, &at)) < 0)
		return e;
	dev->images = at;
	return (e = device_upload(d, DEVICE_MAIN, at, pixels, bytes)) < 0 ? e : device_wait(d);
}

/* module_plan() has allocated it. */
static int
module_commit(struct engine_plan *p)
{
	(void)p;
	return 0;
}

static void
module_plan_free(struct engine_plan *p)
{
	struct device *d;

	if (p == NULL)
		return;
	d = p->dev->d;
	device_make_current(d);
	if (device_wait(d) == 0)
		timeline_report(p);
	learn_free(p);
	for (int k = 0; k < EXEC_SETS; k++)
		exec_set_free(p, &p->set[k]);
	for (int k = 0; k < EXEC_SLICES; k++) {
		device_event_free(p->computed[k]);
		device_event_free(p->downloaded[k]);
	}
	device_event_free(p->checked);
	device_event_free(p->result);
	device_event_free(p->batch_uploaded[0]);
	device_event_free(p->batch_uploaded[1]);
	timeline_free(p);
	device_free(d, p->arena);
	device_free(d, p->kept_base);
	device_free(d, p->scratch);
	device_free_pinned(d, p->pinned_up);
	device_free_pinned(d, p->pinned_down);
	free(p->dirty);
	free(p->inputs);
	exec_plan_clear(p);
	free(p);
}

static int
alloc_pinned(struct engine_plan *p)
{
	const struct graph_node *in = &p->graph->node[0];
	size_t image = (size_t)in->c * in->h * in->w * sizeof(float), n = p->batch, all;
	void *up, *down;
	int e;

	p->up_mean = p->kept.input_bytes;
	p->up_batch = p->up_mean + memplan_round(image);
	p->up_w = p->up_batch + 2 * memplan_round(n * image / 2);
	if ((e = device_alloc_pinned(p->dev->d, p->up_w + memplan_round(p->graph->P * sizeof(float)), &up)) < 0)
		return e;
	p->pinned_up = up;
	memset(p->pinned_up, 0, p->kept.input_bytes);
	p->down_stats = memplan_round(p->graph->P * sizeof(float));
	p->down_prob = p->down_stats + memplan_round(p->graph->A * sizeof(float));
	p->down_loss = p->down_prob + memplan_round(n * p->graph->classes * sizeof(float));
	p->down_rank = p->down_loss + memplan_round(n * sizeof(float));
	p->down_bad = p->down_rank + memplan_round(n * sizeof(uint32_t));
	all = p->down_bad + memplan_round(sizeof(uint32_t));
	e = device_alloc_pinned(p->dev->d, all, &down);
	p->pinned_down = down;
	return e;
}

/*
 * Refuses a plan that is too large before the libraries are asked. Their scratch is checked when it
 * is allocated.
 */
static int
check_memory(const struct engine_plan *p)
{
	size_t want = p->arena_bytes + p->kept.all + memplan_round(p->sums_bytes), left, all;
	int e = device_memory(p->dev->d, &left, &all);

	if (e < 0 || want <= left)
		return e;
	p->dev->host->note(0, "GPU %d: a batch of %u takes %.1f MB of its memory, and %.1f of %.1f are free",
	    device_number(p->dev->d), p->batch, (double)want * 1e-6, (double)left * 1e-6, (double)all * 1e-6);
	return ERR_NOMEM;
}

static int
alloc_plan_memory(struct engine_plan *p)
{
	struct device *d = p->dev->d;
	struct exec_set *set;
	void *arena, *kept;
	int e;

	if ((p->dirty = calloc(p->graph->nw + 1, sizeof(*p->dirty))) == NULL ||
	    (p->inputs = calloc(2, p->kept.input_bytes)) == NULL)
		return device_nomem(p->dev->host);
	if ((e = check_memory(p)) < 0 || (e = device_alloc(d, p->arena_bytes, &arena)) < 0)
		return e;
	p->arena = arena;
	if ((e = device_alloc(d, p->kept.all, &kept)) < 0)
		return e;
	p->kept_base = kept;
	if ((e = alloc_pinned(p)) < 0 || (e = device_zero(d, p->kept_base, p->kept.all)) < 0 ||
	    (e = run_weights_prepare(p)) < 0)
		return e;
	for (int k = 0; k < EXEC_SLICES; k++)
		if ((e = device_event_new(d, false, &p->computed[k])) < 0 ||
		    (e = device_event_new(d, false, &p->downloaded[k])) < 0)
			return e;
	if ((e = device_event_new(d, false, &p->checked)) < 0 || (e = device_event_new(d, false, &p->result)) < 0 ||
	    (e = device_event_new(d, false, &p->batch_uploaded[0])) < 0 ||
	    (e = device_event_new(d, false, &p->batch_uploaded[1])) < 0)
		return e;
	return exec_set_get(p, p->batch, &set);
}

/* Tensor cores multiply bf16 and TF32 from compute capability 8.0 on. */
#define AMPERE	80

static int
check_precision(const struct engine_dev *dev, enum engine_precision precision)
{
	const int is = device_capability(dev->d);

	if (precision != ENGINE_BF16 || is >= AMPERE)
		return 0;
	dev->host->note(0, "GPU %d has compute capability %d.%d, and bf16 takes 8.0; use f16", device_number(dev->d),
	    is / 10, is % 10);
	return ERR_NOTSUP;
}

static int
module_plan(struct engine_dev *dev, const struct graph *graph, uint32_t batch, enum engine_precision precision,
	struct engine_plan **plan)
{
	static const int type[] = { [ENGINE_F32] = KERNEL_F32, [ENGINE_TF32] = KERNEL_F32, [ENGINE_BF16] = KERNEL_BF16,
		[ENGINE_F16] = KERNEL_F16 };
	struct engine_plan *p;
	int e;

	assert(batch > 0 && graph->classes > 0);
	*plan = NULL;
	if ((e = check_precision(dev, precision)) < 0 || (e = device_make_current(dev->d)) < 0)
		return e;
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return device_nomem(dev->host);
	p->dev = dev;
	p->graph = graph;
	p->batch = batch;
	p->type = type[precision];
	p->tf32 = precision != ENGINE_F32 && device_capability(dev->d) >= AMPERE;
	p->any_order = dev->tune.measure && !dev->tune.deterministic;
	if ((e = exec_plan_make(p)) < 0 || (e = arena_place(p)) < 0 || (e = alloc_plan_memory(p)) < 0) {
		module_plan_free(p);
		return e;
	}
	*plan = p;
	return 0;
}

/* Appends what a fused convolution includes. */
static int
explain_fusion(const struct engine_plan *p, struct buf *out, const struct exec_product *m)
{
	return p->dev->host->put(out, "%s%s%s\n", m->addend.c > 0 ? ", with a sum" : "",
	    p->graph->node[m->node].bias_at >= 0 ? ", with bias" : "", m->relu ? ", with relu" : "");
}

static int
module_explain(const struct engine_plan *p, struct buf *out)
{
	static const char *const way[] = { "forward", "backward data", "backward weight" };
	const struct exec_set *set = &p->set[0];
	int e = 0;

	for (uint32_t k = 0; k < 3 * p->nproducts && e == 0; k++) {
		const struct exec_product *m = &p->product[k / 3];
		const char *name = exec_node_at(p, m->node)->name;
		uint32_t i = EXEC_WAYS * (k / 3) + k % 3;

		if (set->blas[i] != NULL)
			e = p->dev->host->put(out, "%s %s cuBLASLt\n", name, way[k % 3]);
		else if (set->dnn[i] != NULL && (e = p->dev->host->put(out, "%s %s ", name, way[k % 3])) == 0 &&
		    (e = dnn_name(set->dnn[i], out)) == 0)
			e = k % 3 == 0 && set->fused[k / 3] ? explain_fusion(p, out, m) :
			    p->dev->host->put(out, "\n");
	}
	for (uint32_t i = 0; i < p->nstep && e == 0; i++) {
		const struct exec_step *s = &p->step[i];

		if (s->kind == EXEC_BN || s->kind == EXEC_BN_BACK)
			e = p->dev->host->put(out, "%s %s own%s%s\n", p->graph->node[s->node].name,
			    s->kind == EXEC_BN ? "forward" : "backward", s->parts > 0 ? ", with a sum" : "",
			    s->relu ? ", with relu" : "");
	}
	if (e == 0 && p->captured + p->refused > 0)
		e = p->dev->host->put(out, "CUDA graphs captured %u, refused %u\n", p->captured, p->refused);
	return e;
}

/* The kernel of an entry of exec_set, or "". */
static void
name_product(const struct exec_set *set, uint32_t i, char text[ENGINE_CHOICE])
{
	*text = 0;
	if (set->dnn[i] != NULL)
		dnn_engine(set->dnn[i], text);
	else if (set->blas[i] != NULL)
		snprintf(text, ENGINE_CHOICE, "cuBLASLt");
}

/* The entries [from, to) that have this kernel. */
static uint32_t
count_products(const struct exec_set *set, uint32_t from, uint32_t to, const char *name)
{
	char other[ENGINE_CHOICE];
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i++) {
		name_product(set, i, other);
		n += strcmp(name, other) == 0;
	}
	return n;
}

static int
module_summarize(const struct engine_plan *p, struct buf *out, uint32_t *refused)
{
	const struct exec_set *set = &p->set[0];
	const uint32_t n = EXEC_WAYS * p->nproducts;
	char name[ENGINE_CHOICE];
	const char *before = "kernels: ";
	int e = 0;

	*refused = p->refused;
	for (uint32_t i = 0; i < n && e == 0; i++) {
		name_product(set, i, name);
		if (*name == 0 || count_products(set, 0, i, name) > 0)
			continue;
		e = p->dev->host->put(out, "%s%s for %u", before, name, count_products(set, i, n, name));
		before = ", ";
	}
	return e < 0 ? e : p->dev->host->put(out, "%sCUDA graphs: %u captured, %u refused%s",
	    *before == 'k' ? "" : "; ", p->captured, p->refused,
	    p->refused > 0 ? ", whose kernels are launched one by one" : "");
}

static void
module_memory(const struct engine_plan *p, struct engine_memory *m)
{
	*m = (struct engine_memory){ .activations = p->arena_bytes, .weights = p->kept.all,
	    .scratch = p->scratch_bytes };
}

static const struct engine_accel accel = {
	.locate = module_locate,
	.tune = module_tune,
	.timeline = timeline_set,
	.prefetch = pass_prefetch,
	.cache_images = module_cache_images,
	.join = join_open,
	.summarize = module_summarize,
};

static const struct engine_device_opt device_opt = {
	.begin = learn_begin,
	.step = learn_step,
	.show_average = learn_show_average,
	.fetch = learn_fetch,
	.settle = learn_settle,
};

static const struct engine engine = {
	.name = "cuda",
	.close = module_close,
	.describe = module_describe,
	.plan = module_plan,
	.commit = module_commit,
	.plan_free = module_plan_free,
	.explain = module_explain,
	.memory = module_memory,
	.load = pass_load,
	.load_aux = pass_load_aux,
	.forward = pass_forward,
	.backward = pass_backward,
	.statistics = pass_statistics,
	.evaluate = pass_evaluate,
	.update = learn_update,
	.accel = &accel,
	.device_opt = &device_opt,
};

extern const struct cuda_module tally_cuda;

/* CUDA_SYMBOL, the only exported name. */
__attribute__((visibility("default"))) const struct cuda_module tally_cuda = {
	.version = CUDA_VERSION,
	.engine_bytes = sizeof(struct engine),
	.graph_bytes = sizeof(struct graph_node),
	.open = module_open,
	.engine = &engine,
};
