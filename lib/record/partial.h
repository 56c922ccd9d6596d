/*
 * partial - a .rec in progress with its journal: TRAIN.rec.partial and TRAIN.rec.journal.
 *
 * Both files stay if a run ends early.  A later run of the same command resumes: it keeps the records whose checksums
 * are in the journal, truncates the rest, and skips the source's items up to there.  One process at a time holds them
 * (flock).
 */
#ifndef RECORD_PARTIAL_H
#define RECORD_PARTIAL_H

#include "record/journal.h"

#include <stdbool.h>

/* For recset, which reads the first three members and the journal's name. */
struct partial {
	uint64_t	 records, bytes;		/* contents of the .rec */
	uint64_t	 left;				/* kept items that are not yet skipped */
	uint64_t	 items;
	char		*path, *part, *journal;		/* names */
	int		 fd, journal_fd;
	struct buf	 wait, lines;			/* records and journal lines not yet written */
	struct journal	*kept;				/* the journal of the items to skip */
};

/*
 * Starts a new .rec, or with resume continues an existing one.  Returns 0, ERR_SYS (also if another process holds it),
 * ERR_ARG (path is not a file, or another command started it) or ERR_NOMEM.
 */
int	 partial_open(const char *path, uint64_t command, bool resume, struct partial **p);
/* Closes the files and removes them if they are empty.  NULL is fine. */
void	 partial_close(struct partial *p);

/*
 * Skips the next kept item.  name and place are the source's.  *it is valid until the next call.  Returns 0, ERR_ARG if
 * the source has another item there, or ERR_SYS.
 */
int	 partial_pass(struct partial *p, const char *name, uint64_t place, struct journal_item *it);

/* Appends an item and, if it is packed, its it->bytes bytes; computes its sum.  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 partial_put(struct partial *p, const struct journal_item *it, const uint8_t *framed);
/* Writes the buffers.  Returns 0 or ERR_SYS. */
int	 partial_flush(struct partial *p);
/* Renames the finished .rec and removes the journal.  Returns 0 or ERR_SYS. */
int	 partial_rename(struct partial *p);

#endif
