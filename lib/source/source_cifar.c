/* source_cifar - reads the binary files of CIFAR-10 and CIFAR-100.  For source. */
#include "base/err.h"
#include "base/io.h"
#include "source/source_kind.h"

#include <stdio.h>
#include <stdlib.h>

#define SIDE		32u
#define PLANE		(SIDE * SIDE)
#define RECORD_MOST	(2u + 3 * PLANE)
#define AT_ONCE		16u		/* records per read */
#define META_BYTES	4096u		/* most bytes of a file of class names */
#define FILE_RECORDS	(1u << 24)	/* most records of a file: an archive may claim any number */

/* A record is its labels, of which the last is the main one, and three planes. */
struct set {
	const char	*meta, *train, *test;	/* names of the file of class names, and of data files for messages */
	size_t		 labels, record;
	uint32_t	 classes[2];		/* number of classes of each label */
};

static const struct set cifar10 = { "batches.meta.txt", "data_batch_*.bin", "test_batch.bin", 1, 1 + 3 * PLANE,
    { 10 } };
static const struct set cifar100 = { "fine_label_names.txt", "train.bin", "test.bin", 2, 2 + 3 * PLANE, { 20, 100 } };

struct state {
	struct files		*files;
	enum source_split	 split;
	bool			 both;		/* whether both labels are wanted */
	struct names		*classes;
	bool			 inside;	/* whether a file is open */
	const struct set	*set;		/* the set of all files; NULL: no file yet */
	enum source_split	 part;		/* the split of the open file */
	uint32_t		 record;	/* number of the next record of the file */
	size_t			 next, end;	/* unread bytes of window */
	float			 label[2];
	char			 file[512], name[544];	/* names of the file and of the image */
	uint8_t			 pixels[3 * PLANE];
	uint8_t			 window[AT_ONCE * RECORD_MOST];
};

/* The set and the split of a file of that name, or NULL. */
static const struct set *
find_set(const char *name, enum source_split *part)
{
	unsigned n;
	int end = 0;

	name = io_base_name(name);
	*part = strncmp(name, "test", 4) == 0 ? SOURCE_TEST : SOURCE_TRAIN;
	if (strcmp(name, cifar100.train) == 0 || strcmp(name, cifar100.test) == 0)
		return &cifar100;
	if (strcmp(name, cifar10.test) == 0 ||
	    (sscanf(name, "data_batch_%2u.bin%n", &n, &end) == 1 && end > 0 && name[end] == 0))
		return &cifar10;
	return NULL;
}

/* Also accepts files of class names, which may come first in a stream. */
bool
source_cifar_knows(const char *name)
{
	enum source_split part;

	return find_set(name, &part) != NULL || strcmp(io_base_name(name), cifar10.meta) == 0 ||
	    strcmp(io_base_name(name), cifar100.meta) == 0;
}

static void
cifar_close(void *p)
{
	struct state *s = p;

	free(s);
}

static int
cifar_open(const struct source_opt *opt, struct files *files, struct names *classes, void **out)
{
	struct state *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return err_nomem();
	s->files = files;
	s->split = opt->split;
	s->both = opt->label_width > 1;
	s->classes = classes;
	*out = s;
	return 0;
}

/* Reads class names, one a line. */
static int
read_meta(struct state *s)
{
	struct buf b = { 0 };
	int e = files_slurp(s->files, META_BYTES, &b);

	if (e == 0)
		e = buf_terminate(&b);
	for (char *p = (char *)b.p, *line; e == 0 && (line = strsep(&p, "\r\n")) != NULL;)
		if (*line != 0)
			e = names_append(s->classes, line, strlen(line));
	buf_free(&b);
	return e == ERR_NOMEM || e == ERR_FORMAT ? e : 0;
}

/* Uses numbers as names, unless names were given or the file had one for each class. */
static int
name_classes(struct state *s)
{
	uint32_t n = s->set->classes[s->set->labels - 1];

	if (s->classes->sorted != NULL || s->classes->n == n)
		return 0;
	names_free(s->classes);
	return source_number_classes(s->classes, n - 1);
}

