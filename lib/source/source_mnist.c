/* source_mnist - reads MNIST's idx files.  For source. */
#include "base/err.h"
#include "base/io.h"
#include "source/source_kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define IMAGES_MAGIC	0x803u		/* u8, 3 dimensions */
#define LABELS_MAGIC	0x801u		/* u8, 1 dimension */
#define SIDE		4096u		/* most pixels of a side */
#define COPY_BYTES	((uint64_t)1 << 32)	/* most bytes copied of a stream's file */
#define BLOCK		65536u
#define FAULTS		65536u	/* bytes of lines of faults kept */

enum { IMAGES, LABELS };
enum { TRAIN, TEST, PARTS };

/* Images and labels are in two files, read in parallel: by two walks over the same place, or from copies. */
struct half {
	char		*name;		/* NULL: there is no file */
	char		*place;		/* its name for messages */
	bool		 bare;		/* whether the file itself was named */
	struct files	*walk;		/* a walk at the file */
	int		 copy;		/* a copy of a stream's file; or -1 */
};

struct state {
	struct files		*files;
	enum source_split	 split;
	struct names		*classes;
	struct half		 half[PARTS][2];
	const struct half	*pair;		/* the pair being read, or NULL */
	unsigned		 part;		/* the next part */
	uint32_t		 n, next;	/* images of the pair; the next one */
	uint32_t		 h, w;
	unsigned		 most;		/* the largest label so far */
	float			 label;
	char			 name[320];
	uint8_t			*pixels;	/* [h,w] */
	struct buf		 faults;	/* lines of what the walk lost, each with a 0 at its end */
	size_t			 told;		/* bytes of them that were returned */
};

static uint32_t
get_be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The start of the part's name, after the prefix that EMNIST gives its sets; NULL if there is none. */
static const char *
find_part(const char *name, unsigned *part)
{
	const char *train = strstr(name, "train"), *t10k = strstr(name, "t10k");

	*part = train != NULL ? TRAIN : TEST;
	return train != NULL ? train : t10k != NULL ? t10k : strstr(name, "test");
}

bool
source_mnist_knows(const char *name)
{
	return strstr(name, "idx3-ubyte") != NULL || strstr(name, "idx1-ubyte") != NULL;
}

static void
close_part(struct state *s)
{
	for (int i = 0; i < PARTS * 2; i++) {
		files_close(s->half[i / 2][i % 2].walk);
		s->half[i / 2][i % 2].walk = NULL;
	}
	free(s->pixels);
	s->pixels = NULL;
	s->pair = NULL;
}

static void
mnist_close(void *p)
{
	struct state *s = p;

	close_part(s);
	for (int i = 0; i < PARTS * 2; i++) {
		struct half *h = &s->half[i / 2][i % 2];

		if (h->copy >= 0)
			close(h->copy);
		free(h->name);
		free(h->place);
	}
	buf_free(&s->faults);
	free(s);
}

/* Copies the current file of a stream. */
static int
copy_stream_file(struct state *s, struct half *h)
{
	uint8_t block[BLOCK];
	uint64_t sum = 0;
	size_t got = BLOCK;
	int e = io_temp(&h->copy);

	while (e == 0 && got == BLOCK && sum < COPY_BYTES) {
		if ((e = files_read(s->files, block, BLOCK, &got)) == 0)
			e = io_write(h->copy, block, got);
		sum += got;
	}
	if (e == 0 && sum >= COPY_BYTES)
		e = err_fail(ERR_LIMIT, "longer than %llu bytes", (unsigned long long)COPY_BYTES);
	if (e == 0 && lseek(h->copy, 0, SEEK_SET) < 0)
		e = err_sys("seek");
	return err_wrap(e == ERR_ITEM ? ERR_SYS : e, "%s", files_display_name(s->files));
}

/* Keeps the line of a fault of the walk, to return it after the images: the walk is done before them. */
static int
keep_fault(struct state *s)
{
	const char *line = err_line();

	return s->faults.n < FAULTS ? buf_put(&s->faults, line, strlen(line) + 1) : 0;
}

/* Returns ERR_ITEM with the next fault, or 0. */
static int
next_fault(struct state *s)
{
	const char *line;

	if (s->told == s->faults.n)
		return 0;
	line = (const char *)s->faults.p + s->told;
	s->told += strlen(line) + 1;
	return err_fail(ERR_ITEM, "%s", line);
}

