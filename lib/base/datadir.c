/* datadir - finds the files of share/. */
#include "base/datadir.h"

#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes DIR/TAIL/REL into path.  Returns whether that file is readable. */
static int
is_readable_below(const char *dir, const char *tail, const char *rel, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s%s/%s", dir, tail, rel);

	return n > 0 && n < PATH_MAX && access(path, R_OK) == 0;
}

int
datadir_find(const char *rel, char path[PATH_MAX])
{
	const char *set = getenv("TALLY_SHARE");
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (set != NULL && *set != 0 && is_readable_below(set, "", rel, path))
		return 0;
	self[n > 0 ? n : 0] = 0;
	for (int up = 0; up < 2; up++) {	/* cut off the program, then its folder */
		char *slash = strrchr(self, '/');

		if (slash != NULL)
			*slash = 0;
	}
	if (is_readable_below(self, "/share", rel, path) || is_readable_below(self, "/share/tally", rel, path))
		return 0;
	errno = ENOENT;
	return err_sys("%s is in neither $TALLY_SHARE nor %s/share nor %s/share/tally", rel, self, self);
}
