/*
 * nvml - a stand-in for libnvidia-ml.so.1: the GPU at 0000:00:0K.0 is (20 + 30 K) percent busy,
 * then 20 more, alternating.
 */
#include <stdio.h>
#include <stdlib.h>

struct nvmlDevice_st {
	unsigned number, calls;
};
struct nvmlUtilization {
	unsigned gpu, memory;
};
struct nvmlMemory {
	unsigned long long total, free, used;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, struct nvmlDevice_st **d);
int nvmlDeviceGetUtilizationRates(struct nvmlDevice_st *d, struct nvmlUtilization *u);
int nvmlDeviceGetMemoryInfo(struct nvmlDevice_st *d, struct nvmlMemory *m);

enum { SUCCESS = 0, UNINITIALIZED = 1, NOT_FOUND = 6 };

static struct nvmlDevice_st devices[2] = { { 0, 0 }, { 1, 0 } };
static int started;

int
nvmlInit_v2(void)
{
	started++;
	return getenv("TALLY_NVML") == NULL ? SUCCESS : UNINITIALIZED;
}

int
nvmlShutdown(void)
{
	return started-- > 0 ? SUCCESS : UNINITIALIZED;
}

const char *
nvmlErrorString(int result)
{
	return result == NOT_FOUND ? "Not Found" : "Uninitialized";
}

int
nvmlDeviceGetHandleByPciBusId_v2(const char *bus, struct nvmlDevice_st **d)
{
	unsigned k;

	if (started == 0)
		return UNINITIALIZED;
	if (sscanf(bus, "0000:00:%x.0", &k) != 1 || k > 1)
		return NOT_FOUND;
	*d = &devices[k];
	return SUCCESS;
}

int
nvmlDeviceGetUtilizationRates(struct nvmlDevice_st *d, struct nvmlUtilization *u)
{
	*u = (struct nvmlUtilization){ 20 + 30 * d->number + 20 * (d->calls++ % 2), 1 };
	return SUCCESS;
}

int
nvmlDeviceGetMemoryInfo(struct nvmlDevice_st *d, struct nvmlMemory *m)
{
	*m = (struct nvmlMemory){ 8000000000, 7000000000 - d->number, 1000000000 + d->number };
	return SUCCESS;
}
