/* lists - im2rec --make-list: writes a list of a directory's images. */
#include "im2rec/im2rec.h"

#include "source/folders.h"
#include "front.h"

#include <stdio.h>
#include <string.h>

static void
warn_bad_file(void *ctx, int e)
{
	(void)ctx;
	front_warn(NULL, e);
}

/* Whether the classes are in several folders, all of splits: the same class has another number in each. */
static bool
are_of_splits(const struct names *classes)
{
	bool several = false;

	for (size_t i = 0; i < classes->n; i++) {
		size_t n = strcspn(classes->p[i], "/");

		if (classes->p[i][n] == 0 || !folders_is_split(classes->p[i]))
			return false;
		several |= strncmp(classes->p[i], classes->p[0], n + 1) != 0;
	}
	return several;
}

/* The classes go to standard output, as im2rec.py prints them. */
int
im2rec_make_list(const struct im2rec *o)
{
	struct lister_opt opt = o->list;
	struct names classes = { 0 };
	uint64_t n;

	if (o->out == NULL || o->paths != 1)
		front_wrong("--make-list: needs -o PREFIX and one directory");
	opt.root = o->path[0];
	opt.prefix = o->out;
	opt.bad = warn_bad_file;
	front_must(NULL, lister_run(&opt, &classes, &n));
	for (size_t i = 0; i < classes.n; i++)
		printf("%s %zu\n", classes.p[i], i);
	if (are_of_splits(&classes))
		front_say("%s has folders such as train and val, whose classes have numbers of their own; list each by "
		    "itself, as %s/train", opt.root, opt.root);
	names_free(&classes);
	return front_status();
}
