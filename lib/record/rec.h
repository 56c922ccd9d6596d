/*
 * rec - the record stream of a .rec file (dmlc's RecordIO), one record at a time.
 *
 * lib/record, in reading order:
 * - rec (frames), imrec (image records), recwalk (records past damage);
 * - idx, sum and beside (the files beside a .rec);
 * - recfile, recs and recs_stream (records by number or in order), recimg (decoding), recid (a hash of a data set);
 * - pack, recset, partial, journal and newtext (writing), recmaker (records of unpacked images), tarfile;
 * - classes (names of classes);
 * - check and check_beside (verification).
 *
 * 	u32 magic | u32 lrec | data[length] | zeros to a multiple of 4
 *
 * All words are little-endian; lrec = part << 29 | length.  Part 0 is a whole record.  A record that holds the magic
 * word at a multiple of 4 is split there, without the word, into a first (1), middle (2) and last (3) part.
 * Source: dmlc-core, include/dmlc/recordio.h; MXNet's .rec files have the same format.
 *
 * Messages start with "record at N: ", N being the offset of the record.
 */
#ifndef RECORD_REC_H
#define RECORD_REC_H

#include "base/buf.h"

#include <stdbool.h>

#define REC_MAGIC	0xced7230au
#define REC_HEAD	8u			/* bytes before the data of a part */
#define REC_LONGEST	((1u << 29) - 1)	/* data bytes of a record */

enum rec_part { REC_WHOLE, REC_FIRST, REC_MIDDLE, REC_LAST };

/*
 * Sequential reading.  Ownership: bytes of rec_next() belong to the reader and are valid until its next call.  Threads:
 * one at a time uses a reader, and any may call rec_waited().
 */
struct rec_reader;

/*
 * Reads records of at most max bytes from fd, which the caller closes.  Once wake is readable (-1: none), rec_next()
 * returns ERR_STOP, even while it waits.  Returns 0 or ERR_NOMEM.
 */
int	 rec_open(int fd, int wake, size_t max, struct rec_reader **r);
void	 rec_close(struct rec_reader *r);	/* NULL is fine */
/*
 * The next record: returns 1, 0 at the end of the stream, or ERR_SYS, ERR_SHORT (the stream ends inside a record),
 * ERR_FORMAT, ERR_LIMIT (longer than max) or ERR_NOMEM.  Memory grows only with bytes received.  No call may follow an
 * error.
 */
int	 rec_next(struct rec_reader *r, const uint8_t **data, size_t *n);
/* The offset of that record. */
uint64_t rec_at(const struct rec_reader *r);
/* Seconds that a thread in rec_next() has waited for bytes so far; 0 if none waits, and always without wake. */
double	 rec_waited(const struct rec_reader *r);

/* Writing: appends one record to a buffer.  Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 rec_frame(struct buf *out, const void *data, size_t n);

/*
 * Reading in memory; at is the offset of the record in the file, for messages.
 *
 * rec_head() decodes the 8 bytes before a part; inside says whether an earlier part of its record was read.  It returns
 * 0 or ERR_FORMAT: there is no magic word, or the part is invalid or out of order.  rec_join() joins, in place, the
 * parts of the record at p [n]; *used gets its bytes in the file.  It returns 0, ERR_FORMAT, or ERR_SHORT if the record
 * is longer than n bytes.
 */
int	 rec_head(const uint8_t *p, uint64_t at, bool inside, enum rec_part *part, uint32_t *n);
int	 rec_join(uint8_t *p, size_t n, uint64_t at, const uint8_t **data, size_t *len, size_t *used);

/* Bytes in the file of a part with n bytes of data. */
static inline uint64_t
rec_extent(uint32_t n)
{
	return REC_HEAD + (((uint64_t)n + 3) & ~(uint64_t)3);
}

#endif
