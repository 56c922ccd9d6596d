/*
 * device - one GPU: memory, three streams of work, marks in them, and work recorded to be played again.
 *
 * This and dnn.h, blas.h and kernel.h's kernel_run_* are all that the engine knows
 * of a GPU.  Two sides implement them: device.c, dnn.c, blas.c and kernel_run.cu
 * with CUDA's libraries, and tests/emu by plain loops on the CPU, so that the
 * rest of the engine runs where there is no GPU.
 *
 * Work is enqueued on a stream and done later, in order; beside the kernels of
 * DEVICE_MAIN, DEVICE_COPY is for what comes down and DEVICE_UP for batches on their
 * way up.  Functions return 0 or ERR_* with a line noted.
 */
#ifndef ENGINE_CUDA_DEVICE_DEVICE_H
#define ENGINE_CUDA_DEVICE_DEVICE_H

#include "engine/cuda.h"

enum device_stream { DEVICE_MAIN, DEVICE_COPY, DEVICE_UP, DEVICE_STREAMS };

struct device;
struct device_mark;	/* a place in a stream */
struct device_tape;	/* recorded work */

/* ERR_NOTSUP where there is no driver or no such device: the line begins with "no GPU: ". */
int	 device_open(const struct cuda_host *host, uint32_t number, struct device **d);
void	 device_close(struct device *d);	/* NULL is fine; waits for its work */
/* What this thread calls from now on is for d: the libraries keep one device a thread.  At the start of each entry. */
int	 device_enter(struct device *d);
int	 device_number(const struct device *d);
int	 device_bus(const struct device *d, char bus[ENGINE_BUS]);	/* its address on the PCI bus */
/* A stream as a library knows it that enqueues by itself. */
void	*device_stream(struct device *d, enum device_stream s);
/* "NVIDIA H200, 132 processors, cuDNN 9.19.0 ..." */
int	 device_describe(const struct device *d, struct buf *out);

/*
 * Its kind and its libraries', the first cells of a line of engine/autotune_cache.h: "NVIDIA
 * H200\t9.0\t9.19.0\t12.8".
 */
#define DEVICE_KIND 192
void	 device_kind(const struct device *d, char text[DEVICE_KIND]);

/* Bytes of its memory that are free now, and all of it. */
int	 device_memory(struct device *d, size_t *left, size_t *all);
/* Memory of the device; a multiple of 256 bytes apart.  ERR_NOMEM with both numbers.  given back with NULL: nothing. */
int	 device_take(struct device *d, size_t bytes, void **p);
void	 device_give(struct device *d, void *p);
/* Memory of the host that copies go from and to without a stop. */
int	 device_pin(struct device *d, size_t bytes, void **p);
void	 device_unpin(struct device *d, void *p);

int	 device_up(struct device *d, enum device_stream s, void *to, const void *from, size_t bytes);
int	 device_down(struct device *d, enum device_stream s, void *to, const void *from, size_t bytes);
int	 device_zero(struct device *d, void *p, size_t bytes);	/* on DEVICE_MAIN */
int	 device_wait(struct device *d);	/* until all streams are done */

int	 device_mark_new(struct device *d, struct device_mark **m);
/* The same for an event that records its time; us: microseconds between two such events, both reached. */
int	 device_mark_timed(struct device *d, struct device_mark **m);
int	 device_mark_us(struct device *d, const struct device_mark *from, const struct device_mark *to, double *us);
void	 device_mark_free(struct device_mark *m);	/* NULL is fine */
int	 device_mark_put(struct device *d, struct device_mark *m, enum device_stream s);
/* What comes in stream s from now on waits for the mark. */
int	 device_mark_follow(struct device *d, struct device_mark *m, enum device_stream s);
int	 device_mark_wait(struct device *d, struct device_mark *m);

/*
 * What DEVICE_MAIN is given between start and stop is not done but recorded.  stop makes a tape of it, which plays it
 * again as one piece of work; *tape NULL and 0: the device would not, and nothing was done.
 */
int	 device_tape_start(struct device *d);
int	 device_tape_stop(struct device *d, struct device_tape **tape);
int	 device_tape_play(struct device *d, struct device_tape *tape);
void	 device_tape_free(struct device_tape *tape);	/* NULL is fine */

#endif
