/*
 * datadir - finds the files of share/: nets, recipes and plot scripts.
 *
 * Looks in $TALLY_SHARE, then in share/ next to the running program's folder (a build tree), then in share/tally/ there
 * (an installation).
 */
#ifndef BASE_DATADIR_H
#define BASE_DATADIR_H

#include <limits.h>

/* Writes the path of the readable file share/REL.  Returns 0, or ERR_SYS with a line that lists the folders tried. */
int datadir_find(const char *rel, char path[PATH_MAX]);

#endif
