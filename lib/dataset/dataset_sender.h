/*
 * dataset_sender - requests of one reader in, records out: the server's side without sockets.
 *
 * The messages are those of dataset/dataset_msg.h.  It reads one record at a time, when dataset_sender_next() needs
 * it: a caller that calls this only while there is room to send bounds the memory of a reader.  Threads: one at a
 * time; several senders may share the records.
 */
#ifndef DATASET_DATASET_SENDER_H
#define DATASET_DATASET_SENDER_H

#include "record/recs.h"
#include "dataset/dataset_msg.h"

#include <stdbool.h>

struct dataset_sender;

/* The records are lent until dataset_sender_free(); id is recid_of() them.  Returns NULL when out of memory. */
struct dataset_sender *dataset_sender_new(const struct recs *r, uint64_t id);
void	 dataset_sender_free(struct dataset_sender *s);	/* NULL does nothing */
/*
 * Handles a message of the reader.  Returns 0, or ERR_FORMAT or ERR_LIMIT with a line for the reader, after which the
 * caller handles no more of its messages, or ERR_NOMEM.
 */
int	 dataset_sender_take(struct dataset_sender *s, const struct msg *m);
/*
 * Makes the next message for the reader; its payload is lent until the next call.  Returns 1, 0 if no request is open,
 * or ERR_NOMEM.
 */
int	 dataset_sender_next(struct dataset_sender *s, struct msg *m);

#endif
