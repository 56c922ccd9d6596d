/*
 * journal - the result of each source item of a packing run, so that an interrupted run can resume.
 *
 * Text beside the records, one line per source item, in order:
 *
 * 	tally-pack 1 TAB command		the first line: sum_of() the command
 * 	r TAB place TAB id TAB bytes TAB sum	the item became a record; its offset is the sum of the bytes before
 * 	x TAB place TAB name TAB reason		the item was left out
 *
 * command, place and sum are 16 hexadecimal digits.  place is a hash of the item's name and of a file's size and date.
 * bytes and sum are as in sum.h.  A line is written after its record, and is believed only if its record is there:
 * nothing depends on the order in which a disk writes.
 */
#ifndef RECORD_JOURNAL_H
#define RECORD_JOURNAL_H

#include "base/buf.h"

#include <stdbool.h>

struct journal_item {
	uint64_t	 place;
	bool		 packed;
	uint64_t	 id, bytes, sum;	/* if packed */
	const char	*name, *reason;		/* if not packed; valid until the next call */
};

/* Writing: append a line.  Bytes that would break the line become question marks.  Return 0 or ERR_NOMEM. */
int	 journal_put_head(struct buf *text, uint64_t command);
int	 journal_put(struct buf *text, const struct journal_item *it);

/* Reading.  Threads: one at a time uses a reader. */
struct journal;

/* *command gets the hash of the first line.  Returns 0, ERR_SYS, ERR_FORMAT (an invalid first line) or ERR_NOMEM. */
int	 journal_open(const char *path, uint64_t *command, struct journal **j);
void	 journal_close(struct journal *j);	/* NULL is fine */
/* The next item: returns 1, 0 at the end or at an incomplete line, ERR_SYS or ERR_NOMEM. */
int	 journal_next(struct journal *j, struct journal_item *it);
/* The offset of the line after that item. */
uint64_t journal_at(const struct journal *j);

#endif
