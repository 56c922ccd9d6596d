/*
 * dataset_reader - requests and answers of a client that reads records ahead: the reader's side without sockets or
 * threads.
 *
 * The caller names the records that it will read (wanted) and those that it waits for (claimed).  Requests for wanted
 * records go out in order, as long as the records received and those requested fit the memory, the latter at the
 * average length so far.  If they are longer and take twice the memory, those that are not claimed are dropped, and
 * requested again when there is room.  Requests for claimed records go out first, whatever the memory.  The messages
 * are those of dataset/dataset_msg.h.
 */
#ifndef DATASET_DATASET_READER_H
#define DATASET_DATASET_READER_H

#include "base/buf.h"
#include "dataset/dataset_msg.h"

#include <stdbool.h>

struct dataset_reader;
struct dataset_reader_item;	/* a claimed record */

/* memory: bytes of records that wait to be read, or at most twice as many.  Returns NULL when out of memory. */
struct dataset_reader *dataset_reader_new(size_t memory);
void	 dataset_reader_free(struct dataset_reader *a);		/* NULL does nothing */

/* Record i will be read, after those wanted before.  This is a hint, lost when out of memory. */
void	 dataset_reader_want(struct dataset_reader *a, uint64_t i);
/* Forgets all wanted records that are not claimed. */
void	 dataset_reader_forget(struct dataset_reader *a);
/* Claims record i, wanted before or not.  Returns NULL when out of memory. */
struct dataset_reader_item *dataset_reader_claim(struct dataset_reader *a, uint64_t i);
/*
 * Moves a claimed record into room, in place of its content.  Returns 1, 0 if the record is not complete yet, or
 * ERR_FORMAT if the server cannot read it, with the server's reason.  After 1 or an error the item is freed.
 */
int	 dataset_reader_take(struct dataset_reader *a, struct dataset_reader_item *it, struct buf *room);

/* Makes the next request; its payload is lent until the next call.  Returns 1, or 0 if no request is due. */
int	 dataset_reader_next(struct dataset_reader *a, struct msg *m);
bool	 dataset_reader_ready(const struct dataset_reader *a);	/* whether a request is due */
/*
 * Handles a RECORD; *claimed is true if it completes a claimed record.  Returns 0, ERR_FORMAT or ERR_LIMIT (it answers
 * no request) or ERR_NOMEM.
 */
int	 dataset_reader_receive(struct dataset_reader *a, const struct msg *m, bool *claimed);
/* After the connection broke: requests without an answer become due again. */
void	 dataset_reader_lost(struct dataset_reader *a);
bool	 dataset_reader_waits(const struct dataset_reader *a);	/* an answer is missing */

#endif
