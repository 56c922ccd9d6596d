/*
 * durable - a memory that outlives a process in memory, which may die after any store to it.
 *
 * The bytes of the last store may be there or not: their order is nobody's promise, so that each float may have any
 * value.  But where a store leaves what was there, both are the same.
 */
#ifndef TESTS_LAW_DURABLE_H
#define TESTS_LAW_DURABLE_H

#include "base/rng.h"
#include "ps/memory.h"

struct durable {
	struct memory	 m;
	struct rng	*chance;	/* lent */
	uint64_t	 stores, dies_at;	/* by all its processes so far; the one after which it dies, 0: none */
	char		*was;		/* [m.size] before the last store; NULL: there was none */
	char		*left;		/* [m.size] at the death of its process, which still has to return; else NULL */
};

/* Sets all members but `dies_at`.  It must not move. */
void	 durable_open(struct durable *d, struct rng *chance);
void	 durable_close(struct durable *d);
/* Its process dies after one of the next `most` stores, unless that is decided. */
void	 durable_die_soon(struct durable *d, unsigned most);
/* Another process takes the memory over, as it was when the one before died, if that was at a store. */
void	 durable_return(struct durable *d);

#endif