/* Opens a walk at the file, unless there is a copy. */
static int
open_pair_file(struct state *s, struct half *h)
{
	const char *found;
	int e;

	if (h->copy >= 0)
		return 0;
	ERR_TRY(files_clone(s->files, &h->walk));
	while ((e = files_next(h->walk, &found)) == ERR_ITEM || (e > 0 && strcmp(found, h->name) != 0))
		;
	return e > 0 ? 0 : e < 0 ? e : err_fail(ERR_SYS, "%s: %s: no longer exists", files_path(s->files), h->name);
}

static int
take_half(struct state *s, struct half *h, const char *name)
{
	if ((h->name = strdup(name)) == NULL || (h->place = strdup(files_display_name(s->files))) == NULL)
		return err_nomem();
	h->bare = files_is_bare(s->files);
	return files_is_stream(s->files) ? copy_stream_file(s, h) : 0;
}

/*
 * A second file of the same part may be a copy, compressed or in a folder of its own, as in the downloads of others.
 * Returns 0, ERR_ARG if it has other bytes, or another error.
 */
static int
check_copy(struct state *s, struct half *h)
{
	uint8_t block[2][BLOCK / 2];
	size_t got[2] = { 1, 1 };
	int e = open_pair_file(s, h);

	while (e == 0 && got[0] > 0) {
		e = h->copy >= 0 ? io_read(h->copy, block[0], sizeof(block[0]), &got[0]) :
		    files_read(h->walk, block[0], sizeof(block[0]), &got[0]);
		if (e < 0)
			err_within("%s", h->place);
		else if ((e = files_read(s->files, block[1], sizeof(block[1]), &got[1])) < 0)
			err_within("%s", files_display_name(s->files));
		else if (got[0] != got[1] || memcmp(block[0], block[1], got[0]) != 0)
			e = err_fail(ERR_ARG, "%s: holds different files of one part, %s and %s; give one of them",
			    files_path(s->files), h->place, files_display_name(s->files));
	}
	files_close(h->walk);
	h->walk = NULL;
	if (e == 0 && h->copy >= 0 && lseek(h->copy, 0, SEEK_SET) < 0)
		e = err_sys("seek");
	return e == ERR_ITEM ? ERR_SYS : e;
}

/* Finds the files.  Returns 0, ERR_ARG if they are of several sets or differ within a part, or another error. */
static int
find_halves(struct state *s)
{
	const char *name, *first = NULL, *p;
	char set[256] = "";
	unsigned part;
	int e;

	while ((e = files_next(s->files, &name)) > 0 || (e == ERR_ITEM && (e = keep_fault(s)) == 0)) {
		struct half *h;

		if (e == 0 || !source_mnist_knows(name) || (p = find_part(io_base_name(name), &part)) == NULL)
			continue;
		h = &s->half[part][strstr(name, "idx3-ubyte") != NULL ? IMAGES : LABELS];
		if (first != NULL && (strlen(set) != (size_t)(p - io_base_name(name)) ||
		    memcmp(set, io_base_name(name), strlen(set)) != 0))
			return err_fail(ERR_ARG, "%s: holds several sets, %s.. and %.*s..; give the files of one",
			    files_path(s->files), set, (int)(p - io_base_name(name)), io_base_name(name));
		if (first == NULL)
			snprintf(set, sizeof(set), "%.*s", (int)(p - io_base_name(name)), io_base_name(name));
		first = set;
		ERR_TRY(h->name == NULL ? take_half(s, h, name) : check_copy(s, h));
	}
	return e;
}

static int
mnist_open(const struct source_opt *opt, struct files *files, struct names *classes, void **out)
{
	struct state *s = calloc(1, sizeof(*s));
	int e;

	if (s == NULL)
		return err_nomem();
	s->files = files;
	s->split = opt->split;
	s->classes = classes;
	for (int i = 0; i < PARTS * 2; i++)
		s->half[i / 2][i % 2].copy = -1;
	if ((e = find_halves(s)) < 0) {
		mnist_close(s);
		return e;
	}
	*out = s;
	return 0;
}

/* Reads n bytes.  An unreadable file ends the stream, because the other file would be out of step. */
static int
read_half(const struct state *s, const struct half *h, void *p, size_t n)
{
	size_t got;
	int e = h->copy >= 0 ? io_read(h->copy, p, n, &got) : files_read(h->walk, p, n, &got);

	if (e < 0)
		return err_wrap(e == ERR_ITEM ? ERR_SYS : e, "%s: %s: image %u", files_path(s->files), h->name,
		    s->next);
	if (got < n)
		return err_fail(ERR_SHORT, "%s: %s: ends before image %u of %u", files_path(s->files), h->name,
		    s->next,
		    s->n);
	return 0;
}

