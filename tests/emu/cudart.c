/*
 * cudart - devices and memory of the stand-in for libcudart.
 *
 * Memory begins as NaN.  TALLY_EMU=none: there is no device.  TALLY_EMU_MB: megabytes of device memory.
 * TALLY_EMU_NAME: the name of the devices, by which tests know an emulated one.  TALLY_EMU_CAPABILITY: 9.0 by default.
 */
#include "emu/cudart.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PINNED	(-1)	/* the "device" of pinned host memory */

struct range {
	char	*p;
	size_t	 bytes;
	int	 device;
	struct range *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of what follows */
static struct range *ranges;
static size_t allocated[CUDART_DEVICES];

_Thread_local int cudart_device;
static _Thread_local cudaError_t last_error;

void
emu_fault(const char *what, ...)
{
	va_list v;

	va_start(v, what);
	fputs("emulated GPU: ", stderr);
	vfprintf(stderr, what, v);
	fputc('\n', stderr);
	va_end(v);
	abort();
}

void
emu_log(const char *what, size_t bytes)
{
	const char *path = getenv("TALLY_EMU_LOG");
	FILE *f = path != NULL ? fopen(path, "a") : NULL;

	if (f != NULL && fprintf(f, "%s %zu\n", what, bytes) > 0)
		fclose(f);
}

bool
cudart_is_set(const char *mode)
{
	const char *how = getenv("TALLY_EMU");

	return how != NULL && strcmp(how, mode) == 0;
}

cudaError_t
cudart_fail(cudaError_t e)
{
	return last_error = e;
}

static struct range *
find_range(const void *p)
{
	const char *at = p;
	struct range *r;

	pthread_mutex_lock(&lock);
	for (r = ranges; r != NULL && (at < r->p || at >= r->p + r->bytes); r = r->next)
		;
	pthread_mutex_unlock(&lock);
	return r;
}

void
cudart_check_range(const char *what, const void *p, size_t bytes, int device)
{
	const struct range *r = find_range(p);

	if (r == NULL || r->device != device)
		emu_fault("%s: %p is no memory of device %d", what, p, device);
	if (bytes > (size_t)(r->p + r->bytes - (const char *)p))
		emu_fault("%s: %zu bytes at %p end beyond their allocation", what, bytes, p);
}

void
emu_check_memory(const char *what, const void *p, size_t bytes, size_t align)
{
	cudart_check_range(what, p, bytes, cudart_device);
	if ((uintptr_t)p % align != 0)
		emu_fault("%s: %p is no multiple of %zu", what, p, align);
}

bool
cudart_check_host(const char *what, const void *p)
{
	const struct range *r = find_range(p);

	if (r != NULL && r->device != PINNED)
		emu_fault("%s: %p is memory of device %d, not of the host", what, p, r->device);
	return r != NULL;
}

const char *
cudaGetErrorString(cudaError_t e)
{
	return e == cudaErrorMemoryAllocation ? "out of memory" : e == cudaErrorNoDevice ? "no device" :
	    e == cudaErrorLaunchFailure ? "unspecified launch failure" : "an error";
}

cudaError_t
cudaGetLastError(void)
{
	cudaError_t e = last_error;

	last_error = cudaSuccess;
	return e;
}

cudaError_t
cudaGetDeviceCount(int *n)
{
	*n = cudart_is_set("none") ? 0 : CUDART_DEVICES;
	return *n > 0 ? cudaSuccess : cudart_fail(cudaErrorNoDevice);
}

cudaError_t
cudaSetDevice(int device)
{
	cudart_device = device;
	return cudaSuccess;
}

static size_t
count_memory(void)
{
	const char *mb = getenv("TALLY_EMU_MB");

	return mb != NULL ? (size_t)(strtod(mb, NULL) * 1e6) : (size_t)1 << 40;
}

cudaError_t
cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
	const char *name = getenv("TALLY_EMU_NAME"), *capability = getenv("TALLY_EMU_CAPABILITY");

	(void)device;
	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "%s", name != NULL ? name : "no GPU but loops");
	p->major = 9;
	if (capability != NULL)
		sscanf(capability, "%d.%d", &p->major, &p->minor);
	p->multiProcessorCount = 2;
	p->totalGlobalMem = count_memory();
	return cudaSuccess;
}

cudaError_t
cudaDeviceGetPCIBusId(char *bus, int bytes, int device)
{
	snprintf(bus, (size_t)bytes, "0000:00:%02x.0", (unsigned)device);
	return cudaSuccess;
}

cudaError_t
cudaRuntimeGetVersion(int *version)
{
	*version = CUDART_VERSION;
	return cudaSuccess;
}

cudaError_t
cudaMemGetInfo(size_t *left, size_t *all)
{
	*all = count_memory();
	*left = *all > allocated[cudart_device] ? *all - allocated[cudart_device] : 0;
	return cudaSuccess;
}

static void
add_range(size_t bytes, int device, void **p)
{
	struct range *r = malloc(sizeof(*r));

	*p = aligned_alloc(256, (bytes + 255) / 256 * 256);
	memset(*p, 0xff, bytes);
	pthread_mutex_lock(&lock);
	*r = (struct range){ *p, bytes, device, ranges };
	ranges = r;
	if (device != PINNED)
		allocated[device] += bytes;
	pthread_mutex_unlock(&lock);
}

/* Work that uses the memory runs first: freeing waits for the device. */
static void
remove_range(const char *call, void *p, bool pinned)
{
	struct range **at, *r = find_range(p);

	if (r == NULL || r->p != p || (r->device == PINNED) != pinned)
		emu_fault("%s: %p is not allocated so", call, p);
	for (int i = 0; i < CUDART_DEVICES; i++)
		if (pinned || i == r->device)
			cudart_run_all(i);
	pthread_mutex_lock(&lock);
	for (at = &ranges; *at != r; at = &(*at)->next)
		;
	*at = r->next;
	if (!pinned)
		allocated[r->device] -= r->bytes;
	pthread_mutex_unlock(&lock);
	free(r->p);
	free(r);
}

cudaError_t
cudaMalloc(void **p, size_t bytes)
{
	size_t left, all;

	cudart_check_no_capture("cudaMalloc");
	cudaMemGetInfo(&left, &all);
	if (bytes > left)
		return cudart_fail(cudaErrorMemoryAllocation);
	add_range(bytes, cudart_device, p);
	return cudaSuccess;
}

cudaError_t
cudaFree(void *p)
{
	cudart_check_no_capture("cudaFree");
	remove_range("cudaFree", p, false);
	return cudaSuccess;
}

cudaError_t
cudaMallocHost(void **p, size_t bytes)
{
	cudart_check_no_capture("cudaMallocHost");
	add_range(bytes, PINNED, p);
	return cudaSuccess;
}

cudaError_t
cudaFreeHost(void *p)
{
	cudart_check_no_capture("cudaFreeHost");
	remove_range("cudaFreeHost", p, true);
	return cudaSuccess;
}
