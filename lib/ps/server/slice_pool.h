/*
 * slice_pool - buffers for gradients and their sums: reused, and shared by the slices of a server.
 *
 * Threads: one thread at a time.
 */
#ifndef PS_SERVER_SLICE_POOL_H
#define PS_SERVER_SLICE_POOL_H

#include <stddef.h>

#define SLICE_POOL_SIZES	32

/* Initialize with zeros. */
struct slice_pool {
	void	*spare[SLICE_POOL_SIZES];	/* lists of free buffers for up to 1 << i floats */
	float	*work;		/* scratch of an update of the largest matrix or slice, or NULL */
};

/* A buffer for count floats, or NULL if out of memory. */
float	*slice_pool_get(struct slice_pool *p, size_t count);
void	 slice_pool_put(struct slice_pool *p, float *g, size_t count);
void	 slice_pool_free(struct slice_pool *p);

#endif
