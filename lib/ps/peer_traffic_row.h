/*
 * peer_traffic_row - traffic between two processes as rows of a log, log(5).
 *
 * There is one row for each kind of message with traffic, one for each codec of gradients and weights if the
 * job has another than f32, and one for all bytes on the wire.
 * Threads: no state.
 */
#ifndef PS_PEER_TRAFFIC_ROW_H
#define PS_PEER_TRAFFIC_ROW_H

#include "log/tsv.h"
#include "wire/peer_traffic.h"

/* Appends the rows; r has the columns that are the same in each.  Returns 0 or ERR_NOMEM. */
int	 peer_traffic_row_put(struct buf *out, const struct tsv_row *r, const struct peer_traffic *t);
/* Appends one row for the messages of all peers, with their bytes.  Returns 0 or ERR_NOMEM. */
int	 peer_traffic_row_put_all(struct buf *out, const struct tsv_row *r, uint64_t received, uint64_t sent);

#endif
