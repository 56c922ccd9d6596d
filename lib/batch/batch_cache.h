/*
 * batch_cache - decoded pictures kept in memory, as many as fit: serves batch.
 *
 * A picture that was kept stays; when the bytes are used up the others are
 * decoded anew each time.  Threads: any number at once.
 */
#ifndef BATCH_BATCH_CACHE_H
#define BATCH_BATCH_CACHE_H

#include "image/img.h"

#include <stdbool.h>

/* What a sample is made of: a picture, and of its record what is used. */
struct batch_item {
	uint64_t	 id;
	float		 label;
	struct img	 pic;	/* p NULL: not decoded yet */
};

struct batch_cache;

/* For so many records, of at most so many bytes.  Returns 0 or ERR_NOMEM. */
int	 batch_cache_new(struct batch_cache **c, uint64_t records, size_t bytes);
void	 batch_cache_free(struct batch_cache *c);	/* NULL is fine */
/* Whether record i is there; what it gives is lent until batch_cache_free(). */
bool	 batch_cache_get(const struct batch_cache *c, uint64_t i, struct batch_item *item);
/* Copies it, if there is room. */
void	 batch_cache_put(struct batch_cache *c, uint64_t i, const struct batch_item *item);
/* Pictures kept so far, and the bytes that they take. */
uint64_t batch_cache_kept(const struct batch_cache *c, size_t *bytes);

#endif
