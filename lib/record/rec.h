/*
 * rec - a stream of records: the bytes of a .rec file, one record at a time.
 *
 *	u32 magic | u32 lrec | data[length] | zeros to a multiple of 4
 *
 * All words little-endian.  lrec = part << 29 | length.  Part 0 is a whole
 * record; a record that holds the magic word at a multiple of 4 is cut there,
 * the word left out, into a first (1), middles (2) and a last (3) part.
 * Source: dmlc-core, include/dmlc/recordio.h; MXNet's .rec files read as is.
 *
 * Lines say "record at N: ...", N the byte where the record begins.
 */
#ifndef RECORD_REC_H
#define RECORD_REC_H

#include "base/buf.h"

#define REC_MAGIC	0xced7230au
#define REC_HEAD	8u			/* bytes before the data of a part */
#define REC_LONGEST	((1u << 29) - 1)	/* data bytes of a record */

enum rec_part { REC_WHOLE, REC_FIRST, REC_MIDDLE, REC_LAST };

/*
 * Reading in order.  Ownership: the bytes rec_next() gives belong to the
 * reader, until its next call.  Threads: a reader is for one at a time.
 */
struct rec_reader;

/* Reads from fd, which stays the caller's, records of at most max bytes.  Returns 0 or ERR_NOMEM. */
int	 rec_open(struct rec_reader **r, int fd, size_t max);
/* From now on reading ends with ERR_STOP, and waiting for bytes too, when another descriptor has something to read. */
void	 rec_wake(struct rec_reader *r, int fd);
void	 rec_close(struct rec_reader *r);	/* NULL is fine */
/*
 * The next record: 1, 0 at the end of the stream, or ERR_SYS, ERR_SHORT (ends
 * inside a record), ERR_FORMAT, ERR_LIMIT (longer than max; no memory is taken
 * for bytes that have not come), ERR_NOMEM.  Nothing can be read after an error.
 */
int	 rec_next(struct rec_reader *r, const uint8_t **data, size_t *n);
/* The byte where that record begins. */
uint64_t rec_at(const struct rec_reader *r);

/* Writing: appends one record to a buffer.  Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 rec_frame(struct buf *out, const void *data, size_t n);

/*
 * Reading in memory.  rec_head takes the 8 bytes of a part's head apart;
 * returns 0 or ERR_FORMAT (no magic, or no such part).
 * rec_join puts together the record that begins at p, of which n bytes are
 * there: its parts are moved up to each other inside p.  at is its place in
 * the file, for the line.  Returns 0, ERR_FORMAT, or ERR_SHORT when n bytes end inside it.
 */
int	 rec_head(const uint8_t *p, uint64_t at, enum rec_part *part, uint32_t *n);
int	 rec_join(uint8_t *p, size_t n, uint64_t at, const uint8_t **data, size_t *len);

/* Bytes that a part of n data bytes takes in the file. */
static inline uint64_t
rec_extent(uint32_t n)
{
	return REC_HEAD + (((uint64_t)n + 3) & ~(uint64_t)3);
}

#endif
