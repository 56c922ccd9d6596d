/*
 * gpuload - load and memory in use of NVIDIA GPUs.
 *
 * NVML, the library behind nvidia-smi, reports the share of the last moment in which a GPU computed, for any process.
 * gpuload_sample() samples it at most twice a second, and a load is the mean of the samples.  gpuload_open() loads
 * libnvidia-ml.so.1, which comes with the driver.  Source: NVML API reference.  The names that end in _v2 keep their
 * binary interface.
 * Threads: one at a time.
 */
#ifndef WATCH_GPULOAD_H
#define WATCH_GPULOAD_H

#include <stdint.h>

#define GPULOAD_MOST 64

struct gpuload;

/* Opens n GPUs by PCI bus address, "0000:3b:00.0".  Returns 0, ERR_NOTSUP (no library or GPU) or ERR_NOMEM. */
int	 gpuload_open(const char *const *bus, uint32_t n, struct gpuload **g);
void	 gpuload_close(struct gpuload *g);	/* g may be NULL */
/* Samples the load if the last sample is half a second old.  now_s is clk_s(). */
void	 gpuload_sample(struct gpuload *g, double now_s);
/* Gives GPU k's mean load since the last call for it, 0..1, and its memory in use, bytes.  Returns 0 or ERR_SYS. */
int	 gpuload_read(struct gpuload *g, uint32_t k, double *load, uint64_t *bytes);

#endif
