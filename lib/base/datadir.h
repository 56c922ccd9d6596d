/*
 * datadir - where the files of share/ are: nets, recipes, plots.
 *
 * In this order: the folder $TALLY_SHARE, share/ beside the folder of the program that runs (build/ in the tree it was
 * built in), share/tally/ there (an installed one).
 */
#ifndef BASE_DATADIR_H
#define BASE_DATADIR_H

#include <limits.h>

/* path gets the place of share/REL, which can be read.  Returns 0, or ERR_SYS with a line that names what was tried. */
int datadir_find(const char *rel, char path[PATH_MAX]);

#endif
