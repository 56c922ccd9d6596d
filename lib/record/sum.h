/*
 * sum - a checksum for each record of a .rec, in the file .sum beside it.
 *
 * Text, one line per record, in the file's order: offset TAB bytes TAB sum.  The bytes are all of the record in the
 * file, from its magic word to the next record's.  The sum is their XXH3 (64 bits, seed 0) in 16 hexadecimal digits.
 *
 * It is not a column of the .idx because MXNet's C++ reader parses an .idx as pairs of numbers and would read a third
 * column as offsets (dmlc-core, src/io/indexed_recordio_split.cc).  Source of XXH3: https://github.com/Cyan4973/xxHash.
 */
#ifndef RECORD_SUM_H
#define RECORD_SUM_H

#include "base/buf.h"

struct sum_line {
	uint64_t	at, bytes, sum;
};

uint64_t sum_of(const void *p, size_t n);
/* Appends the line of a record.  Returns 0 or ERR_NOMEM. */
int	 sum_put(struct buf *text, const struct sum_line *l);

/* Reading.  Threads: one at a time uses a reader. */
struct sum_reader;

/* Returns 0, ERR_SYS or ERR_NOMEM. */
int	 sum_open(const char *path, struct sum_reader **r);
void	 sum_close(struct sum_reader *r);	/* NULL is fine */
/* The next line: returns 1, 0 at the end, ERR_FORMAT (names the line), ERR_SYS or ERR_NOMEM. */
int	 sum_next(struct sum_reader *r, struct sum_line *l);

#endif
