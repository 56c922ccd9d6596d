/*
 * recwalk - records one after the other, from a file or a stream, going on behind damage.
 *
 * Behind a place that is no record the next head of one is looked for: a magic
 * word with part 0 or 1.  A record whose data hold a magic word at a multiple
 * of 4 has a wrong length, since its writer would have cut it there (rec.h):
 * so a bent length costs its own record and not those that it reaches over.
 *
 * Lines name the stream and the byte.  Threads: a walk is for one at a time.
 */
#ifndef RECORD_RECWALK_H
#define RECORD_RECWALK_H

#include "base/buf.h"

#define RECWALK_LONGEST	(1u << 28)	/* bytes of a record; a longer one is damage */

struct recwalk_rec {
	uint64_t	 at;		/* where in the stream it begins */
	uint64_t	 bytes;		/* that it takes there, heads and zeros too; or that were passed over */
	uint64_t	 sum;		/* sum_of() those */
	const uint8_t	*data;		/* of the record, its parts joined; lent until the next call */
	size_t		 n;		/* bytes of data that are there */
	size_t		 whole;		/* bytes of data of the record */
};

struct recwalk;

/*
 * "-" is standard input.  peek: 0, or how many bytes of data are wanted of a record: then of a file the rest of long
 * records is not read, sum is 0, and damage inside of them is not seen.  Returns 0, ERR_SYS or ERR_NOMEM.
 */
int	 recwalk_open(struct recwalk **w, const char *path, uint32_t peek);
void	 recwalk_close(struct recwalk *w);	/* NULL is fine */
/* The next record: 1, 0 at the end, ERR_ITEM (bytes from at on are no record and were passed over), ERR_SYS or ERR_NOMEM. */
int	 recwalk_next(struct recwalk *w, struct recwalk_rec *r);
/* All of the record given last, where only its beginning was read: 0, ERR_ITEM (it is damaged), ERR_SYS or ERR_NOMEM. */
int	 recwalk_load(struct recwalk *w, struct recwalk_rec *r);
/* What recwalk_open() was given, and the size of that file, 0 when it is none. */
const char *recwalk_path(const struct recwalk *w);
uint64_t recwalk_size(const struct recwalk *w);

#endif
