/* last - the newest checkpoint of a run, by its name. */
#include "ps/last.h"

#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes "-12" off the text; a number of more digits than a file's can have is none. */
static bool
number(const char **p, uint64_t *v)
{
	size_t digits = **p == '-' ? strspn(*p + 1, "0123456789") : 0;

	if (digits == 0 || digits > 19)
		return false;
	*v = strtoull(*p + 1, NULL, 10);
	*p += 1 + digits;
	return true;
}

static bool
is_checkpoint(const char *name, const char *stem, size_t nstem, uint64_t *epoch, uint64_t *step)
{
	const char *p = name + nstem;

	if (strncmp(name, stem, nstem) != 0 || !number(&p, epoch))
		return false;
	*step = 0;
	return (*p != '-' || number(&p, step)) && strcmp(p, ".safetensors") == 0;
}

int
last_find(const char *prefix, char **path)
{
	const char *slash = strrchr(prefix, '/'), *stem = slash != NULL ? slash + 1 : prefix;
	size_t ndir = (size_t)(stem - prefix), nstem = strlen(stem);
	char *dir = ndir > 0 ? strndup(prefix, ndir) : strdup(".");
	uint64_t epoch, step, best_epoch = 0, best_step = 0;
	const struct dirent *d;
	bool any = false;
	DIR *list;

	*path = NULL;
	if (dir == NULL)
		return err_nomem();
	list = opendir(dir);
	free(dir);
	if (list == NULL)
		return errno == ENOENT ? 0 : err_sys("%s", prefix);
	while ((d = readdir(list)) != NULL)
		if (is_checkpoint(d->d_name, stem, nstem, &epoch, &step) &&
		    (!any || epoch > best_epoch || (epoch == best_epoch && step > best_step))) {
			any = true;
			best_epoch = epoch;
			best_step = step;
			free(*path);
			if (asprintf(path, "%.*s%s", (int)ndir, prefix, d->d_name) < 0)
				*path = NULL;
		}
	closedir(list);
	return any && *path == NULL ? err_nomem() : any;
}
