/*
 * tollrow - what moved between two processes as rows of a log, log(5): one a kind of message that carried something, and one of
 * all that was on the wire.
 *
 * Threads: no state.
 */
#ifndef PS_TOLLROW_H
#define PS_TOLLROW_H

#include "log/tsv.h"
#include "wire/toll.h"

/* Appends them; r has all that is the same in each.  0 or ERR_NOMEM. */
int	 tollrow_put(struct buf *out, const struct tsv_row *r, const struct toll *t);
/* A row of all messages together: their bytes in and out. */
int	 tollrow_put_all(struct buf *out, const struct tsv_row *r, uint64_t in, uint64_t out_bytes);

#endif
