/*
 * device - one GPU: memory, three streams, events and CUDA graphs.
 *
 * lib/engine/cuda/device is device (this one), blas (matrix products), dnn (convolutions) and nccl (sums over GPUs).
 * dnn_desc has dnn's descriptors, and choose picks its kernels by races (dnn_race).
 *
 * The engine uses a GPU through device.h, dnn.h, blas.h, nccl.h and the kernel_run_* of kernel.h, and through nothing
 * else.  They are implemented with CUDA's libraries.  tests/emu has stand-ins for CUDA's runtime and cuBLASLt, and
 * loops in place of dnn.c and kernel_run.cu, so that the rest of the engine runs without a GPU.
 *
 * Work is enqueued on a stream and done later, in order. DEVICE_MAIN computes, DEVICE_DOWNLOAD
 * copies results to the host, and DEVICE_UPLOAD copies batches to the GPU. Functions return 0 or
 * ERR_*, with a line noted.
 */
#ifndef ENGINE_CUDA_DEVICE_DEVICE_H
#define ENGINE_CUDA_DEVICE_DEVICE_H

#include "base/err.h"
#include "engine/cuda.h"

enum device_stream { DEVICE_MAIN, DEVICE_DOWNLOAD, DEVICE_UPLOAD, DEVICE_STREAMS };

struct device;
struct device_event;	/* a point in a stream */
struct device_graph;	/* captured work */

static inline int
device_nomem(const struct cuda_host *host)
{
	host->note(0, "out of memory");
	return ERR_NOMEM;
}

/* Returns ERR_NOTSUP if there is no driver or no such device; the line begins with "no GPU: ". */
int	 device_open(const struct cuda_host *host, uint32_t number, struct device **d);
void	 device_close(struct device *d);	/* NULL is fine; waits for its work */
/* Makes d the device of this thread's CUDA calls.  Each entry of the engine calls it first. */
int	 device_make_current(struct device *d);
int	 device_number(const struct device *d);
int	 device_capability(const struct device *d);	/* 75: compute capability 7.5 */
int	 device_bus(const struct device *d, char bus[ENGINE_BUS]);	/* PCI address */
/* A stream, for a library that enqueues on it. */
void	*device_stream(struct device *d, enum device_stream s);
/* "NVIDIA H200, sm_90, 132 processors ... cuDNN 9.19.0" */
int	 device_describe(const struct device *d, struct buf *out);

/*
 * The device's name and versions, the first cells of a line of engine/autotune_cache.h: "NVIDIA
 * H200\t9.0\t9.19.0\t12.8".
 */
#define DEVICE_KIND 192
void	 device_kind(const struct device *d, char text[DEVICE_KIND]);

/* Free and total memory in bytes. */
int	 device_memory(struct device *d, size_t *left, size_t *all);
/*
 * GPU memory, aligned to 256 bytes. Returns ERR_NOMEM with a line that has the free and the total
 * memory.
 */
int	 device_alloc(struct device *d, size_t bytes, void **p);
void	 device_free(struct device *d, void *p);
/* Pinned host memory, from and to which copies do not block. */
int	 device_alloc_pinned(struct device *d, size_t bytes, void **p);
void	 device_free_pinned(struct device *d, void *p);

int	 device_upload(struct device *d, enum device_stream s, void *to, const void *from, size_t bytes);
int	 device_download(struct device *d, enum device_stream s, void *to, const void *from, size_t bytes);
int	 device_zero(struct device *d, void *p, size_t bytes);	/* on DEVICE_MAIN */
int	 device_wait(struct device *d);	/* waits for all streams */

/* timed: the event records its time, for device_event_elapsed_us(). */
int	 device_event_new(struct device *d, bool timed, struct device_event **v);
void	 device_event_free(struct device_event *v);	/* NULL is fine */
/* Work that is captured records an event that is not timed each time it is launched. */
int	 device_event_record(struct device *d, struct device_event *v, enum device_stream s);
/* Stream s waits for the event before its next work. */
int	 device_event_follow(struct device *d, struct device_event *v, enum device_stream s);
int	 device_event_wait(struct device *d, struct device_event *v);
/* The microseconds between two timed events that have both been reached. */
int	 device_event_elapsed_us(struct device *d, const struct device_event *from, const struct device_event *to,
	double *us);

/*
 * Work on DEVICE_MAIN between begin and end is captured and not run. If the device refuses to
 * capture it, end returns 0 with *graph NULL.
 */
int	 device_graph_begin(struct device *d);
int	 device_graph_end(struct device *d, struct device_graph **graph);
int	 device_graph_launch(struct device *d, struct device_graph *graph);
void	 device_graph_free(struct device_graph *graph);	/* NULL is fine */

#endif
