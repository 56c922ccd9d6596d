/* source - a cursor over pictures, wherever they come from. */
#include "data/source_kind.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

struct source {
	const struct source_kind	*kind;
	void				*state;
	uint64_t			 id;	/* of the next picture */
	struct names			 classes;
};

/* The first name that tells decides, so that no archive is read through to know what it is. */
static int
find_kind(const char *path, const struct source_kind **kind)
{
	struct files *f;
	const char *name;
	int e = files_open(&f, path);

	*kind = NULL;
	if (e < 0)
		return e;
	while (*kind == NULL && (e = files_next(f, &name)) != 0 && (e > 0 || e == ERR_ITEM))
		if (e == ERR_ITEM)
			continue;
		else if (source_cifar_knows(name))
			*kind = &source_cifar_kind;
		else if (source_mnist_knows(name))
			*kind = &source_mnist_kind;
		else if (source_folder_knows(name))
			*kind = &source_folder_kind;
	files_close(f);
	if (e < 0 && *kind == NULL)
		return e;
	if (*kind == NULL)
		return err_fail(ERR_FORMAT, "%s: no pictures in it: no JPEG or PNG files, no CIFAR-10 binary, no MNIST files",
		    path);
	return 0;
}

static bool
is_list(const struct source_opt *opt)
{
	size_t n = strlen(opt->path);

	return opt->root != NULL || (n >= 4 && strcmp(opt->path + n - 4, ".lst") == 0);
}

int
source_open(struct source **out, const struct source_opt *opt)
{
	struct source *s = calloc(1, sizeof(*s));
	int e = 0;

	*out = NULL;
	if (s == NULL)
		return err_nomem();
	if (is_list(opt))
		s->kind = &source_list_kind;
	else
		e = find_kind(opt->path, &s->kind);
	if (e == 0)
		e = s->kind->open(&s->state, opt, &s->classes);
	if (e < 0) {
		source_close(s);
		return e;
	}
	*out = s;
	return 0;
}

void
source_close(struct source *s)
{
	if (s == NULL)
		return;
	if (s->state != NULL)
		s->kind->close(s->state);
	names_free(&s->classes);
	free(s);
}

static int
step(struct source *s, int (*fn)(void *state, struct source_item *item), struct source_item *item)
{
	int e;

	*item = (struct source_item){ .name = "" };
	e = fn(s->state, item);
	if (!s->kind->has_ids && (e > 0 || e == ERR_ITEM))
		item->id = s->id++;
	return e;
}

int
source_next(struct source *s, struct source_item *item)
{
	return step(s, s->kind->next, item);
}

int
source_skip(struct source *s, struct source_item *item)
{
	return step(s, s->kind->skip != NULL ? s->kind->skip : s->kind->next, item);
}

const struct names *
source_classes(const struct source *s)
{
	return &s->classes;
}
