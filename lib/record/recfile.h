/*
 * recfile - a .rec that can be read at any place: its records by number.
 *
 * The numbers follow the file.  Where TRAIN.idx stands beside TRAIN.rec and
 * fits it, it says where the records begin; else the file is scanned once.
 * Each of its entries is looked at again when its record is read: one that
 * leaves records out is an error then, that names the file and the byte.
 * Threads: any number may read at once, each with a buffer of its own.
 */
#ifndef RECORD_RECFILE_H
#define RECORD_RECFILE_H

#include "record/recs.h"

#define RECFILE_LONGEST	(1u << 28)	/* bytes of a record that are read */

/*
 * Opens a file as records.  "-" is standard input.  Lines name the file and the byte.  Returns 0,
 * ERR_SYS, ERR_ARG (a pipe), ERR_FORMAT, ERR_SHORT, ERR_LIMIT or ERR_NOMEM.
 */
int	 recfile_open(struct recs **r, const char *path);
/* Where record i of such a file begins, i < count. */
uint64_t recfile_at(const struct recs *r, uint64_t i);

#endif
