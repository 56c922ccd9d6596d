/* source_mnist - the pictures of MNIST's idx files: serves source. */
#include "data/source_kind.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define IMAGES_MAGIC	0x803u		/* u8, 3 dimensions */
#define LABELS_MAGIC	0x801u		/* u8, 1 dimension */
#define SIDE		4096u		/* pixels, at most */

/* Pictures and labels stand in two files, which are read side by side: two walks over the same place. */
struct state {
	struct source_opt	 opt;
	struct names		*classes;
	struct files		*images, *labels;
	char			 images_name[256], labels_name[256];
	enum source_split	 part;		/* that is being read */
	uint32_t		 n, next;	/* pictures of it */
	uint32_t		 h, w;
	unsigned		 most;		/* the largest label met */
	float			 label;
	char			 name[320];
	uint8_t			*pixels;	/* [h,w] */
};

static uint32_t
be_get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool
is_part(const char *name, enum source_split part, const char *kind)
{
	const char *slash = strrchr(name, '/');
	bool train, test;

	name = slash != NULL ? slash + 1 : name;
	train = strstr(name, "train") != NULL;
	test = strstr(name, "t10k") != NULL || strstr(name, "test") != NULL;
	return strstr(name, kind) != NULL && (part == SOURCE_TRAIN ? train : test && !train);
}

bool
source_mnist_knows(const char *name)
{
	return strstr(name, "idx3-ubyte") != NULL || strstr(name, "idx1-ubyte") != NULL;
}

static void
leave_part(struct state *s)
{
	files_close(s->images);
	files_close(s->labels);
	free(s->pixels);
	s->images = s->labels = NULL;
	s->pixels = NULL;
}

static void
mnist_close(void *p)
{
	leave_part(p);
	free(p);
}

static int
mnist_open(void **out, const struct source_opt *opt, struct names *classes)
{
	struct state *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return err_nomem();
	s->opt = *opt;
	s->classes = classes;
	s->part = SOURCE_ALL;
	*out = s;
	return 0;
}

/* Opens a walk and goes to the part's file.  Returns 1, 0 when there is none, or an error. */
static int
find(struct state *s, struct files **f, const char *kind, char *name, size_t room)
{
	const char *found;
	int e = files_open(f, s->opt.path);

	/* What cannot be read beside the files is none of them. */
	while (e == 0 && ((e = files_next(*f, &found)) == ERR_ITEM || (e > 0 && !is_part(found, s->part, kind))))
		e = 0;
	if (e > 0)
		snprintf(name, room, "%s", found);
	return e;
}

/* Reads all n bytes.  A file that cannot be read ends the stream: the other one would be out of step. */
static int
read_all(struct state *s, struct files *f, const char *name, void *p, size_t n)
{
	size_t got;
	int e = files_read(f, p, n, &got);

	if (e < 0) {
		err_within("%s: %s: picture %u", s->opt.path, name, s->next);
		return e == ERR_ITEM ? ERR_SYS : e;
	}
	if (got < n)
		return err_fail(ERR_SHORT, "%s: %s: ends before picture %u of %u", s->opt.path, name, s->next, s->n);
	return 0;
}

static int
read_heads(struct state *s)
{
	uint8_t images[16], labels[8];
	int e;

	s->n = s->next = 0;
	if ((e = read_all(s, s->images, s->images_name, images, sizeof(images))) < 0 ||
	    (e = read_all(s, s->labels, s->labels_name, labels, sizeof(labels))) < 0)
		return e;
	if (be_get32(images) != IMAGES_MAGIC)
		return err_fail(ERR_FORMAT, "%s: %s: not an idx file of pictures", s->opt.path, s->images_name);
	if (be_get32(labels) != LABELS_MAGIC)
		return err_fail(ERR_FORMAT, "%s: %s: not an idx file of labels", s->opt.path, s->labels_name);
	s->n = be_get32(images + 4);
	s->h = be_get32(images + 8);
	s->w = be_get32(images + 12);
	if (be_get32(labels + 4) != s->n)
		return err_fail(ERR_FORMAT, "%s: %u pictures in %s, but %u labels in %s", s->opt.path, s->n,
		    s->images_name, be_get32(labels + 4), s->labels_name);
	if (s->h == 0 || s->w == 0 || s->h > SIDE || s->w > SIDE)
		return err_fail(ERR_LIMIT, "%s: %s: pictures of %ux%u pixels", s->opt.path, s->images_name, s->w, s->h);
	if ((s->pixels = malloc((size_t)s->h * s->w)) == NULL)
		return err_nomem();
	return 0;
}

/* Returns 1, 0 when the part is not there, or an error. */
static int
enter_part(struct state *s)
{
	int images, labels, e;

	if ((images = find(s, &s->images, "idx3-ubyte", s->images_name, sizeof(s->images_name))) < 0)
		return images;
	if ((labels = find(s, &s->labels, "idx1-ubyte", s->labels_name, sizeof(s->labels_name))) < 0)
		return labels;
	if (images == 0 && labels == 0)
		return 0;
	if (images == 0 || labels == 0)
		return err_fail(ERR_FORMAT, "%s: no %s beside %s", s->opt.path, images == 0 ? "pictures (idx3)" :
		    "labels (idx1)", images == 0 ? s->labels_name : s->images_name);
	return (e = read_heads(s)) < 0 ? e : 1;
}

/* Goes to the next part of the split.  Returns 1, 0 at the end, or an error. */
static int
next_part(struct state *s)
{
	int e = 0;

	while (e == 0 && s->part != SOURCE_TEST) {
		s->part = s->part == SOURCE_ALL ? SOURCE_TRAIN : SOURCE_TEST;
		if (s->opt.split != SOURCE_ALL && s->opt.split != s->part)
			continue;
		leave_part(s);
		e = enter_part(s);
		if (e == 0 && s->opt.split != SOURCE_ALL)
			return err_fail(ERR_ARG, "%s: has no %s files", s->opt.path,
			    s->part == SOURCE_TRAIN ? "train-*" : "t10k-*");
	}
	return e;
}

static int
name_classes(struct state *s)
{
	char text[8];
	int e = 0;

	for (unsigned i = 0; e == 0 && i <= s->most; i++)
		e = names_push(s->classes, text, (size_t)snprintf(text, sizeof(text), "%u", i));
	return e;
}

static int
mnist_next(void *p, struct source_item *item)
{
	struct state *s = p;
	size_t n = (size_t)s->h * s->w;
	uint8_t label;
	int e;

	while (s->images == NULL || s->next == s->n) {
		if ((e = next_part(s)) <= 0)
			return e == 0 ? name_classes(s) : e;
		n = (size_t)s->h * s->w;
	}
	if ((e = read_all(s, s->images, s->images_name, s->pixels, n)) < 0 ||
	    (e = read_all(s, s->labels, s->labels_name, &label, 1)) < 0)
		return e;
	s->label = label;
	s->most = label > s->most ? label : s->most;
	snprintf(s->name, sizeof(s->name), "%s, picture %u", s->images_name, s->next++);
	*item = (struct source_item){ .labels = 1, .label = &s->label, .name = s->name, .data = s->pixels, .n = n,
		.c = 1, .h = s->h, .w = s->w };
	return 1;
}

const struct source_kind source_mnist_kind = { mnist_open, mnist_next, NULL, mnist_close, false };
