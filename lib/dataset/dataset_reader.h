/*
 * dataset_reader - records wanted in, requests out; their bytes in, records out: the reader's side without sockets or threads.
 *
 * Records are asked for in the order in which they are wanted, ahead of their reading, as long as those that are here
 * and those that are on the way fit the memory given (the latter at the average length so far).  A record that somebody
 * waits for is asked for before those that are only wanted, whatever the memory.
 * The messages are those of dataset/dataset_msg.h.
 */
#ifndef DATASET_DATASET_READER_H
#define DATASET_DATASET_READER_H

#include "base/buf.h"
#include "dataset/dataset_msg.h"

#include <stdbool.h>

struct dataset_reader;
struct dataset_reader_item;	/* a record that somebody waits for */

/* memory: bytes of records that wait to be read.  NULL when out of memory. */
struct dataset_reader *dataset_reader_new(size_t memory);
void	 dataset_reader_free(struct dataset_reader *a);		/* NULL is fine */

/* Record i will be read, after those wanted before.  Without memory for it the hint is lost. */
void	 dataset_reader_want(struct dataset_reader *a, uint64_t i);
/* What was wanted and is not waited for will not be read. */
void	 dataset_reader_forget(struct dataset_reader *a);
/* Waits for record i from now on, wanted before or not; NULL when out of memory. */
struct dataset_reader_item *dataset_reader_claim(struct dataset_reader *a, uint64_t i);
/*
 * 1: the record is here and now in room, in place of what was there; 0: not yet; ERR_FORMAT: the holder cannot read it,
 * the line tells why.  After 1 or an error the item is gone.
 */
int	 dataset_reader_take(struct dataset_reader *a, struct dataset_reader_item *it, struct buf *room);

/* The next request, its payload lent until the next call: 1, or 0 when there is nothing to be asked for now. */
int	 dataset_reader_next(struct dataset_reader *a, struct msg *m);
bool	 dataset_reader_ready(const struct dataset_reader *a);	/* whether there is */
/*
 * Takes a RECORD; *claimed: somebody waited for it and has it whole.
 * Returns 0, ERR_FORMAT or ERR_LIMIT (no answer to what was asked), ERR_NOMEM.
 */
int	 dataset_reader_come(struct dataset_reader *a, const struct msg *m, bool *claimed);
/* The connection is gone: what has not come is asked for again. */
void	 dataset_reader_lost(struct dataset_reader *a);
bool	 dataset_reader_waits(const struct dataset_reader *a);	/* something was asked for or is waited for, and has not come */

#endif
