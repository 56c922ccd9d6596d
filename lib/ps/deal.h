/*
 * deal - which worker of an elastic job computes which batch.
 *
 * The number of workers of an elastic job changes while it runs.  Its batches are numbered over all epochs, in the
 * order in which one worker alone would compute them.  Batch k belongs to worker k mod n; n is the number of workers
 * since the last change at or before k.  Server 0 decides each change, from a batch on that no worker has begun, and
 * tells all workers, so that they agree on the owner of each batch.
 *
 * It has no sockets, clock or threads: the caller supplies what workers have done.
 */
#ifndef PS_DEAL_H
#define PS_DEAL_H

#include <stdbool.h>
#include <stdint.h>

#define DEAL_CHANGES	64u		/* changes that are known; the oldest are forgotten */
#define DEAL_NONE	UINT64_MAX	/* no batch */
#define DEAL_BATCHES	(1ull << 53)	/* numbers of batches are below it */

struct deal_change {
	uint64_t from;			/* the first batch */
	uint64_t workers;
};

struct deal {
	uint64_t n;			/* number of changes; the first is the job's beginning */
	struct deal_change change[DEAL_CHANGES];
};

/* Adds a change.  Returns false if it does not follow those that are known: it is a repetition. */
bool	 deal_add(struct deal *d, uint64_t from, uint32_t workers);
/*
 * Decides a change.  `done` is the greatest number of a batch that is done, and 1.  A worker begins at most two more
 * batches before it has every message that server 0 had sent when it took the worker's last gradient.
 */
void	 deal_decide(struct deal *d, uint64_t done, uint32_t workers);
uint32_t deal_workers(const struct deal *d);	/* the number of workers after the last change; 0 without any */
/* The batch from which on this rank has had batches; DEAL_NONE: it has none now. */
uint64_t deal_since(const struct deal *d, uint32_t rank);
/* The first batch of this rank from batch `at` on, or DEAL_NONE, and the number of workers then. */
uint64_t deal_next(const struct deal *d, uint32_t rank, uint64_t at, uint32_t *workers);

#endif
