/*
 * recs - records by number, wherever they lie: a file, several, another host.
 *
 * A kind fills in the struct and hands out a pointer to it; readers know no more than this.
 * Threads: read() and name() may be called by any number at once, each with a buffer of its own.
 */
#ifndef RECORD_RECS_H
#define RECORD_RECS_H

#include "base/buf.h"

struct recs {
	uint64_t	 count;
	const char	*path;		/* what the user called it; lent as long as the recs */
	uint64_t	 id;		/* record/recid.h, where it is known already; else 0 */
	/*
	 * Reads record i < count into room, to which *data then points.
	 * Returns 0, ERR_SYS, ERR_FORMAT, ERR_SHORT, ERR_LIMIT, ERR_PEER or ERR_NOMEM; the line names the place.
	 */
	int	(*read)(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n);
	/* Writes "FILE: record at OFFSET", or what names record i otherwise, for messages. */
	void	(*name)(const struct recs *r, uint64_t i, char *text, size_t size);
	/*
	 * Hints, NULL where they are of no use: record i will be read soon, once, after those wanted before it; and: those
	 * wanted and not yet read will not be.  Where records come from afar they are fetched ahead.
	 */
	void	(*want)(const struct recs *r, uint64_t i);
	void	(*forget)(const struct recs *r);
	void	(*close)(struct recs *r);
};

#define RECS_NAME	384u	/* bytes for a name */

/*
 * Opens files: a .rec, a directory of them, a pattern as the shell's, or several of these with commas between; a name
 * that is there is taken as it stands.  The files' records are numbered through, those of a directory or a
 * pattern in the order of their names.  Returns 0 or what recfile_open() returns; ERR_ARG when no file fits.
 */
int	 recs_open(struct recs **r, const char *path);
/* The same for n > 0 such paths together, which go by the first one's name. */
int	 recs_open_several(struct recs **r, char *const path[], size_t n);
void	 recs_close(struct recs *r);	/* NULL is fine */

#endif
