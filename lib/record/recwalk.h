/*
 * recwalk - reads records in sequence, from a file or a stream, and continues after damage.
 *
 * After bytes that are not a record, it searches for the next head: a magic word with part 0 or 1.  If a record's data
 * hold a magic word at a multiple of 4, its length is wrong, because its writer would have split it there (rec.h).  So
 * a wrong length costs one record and not those that it covers.
 *
 * Messages name the stream and the offset.  Threads: one at a time uses a walk.
 */
#ifndef RECORD_RECWALK_H
#define RECORD_RECWALK_H

#include "base/buf.h"

#define RECWALK_LONGEST	(1u << 28)	/* bytes of a record; a longer one is damage */

struct recwalk_rec {
	uint64_t	 at;		/* offset in the stream */
	uint64_t	 bytes;		/* bytes in the stream, with heads and padding; or the bytes skipped */
	uint64_t	 sum;		/* sum_of() these bytes */
	const uint8_t	*data;		/* data of the record, its parts joined; valid until the next call */
	size_t		 n;		/* bytes of data read */
	size_t		 whole;		/* bytes of data of the whole record */
};

struct recwalk;

/*
 * Opens path; "-" is standard input.  With peek > 0 only the first peek bytes of a record's data are needed: the rest
 * of long records in a file is not read, sum is 0, and damage inside them is not found.  Returns 0, ERR_SYS or
 * ERR_NOMEM.
 */
int	 recwalk_open(const char *path, uint32_t peek, struct recwalk **w);
void	 recwalk_close(struct recwalk *w);	/* NULL is fine */
/* The next record: returns 1, 0 at the end, ERR_ITEM (skipped bytes that are not a record), ERR_SYS or ERR_NOMEM. */
int	 recwalk_next(struct recwalk *w, struct recwalk_rec *r);
/* Reads the rest of the last record: returns 0, ERR_ITEM (it is damaged), ERR_SYS or ERR_NOMEM. */
int	 recwalk_load(struct recwalk *w, struct recwalk_rec *r);
/* The path, and the size of the file, 0 for a stream. */
const char *recwalk_path(const struct recwalk *w);
uint64_t recwalk_size(const struct recwalk *w);

#endif
