/*
 * dataset_msg - what is said between who holds records and who reads them, as messages of wire/msg.h.
 *
 *	reader			holder
 *	OPEN			HOLDS   step: how many records; payload: u64 their id (record/recid.h)
 *	ASK  u64 number[n]	RECORD  step: its number; samples: its length; slice: where the payload begins in it
 *
 * Records come in the order in which they were asked for, each in parts of at most DATASET_MSG_PART bytes, of which the last
 * ends it.  One that cannot be read comes as a RECORD with the flag MSG_EMPTY and a payload of one line of text.  At
 * most DATASET_MSG_ASKED are asked for and have not come.
 */
#ifndef DATASET_DATASET_MSG_H
#define DATASET_DATASET_MSG_H

#include "wire/msg.h"

#define DATASET_MSG_PART	(1u << 18)	/* bytes of a part */
#define DATASET_MSG_ASKED	4096u
#define DATASET_MSG_LONGEST	(1u << 28)	/* bytes of a record */
#define DATASET_MSG_COUNT	UINT32_MAX	/* most records */

/* Each takes a message of its type; lines say what is wrong with it.  Return 0, ERR_FORMAT or ERR_LIMIT. */
int	 dataset_msg_holds(const struct msg *m, uint64_t *count, uint64_t *id);
int	 dataset_msg_ask(const struct msg *m, uint64_t count, uint32_t *n);	/* *n numbers below count */
uint64_t dataset_msg_asked(const struct msg *m, uint32_t k);			/* of a sound one, the k-th number */
int	 dataset_msg_part(const struct msg *m);				/* of a record that can be read */

#endif
