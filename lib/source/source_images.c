/* source_images - reads the image files of a folder or an archive, which need no class.  For source. */
#include "base/err.h"
#include "source/suffix.h"
#include "source/source_kind.h"

#include <stdlib.h>

struct state {
	struct files	*files;
	size_t		 bytes;		/* most of an image */
	uint64_t	 found;		/* images so far */
	struct buf	 data;
};

static int
images_open(const struct source_opt *opt, struct files *files, struct names *classes, void **out)
{
	struct state *s = calloc(1, sizeof(*s));

	(void)classes;
	if (s == NULL)
		return err_nomem();
	s->files = files;
	s->bytes = opt->bytes;
	*out = s;
	return 0;
}

static void
images_close(void *p)
{
	struct state *s = p;

	buf_free(&s->data);
	free(s);
}

static int
images_next(void *p, bool wanted, struct source_item *item)
{
	static const float none = -1;
	struct state *s = p;
	const char *name;
	int e;

	/* A file that is the path itself counts whatever its name. */
	while ((e = files_next(s->files, &name)) > 0 && !suffix_is_image(name) &&
	    (files_is_dir(s->files) || !files_is_bare(s->files)))
		continue;
	if (e == 0 && s->found == 0)
		return err_fail(ERR_FORMAT, "%s: holds no image", files_path(s->files));
	if (e <= 0)
		return e;
	s->found++;
	*item = (struct source_item){ .labels = 1, .label = &none, .name = files_display_name(s->files) };
	s->data.n = 0;
	if (wanted && (e = files_slurp(s->files, s->bytes, &s->data)) < 0)
		return source_is_item_error(e) ? e : err_wrap(e, "%s", item->name);
	item->data = s->data.p;
	item->n = s->data.n;
	return 1;
}

const struct source_kind source_images_kind = { images_open, images_next, images_close, NULL, false };
