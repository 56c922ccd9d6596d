/* source_cifar - the pictures of CIFAR-10's binary files: serves source. */
#include "data/source_kind.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define SIDE		32u
#define PLANE		(SIDE * SIDE)
#define RECORD		(1u + 3 * PLANE)
#define CLASSES		10u
#define AT_ONCE		16u		/* records read */
#define META_BYTES	4096u		/* of batches.meta.txt */
#define FILE_RECORDS	(1u << 24)	/* of a file: an archive may claim any number of zeros */

struct state {
	struct files		*files;
	enum source_split	 split;
	struct names		*classes;
	bool			 inside;	/* a file */
	bool			 found;		/* one at least */
	uint32_t		 record;	/* of it, the next */
	size_t			 next, end;	/* bytes of window */
	float			 label;
	char			 file[512], name[544];	/* the file's, the picture's */
	uint8_t			 pixels[3 * PLANE];
	uint8_t			 window[AT_ONCE * RECORD];
};

static const char *
base_name(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash != NULL ? slash + 1 : name;
}

static enum source_split
part_of(const char *name)
{
	unsigned n;
	int end = 0;

	name = base_name(name);
	if (strcmp(name, "test_batch.bin") == 0)
		return SOURCE_TEST;
	if (sscanf(name, "data_batch_%2u.bin%n", &n, &end) == 1 && end > 0 && name[end] == 0)
		return SOURCE_TRAIN;
	return SOURCE_ALL;
}

bool
source_cifar_knows(const char *name)
{
	return part_of(name) != SOURCE_ALL;
}

static void
cifar_close(void *p)
{
	struct state *s = p;

	files_close(s->files);
	free(s);
}

static int
cifar_open(void **out, const struct source_opt *opt, struct names *classes)
{
	struct state *s = malloc(sizeof(*s));
	int e;

	if (s == NULL)
		return err_nomem();
	*s = (struct state){ .split = opt->split, .classes = classes };
	if ((e = files_open(&s->files, opt->path)) < 0) {
		cifar_close(s);
		return e;
	}
	*out = s;
	return 0;
}

/* A name a line; when there are not ten of them, they are left to be numbers. */
static int
read_meta(struct state *s)
{
	struct buf b = { 0 };
	int e = files_slurp(s->files, META_BYTES, &b);

	if (e == 0)
		e = buf_terminate(&b);
	for (char *p = (char *)b.p, *line; e == 0 && (line = strsep(&p, "\r\n")) != NULL;)
		if (*line != 0 && s->classes->n < CLASSES)
			e = names_push(s->classes, line, strlen(line));
	buf_free(&b);
	return e == ERR_NOMEM || e == ERR_FORMAT ? e : 0;
}

static int
name_classes(struct state *s)
{
	char digit[2] = "0";
	int e = 0;

	if (s->classes->n == CLASSES)
		return 0;
	names_free(s->classes);
	for (; e == 0 && digit[0] <= '9'; digit[0]++)
		e = names_push(s->classes, digit, 1);
	return e;
}

/* Goes to the next file of the split.  Returns 1, 0 at the end, or an error. */
static int
next_file(struct state *s)
{
	const char *name;
	int e;

	while ((e = files_next(s->files, &name)) > 0) {
		enum source_split part = part_of(name);

		if (part != SOURCE_ALL && (s->split == SOURCE_ALL || s->split == part)) {
			s->inside = s->found = true;
			s->record = 0;
			s->next = s->end = 0;
			snprintf(s->file, sizeof(s->file), "%s", name);
			return 1;
		}
		if (strcmp(base_name(name), "batches.meta.txt") == 0 && s->classes->n == 0 &&
		    (e = read_meta(s)) < 0)
			return e;
	}
	if (e == 0 && !s->found)
		return err_fail(ERR_ARG, "%s: has no %s", files_path(s->files),
		    s->split == SOURCE_TEST ? "test_batch.bin" : "data_batch_*.bin");
	return e == 0 ? name_classes(s) : e;
}

/* The next record of the file: 1, 0 at its end, or an error. */
static int
next_record(struct state *s, const uint8_t **record)
{
	int e;

	if (s->next == s->end) {
		if ((e = files_read(s->files, s->window, sizeof(s->window), &s->end)) < 0) {
			err_within("%s: %s: picture %u", files_path(s->files), s->file, s->record);
			return e == ERR_ITEM ? ERR_SYS : e;
		}
		s->next = 0;
		if (s->end == 0)
			return 0;
	}
	if (s->end - s->next < RECORD)
		return err_fail(ERR_SHORT, "%s: %s: ends inside picture %u, at byte %llu", files_path(s->files), s->file,
		    s->record, (unsigned long long)s->record * RECORD + s->end - s->next);
	if (s->record == FILE_RECORDS)
		return err_fail(ERR_LIMIT, "%s: %s: more than %u pictures", files_path(s->files), s->file,
		    FILE_RECORDS);
	*record = s->window + s->next;
	s->next += RECORD;
	s->record++;
	return 1;
}

static int
cifar_next(void *p, struct source_item *item)
{
	struct state *s = p;
	const uint8_t *r;
	int e;

	for (;;) {
		if (!s->inside && (e = next_file(s)) <= 0)
			return e;
		if ((e = next_record(s, &r)) < 0)
			return e;
		if (e > 0)
			break;
		s->inside = false;
	}
	snprintf(s->name, sizeof(s->name), "%s, picture %u", s->file, s->record - 1);
	*item = (struct source_item){ .labels = 1, .label = &s->label, .name = s->name, .data = s->pixels,
		.n = sizeof(s->pixels), .c = 3, .h = SIDE, .w = SIDE };
	if (r[0] >= CLASSES)
		return err_fail(ERR_ITEM, "its label %u is not 0 to %u", r[0], CLASSES - 1);
	s->label = r[0];
	for (size_t i = 0; i < PLANE; i++)
		for (size_t c = 0; c < 3; c++)
			s->pixels[i * 3 + c] = r[1 + c * PLANE + i];
	return 1;
}

const struct source_kind source_cifar_kind = { cifar_open, cifar_next, NULL, cifar_close, false };
