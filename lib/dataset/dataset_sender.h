/*
 * dataset_sender - what one reader asks for in, records out: the holder's side without sockets.
 *
 * The messages are those of dataset/dataset_msg.h.  Nothing is read before it is asked for, and one record at a time: who calls
 * dataset_sender_next() only while there is room to send bounds the memory that a reader costs.
 * Threads: one at a time; several readers may share the records.
 */
#ifndef DATASET_DATASET_SENDER_H
#define DATASET_DATASET_SENDER_H

#include "record/recs.h"
#include "dataset/dataset_msg.h"

#include <stdbool.h>

struct dataset_sender;

/* The records are lent until dataset_sender_free(); id is theirs, record/recid.h.  NULL when out of memory. */
struct dataset_sender *dataset_sender_new(const struct recs *r, uint64_t id);
void	 dataset_sender_free(struct dataset_sender *g);	/* NULL is fine */
/* Takes a message.  Returns 0, or ERR_FORMAT or ERR_LIMIT with a line for the reader; it is then heard no more. */
int	 dataset_sender_take(struct dataset_sender *g, const struct msg *m);
/* The next message for the reader, its payload lent until the next call: 1, 0 when nothing more is asked for, ERR_NOMEM. */
int	 dataset_sender_next(struct dataset_sender *g, struct msg *m);

#endif
