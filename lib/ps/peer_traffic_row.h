/*
 * peer_traffic_row - what moved between two processes as rows of a log, log(5): one a kind of message that carried something, and one of
 * all that was on the wire.
 *
 * Threads: no state.
 */
#ifndef PS_PEER_TRAFFIC_ROW_H
#define PS_PEER_TRAFFIC_ROW_H

#include "log/tsv.h"
#include "wire/peer_traffic.h"

/* Appends them; r has all that is the same in each.  0 or ERR_NOMEM. */
int	 peer_traffic_row_put(struct buf *out, const struct tsv_row *r, const struct peer_traffic *t);
/* A row of all messages together: their bytes in and out. */
int	 peer_traffic_row_put_all(struct buf *out, const struct tsv_row *r, uint64_t in, uint64_t out_bytes);

#endif
