/*
 * batch_cache - keeps decoded images in memory, up to a number of bytes: internal to batch.
 *
 * An image stays in the cache.  When the cache is full, other images are decoded each time.  Threads: any number at the
 * same time.
 */
#ifndef BATCH_BATCH_CACHE_H
#define BATCH_BATCH_CACHE_H

#include "image/img.h"

#include <stdbool.h>

/* A decoded record: what a sample is made of. */
struct batch_item {
	uint64_t	 id;
	const float	*label;	/* [labels] as batch_labels() reads them */
	struct img	 pic;	/* p is NULL until it is decoded */
};

struct batch_cache;

/* Makes a cache for records with that many labels, of at most `bytes`.  Returns 0 or ERR_NOMEM. */
int	 batch_cache_new(uint64_t records, uint32_t labels, size_t bytes, struct batch_cache **c);
void	 batch_cache_free(struct batch_cache *c);	/* NULL is fine */
/* Whether record i is in the cache; *item is valid until batch_cache_free(). */
bool	 batch_cache_get(const struct batch_cache *c, uint64_t i, struct batch_item *item);
/* Copies the item if it fits. */
void	 batch_cache_put(struct batch_cache *c, uint64_t i, const struct batch_item *item);
/* The number of images in the cache, and their bytes. */
uint64_t batch_cache_kept(const struct batch_cache *c, size_t *bytes);

#endif
