/* device - one GPU through CUDA's runtime: memory, streams, events, graphs. */
#include "engine/cuda/device/device.h"
#include "engine/cuda/device/device_in.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

_Static_assert(sizeof(((struct device *)0)->stream) / sizeof(cudaStream_t) == DEVICE_STREAMS,
    "device_in.h counts streams as device.h");

#define OLDEST	75	/* compute capability 7.5: what the libraries of CUDA 13 and our kernels are built for */

struct device_mark {
	cudaEvent_t event;
};

struct device_tape {
	cudaGraphExec_t exec;
};

int
device_ok(const struct device *d, cudaError_t e, const char *what)
{
	if (e == cudaSuccess)
		return 0;
	d->host->note(0, "GPU %d: %s: %s", d->number, what, cudaGetErrorString(e));
	return e == cudaErrorMemoryAllocation ? ERR_NOMEM : ERR_SYS;
}

/* Is there a driver, and a device of this number? */
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
	int e = device_ok(d, cudaGetDeviceProperties(&p, d->number), "its properties");

	if (e < 0)
		return e;
	snprintf(d->name, sizeof(d->name), "%.*s", DEVICE_NAME - 1, p.name);
	d->major = p.major;
	d->minor = p.minor;
	d->processors = (unsigned)p.multiProcessorCount;
	d->bytes = p.totalGlobalMem;
	if (d->major * 10 + d->minor >= OLDEST)
		return 0;
	d->host->note(0, "no GPU: GPU %d, %s, has compute capability %d.%d: 7.5 and later do", d->number, d->name,
	    d->major, d->minor);
	return ERR_NOTSUP;
}

static int
start_device(struct device *d)
{
	cudnnStatus_t dnn;
	int e;

	if ((e = device_ok(d, cudaSetDevice(d->number), "set")) < 0 || (e = describe_device(d)) < 0)
		return e;
	for (int s = 0; s < DEVICE_STREAMS; s++)
		if ((e = device_ok(d, cudaStreamCreateWithFlags(&d->stream[s], cudaStreamNonBlocking), "a stream")) < 0)
			return e;
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
	if ((*d = calloc(1, sizeof(**d))) == NULL) {
		host->note(0, "out of memory");
		return ERR_NOMEM;
	}
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
	device_enter(d);
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
device_enter(struct device *d)
{
	return device_ok(d, cudaSetDevice(d->number), "set");
}

int
device_number(const struct device *d)
{
	return d->number;
}

int
device_bus(const struct device *d, char bus[ENGINE_BUS])
{
	return device_ok(d, cudaDeviceGetPCIBusId(bus, ENGINE_BUS, d->number), "its PCI address");
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
	    d->major, d->minor,
	    d->processors, (double)d->bytes * 1e-9, cuda / 1000, cuda / 10 % 100, v / 10000, v / 100 % 100, v % 100);
}

void
device_kind(const struct device *d, char text[DEVICE_KIND])
{
	size_t v = cudnnGetVersion();
	int cuda = 0;

	cudaRuntimeGetVersion(&cuda);
	snprintf(text, DEVICE_KIND, "%s\t%d.%d\t%zu.%zu.%zu\t%d.%d", d->name, d->major, d->minor, v / 10000,
	    v / 100 % 100, v % 100,
	    cuda / 1000, cuda / 10 % 100);
}

int
device_memory(struct device *d, size_t *left, size_t *all)
{
	return device_ok(d, cudaMemGetInfo(left, all), "its memory");
}

int
device_take(struct device *d, size_t bytes, void **p)
{
	size_t left = 0, all = 0;
	cudaError_t e;

	*p = NULL;
	if (bytes == 0 || (e = cudaMalloc(p, bytes)) == cudaSuccess)
		return 0;
	*p = NULL;
	cudaGetLastError();	/* or the next kernel would be told of it */
	if (e != cudaErrorMemoryAllocation || cudaMemGetInfo(&left, &all) != cudaSuccess)
		return device_ok(d, e, "memory of the device");
	d->host->note(0, "GPU %d: %.1f MB more of its memory are needed, and %.1f of %.1f are free", d->number,
	    (double)bytes * 1e-6, (double)left * 1e-6, (double)all * 1e-6);
	return ERR_NOMEM;
}

