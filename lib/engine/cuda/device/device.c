/* device - one GPU through the CUDA runtime: memory, streams, events, CUDA graphs. */
#include "engine/cuda/device/device.h"
#include "engine/cuda/device/device_in.h"

#include "base/err.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(sizeof(((struct device *)0)->stream) / sizeof(cudaStream_t) == DEVICE_STREAMS,
    "device_in.h counts streams as device.h");

/* compute capability 7.5, the oldest that CUDA 13 and our kernels are built for */
#define OLDEST	75

struct device_event {
	cudaEvent_t event;
};

struct device_graph {
	cudaGraphExec_t exec;
};

int
device_check(const struct device *d, cudaError_t e, const char *what)
{
	if (e == cudaSuccess)
		return 0;
	d->host->note(0, "GPU %d: %s: %s", d->number, what, cudaGetErrorString(e));
	return e == cudaErrorMemoryAllocation ? ERR_NOMEM : ERR_SYS;
}

/* Checks for a driver and a device of this number. */
static int
find_device(const struct cuda_host *host, uint32_t number)
{
	int n = 0;
	cudaError_t e = cudaGetDeviceCount(&n);

	if (e == cudaErrorInsufficientDriver)
		host->note(0, "no GPU: no driver, or one older than CUDA %d.%d", CUDART_VERSION / 1000,
		    CUDART_VERSION / 10 % 100);
	else if (e == cudaErrorNoDevice || (e == cudaSuccess && n == 0))
		host->note(0, "no GPU: no device");
	else if (e != cudaSuccess)
		host->note(0, "no GPU: %s", cudaGetErrorString(e));
	else if (number >= (uint32_t)n)
		host->note(0, "no GPU: no device %u: there are %d", number, n);
	else
		return 0;
	return ERR_NOTSUP;
}

static int
describe_device(struct device *d)
{
	struct cudaDeviceProp p;
	int e = device_check(d, cudaGetDeviceProperties(&p, d->number), "its properties");

	if (e < 0)
		return e;
	snprintf(d->name, sizeof(d->name), "%.*s", DEVICE_NAME - 1, p.name);
	d->major = p.major;
	d->minor = p.minor;
	d->processors = (unsigned)p.multiProcessorCount;
	d->bytes = p.totalGlobalMem;
	if (device_capability(d) >= OLDEST)
		return 0;
	d->host->note(0, "no GPU: GPU %d, %s, has compute capability %d.%d, and 7.5 is the oldest that works",
	    d->number, d->name, d->major, d->minor);
	return ERR_NOTSUP;
}

void
device_load_compiler(void)
{
	char name[32];

	snprintf(name, sizeof(name), "libnvrtc.so.%d", CUDART_VERSION / 1000);
	dlopen(name, RTLD_NOW | RTLD_GLOBAL);
}

static int
start_device(struct device *d)
{
	cudnnStatus_t dnn;
	int e;

	if ((e = device_make_current(d)) < 0 || (e = describe_device(d)) < 0)
		return e;
	for (int s = 0; s < DEVICE_STREAMS; s++)
		if ((e = device_check(d, cudaStreamCreateWithFlags(&d->stream[s], cudaStreamNonBlocking),
		    "a stream")) < 0)
			return e;
	device_load_compiler();
	if ((dnn = cudnnCreate(&d->dnn)) != CUDNN_STATUS_SUCCESS ||
	    (dnn = cudnnSetStream(d->dnn, d->stream[DEVICE_MAIN])) != CUDNN_STATUS_SUCCESS) {
		d->host->note(0, "GPU %d: cuDNN: %s", d->number, cudnnGetErrorString(dnn));
		return ERR_SYS;
	}
	if (cublasLtCreate(&d->blas) != CUBLAS_STATUS_SUCCESS) {
		d->host->note(0, "GPU %d: cuBLASLt does not open", d->number);
		return ERR_SYS;
	}
	return 0;
}

