/*
 * shard - the slices of one server, in one piece of memory.
 *
 * Threads: for one thread at a time.
 */
#ifndef PS_SERVER_SHARD_H
#define PS_SERVER_SHARD_H

#include "ps/hello.h"
#include "ps/server/slice.h"

struct shard {
	struct shard_plan	 *plan;
	struct slice	 *slice;	/* [plan->n]; those of other servers are zeros */
	uint32_t	  index;	/* of the server */
	float		 *memory;
	struct slice_pool pool;
	struct norms	  norms;
};

/* Plans the job's graph for server job->server.  Returns 0, ERR_ARG (hello_check()), ERR_LIMIT or ERR_NOMEM; on error *s is empty. */
int	 shard_init(struct shard *s, const struct hello *job, const struct graph *g);
void	 shard_free(struct shard *s);		/* and is empty again */
bool	 shard_mine(const struct shard *s, uint32_t slice);	/* false for numbers beyond the plan too */

bool	 shard_learns(const struct shard *s, uint32_t slice);	/* ... and it is of weights that are not frozen */

/* Worker w joins all slices. */
void	 shard_join(struct shard *s, uint32_t w);
/* Slice i, which is the server's, may have become full: it goes into the norms, once. */
void	 shard_count(struct shard *s, uint32_t slice);
bool	 shard_full(const struct shard *s);	/* all slices that wait for norms are full, and there are some */
/* Their step closes, with the norms' sums over all servers. */
void	 shard_update(struct shard *s, const struct norm *sums);
/* Slices of weights that wait for norms take each step together: the step they are at, and its samples once all are full. */
uint64_t shard_at(const struct shard *s);
uint64_t shard_samples(const struct shard *s);

/* The fewest steps of worker w in any slice that is not frozen. */
uint64_t shard_step(const struct shard *s, uint32_t w);
bool	 shard_ready(const struct shard *s);	/* every slice has its first weights */

#endif
