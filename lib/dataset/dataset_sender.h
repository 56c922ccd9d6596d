/*
 * dataset_sender - requests of one reader in, records out: the server's side without sockets.
 *
 * The messages are those of dataset/dataset_msg.h.  Reading is a call of its own, so that another thread may wait for
 * the disk: it reads some 256 KB ahead, at least one record.  A caller that begins it only while there is room to send
 * bounds the memory of a reader.
 *
 *	while (dataset_sender_next(s, &m) > 0)
 *		send m
 *	if (dataset_sender_begin_read(s))
 *		dataset_sender_read(s), in any thread, then again from the top
 *
 * Threads: one at a time, but dataset_sender_take() may run beside dataset_sender_read().  Several senders may share
 * the records.
 */
#ifndef DATASET_DATASET_SENDER_H
#define DATASET_DATASET_SENDER_H

#include "record/recs.h"
#include "dataset/dataset_msg.h"

#include <stdbool.h>

struct dataset_sender;

/*
 * id is recid_of() the records, and classes the names of their classes as CLASSES has them.  The records and the names
 * are lent until dataset_sender_free().  Returns NULL when out of memory.
 */
struct dataset_sender *dataset_sender_new(const struct recs *r, uint64_t id, const struct buf *classes);
void	 dataset_sender_free(struct dataset_sender *s);	/* NULL does nothing */
/*
 * Handles a message of the reader.  Returns 0, or ERR_FORMAT or ERR_LIMIT with a line for the reader, after which the
 * caller handles no more of its messages, or ERR_NOMEM.
 */
int	 dataset_sender_take(struct dataset_sender *s, const struct msg *m);
/*
 * Makes the next message for the reader; its payload is lent until the next call.  Returns 1, 0 if no record is read
 * that is not sent, or ERR_NOMEM.
 */
int	 dataset_sender_next(struct dataset_sender *s, struct msg *m);
/* Whether there are requests to read.  If so, dataset_sender_read() comes before the next dataset_sender_next(). */
bool	 dataset_sender_begin_read(struct dataset_sender *s);
/* Reads; dataset_sender_next() tells what could not be read. */
void	 dataset_sender_read(struct dataset_sender *s);

#endif
