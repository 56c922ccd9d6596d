/* engine - the list of engines in this build, and functions for any engine. */
#include "engine/engine.h"

#include "base/err.h"
#include "base/mem.h"

#include <string.h>

extern const struct engine engine_cpu, engine_ref, engine_cuda;

/* The Makefile selects them.  cuda is last, so that without a name its module is loaded only if no other opens. */
const struct engine *const engine_list[] = {
#ifdef ENGINE_cpu
	&engine_cpu,
#endif
#ifdef ENGINE_ref
	&engine_ref,
#endif
#ifdef ENGINE_cuda
	&engine_cuda,
#endif
	NULL,
};

int
engine_open(const struct engine **e, uint32_t index, unsigned threads, struct engine_dev **dev)
{
	return (*e)->module != NULL ? (*e)->module->open(index, e, dev) : (*e)->open(index, threads, dev);
}

static bool
can_open_engine(const struct engine *e)
{
	struct engine_dev *dev;

	if (engine_open(&e, 0, 1, &dev) < 0)
		return false;
	e->close(dev);
	return true;
}

/* "cpu, ref" */
static const char *
list_engines(struct buf *b)
{
	for (size_t i = 0; engine_list[i] != NULL; i++)
		if (buf_put_fmt(b, "%s%s", i > 0 ? ", " : "", engine_list[i]->name) < 0)
			return "";
	return buf_terminate(b) < 0 ? "" : (const char *)b->p;
}

const struct engine *
engine_find(const char *name)
{
	struct buf b = { 0 };

	/* Users know this name from other programs. */
	if (name != NULL && strcmp(name, "gpu") == 0)
		name = "cuda";
	for (size_t i = 0; engine_list[i] != NULL; i++)
		if (name != NULL ? strcmp(engine_list[i]->name, name) == 0 : can_open_engine(engine_list[i]))
			return engine_list[i];
	if (name != NULL)
		err_note(0, "engine %s: no such engine; choose from %s", name, list_engines(&b));
	else
		err_within("no engine opens");
	buf_free(&b);
	return NULL;
}

void
engine_tune(const struct engine *e, struct engine_dev *dev, const struct engine_tune *how)
{
	if (e->accel != NULL)
		e->accel->tune(dev, how);
}

int
engine_plan(const struct engine *e, struct engine_dev *dev, const struct graph *graph, uint32_t batch,
    enum engine_precision precision, uint64_t beside, struct engine_plan **plan)
{
	struct engine_memory m;
	int err;

	*plan = NULL;
	/* Before the plan too: oneDNN does not check whether it got memory for its kernels. */
	if ((err = mem_fits(beside + 1)) == 0) {
		if ((err = e->plan(dev, graph, batch, precision, plan)) < 0)
			return err;
		e->memory(*plan, &m);
		err = mem_fits(beside + m.host);
	}
	if (err < 0)
		err_within("a batch of %u", batch);
	else
		err = e->commit(*plan);
	if (err < 0 && *plan != NULL) {
		e->plan_free(*plan);
		*plan = NULL;
	}
	return err;
}

int
engine_ask_params(const struct engine_hook *h, const struct graph_node *l)
{
	int e = 0;

	for (uint32_t end, a = graph_learned(l, &end); h != NULL && h->param_needed != NULL && a < end && e == 0; a++)
		e = h->param_needed(h->arg, a);
	return e;
}

int
engine_report_grads(const struct engine_hook *h, const struct graph *g, const struct graph_node *l)
{
	int e = 0;

	for (uint32_t end, a = graph_learned(l, &end); h != NULL && h->grad_ready != NULL && a < end && e == 0; a++)
		if (!g->w[a].frozen)
			e = h->grad_ready(h->arg, a);
	return e;
}

static const struct {
	const char *name, *whole;
} precisions[] = {
	[ENGINE_F32] = { "f32", "float32" }, [ENGINE_TF32] = { "tf32", "tf32" }, [ENGINE_BF16] = { "bf16", "bfloat16" },
	[ENGINE_F16] = { "f16", "float16" },
};

const char *
engine_precision_name(enum engine_precision p)
{
	return precisions[p].name;
}

bool
engine_precision_find(const char *name, enum engine_precision *p)
{
	for (size_t i = 0; i < sizeof(precisions) / sizeof(*precisions); i++)
		if (strcmp(name, precisions[i].name) == 0 || strcmp(name, precisions[i].whole) == 0) {
			*p = (enum engine_precision)i;
			return true;
		}
	return false;
}