static int
finish_cifar(struct state *s)
{
	if (s->set != NULL)
		return name_classes(s);
	return source_fail_missing(s->files, err_fail(ERR_ARG, "%s: no %s or %s", files_path(s->files),
	    s->split == SOURCE_TEST ? cifar10.test : cifar10.train, s->split == SOURCE_TEST ? cifar100.test
	    : cifar100.train));
}

/* Opens the next file of the split.  Returns 1, 0 at the end, or an error. */
static int
next_cifar_file(struct state *s)
{
	const char *name;
	int e;

	while ((e = files_next(s->files, &name)) > 0) {
		enum source_split part;
		const struct set *set = find_set(name, &part);

		if (set != NULL && (s->split == SOURCE_ALL || s->split == part)) {
			if (s->set != NULL && set != s->set)
				return err_fail(ERR_FORMAT, "%s: %s: CIFAR-10 and CIFAR-100 side by side",
				    files_path(s->files), name);
			s->set = set;
			s->part = part;
			s->inside = true;
			s->record = 0;
			s->next = s->end = 0;
			snprintf(s->file, sizeof(s->file), "%s", name);
			return 1;
		}
		if ((strcmp(io_base_name(name), cifar10.meta) == 0 ||
		    strcmp(io_base_name(name), cifar100.meta) == 0) &&
		    s->classes->n == 0 && (e = read_meta(s)) < 0)
			return e;
	}
	return e == 0 ? finish_cifar(s) : e;
}

/* The next record of the file.  Returns 1, 0 at its end, or an error. */
static int
next_record(struct state *s, const uint8_t **record)
{
	int e;

	if (s->next == s->end) {
		if ((e = files_read(s->files, s->window, AT_ONCE * s->set->record, &s->end)) < 0) {
			err_within("%s: %s: image %u", files_path(s->files), s->file, s->record);
			return e == ERR_ITEM ? ERR_SYS : e;
		}
		s->next = 0;
		if (s->end == 0)
			return 0;
	}
	if (s->end - s->next < s->set->record)
		return err_fail(ERR_SHORT, "%s: %s: ends inside image %u, at byte %llu", files_path(s->files),
		    s->file,
		    s->record, (unsigned long long)s->record * s->set->record + s->end - s->next);
	if (s->record == FILE_RECORDS)
		return err_fail(ERR_LIMIT, "%s: %s: more than %u images", files_path(s->files), s->file,
		    FILE_RECORDS);
	*record = s->window + s->next;
	s->next += s->set->record;
	s->record++;
	return 1;
}

static void
copy_pixels(struct state *s, const uint8_t *planes)
{
	for (size_t i = 0; i < PLANE; i++)
		for (size_t c = 0; c < 3; c++)
			s->pixels[i * 3 + c] = planes[c * PLANE + i];
}

static int
cifar_next(void *p, bool wanted, struct source_item *item)
{
	struct state *s = p;
	const uint8_t *r;
	size_t n;
	int e;

	for (;;) {
		if (!s->inside && (e = next_cifar_file(s)) <= 0)
			return e;
		if ((e = next_record(s, &r)) < 0)
			return e;
		if (e > 0)
			break;
		s->inside = false;
	}
	snprintf(s->name, sizeof(s->name), "%s, image %u", s->file, s->record - 1);
	n = s->set->labels;
	*item = (struct source_item){ .labels = s->both ? (uint32_t)n : 1, .label = s->label, .name = s->name,
		.part = s->part,
		.data = s->pixels, .n = sizeof(s->pixels), .c = 3, .h = SIDE, .w = SIDE };
	for (size_t i = 0; i < n; i++) {
		if (r[i] >= s->set->classes[i])
			return err_fail(ERR_ITEM, "its label %u is not 0 to %u", r[i], s->set->classes[i] - 1);
		s->label[n - 1 - i] = r[i];
	}
	if (wanted)
		copy_pixels(s, r + n);
	return 1;
}

const struct source_kind source_cifar_kind = { cifar_open, cifar_next, cifar_close, NULL, false };
