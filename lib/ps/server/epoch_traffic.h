/*
 * epoch_traffic - traffic between a server and its workers, by epoch.
 *
 * A worker announces each epoch (MSG_EPOCH).  The traffic between two such messages belongs to the epoch that the
 * first one began; the traffic before the first is the start.  An epoch is over for the server once all workers have
 * begun the next.  Traffic after the last complete epoch belongs to none.
 *
 * Threads: one thread at a time.
 */
#ifndef PS_SERVER_EPOCH_TRAFFIC_H
#define PS_SERVER_EPOCH_TRAFFIC_H

#include "wire/peer_traffic.h"

#include <stdbool.h>
#include <stdint.h>

#define EPOCH_TRAFFIC_NONE	UINT64_MAX	/* no epoch */

struct epoch_traffic_worker {
	struct peer_traffic	 now, before;	/* counts so far, and at the last epoch_traffic_turn() */
	uint64_t	 wire[PEER_TRAFFIC_WAYS];	/* bytes on the worker's earlier connections */
	uint64_t	 epoch;		/* the worker's current epoch; EPOCH_TRAFFIC_NONE: it has announced none */
	bool		 gone;
};

struct epoch_traffic {
	struct epoch_traffic_worker *page;	/* [n], one for each worker */
	uint32_t	 n;
	uint64_t	 epoch;		/* last epoch that all workers have reached; EPOCH_TRAFFIC_NONE: none */
	/* bytes of all workers since the last complete epoch, without the start */
	uint64_t	 sum[PEER_TRAFFIC_WAYS];
};

/* Of n workers the first `present` are awaited; others may join.  Returns 0 or ERR_NOMEM. */
int	 epoch_traffic_init(struct epoch_traffic *l, uint32_t n, uint32_t present);
void	 epoch_traffic_free(struct epoch_traffic *l);

/* Worker w has a new connection. */
void	 epoch_traffic_join(struct epoch_traffic *l, uint32_t w);
/* Sets the bytes on that connection so far. */
void	 epoch_traffic_wire(struct epoch_traffic *l, uint32_t w, uint64_t in, uint64_t out);
/*
 * Worker w begins epoch `next`, or leaves if that is EPOCH_TRAFFIC_NONE.  Returns true and its traffic since the last
 * call in *t; *epoch is the epoch of that traffic (EPOCH_TRAFFIC_NONE: the start, or the end).  Returns false if it
 * has announced that before.
 */
bool	 epoch_traffic_turn(struct epoch_traffic *l, uint32_t w, uint64_t next, struct peer_traffic *t,
    uint64_t *epoch);
/*
 * Call it after epoch_traffic_turn().  Returns true once for each epoch that is over for all workers that have not
 * left; sum is its traffic.
 */
bool	 epoch_traffic_over(struct epoch_traffic *l, uint64_t *epoch, uint64_t sum[PEER_TRAFFIC_WAYS]);

#endif
