/*
 * recfile - random access to the records of a .rec file, by number.
 *
 * Records are numbered in the order of the file.  If TRAIN.idx exists beside TRAIN.rec and fits it, it gives the
 * records' offsets; else the file is scanned once.  Each entry is checked again when its record is read: an entry that
 * skips records is an error that names file and offset.  Threads: any number may read at the same time, each with its
 * own buffer.
 */
#ifndef RECORD_RECFILE_H
#define RECORD_RECFILE_H

#include "record/recs.h"

#define RECFILE_LONGEST	(1u << 28)	/* most bytes of a record */

/*
 * Opens a file; "-" is standard input.  Messages name file and offset.  Returns 0, ERR_SYS, ERR_ARG (a pipe),
 * ERR_FORMAT, ERR_SHORT, ERR_LIMIT or ERR_NOMEM.
 */
int	 recfile_open(struct recs **r, const char *path);
/* The offset of record i < count of such a file. */
uint64_t recfile_at(const struct recs *r, uint64_t i);

#endif
