/*
 * walk - the files below a directory, one path after the other.
 *
 * A directory is read at once and told in the order of its names' bytes, files and folders alike; or, where order is of no
 * matter, as the file system has it.  What a name is, is taken from the directory: no file is looked at for itself but
 * links, which are followed, though not in a circle.  Hidden names, sockets, pipes and devices are passed over.
 * Memory: the names of the directories that lead to the file.
 */
#ifndef SOURCE_WALK_H
#define SOURCE_WALK_H

#include <stdbool.h>

#define WALK_DEEPEST	64u	/* directories, one within the other */
#define WALK_LINKS	8u	/* to directories, one behind the other: their ways multiply */

struct walk;

/* Returns 0, ERR_SYS (the line does not name the path) or ERR_NOMEM. */
int	 walk_open(struct walk **w, const char *path, bool sorted);
void	 walk_close(struct walk *w);	/* NULL is fine */
/*
 * The next file: 1, its path, which begins with that of the walk and a slash, lent until the next call; 0 at the end;
 * ERR_ITEM when a place cannot be read, the line naming it (the walk goes on); ERR_NOMEM.
 */
int	 walk_next(struct walk *w, const char **path);

#endif
