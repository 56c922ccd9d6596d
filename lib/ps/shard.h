/*
 * shard - the slices of one server, in one piece of memory.
 *
 * Threads: for one thread at a time.
 */
#ifndef PS_SHARD_H
#define PS_SHARD_H

#include "ps/hello.h"
#include "ps/slice.h"

struct shard {
	struct plan	 *plan;
	struct slice	 *slice;	/* [plan->n]; those of other servers are zeros */
	uint32_t	  index;	/* of the server */
	float		 *memory;
	struct slice_pool pool;
};

/* Plans the job's graph for server job->server.  Returns 0, ERR_LIMIT or ERR_NOMEM; on error *s is empty. */
int	 shard_init(struct shard *s, const struct hello *job, const struct graph *g);
void	 shard_free(struct shard *s);		/* and is empty again */
bool	 shard_mine(const struct shard *s, uint32_t slice);	/* false for numbers beyond the plan too */

/* Worker w joins all slices. */
void	 shard_join(struct shard *s, uint32_t w);
/* The fewest steps of worker w in any slice that is not frozen. */
uint64_t shard_step(const struct shard *s, uint32_t w);
bool	 shard_ready(const struct shard *s);	/* every slice has its first weights */

#endif