int
device_open(const struct cuda_host *host, uint32_t number, struct device **d)
{
	int e = find_device(host, number);

	*d = NULL;
	if (e < 0)
		return e;
	if ((*d = calloc(1, sizeof(**d))) == NULL)
		return device_nomem(host);
	(*d)->host = host;
	(*d)->number = (int)number;
	if ((e = start_device(*d)) < 0) {
		device_close(*d);
		*d = NULL;
	}
	return e;
}

void
device_close(struct device *d)
{
	if (d == NULL)
		return;
	device_make_current(d);
	if (d->blas != NULL)
		cublasLtDestroy(d->blas);
	if (d->dnn != NULL)
		cudnnDestroy(d->dnn);
	for (int s = 0; s < DEVICE_STREAMS; s++)
		if (d->stream[s] != NULL) {
			cudaStreamSynchronize(d->stream[s]);
			cudaStreamDestroy(d->stream[s]);
		}
	free(d);
}

int
device_make_current(struct device *d)
{
	return device_check(d, cudaSetDevice(d->number), "making it current");
}

int
device_number(const struct device *d)
{
	return d->number;
}

int
device_capability(const struct device *d)
{
	return d->major * 10 + d->minor;
}

int
device_bus(const struct device *d, char bus[ENGINE_BUS])
{
	return device_check(d, cudaDeviceGetPCIBusId(bus, ENGINE_BUS, d->number), "its PCI address");
}

void *
device_stream(struct device *d, enum device_stream s)
{
	return d->stream[s];
}

int
device_describe(const struct device *d, struct buf *out)
{
	size_t v = cudnnGetVersion();
	int cuda = 0;

	cudaRuntimeGetVersion(&cuda);
	return d->host->put(out, "%s, sm_%d%d, %u processors, %.1f GB, CUDA %d.%d, cuDNN %zu.%zu.%zu", d->name,
	    d->major, d->minor, d->processors, (double)d->bytes * 1e-9, cuda / 1000, cuda / 10 % 100, v / 10000,
	    v / 100 % 100, v % 100);
}

void
device_kind(const struct device *d, char text[DEVICE_KIND])
{
	size_t v = cudnnGetVersion();
	int cuda = 0;

	cudaRuntimeGetVersion(&cuda);
	snprintf(text, DEVICE_KIND, "%s\t%d.%d\t%zu.%zu.%zu\t%d.%d", d->name, d->major, d->minor, v / 10000,
	    v / 100 % 100, v % 100, cuda / 1000, cuda / 10 % 100);
}

int
device_memory(struct device *d, size_t *left, size_t *all)
{
	return device_check(d, cudaMemGetInfo(left, all), "its memory");
}

int
device_alloc(struct device *d, size_t bytes, void **p)
{
	size_t left = 0, all = 0;
	cudaError_t e;

	*p = NULL;
	if (bytes == 0 || (e = cudaMalloc(p, bytes)) == cudaSuccess)
		return 0;
	*p = NULL;
	cudaGetLastError();	/* else the next launch would report it */
	if (e != cudaErrorMemoryAllocation || cudaMemGetInfo(&left, &all) != cudaSuccess)
		return device_check(d, e, "memory of the device");
	d->host->note(0, "GPU %d: %.1f MB more of its memory are needed, and %.1f of %.1f are free", d->number,
	    (double)bytes * 1e-6, (double)left * 1e-6, (double)all * 1e-6);
	return ERR_NOMEM;
}

void
device_free(struct device *d, void *p)
{
	(void)d;
	if (p != NULL)
		cudaFree(p);
}

int
device_alloc_pinned(struct device *d, size_t bytes, void **p)
{
	*p = NULL;
	return bytes == 0 ? 0 : device_check(d, cudaMallocHost(p, bytes), "pinned memory");
}

void
device_free_pinned(struct device *d, void *p)
{
	(void)d;
	if (p != NULL)
		cudaFreeHost(p);
}

