/* slice_pool - buffers for gradients and their sums: reused, and shared by the slices of a server. */
#include "ps/server/slice_pool.h"

#include <stdlib.h>
#include <string.h>

/* The list of buffers that are large enough for count floats; the smallest have room for a pointer. */
static unsigned
find_size(size_t count)
{
	unsigned i = 1;

	while ((size_t)1 << i < count)
		i++;
	return i;
}

/* The first bytes of a free buffer point to the next one. */
float *
slice_pool_get(struct slice_pool *p, size_t count)
{
	unsigned i = find_size(count);
	void *g = p->spare[i];

	if (g == NULL)
		return malloc(sizeof(float) << i);
	memcpy(&p->spare[i], g, sizeof(p->spare[i]));
	return g;
}

void
slice_pool_put(struct slice_pool *p, float *g, size_t count)
{
	unsigned i = find_size(count);

	memcpy(g, &p->spare[i], sizeof(p->spare[i]));
	p->spare[i] = g;
}

void
slice_pool_free(struct slice_pool *p)
{
	for (unsigned i = 0; i < SLICE_POOL_SIZES; i++)
		while (p->spare[i] != NULL)
			free(slice_pool_get(p, (size_t)1 << i));
	free(p->work);
}
