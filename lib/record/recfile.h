/*
 * recfile - random access to the records of a .rec file, by number.
 *
 * Record i is the i-th of the file.  recfile_open() reads the offsets from TRAIN.idx beside TRAIN.rec, or scans the
 * file if no index fits.  Each read checks its entry of the index again, and fails if the entry skips records, with a
 * message that names file and offset.  Threads: any number may read at the same time, each with its own buffer.
 */
#ifndef RECORD_RECFILE_H
#define RECORD_RECFILE_H

#include "record/recs.h"

#define RECFILE_LONGEST	(1u << 28)	/* most bytes of a record */

/*
 * Opens a file; "-" is standard input.  Messages name file and offset.  Returns 0, ERR_SYS, ERR_ARG (a pipe),
 * ERR_FORMAT, ERR_SHORT, ERR_LIMIT or ERR_NOMEM.
 */
int	 recfile_open(const char *path, struct recs **r);
/* Returns the offset of record i < count.  r comes from recfile_open(). */
uint64_t recfile_at(const struct recs *r, uint64_t i);

#endif
