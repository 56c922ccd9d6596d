/*
 * walk - finds all files below a directory.
 *
 * It reads each directory at once and returns files and folders in the order of their names' bytes, or unsorted as
 * the file system has them.  The directory tells the type of a name, so that only links need a stat(2).  Links are
 * followed, but not in a circle.  Hidden names, sockets, pipes and devices are skipped.  Memory: the names of the
 * directories on the way to the current file.
 */
#ifndef SOURCE_WALK_H
#define SOURCE_WALK_H

#include <stdbool.h>

#define WALK_DEEPEST	64u	/* most nested directories below the first */
#define WALK_LINKS	8u	/* most links to directories on a path, because paths multiply with them */

struct walk;

/* Returns 0, ERR_SYS (the line does not name the path) or ERR_NOMEM. */
int	 walk_open(const char *path, bool sorted, struct walk **w);
void	 walk_close(struct walk *w);	/* NULL is fine */
/*
 * The next file.  Returns 1, with its path, which starts with the walk's and a slash, lent until the next call; 0 at
 * the end; ERR_ITEM if a directory or link cannot be read, which the line names (the walk continues); or ERR_NOMEM.
 */
int	 walk_next(struct walk *w, const char **path);

#endif