static int
read_pair_headers(struct state *s, const struct half *pair)
{
	const char *path = files_path(s->files);
	uint8_t images[16], labels[8];

	s->n = s->next = 0;
	ERR_TRY(read_half(s, &pair[IMAGES], images, sizeof(images)));
	ERR_TRY(read_half(s, &pair[LABELS], labels, sizeof(labels)));
	if (get_be32(images) != IMAGES_MAGIC)
		return err_fail(ERR_FORMAT, "%s: %s: not an idx file of images", path, pair[IMAGES].name);
	if (get_be32(labels) != LABELS_MAGIC)
		return err_fail(ERR_FORMAT, "%s: %s: not an idx file of labels", path, pair[LABELS].name);
	s->n = get_be32(images + 4);
	s->h = get_be32(images + 8);
	s->w = get_be32(images + 12);
	if (get_be32(labels + 4) != s->n)
		return err_fail(ERR_FORMAT, "%s: %u images in %s, but %u labels in %s", path, s->n, pair[IMAGES].name,
		    get_be32(labels + 4), pair[LABELS].name);
	if (s->h == 0 || s->w == 0 || s->h > SIDE || s->w > SIDE)
		return err_fail(ERR_LIMIT, "%s: %s: images of %ux%u pixels", path, pair[IMAGES].name, s->w, s->h);
	if ((s->pixels = malloc((size_t)s->h * s->w)) == NULL)
		return err_nomem();
	return 0;
}

/* Ends with a file that has no other next to it. */
static int
fail_alone(const struct state *s, const struct half *there, const char *other)
{
	if (there->bare)
		return err_fail(ERR_FORMAT, "%s: the %s of %s are not named; name both files, or their folder",
		    files_path(s->files), other, there->name);
	return source_fail_missing(s->files, err_fail(ERR_FORMAT, "%s: no %s next to %s", files_path(s->files), other,
	    there->name));
}

/* Opens a part.  Returns 1, 0 if there is none, or an error. */
static int
open_part(struct state *s, struct half *pair)
{
	bool images = pair[IMAGES].name != NULL, labels = pair[LABELS].name != NULL;

	if (!images && !labels)
		return 0;
	if (!images || !labels)
		return fail_alone(s, &pair[images ? IMAGES : LABELS], !images ? "images (idx3)" : "labels (idx1)");
	ERR_TRY(open_pair_file(s, &pair[IMAGES]));
	ERR_TRY(open_pair_file(s, &pair[LABELS]));
	ERR_TRY(read_pair_headers(s, pair));
	s->pair = pair;
	return 1;
}

/* Opens the next part of the split.  Returns 1, 0 at the end, or an error. */
static int
next_part(struct state *s)
{
	int e = 0;

	while (e == 0 && s->part < PARTS) {
		unsigned part = s->part++;

		if (s->split != SOURCE_ALL && (s->split == SOURCE_TRAIN) != (part == TRAIN))
			continue;
		close_part(s);
		e = open_part(s, s->half[part]);
		if (e == 0 && s->split != SOURCE_ALL)
			return source_fail_missing(s->files, err_fail(ERR_ARG, "%s: no %s files",
			    files_path(s->files), part == TRAIN ? "train-*" : "t10k-*"));
	}
	return e;
}

static int
mnist_next(void *p, bool wanted, struct source_item *item)
{
	struct state *s = p;
	uint8_t label;
	int e;

	(void)wanted;
	while (s->pair == NULL || s->next == s->n)
		if ((e = next_part(s)) <= 0) {
			if (e == 0 && (e = next_fault(s)) == 0)
				e = source_number_classes(s->classes, s->most);
			return e;
		}
	ERR_TRY(read_half(s, &s->pair[IMAGES], s->pixels, (size_t)s->h * s->w));
	ERR_TRY(read_half(s, &s->pair[LABELS], &label, 1));
	s->label = label;
	s->most = label > s->most ? label : s->most;
	snprintf(s->name, sizeof(s->name), "%s, image %u", s->pair[IMAGES].name, s->next++);
	*item = (struct source_item){ .labels = 1, .label = &s->label, .name = s->name, .data = s->pixels,
		.n = (size_t)s->h * s->w, .c = 1, .h = s->h, .w = s->w,
		.part = s->part - 1 == TRAIN ? SOURCE_TRAIN : SOURCE_TEST };
	return 1;
}

const struct source_kind source_mnist_kind = { mnist_open, mnist_next, mnist_close, NULL, false };
