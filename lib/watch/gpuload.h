/*
 * gpuload - how busy some GPUs of NVIDIA's are, and what of their memory is in use, by whomever.
 *
 * NVML, the library of nvidia-smi that comes with the driver, says which share of the last moment a GPU computed for;
 * gpuload_look() asks it, once in half a second at most, and a load is the mean of what it said.
 * libnvidia-ml.so.1 is opened when it is asked for.  Source: NVIDIA's NVML API reference; its calls keep their
 * binary interface by names that end in _v2.
 * Threads: for one thread at a time.
 */
#ifndef WATCH_GPULOAD_H
#define WATCH_GPULOAD_H

#include <stdint.h>

#define GPULOAD_MOST 64

struct gpuload;

/*
 * The GPUs at the PCI bus addresses bus [n], "0000:3b:00.0".  Returns 0, ERR_NOTSUP (no library, no
 * such GPU) or ERR_NOMEM.
 */
int	 gpuload_open(const char *const *bus, uint32_t n, struct gpuload **g);
void	 gpuload_close(struct gpuload *g);	/* NULL is fine */
/* To be called often; now_s by base/clk.h. */
void	 gpuload_look(struct gpuload *g, double now_s);
/*
 * Of GPU k since the last call of this for it: its load, 0..1, and bytes in use now.  Returns 0, or
 * ERR_SYS when NVML fails.
 */
int	 gpuload_take(struct gpuload *g, uint32_t k, double *load, uint64_t *bytes);

#endif
