/*
 * shard - the slices of one server, in one memory (ps/memory.h).
 *
 * The memory holds, one after the other: struct shard_head, the last sum over workers, struct shard_deal,
 * struct settings_kept, the last norms, and each slice.
 *
 * Threads: one thread at a time.
 */
#ifndef PS_SERVER_SHARD_H
#define PS_SERVER_SHARD_H

#include "ps/deal.h"
#include "ps/hello.h"
#include "ps/memory.h"
#include "ps/settings.h"
#include "ps/server/slice.h"
#include "ps/total.h"

/* What the server knows of a worker.  SHARD_HERE may be away for a while and return. */
enum shard_worker { SHARD_ABSENT, SHARD_HERE, SHARD_LEFT, SHARD_LOST };

struct shard_head {
	_Atomic uint64_t job;		/* hash of the description; 0: there is nothing yet */
	uint64_t	 nworkers;
	_Atomic uint64_t stop;		/* the job should end */
	_Atomic uint64_t last;		/* synchronous: the last step of the lead slice; 0: not known yet */
	uint8_t		 worker[];	/* [nworkers] enum shard_worker */
};

/* Server 0 of an elastic job: who computes which batch. */
struct shard_deal {
	struct memory_word word;
	struct deal	 record[2];
};

struct shard {
	struct shard_plan	 *plan;
	struct slice	 *slice;	/* [plan->n]; zeros for those of other servers */
	uint32_t	  nlearned;	/* number of slices for which shard_learns() */
	uint32_t	  index;	/* index of the server */
	uint32_t	  slack;	/* the slack of the job's description */
	struct memory	 *memory;
	struct shard_head *head;
	struct total_kept *total;
	struct shard_deal *deal;
	struct settings_kept *settings;
	struct slice_pool pool;
	struct norms	  norms;
	/* slices whose norms are known, and that the server before this one had not closed */
	uint32_t	  closing;
};

/* The head of a memory, or NULL if it holds none. */
struct shard_head *shard_find_head(const struct memory *m);
/*
 * Plans the job's graph for server job->server, and takes over what the memory holds; hash is that of the job's text.
 * With `once` the weights have one half (slice_place()).  Returns 0, ERR_ARG (hello_check(), or the memory is another
 * job's), ERR_FORMAT, ERR_LIMIT, ERR_SYS or ERR_NOMEM; on an error *s is empty.
 */
int	 shard_init(struct shard *s, const struct hello *job, const struct graph *g, uint64_t hash, struct memory *m,
	     bool once);
void	 shard_free(struct shard *s);		/* leaves an empty shard */
/* Whether the slice is this server's; false also for numbers beyond the plan. */
bool	 shard_mine(const struct shard *s, uint32_t slice);
/* Whether the slice is this server's and holds weights that are not frozen. */
bool	 shard_learns(const struct shard *s, uint32_t slice);

/* Worker w joins all slices. */
void	 shard_join(struct shard *s, uint32_t w);
int	 shard_keep(struct shard *s, uint32_t w);	/* slice_keep() of all */
/* Gives all slices the slack of the last change of settings, and room for its codec.  Returns 0 or ERR_NOMEM. */
int	 shard_follow_settings(struct shard *s);
/* Adds an own slice to the norms, once, if it is full; or closes its step, if it is one of `closing`. */
void	 shard_slice_filled(struct shard *s, uint32_t slice);
/* Whether slices wait for norms and all of them are full. */
bool	 shard_full(const struct shard *s);
/* Closes their step, with sums over all servers. */
void	 shard_update(struct shard *s, const struct norm *sums);
/* The step of the slices that wait for norms, which is the same for all, and its samples once all are full. */
uint64_t shard_at(const struct shard *s);
uint64_t shard_samples(const struct shard *s);

/* The fewest steps of worker w in any slice that is not frozen. */
uint64_t shard_step(const struct shard *s, uint32_t w);
/* The most steps of any worker in the first slice that learns; server 0's is the job's `lead`. */
uint64_t shard_furthest(const struct shard *s);
bool	 shard_ready(const struct shard *s);	/* every slice has its first weights */

#endif
