/*
 * recs - an interface to records by number: of one file, of several, or of another host.
 *
 * An implementation fills in the struct and returns a pointer to it.  Threads: any number may call read() and name() at
 * the same time, each with its own buffer.
 */
#ifndef RECORD_RECS_H
#define RECORD_RECS_H

#include "base/buf.h"
#include "record/classes.h"

struct recs {
	uint64_t	 count;
	const char	*path;		/* as the user named it; valid as long as the recs */
	uint64_t	 id;		/* of record/recid.h if it is known, else 0 */
	/*
	 * Reads record i < count into room, where *data then points.  Returns 0, ERR_SYS, ERR_FORMAT, ERR_SHORT,
	 * ERR_LIMIT, ERR_PEER or ERR_NOMEM; the message names the place.
	 */
	int	(*read)(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n);
	/* Writes the name of record i for messages, such as "FILE: record at OFFSET". */
	void	(*name)(const struct recs *r, uint64_t i, char *text, size_t size);
	/*
	 * Hints for remote records, which are then fetched ahead; NULL if useless.  want(): record i will be read once,
	 * after those wanted before it.  forget(): wanted records that are not yet read will not be read.
	 */
	void	(*want)(const struct recs *r, uint64_t i);
	void	(*forget)(const struct recs *r);
	/*
	 * Reads the names of the classes into an empty list.  Returns 0 (the list stays empty if they are not known) or
	 * an error of classes_read(); ERR_FORMAT if two files name them differently.  NULL: they are never known.
	 */
	int	(*classes)(const struct recs *r, struct names *l);
	void	(*close)(struct recs *r);
};

#define RECS_NAME	384u	/* bytes of a name */

/*
 * Opens a .rec, a directory of .rec files, a shell pattern, or several of these separated by commas.  A path that
 * exists is used literally.  Records are numbered across the files; a directory's or pattern's files are sorted by
 * name.  Returns 0, an error of recfile_open(), or ERR_ARG if no file matches.
 */
int	 recs_open(struct recs **r, const char *path);
/* Opens n > 0 such paths together, named as the first. */
int	 recs_open_several(struct recs **r, char *const path[], size_t n);
void	 recs_close(struct recs *r);	/* NULL is fine */

#endif
