/* gpuload - load and memory in use of NVIDIA GPUs. */
#include "watch/gpuload.h"

#include "base/err.h"
#include "base/so.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#define EVERY_S	0.5

/* As in nvml.h.  Handles are pointers, and calls return 0 for success. */
struct nvml_utilization {
	unsigned gpu, memory;	/* percent of time busy */
};
struct nvml_memory {
	unsigned long long total, free, used;	/* bytes */
};

struct gpu {
	void	*handle;
	double	 sum;		/* sum of the loads sampled since gpuload_read() */
	uint32_t looks;
};

struct gpuload {
	int	 (*start)(void);
	int	 (*stop)(void);
	const char *(*why)(int result);
	int	 (*find)(const char *bus, void **handle);
	int	 (*utilization)(void *handle, struct nvml_utilization *u);
	int	 (*memory)(void *handle, struct nvml_memory *m);
	bool	 started;
	double	 looked_s;
	uint32_t n;
	struct gpu gpu[GPULOAD_MOST];
};

static int
check_nvml(const struct gpuload *g, int result, const char *what)
{
	return result == 0 ? 0 : err_fail(ERR_SYS, "NVML: %s: %s", what, g->why(result));
}

static int
load_nvml(struct gpuload *g)
{
	const struct so_symbol calls[] = {
		{ "nvmlInit_v2", &g->start, false }, { "nvmlShutdown", &g->stop, false },
		{ "nvmlErrorString", &g->why, false }, { "nvmlDeviceGetHandleByPciBusId_v2", &g->find, false },
		{ "nvmlDeviceGetUtilizationRates", &g->utilization, false },
		{ "nvmlDeviceGetMemoryInfo", &g->memory, false },
	};

	if (so_load((const char *const[]){ "libnvidia-ml.so.1", NULL }, calls, sizeof(calls) / sizeof(*calls)) < 0)
		return err_wrap(ERR_NOTSUP, "no NVML");
	g->started = g->start() == 0;
	return g->started ? 0 : err_fail(ERR_NOTSUP, "no NVML: it does not start");
}

int
gpuload_open(const char *const *bus, uint32_t n, struct gpuload **out)
{
	struct gpuload *g = calloc(1, sizeof(*g));
	int e;

	assert(n <= GPULOAD_MOST);
	*out = NULL;
	if (g == NULL)
		return err_nomem();
	g->looked_s = -EVERY_S;
	g->n = n;
	e = load_nvml(g);
	for (uint32_t k = 0; k < n && e == 0; k++)
		if ((e = check_nvml(g, g->find(bus[k], &g->gpu[k].handle), bus[k])) < 0)
			e = ERR_NOTSUP;
	if (e < 0) {
		gpuload_close(g);
		return e;
	}
	*out = g;
	return 0;
}

void
gpuload_close(struct gpuload *g)
{
	if (g == NULL)
		return;
	if (g->started)
		g->stop();
	free(g);
}

static int
read_gpu(struct gpuload *g, struct gpu *one)
{
	struct nvml_utilization u;

	ERR_TRY(check_nvml(g, g->utilization(one->handle, &u), "utilization"));
	one->sum += (double)u.gpu / 100;
	one->looks++;
	return 0;
}

void
gpuload_sample(struct gpuload *g, double now_s)
{
	if (now_s - g->looked_s < EVERY_S)
		return;
	g->looked_s = now_s;
	for (uint32_t k = 0; k < g->n; k++)
		read_gpu(g, &g->gpu[k]);	/* a failed sample does not count */
}

int
gpuload_read(struct gpuload *g, uint32_t k, double *load, uint64_t *bytes)
{
	struct gpu *one = &g->gpu[k];
	struct nvml_memory m;

	assert(k < g->n);
	if (one->looks == 0)
		ERR_TRY(read_gpu(g, one));
	ERR_TRY(check_nvml(g, g->memory(one->handle, &m), "memory"));
	*load = one->sum / one->looks;
	*bytes = m.used;
	one->sum = 0;
	one->looks = 0;
	return 0;
}
