/*
 * recmsg - what is said between who holds records and who reads them, as messages of wire/msg.h.
 *
 *	reader			holder
 *	OPEN			HOLDS   step: how many records; payload: u64 their id (record/recid.h)
 *	ASK  u64 number[n]	RECORD  step: its number; samples: its length; slice: where the payload begins in it
 *
 * Records come in the order in which they were asked for, each in parts of at most RECMSG_PART bytes, of which the last
 * ends it.  One that cannot be read comes as a RECORD with the flag MSG_EMPTY and a payload of one line of text.  At
 * most RECMSG_ASKED are asked for and have not come.
 */
#ifndef PS_RECMSG_H
#define PS_RECMSG_H

#include "wire/msg.h"

#define RECMSG_PART	(1u << 18)	/* bytes of a part */
#define RECMSG_ASKED	4096u
#define RECMSG_LONGEST	(1u << 28)	/* bytes of a record */
#define RECMSG_COUNT	UINT32_MAX	/* most records */

/* Each takes a message of its type; lines say what is wrong with it.  Return 0, ERR_FORMAT or ERR_LIMIT. */
int	 recmsg_holds(const struct msg *m, uint64_t *count, uint64_t *id);
int	 recmsg_ask(const struct msg *m, uint64_t count, uint32_t *n);	/* *n numbers below count */
uint64_t recmsg_asked(const struct msg *m, uint32_t k);			/* of a sound one, the k-th number */
int	 recmsg_part(const struct msg *m);				/* of a record that can be read */

#endif
