/*
 * epoch_traffic - what moves between a server and its workers, by epoch.
 *
 * A worker says when it begins an epoch (MSG_EPOCH): what moved between two such messages belongs to the epoch that the
 * first of them began, and what moved before the first one of all is the start.  An epoch is over for the server once all
 * workers have begun the next.  What a run moves behind its last whole epoch belongs to none.
 *
 * Threads: for one thread at a time.
 */
#ifndef PS_SERVER_EPOCH_TRAFFIC_H
#define PS_SERVER_EPOCH_TRAFFIC_H

#include "wire/peer_traffic.h"

#include <stdbool.h>
#include <stdint.h>

#define EPOCH_TRAFFIC_NONE	UINT64_MAX	/* no epoch */

struct epoch_traffic_page {
	struct peer_traffic	 now, before;	/* in all; when the page was turned last */
	uint64_t	 wire[PEER_TRAFFIC_WAYS];	/* on the connections before this one */
	uint64_t	 epoch;		/* that it is in; EPOCH_TRAFFIC_NONE: it has said nothing */
	bool		 gone;
};

struct epoch_traffic {
	struct epoch_traffic_page *page;	/* [n], a worker's each */
	uint32_t	 n;
	uint64_t	 epoch;		/* that all are in or beyond; EPOCH_TRAFFIC_NONE: not all have begun */
	uint64_t sum[PEER_TRAFFIC_WAYS]; /* peer_traffic_steps of the pages turned since an epoch
	                                    was over, but for the start */
};

int	 epoch_traffic_init(struct epoch_traffic *l, uint32_t n);	/* 0 or ERR_NOMEM */
void	 epoch_traffic_free(struct epoch_traffic *l);

/* Worker w has a connection of its own, another than before if it had one. */
void	 epoch_traffic_join(struct epoch_traffic *l, uint32_t w);
/* Bytes that were on that so far. */
void	 epoch_traffic_wire(struct epoch_traffic *l, uint32_t w, uint64_t in, uint64_t out);
/*
 * Worker w begins an epoch, or EPOCH_TRAFFIC_NONE: leaves.  True when *t is what moved with it since the page was turned last,
 * *epoch what that is of (EPOCH_TRAFFIC_NONE: the start, or its end); false when it has said so before.
 */
bool	 epoch_traffic_turn(struct epoch_traffic *l, uint32_t w, uint64_t next, struct peer_traffic *t, uint64_t *epoch);
/*
 * After that: true when an epoch is over for all who are there, once; *epoch is which, in and out what moved in it.
 */
bool	 epoch_traffic_over(struct epoch_traffic *l, uint64_t *epoch, uint64_t sum[PEER_TRAFFIC_WAYS]);

#endif
