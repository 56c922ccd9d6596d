/*
 * recask - records wanted in, requests out; their bytes in, records out: the reader's side without sockets or threads.
 *
 * Records are asked for in the order in which they are wanted, ahead of their reading, as long as those that are here
 * and those that are on the way fit the memory given (the latter at the average length so far).  A record that somebody
 * waits for is asked for before those that are only wanted, whatever the memory.
 * The messages are those of ps/recmsg.h.
 */
#ifndef PS_RECASK_H
#define PS_RECASK_H

#include "base/buf.h"
#include "ps/recmsg.h"

#include <stdbool.h>

struct recask;
struct recask_item;	/* a record that somebody waits for */

/* memory: bytes of records that wait to be read.  NULL when out of memory. */
struct recask *recask_new(size_t memory);
void	 recask_free(struct recask *a);		/* NULL is fine */

/* Record i will be read, after those wanted before.  Without memory for it the hint is lost. */
void	 recask_want(struct recask *a, uint64_t i);
/* What was wanted and is not waited for will not be read. */
void	 recask_forget(struct recask *a);
/* Waits for record i from now on, wanted before or not; NULL when out of memory. */
struct recask_item *recask_claim(struct recask *a, uint64_t i);
/*
 * 1: the record is here and now in room, in place of what was there; 0: not yet; ERR_FORMAT: the holder cannot read it,
 * the line tells why.  After 1 or an error the item is gone.
 */
int	 recask_take(struct recask *a, struct recask_item *it, struct buf *room);

/* The next request, its payload lent until the next call: 1, or 0 when there is nothing to be asked for now. */
int	 recask_next(struct recask *a, struct msg *m);
bool	 recask_ready(const struct recask *a);	/* whether there is */
/*
 * Takes a RECORD; *claimed: somebody waited for it and has it whole.
 * Returns 0, ERR_FORMAT or ERR_LIMIT (no answer to what was asked), ERR_NOMEM.
 */
int	 recask_come(struct recask *a, const struct msg *m, bool *claimed);
/* The connection is gone: what has not come is asked for again. */
void	 recask_lost(struct recask *a);
bool	 recask_waits(const struct recask *a);	/* something was asked for or is waited for, and has not come */

#endif
