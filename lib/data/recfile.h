/*
 * recfile - a .rec that can be read at any place: its records by number.
 *
 * The numbers follow the file.  Where TRAIN.idx stands beside TRAIN.rec and
 * fits it, it says where the records begin; else the file is scanned once.
 * Threads: any number may read at once, each with a buffer of its own.
 */
#ifndef DATA_RECFILE_H
#define DATA_RECFILE_H

#include "base/buf.h"

#define RECFILE_LONGEST	(1u << 28)	/* bytes of a record that are read */

struct recfile;

/*
 * "-" is standard input.  Lines name the file and the byte.  Returns 0,
 * ERR_SYS, ERR_ARG (a pipe), ERR_FORMAT, ERR_SHORT, ERR_LIMIT or ERR_NOMEM.
 */
int	 recfile_open(struct recfile **f, const char *path);
void	 recfile_close(struct recfile *f);	/* NULL is fine */
uint64_t recfile_count(const struct recfile *f);
/* Where record i begins, i < count. */
uint64_t recfile_at(const struct recfile *f, uint64_t i);
const char *recfile_path(const struct recfile *f);
/*
 * Reads record i into room, to which *data then points.
 * Returns 0, ERR_SYS, ERR_FORMAT, ERR_SHORT, ERR_LIMIT or ERR_NOMEM.
 */
int	 recfile_read(const struct recfile *f, uint64_t i, struct buf *room, const uint8_t **data, size_t *n);

#endif
