/* engine - a name into an engine: the list of what is built in. */
#include "engine/engine.h"

#include "base/err.h"
#include "base/mem.h"

#include <string.h>

extern const struct engine engine_cpu, engine_ref, engine_cuda;

/* make says which.  The GPU's is last: it is asked for by name, and costs nothing until then. */
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

static int
engine_opens(const struct engine *e)
{
	struct engine_dev *dev;
	int err = e->open(0, 1, &dev);

	if (err == 0)
		e->close(dev);
	return err;
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

	/* What people call it, whosever it is. */
	if (name != NULL && strcmp(name, "gpu") == 0)
		name = "cuda";
	for (size_t i = 0; engine_list[i] != NULL; i++)
		if (name != NULL ? strcmp(engine_list[i]->name, name) == 0 : engine_opens(engine_list[i]) == 0)
			return engine_list[i];
	if (name != NULL)
		err_note(0, "engine %s: there is none of this name; there are: %s", name, list_engines(&b));
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
engine_plan_beside(const struct engine *e, struct engine_dev *dev, const struct graph *graph, uint32_t batch,
    enum engine_precision precision, uint64_t beside, struct engine_plan **plan)
{
	struct engine_memory m = { 0 };
	int err = 0;

	*plan = NULL;
	if (e->planner != NULL && (err = e->planner->sketch(dev, graph, batch, precision, plan)) == 0)
		e->memory(*plan, &m);
	if (err == 0 && (err = mem_fits(beside + m.host)) < 0)
		err_within("a batch of %u", batch);
	if (err == 0)
		err = e->planner != NULL ? e->planner->commit(*plan) : e->plan(dev, graph, batch, precision, plan);
	if (err < 0) {
		e->plan_free(*plan);
		*plan = NULL;
	}
	return err;
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
