/*
 * folders - finds an image's class by the folders on its path.
 *
 * A class is a component of the image's path.  One of three ways decides which component it is, and its number:
 *
 *	collected	all names were added before.  In a directory without splits it is the first component, else the
 *			first component in which the paths differ.  Classes are numbered in the order of their bytes.
 *	given		the classes are known: it is the first component that is the name of one.
 *	streamed	it is the last component of the first image's path, and the component at the same depth in
 *			the others.  Classes are numbered as they appear, and must appear in the order of their
 *			bytes.  A name whose number might differ from the collected one ends the stream.
 *
 * With a split, only images below a folder of that name count (train, training; test, testing; val, valid,
 * validation).  The class is the component after it (given: one of those after it).  Test means val if there is no
 * test; in a stream, both.
 */
#ifndef SOURCE_FOLDERS_H
#define SOURCE_FOLDERS_H

#include "source/names.h"
#include "source/source.h"

#define FOLDERS_DEEPEST	64	/* most folders on a path */

struct folders;

/* classes must live as long; if not empty, they are given.  place is for messages.  Returns 0 or ERR_NOMEM. */
int	 folders_new(struct names *classes, enum source_split split, const char *place, struct folders **f);
void	 folders_free(struct folders *f);	/* NULL is fine */

/* Collects an image's name.  Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 folders_add(struct folders *f, const char *name);
/*
 * Finds the classes after the last folders_add(); dir: the names are of a directory.  Returns 0, ERR_NOTSUP (no image
 * is in a folder), ERR_ARG (no such split, or a split is needed), ERR_FORMAT (a class has a control character in its
 * name), ERR_LIMIT or ERR_NOMEM.
 */
int	 folders_resolve(struct folders *f, bool dir);

/*
 * Finds the class of an image.  Returns 1, or 0 if it is not of the split.  Errors: ERR_ITEM, it is in no folder;
 * ERR_CLASS, it is in no folder of a given class; ERR_ARG, a split is needed; ERR_FORMAT, a stream needs given
 * classes, or one has a control character in its name; ERR_LIMIT; ERR_NOMEM.
 */
int	 folders_class(struct folders *f, const char *name, size_t *class);
/*
 * Checks after the last image.  Returns 0, or ERR_ARG: nothing of the split, or a stream's classes were train and
 * val.
 */
int	 folders_finish(const struct folders *f);
/* Whether the first folder on a path has the name of a split. */
bool	 folders_is_split(const char *path);

#endif
