/*
 * sum - a checksum for each record of a .rec: the file .sum beside it.
 *
 * Text, a line a record, in the file's order: offset TAB bytes TAB sum.  The
 * bytes are all that the record takes in the file, from its magic word to the
 * next record's; the sum is XXH3 (64 bits, seed 0) of them, 16 hexadecimal digits.
 *
 * It is a file of its own because MXNet's C++ reader takes an .idx for pairs of
 * numbers (dmlc-core, src/io/indexed_recordio_split.cc: `in >> index >> offset`):
 * a third column would be read as offsets.
 * Source of XXH3: https://github.com/Cyan4973/xxHash.
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

/* Reading.  Threads: a reader is for one at a time. */
struct sum_reader;

/* Returns 0, ERR_SYS or ERR_NOMEM. */
int	 sum_open(struct sum_reader **r, const char *path);
void	 sum_close(struct sum_reader *r);	/* NULL is fine */
/* The next line: 1, 0 at the end, ERR_FORMAT (the line is named), ERR_SYS or ERR_NOMEM. */
int	 sum_next(struct sum_reader *r, struct sum_line *l);

#endif