int
device_upload(struct device *d, enum device_stream s, void *to, const void *from, size_t bytes)
{
	return bytes == 0 ? 0 :
	    device_check(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, d->stream[s]), "an upload");
}

int
device_download(struct device *d, enum device_stream s, void *to, const void *from, size_t bytes)
{
	return bytes == 0 ? 0 :
	    device_check(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, d->stream[s]), "a download");
}

int
device_zero(struct device *d, void *p, size_t bytes)
{
	return bytes == 0 ? 0 : device_check(d, cudaMemsetAsync(p, 0, bytes, d->stream[DEVICE_MAIN]), "zeros");
}

int
device_wait(struct device *d)
{
	int e = 0;

	for (int s = 0; s < DEVICE_STREAMS && e == 0; s++)
		e = device_check(d, cudaStreamSynchronize(d->stream[s]), "its work");
	return e;
}

int
device_event_new(struct device *d, bool timed, struct device_event **v)
{
	int e;

	if ((*v = calloc(1, sizeof(**v))) == NULL)
		return device_nomem(d->host);
	if ((e = device_check(d, cudaEventCreateWithFlags(&(*v)->event,
	    timed ? cudaEventDefault : cudaEventDisableTiming), "an event")) < 0) {
		free(*v);
		*v = NULL;
	}
	return e;
}

void
device_event_free(struct device_event *v)
{
	if (v == NULL)
		return;
	cudaEventDestroy(v->event);
	free(v);
}

int
device_event_record(struct device *d, struct device_event *v, enum device_stream s)
{
	return device_check(d, cudaEventRecordWithFlags(v->event, d->stream[s],
	    d->captures && s == DEVICE_MAIN ? cudaEventRecordExternal : cudaEventRecordDefault), "an event");
}

int
device_event_follow(struct device *d, struct device_event *v, enum device_stream s)
{
	return device_check(d, cudaStreamWaitEvent(d->stream[s], v->event, 0), "waiting for an event");
}

int
device_event_wait(struct device *d, struct device_event *v)
{
	return device_check(d, cudaEventSynchronize(v->event), "its work");
}

int
device_event_elapsed_us(struct device *d, const struct device_event *from, const struct device_event *to,
    double *us)
{
	float ms = 0;
	int e = device_check(d, cudaEventElapsedTime(&ms, from->event, to->event), "a time");

	*us = (double)ms * 1e3;
	return e;
}

int
device_graph_begin(struct device *d)
{
	int e = device_check(d, cudaStreamBeginCapture(d->stream[DEVICE_MAIN], cudaStreamCaptureModeThreadLocal),
	    "capturing a CUDA graph");

	d->captures = e == 0;
	return e;
}

int
device_graph_end(struct device *d, struct device_graph **graph)
{
	cudaGraphExec_t exec = NULL;
	cudaGraph_t captured = NULL;

	*graph = NULL;
	d->captures = 0;
	if (cudaStreamEndCapture(d->stream[DEVICE_MAIN], &captured) == cudaSuccess && captured != NULL &&
	    cudaGraphInstantiate(&exec, captured, 0) == cudaSuccess && (*graph = calloc(1, sizeof(**graph))) != NULL)
		(*graph)->exec = exec;
	else if (exec != NULL)
		cudaGraphExecDestroy(exec);
	if (captured != NULL)
		cudaGraphDestroy(captured);
	cudaGetLastError();	/* a refused capture must not become the error of a later call */
	return 0;
}

int
device_graph_launch(struct device *d, struct device_graph *graph)
{
	return device_check(d, cudaGraphLaunch(graph->exec, d->stream[DEVICE_MAIN]), "launching a CUDA graph");
}

void
device_graph_free(struct device_graph *graph)
{
	if (graph == NULL)
		return;
	cudaGraphExecDestroy(graph->exec);
	free(graph);
}
