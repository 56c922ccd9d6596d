/* cuda - a call of the engine's table into the same call of the module that has the GPU's code. */
#include "engine/cuda.h"

#include "base/clk.h"
#include "base/err.h"
#include "engine/drop.h"
#include "net/graph/op.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cuda_host host = { err_note, err_within, buf_put_fmt, drop_key, op_name, samples_check, clk_ns };

int
cuda_load(const char *path, const struct cuda_module **m)
{
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (so == NULL)
		return err_fail(ERR_NOTSUP, "no GPU: the module does not open: %s", dlerror());
	/* It is not closed again: CUDA's libraries leave threads behind. */
	if ((*m = dlsym(so, CUDA_SYMBOL)) == NULL)
		return err_fail(ERR_NOTSUP, "no GPU: %s: not a module of tally", path);
	if ((*m)->version != CUDA_VERSION)
		return err_fail(ERR_NOTSUP, "no GPU: %s: a module of version %u, not %u", path, (*m)->version,
		    CUDA_VERSION);
	if ((*m)->engine_bytes != sizeof(struct engine) || (*m)->graph_bytes != sizeof(struct graph_node))
		return err_fail(ERR_NOTSUP, "no GPU: %s: built from other headers of tally", path);
	return 0;
}

/* The folder this program is in, without the last slash; "." when that cannot be said. */
static void
find_program_folder(char folder[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *end;

	folder[n > 0 ? n : 0] = 0;
	if ((end = strrchr(folder, '/')) != NULL)
		*end = 0;
	else
		strcpy(folder, ".");
}

static bool
find_module_at(char path[PATH_MAX], const char *folder, const char *below)
{
	return snprintf(path, PATH_MAX, "%s%s/%s", folder, below, CUDA_FILE) < PATH_MAX && access(path, R_OK) == 0;
}

/* Returns 0 with the module's path, or ERR_NOTSUP. */
static int
find_module(char path[PATH_MAX])
{
	const char *named = getenv("TALLY_MODULES");
	char folder[PATH_MAX];

	if (named != NULL && *named != 0)
		return find_module_at(path, named, "") ? 0 : err_fail(ERR_NOTSUP, "no GPU: no module %s in %s",
		    CUDA_FILE, named);
	find_program_folder(folder);
	if (find_module_at(path, folder, "") || find_module_at(path, folder, "/../lib/tally"))
		return 0;
	return err_fail(ERR_NOTSUP, "no GPU: no module %s beside this program or in ../lib/tally", CUDA_FILE);
}

static int
cuda_open(uint32_t index, unsigned threads, struct engine_dev **dev)
{
	const struct cuda_module *m;
	char path[PATH_MAX];
	int e;

	(void)threads;
	*dev = NULL;
	if ((e = find_module(path)) < 0 || (e = cuda_load(path, &m)) < 0)
		return e;
	return m->open(&host, index, dev);
}

/* The module's engine, which is the first word of what it made. */
static const struct engine *
module_engine(const void *made)
{
	return *(const struct engine *const *)made;
}

static void
cuda_close(struct engine_dev *dev)
{
	if (dev != NULL)
		module_engine(dev)->close(dev);
}

static int
cuda_describe(const struct engine_dev *dev, struct buf *out)
{
	return module_engine(dev)->describe(dev, out);
}

static int
cuda_locate(const struct engine_dev *dev, uint32_t *number, char bus[ENGINE_BUS])
{
	return module_engine(dev)->accel->locate(dev, number, bus);
}

static void
cuda_tune(struct engine_dev *dev, const struct engine_tune *how)
{
	module_engine(dev)->accel->tune(dev, how);
}

static int
cuda_plan(struct engine_dev *dev, const struct graph *graph, uint32_t batch, enum engine_precision precision,
	struct engine_plan **plan)
{
	return module_engine(dev)->plan(dev, graph, batch, precision, plan);
}

static void
cuda_plan_free(struct engine_plan *plan)
{
	if (plan != NULL)
		module_engine(plan)->plan_free(plan);
}

static int
cuda_explain(const struct engine_plan *plan, struct buf *out)
{
	return module_engine(plan)->explain(plan, out);
}

static void
cuda_memory(const struct engine_plan *plan, struct engine_memory *m)
{
	module_engine(plan)->memory(plan, m);
}

static int
cuda_profile(struct engine_plan *plan, const struct engine_profile *how)
{
	return module_engine(plan)->accel->profile(plan, how);
}

static int
cuda_load_array(struct engine_plan *plan, uint32_t a, const float *w)
{
	return module_engine(plan)->load(plan, a, w);
}

static int
cuda_load_statistics(struct engine_plan *plan, const float *aux)
{
	return module_engine(plan)->load_aux(plan, aux);
}

static int
cuda_forward(struct engine_plan *plan, const struct samples *s, const struct engine_draw *draw,
	const struct engine_hook *hook, struct engine_result *result)
{
	return module_engine(plan)->forward(plan, s, draw, hook, result);
}

static int
cuda_backward(struct engine_plan *plan, float *g, float *stats, const struct engine_hook *hook)
{
	return module_engine(plan)->backward(plan, g, stats, hook);
}

static void
cuda_prefetch(struct engine_plan *plan, const struct samples *s)
{
	module_engine(plan)->accel->prefetch(plan, s);
}

static int
cuda_statistics(struct engine_plan *plan, float *stats)
{
	return module_engine(plan)->statistics(plan, stats);
}

static int
cuda_evaluate(struct engine_plan *plan, const struct samples *s, struct engine_result *result, float *prob)
{
	return module_engine(plan)->evaluate(plan, s, result, prob);
}

static int
cuda_opt_begin(struct engine_plan *plan, const struct engine_opt *how)
{
	return module_engine(plan)->device_opt->begin(plan, how);
}

static int
cuda_opt_step(struct engine_plan *plan, uint64_t n, float rate, uint64_t t, bool mark)
{
	return module_engine(plan)->device_opt->step(plan, n, rate, t, mark);
}

static int
cuda_opt_show_average(struct engine_plan *plan, bool average)
{
	return module_engine(plan)->device_opt->show_average(plan, average);
}

static int
cuda_opt_fetch(struct engine_plan *plan, float *w, float *aux, float *state, float *average, uint32_t *averaged)
{
	return module_engine(plan)->device_opt->fetch(plan, w, aux, state, average, averaged);
}

static int
cuda_update(struct engine_dev *dev, float *w, float *state, const float *g, size_t count, double n,
	const struct opt_hyper *hyper)
{
	return module_engine(dev)->update(dev, w, state, g, count, n, hyper);
}

static int
cuda_cache_images(struct engine_dev *dev, const uint8_t *pixels, size_t bytes)
{
	return module_engine(dev)->accel->cache_images(dev, pixels, bytes);
}

static int
cuda_join(struct engine_dev *const *dev, uint32_t n)
{
	return module_engine(dev[0])->accel->join(dev, n);
}

static const struct engine_accel accel = {
	.locate = cuda_locate,
	.tune = cuda_tune,
	.profile = cuda_profile,
	.prefetch = cuda_prefetch,
	.cache_images = cuda_cache_images,
	.join = cuda_join,
};

static const struct engine_device_opt device_opt = {
	.begin = cuda_opt_begin,
	.step = cuda_opt_step,
	.show_average = cuda_opt_show_average,
	.fetch = cuda_opt_fetch,
};

const struct engine engine_cuda = {
	.name = "cuda",
	.open = cuda_open,
	.close = cuda_close,
	.describe = cuda_describe,
	.plan = cuda_plan,
	.plan_free = cuda_plan_free,
	.explain = cuda_explain,
	.memory = cuda_memory,
	.load = cuda_load_array,
	.load_aux = cuda_load_statistics,
	.forward = cuda_forward,
	.backward = cuda_backward,
	.statistics = cuda_statistics,
	.evaluate = cuda_evaluate,
	.update = cuda_update,
	.accel = &accel,
	.device_opt = &device_opt,
};
