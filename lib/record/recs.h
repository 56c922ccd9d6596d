/*
 * recs - records by number, whether they are in one file, in several, or on another host.
 *
 * Each implementation fills in a struct recs.  Threads: any number may call read() and name() at the same time, each
 * with its own buffer.
 */
#ifndef RECORD_RECS_H
#define RECORD_RECS_H

#include "base/buf.h"
#include "record/classes.h"

#include <stdbool.h>

struct recs {
	uint64_t	 count;
	const char	*path;		/* as the user named it; valid as long as the recs */
	uint64_t	 id;		/* recid.h; 0: not known */
	bool		 remote;	/* on another host, so that reading many before they are needed takes long */
	/*
	 * Reads record i < count into room, where *data then points.  Returns 0, ERR_SYS, ERR_FORMAT, ERR_SHORT,
	 * ERR_LIMIT, ERR_PEER or ERR_NOMEM; the message names the place.
	 */
	int	(*read)(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n);
	/* Writes the name of record i for messages, such as "FILE: record at OFFSET". */
	void	(*name)(const struct recs *r, uint64_t i, char *text, size_t size);
	/*
	 * Hints with which remote records are fetched ahead, or NULL.  want(): the caller will read record i once,
	 * after those that it wanted before.  forget(): it will not read the wanted records that it has not read yet.
	 */
	void	(*want)(const struct recs *r, uint64_t i);
	void	(*forget)(const struct recs *r);
	/*
	 * Reads the names of the classes into an empty list, which stays empty if the records have none.  Returns 0,
	 * ERR_FORMAT if two files name them differently, or an error of classes_read().
	 */
	int	(*classes)(const struct recs *r, struct names *l);
	/*
	 * The first of several files that has no names of classes, or NULL; the text is that of the records.  NULL: the
	 * records are one file, or remote, whose server reports it.
	 */
	const char *(*unnamed)(const struct recs *r);
	void	(*close)(struct recs *r);
};

#define RECS_NAME	384u	/* bytes of a name */
/* What to say of unnamed(), with its path and the name of class 0. */
#define RECS_UNNAMED	"%s: has no names of classes, so label 0 counts as %s; pack them with names, or copy their " \
	".labels file"

/*
 * Opens a .rec, a directory of .rec files, a shell pattern, or several of these separated by commas.  If a file has
 * the whole path as its name, recs_open() opens that file.  Numbers continue from file to file, and the files of a
 * directory or a pattern are in the order of their names.  Returns 0, an error of recfile_open(), or ERR_ARG if no
 * file matches.
 */
int	 recs_open(const char *path, struct recs **r);
/* Opens n > 0 such paths as one set of records.  Its path is the first one. */
int	 recs_open_several(char *const path[], size_t n, struct recs **r);
void	 recs_close(struct recs *r);	/* NULL is fine */

#endif
