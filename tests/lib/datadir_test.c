/* datadir_test - finds the files of share/. */
#include "base/datadir.h"

#include "base/err.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int
main(void)
{
	char dir[] = "/tmp/share_test.XXXXXX", path[PATH_MAX], want[PATH_MAX], rm[64];
	FILE *f;

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/nets", dir);
	mkdir(path, 0777);
	snprintf(want, sizeof(want), "%s/nets/mine.lua", dir);
	if ((f = fopen(want, "w")) == NULL)
		return 1;
	fclose(f);
	setenv("TALLY_SHARE", dir, 1);
	is(datadir_find("nets/mine.lua", path), 0, "datadir_find finds a file in $TALLY_SHARE");
	is_str(path, want, "the path is that of the file");
	is(datadir_find("nets/none.lua", path), ERR_SYS, "datadir_find fails on a missing file");
	ok(strstr(err_line(), "nets/none.lua is in neither") != NULL, "the error lists the folders tried: %s", err_line());
	unsetenv("TALLY_SHARE");
	is(datadir_find("nets/mine.lua", path), ERR_SYS, "datadir_find ignores that folder when $TALLY_SHARE is not set");
	snprintf(rm, sizeof(rm), "rm -rf %s", dir);
	return done() || system(rm) != 0;
}
