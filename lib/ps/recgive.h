/*
 * recgive - what one reader asks for in, records out: the holder's side without sockets.
 *
 * The messages are those of ps/recmsg.h.  Nothing is read before it is asked for, and one record at a time: who calls
 * recgive_next() only while there is room to send bounds the memory that a reader costs.
 * Threads: one at a time; several readers may share the records.
 */
#ifndef PS_RECGIVE_H
#define PS_RECGIVE_H

#include "record/recs.h"
#include "ps/recmsg.h"

#include <stdbool.h>

struct recgive;

/* The records are lent until recgive_free(); id is theirs, record/recid.h.  NULL when out of memory. */
struct recgive *recgive_new(const struct recs *r, uint64_t id);
void	 recgive_free(struct recgive *g);	/* NULL is fine */
/* Takes a message.  Returns 0, or ERR_FORMAT or ERR_LIMIT with a line for the reader; it is then heard no more. */
int	 recgive_take(struct recgive *g, const struct msg *m);
/* The next message for the reader, its payload lent until the next call: 1, 0 when nothing more is asked for, ERR_NOMEM. */
int	 recgive_next(struct recgive *g, struct msg *m);

#endif