void
device_give(struct device *d, void *p)
{
	(void)d;
	if (p != NULL)
		cudaFree(p);
}

int
device_pin(struct device *d, size_t bytes, void **p)
{
	*p = NULL;
	return bytes == 0 ? 0 : device_ok(d, cudaMallocHost(p, bytes), "pinned memory");
}

void
device_unpin(struct device *d, void *p)
{
	(void)d;
	if (p != NULL)
		cudaFreeHost(p);
}

int
device_up(struct device *d, enum device_stream s, void *to, const void *from, size_t bytes)
{
	return bytes == 0 ? 0 : device_ok(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, d->stream[s]),
	    "a copy up");
}

int
device_down(struct device *d, enum device_stream s, void *to, const void *from, size_t bytes)
{
	return bytes == 0 ? 0 : device_ok(d, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, d->stream[s]),
	    "a copy down");
}

int
device_zero(struct device *d, void *p, size_t bytes)
{
	return bytes == 0 ? 0 : device_ok(d, cudaMemsetAsync(p, 0, bytes, d->stream[DEVICE_MAIN]), "zeros");
}

int
device_wait(struct device *d)
{
	int e = 0;

	for (int s = 0; s < DEVICE_STREAMS && e == 0; s++)
		e = device_ok(d, cudaStreamSynchronize(d->stream[s]), "its work");
	return e;
}

static int
make_mark(struct device *d, struct device_mark **m, unsigned flags)
{
	int e;

	if ((*m = calloc(1, sizeof(**m))) == NULL) {
		d->host->note(0, "out of memory");
		return ERR_NOMEM;
	}
	if ((e = device_ok(d, cudaEventCreateWithFlags(&(*m)->event, flags), "an event")) < 0) {
		free(*m);
		*m = NULL;
	}
	return e;
}

int
device_mark_new(struct device *d, struct device_mark **m)
{
	return make_mark(d, m, cudaEventDisableTiming);
}

int
device_mark_timed(struct device *d, struct device_mark **m)
{
	return make_mark(d, m, cudaEventDefault);
}

int
device_mark_us(struct device *d, const struct device_mark *from, const struct device_mark *to, double *us)
{
	float ms = 0;
	int e = device_ok(d, cudaEventElapsedTime(&ms, from->event, to->event), "a time");

	*us = (double)ms * 1e3;
	return e;
}

void
device_mark_free(struct device_mark *m)
{
	if (m == NULL)
		return;
	cudaEventDestroy(m->event);
	free(m);
}

int
device_mark_put(struct device *d, struct device_mark *m, enum device_stream s)
{
	return device_ok(d, cudaEventRecord(m->event, d->stream[s]), "a mark");
}

int
device_mark_follow(struct device *d, struct device_mark *m, enum device_stream s)
{
	return device_ok(d, cudaStreamWaitEvent(d->stream[s], m->event, 0), "following a mark");
}

int
device_mark_wait(struct device *d, struct device_mark *m)
{
	return device_ok(d, cudaEventSynchronize(m->event), "its work");
}

int
device_tape_start(struct device *d)
{
	return device_ok(d, cudaStreamBeginCapture(d->stream[DEVICE_MAIN], cudaStreamCaptureModeThreadLocal),
	    "recording");
}

int
device_tape_stop(struct device *d, struct device_tape **tape)
{
	cudaGraphExec_t exec = NULL;
	cudaGraph_t graph = NULL;

	*tape = NULL;
	if (cudaStreamEndCapture(d->stream[DEVICE_MAIN], &graph) == cudaSuccess && graph != NULL &&
	    cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess && (*tape = calloc(1, sizeof(**tape))) != NULL)
		(*tape)->exec = exec;
	else if (exec != NULL)
		cudaGraphExecDestroy(exec);
	if (graph != NULL)
		cudaGraphDestroy(graph);
	cudaGetLastError();	/* what stopped the recording is no error of what comes next */
	return 0;
}

int
device_tape_play(struct device *d, struct device_tape *tape)
{
	return device_ok(d, cudaGraphLaunch(tape->exec, d->stream[DEVICE_MAIN]), "playing what was recorded");
}

void
device_tape_free(struct device_tape *tape)
{
	if (tape == NULL)
		return;
	cudaGraphExecDestroy(tape->exec);
	free(tape);
}
