/* source_folder - reads images in class folders of a directory or an archive.  For source. */
#include "base/err.h"
#include "source/suffix.h"
#include "source/folders.h"
#include "source/source_kind.h"

#include <stdlib.h>

struct state {
	struct files	*files;
	bool		 split;		/* whether only one split is wanted */
	struct folders	*folders;
	float		 label;
	size_t		 bytes;		/* most of an image */
	uint64_t	 found;		/* images collected by collect_names() */
	uint64_t	 passed;	/* images passed since */
	struct buf	 data;
};

/* Ends with an error of folders, which is ERR_ARG if it found nothing of the split. */
static int
fail_folders(const struct state *s, int e)
{
	return e == ERR_ARG && s->split ? source_fail_missing(s->files, e) : e;
}

/* Collects the names of all images in any order, to find the folders. */
static int
collect_names(struct state *s)
{
	const char *name;
	unsigned how = files_how(s->files);
	int e;

	ERR_TRY(files_rewind(s->files, how | FILES_ANY_ORDER));
	while ((e = files_next(s->files, &name)) > 0 || e == ERR_ITEM)
		if (e > 0 && suffix_is_image(name)) {
			s->found++;
			if ((e = folders_add(s->folders, name)) < 0)
				return e;
		}
	if (e < 0 || (e = folders_resolve(s->folders, files_is_dir(s->files))) < 0)
		return fail_folders(s, e);
	return files_rewind(s->files, how);
}

static void
folder_close(void *p)
{
	struct state *s = p;

	folders_free(s->folders);
	buf_free(&s->data);
	free(s);
}

static int
folder_open(const struct source_opt *opt, struct files *files, struct names *classes, void **out)
{
	struct state *s = calloc(1, sizeof(*s));
	bool given = classes->n > 0 && opt->split == SOURCE_ALL;
	int e;

	if (s == NULL)
		return err_nomem();
	s->files = files;
	s->split = opt->split != SOURCE_ALL;
	s->bytes = opt->bytes;
	e = folders_new(classes, opt->split, files_path(files), &s->folders);
	/* A stream can be read only once, and given classes need no collection. */
	if (e == 0 && !files_is_stream(files) && !given)
		e = collect_names(s);
	if (e < 0) {
		folder_close(s);
		return e;
	}
	*out = s;
	return 0;
}

static int
folder_next(void *state, bool wanted, struct source_item *item)
{
	struct state *s = state;
	const char *name;
	size_t class = 0;
	int e, of;

	do {
		if ((e = files_next(s->files, &name)) <= 0)
			return e == 0 ? fail_folders(s, folders_finish(s->folders)) : e;
		of = suffix_is_image(name) ? folders_class(s->folders, name, &class) : 0;
		s->passed += suffix_is_image(name);
	} while (of == 0);
	if (of < 0 && !source_is_item_error(of))
		return of;
	item->name = files_plain_path(s->files);
	item->later = item->name != NULL && of > 0;
	if (item->name == NULL)
		item->name = files_display_name(s->files);
	if (of < 0)
		return of;
	s->label = (float)class;
	item->labels = 1;
	item->label = &s->label;
	if (item->later || !wanted)
		return 1;
	s->data.n = 0;
	if ((e = files_slurp(s->files, s->bytes, &s->data)) < 0)
		return source_is_item_error(e) ? e : err_wrap(e, "%s", item->name);
	item->data = s->data.p;
	item->n = s->data.n;
	return 1;
}

static double
folder_progress(const void *state)
{
	const struct state *s = state;

	return s->found > 0 ? (double)s->passed / (double)s->found : -1;
}

const struct source_kind source_folder_kind = { folder_open, folder_next, folder_close, folder_progress, false };
