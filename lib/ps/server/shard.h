/*
 * shard - the slices of one server, in one block of memory.
 *
 * Threads: one thread at a time.
 */
#ifndef PS_SERVER_SHARD_H
#define PS_SERVER_SHARD_H

#include "ps/hello.h"
#include "ps/server/slice.h"

struct shard {
	struct shard_plan	 *plan;
	struct slice	 *slice;	/* [plan->n]; zeros for those of other servers */
	uint32_t	  index;	/* of the server */
	float		 *memory;
	struct slice_pool pool;
	struct norms	  norms;
};

/*
 * Plans the job's graph for server job->server.  Returns 0, ERR_ARG (hello_check()), ERR_LIMIT or ERR_NOMEM; on an
 * error *s is empty.
 */
int	 shard_init(struct shard *s, const struct hello *job, const struct graph *g);
void	 shard_free(struct shard *s);		/* leaves an empty shard */
/* Whether the slice is this server's; false also for numbers beyond the plan. */
bool	 shard_mine(const struct shard *s, uint32_t slice);
/* Whether the slice is this server's and holds weights that are not frozen. */
bool	 shard_learns(const struct shard *s, uint32_t slice);

/* Worker w joins all slices. */
void	 shard_join(struct shard *s, uint32_t w);
/* Adds an own slice to the norms, once, if it is full. */
void	 shard_count(struct shard *s, uint32_t slice);
/* Whether slices wait for norms and all of them are full. */
bool	 shard_full(const struct shard *s);
/* Closes their step, with sums over all servers. */
void	 shard_update(struct shard *s, const struct norm *sums);
/* The step of the slices that wait for norms, which is the same for all, and its samples once all are full. */
uint64_t shard_at(const struct shard *s);
uint64_t shard_samples(const struct shard *s);

/* The fewest steps of worker w in any slice that is not frozen. */
uint64_t shard_step(const struct shard *s, uint32_t w);
bool	 shard_ready(const struct shard *s);	/* every slice has its first weights */

#endif
