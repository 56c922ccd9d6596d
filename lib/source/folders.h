/*
 * folders - which class a picture is of, told by the folders that it stands in.
 *
 * A class is a component of the picture's path.  Which one it is, and its number, are told in one of three ways:
 *
 *	noted	all pictures' names were given before.  In a directory it is the first component; else the first that not
 *		all have in common; classes are numbered in the order of their bytes.
 *	given	the classes were there: it is the first component that is the name of one.
 *	else	as they come, from a stream: the last component of the first picture's path, and the same place in the others'.
 *		Classes are numbered as they appear, which must be in the order of their bytes.  What cannot be sure to get the
 *		number that it would have when noted ends the stream.
 *
 * With a split, only pictures below a folder of that name (train, training; test, testing; val, valid, validation) count,
 * and the class is the component behind it (given: one behind it).  Test is val when there is no test; in a stream, both.
 */
#ifndef SOURCE_FOLDERS_H
#define SOURCE_FOLDERS_H

#include "source/names.h"
#include "source/source.h"

#define FOLDERS_DEEPEST	64	/* that a picture stands in */

struct folders;

/* classes must live as long: not empty, they are given.  place is named in messages.  Returns 0 or ERR_NOMEM. */
int	 folders_new(struct folders **f, struct names *classes, enum source_split split, const char *place);
void	 folders_free(struct folders *f);	/* NULL is fine */

/* Notes a picture's name.  Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 folders_add(struct folders *f, const char *name);
/* After the last note; dir: they stand in a directory.  Returns 0, ERR_FORMAT or ERR_ARG (no such split; a split must be said). */
int	 folders_resolve(struct folders *f, bool dir);

/*
 * The class of a picture: 1; 0 when it is not of the split; ERR_ITEM when it is of no class; ERR_ARG (a split must be said),
 * ERR_FORMAT (a stream whose classes must be given), ERR_LIMIT, ERR_NOMEM.
 */
int	 folders_class(struct folders *f, const char *name, size_t *class);
/* After the last picture.  Returns 0, or ERR_ARG: nothing of the split, or a stream's classes were train and val. */
int	 folders_finish(const struct folders *f);

#endif
