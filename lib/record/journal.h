/*
 * journal - what became of each item of a source that is being packed, so that a run that was cut off can be taken up.
 *
 * Text beside the records, a line an item of the source, in its order:
 *
 *	tally-pack 1 TAB command		the first line: sum_of() what was asked for
 *	r TAB place TAB id TAB bytes TAB sum	it became a record; the offset is the sum of the bytes before
 *	x TAB place TAB name TAB reason		it was left out
 *
 * command, place and sum are 16 hexadecimal digits; place stands for the item's name and, of a file, its size and
 * date; bytes and sum are as in sum.h.
 * Lines are written behind the records that they speak of, and none is
 * believed without its record: nothing rests on the order in which a disk writes.
 */
#ifndef RECORD_JOURNAL_H
#define RECORD_JOURNAL_H

#include "base/buf.h"

#include <stdbool.h>

struct journal_item {
	uint64_t	 place;
	bool		 packed;
	uint64_t	 id, bytes, sum;	/* of what was packed */
	const char	*name, *reason;		/* of what was not; lent until the next call */
};

/* Writing: each appends a line.  Returns 0 or ERR_NOMEM.  What would break the line becomes a question mark. */
int	 journal_put_head(struct buf *text, uint64_t command);
int	 journal_put(struct buf *text, const struct journal_item *it);

/* Reading.  Threads: a reader is for one at a time. */
struct journal;

/* *command is what its first line says.  Returns 0, ERR_SYS, ERR_FORMAT (that is no such line) or ERR_NOMEM. */
int	 journal_open(struct journal **j, const char *path, uint64_t *command);
void	 journal_close(struct journal *j);	/* NULL is fine */
/* The next item: 1, 0 at the end or at a line that is not whole, ERR_SYS or ERR_NOMEM. */
int	 journal_next(struct journal *j, struct journal_item *it);
/* Where the line behind that item begins. */
uint64_t journal_at(const struct journal *j);

#endif
