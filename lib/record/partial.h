/*
 * partial - a .rec that is being written, with its journal: TRAIN.rec.partial and TRAIN.rec.journal.
 *
 * Both stay when a run ends before all is written, by whatever end, and a later
 * run with the same command takes them up: records whose sum the journal
 * confirms are kept, the rest is cut off, and the source is passed over up to there.
 * One process at a time has them (flock).
 */
#ifndef RECORD_PARTIAL_H
#define RECORD_PARTIAL_H

#include "record/journal.h"

#include <stdbool.h>

struct partial;

/*
 * Begins anew, or with resume, where there is something to take up, goes on.  Returns 0, ERR_SYS (also when another
 * process has it), ERR_ARG (path is no file; or what is there was begun by another command) or ERR_NOMEM.
 */
int	 partial_open(struct partial **p, const char *path, uint64_t command, bool resume);
/* Closes; the files stay unless nothing is in them.  NULL is fine. */
void	 partial_close(struct partial *p);

/* Items that were kept and not yet passed. */
uint64_t partial_left(const struct partial *p);
/*
 * The next of them, which the source now calls name and whose place it now gives; lent until the next call.
 * Returns 0, ERR_ARG when the source has another item there, or ERR_SYS.
 */
int	 partial_pass(struct partial *p, const char *name, uint64_t place, struct journal_item *it);

/* Appends an item, and its it->bytes when it is packed; its sum is filled in here.  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 partial_put(struct partial *p, const struct journal_item *it, const uint8_t *framed);
/* Writes what waits.  Returns 0 or ERR_SYS. */
int	 partial_flush(struct partial *p);
/* Gives the records their name, all else having been written; the journal goes.  Returns 0 or ERR_SYS. */
int	 partial_rename(struct partial *p);

const char *partial_journal(const struct partial *p);	/* its name */
uint64_t partial_records(const struct partial *p);
uint64_t partial_bytes(const struct partial *p);

#endif
