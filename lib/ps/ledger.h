/*
 * ledger - what moves between a server and its workers, by epoch.
 *
 * A worker says when it begins an epoch (MSG_EPOCH): what moved between two such messages belongs to the epoch that the
 * first of them began, and what moved before the first one of all is the start.  An epoch is over for the server once all
 * workers have begun the next.  What a run moves behind its last whole epoch belongs to none.
 *
 * Threads: for one thread at a time.
 */
#ifndef PS_LEDGER_H
#define PS_LEDGER_H

#include "wire/toll.h"

#include <stdbool.h>
#include <stdint.h>

#define LEDGER_NONE	UINT64_MAX	/* no epoch */

struct ledger_page {
	struct toll	 now, before;	/* in all; when the page was turned last */
	uint64_t	 wire[TOLL_WAYS];	/* on the connections before this one */
	uint64_t	 epoch;		/* that it is in; LEDGER_NONE: it has said nothing */
	bool		 gone;
};

struct ledger {
	struct ledger_page *page;	/* [n], a worker's each */
	uint32_t	 n;
	uint64_t	 epoch;		/* that all are in or beyond; LEDGER_NONE: not all have begun */
	uint64_t	 sum[TOLL_WAYS];	/* toll_steps of the pages turned since an epoch was over, but for the start */
};

int	 ledger_init(struct ledger *l, uint32_t n);	/* 0 or ERR_NOMEM */
void	 ledger_free(struct ledger *l);

/* Worker w has a connection of its own, another than before if it had one. */
void	 ledger_join(struct ledger *l, uint32_t w);
/* Bytes that were on that so far. */
void	 ledger_wire(struct ledger *l, uint32_t w, uint64_t in, uint64_t out);
/*
 * Worker w begins an epoch, or LEDGER_NONE: leaves.  True when *t is what moved with it since the page was turned last,
 * *epoch what that is of (LEDGER_NONE: the start, or its end); false when it has said so before.
 */
bool	 ledger_turn(struct ledger *l, uint32_t w, uint64_t next, struct toll *t, uint64_t *epoch);
/*
 * After that: true when an epoch is over for all who are there, once; *epoch is which, in and out what moved in it.
 */
bool	 ledger_over(struct ledger *l, uint64_t *epoch, uint64_t sum[TOLL_WAYS]);

#endif
