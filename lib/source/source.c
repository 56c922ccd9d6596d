/* source - a cursor over images and their labels, from any kind of source. */
#include "base/err.h"
#include "base/io.h"
#include "source/arc.h"
#include "source/suffix.h"
#include "image/img.h"
#include "source/source_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct source {
	const struct source_kind	*kind;
	struct files			*files;
	void				*state;
	uint64_t			 id;	/* position of the next item */
	uint32_t			 label_width, part, parts;
	size_t				 bytes;	/* most of an image */
	uint64_t			 cut;	/* items that lost labels */
	bool				 returned[SOURCE_TEST + 1];	/* by split of the items */
	size_t				 given;	/* number of given classes */
	struct names			 classes;
	char				 fault[ERR_LINE];	/* what was wrong before the kind was known */
	/* A JSON file without labels, and what is wrong with it. */
	char				 json[512], no_list[ERR_LINE];
};

/* The sample at which the search for the kind stands: files of one key. */
struct sample {
	struct buf	first;	/* name of the first of them; empty: no sample */
	bool		image, labels;	/* among them are an image, labels */
};

/* Whether the current file of the walk holds labels of an image that may be next to it. */
static bool
holds_labels(struct source *s, const char *name)
{
	int e = source_shards_has_json_labels(s->files, name);

	if (e < 0) {
		snprintf(s->json, sizeof(s->json), "%s", name);
		snprintf(s->no_list, sizeof(s->no_list), "%s", err_line());
	}
	return e > 0;
}

static bool
is_of_sample(const struct sample *p, const char *name)
{
	return p->first.n > 0 && source_shards_match((const char *)p->first.p, name);
}

/* Ends a sample, whose image without labels is one of class folders.  Labels without an image show nothing. */
static void
end_sample(struct source *s, struct sample *p)
{
	if (p->image)
		s->kind = &source_folder_kind;
	if (p->image && !is_of_sample(p, s->json))
		*s->no_list = 0;
	p->first.n = 0;
	p->image = p->labels = false;
}

/*
 * Adds the current file of the walk to the sample, which shows the kind once it has an image and labels.  A stream's
 * images and labels are kept.  So that these are few, a second image ends a sample there.
 */
static int
add_to_sample(struct source *s, struct sample *p, const char *name)
{
	const bool image = suffix_is_image(name);
	bool labels;

	if (image && p->image && files_is_stream(s->files)) {
		end_sample(s, p);
		return 0;
	}
	if (!image && !source_shards_is_json(name))
		return 0;
	ERR_TRY(files_hold(s->files, image ? s->bytes : SOURCE_JSON_BYTES));
	labels = !image && holds_labels(s, name);
	if (!image && !labels) {
		files_release(s->files);
		return 0;
	}
	if (p->first.n == 0 && buf_put(&p->first, name, strlen(name) + 1) < 0)
		return ERR_NOMEM;
	p->image |= image;
	p->labels |= labels;
	if (p->image && p->labels)
		s->kind = &source_shards_kind;
	return 0;
}

/* Notes what the only file is, whose name tells nothing: a pipe, for example. */
static void
note_bare_file(struct source *s)
{
	static const uint8_t record[4] = { 0x0a, 0x23, 0xd7, 0xce };	/* record/rec.h */
	const char *image;
	uint8_t head[32];
	size_t got;

	if (files_read(s->files, head, sizeof(head), &got) < 0)
		snprintf(s->fault, sizeof(s->fault), "%s", err_line());
	else if (got >= sizeof(record) && memcmp(head, record, sizeof(record)) == 0)
		snprintf(s->fault, sizeof(s->fault), "holds records already; pworker reads them, and --list, "
		    "--extract and --to-tar show them");
	else if ((image = img_suffix(head, got)) != NULL)
		snprintf(s->fault, sizeof(s->fault), "is one image (%s) without a label; pack an archive of class "
		    "folders, or a directory of them", image);
	else
		snprintf(s->fault, sizeof(s->fault), "is no archive, or its start is damaged; " ARC_READ);
}

/* Finds the kind from the name of the current file, or from the sample to which it belongs. */
static int
find_kind_by_name(struct source *s, struct sample *p, const char *name)
{
	struct files *f = s->files;

	if (source_cifar_knows(name))
		s->kind = &source_cifar_kind;
	else if (source_mnist_knows(name))
		s->kind = &source_mnist_kind;
	else if (source_shards_knows(name))
		s->kind = &source_shards_kind;
	else
		ERR_TRY(add_to_sample(s, p, name));
	if (s->kind == NULL && p->first.n == 0 && !files_is_dir(f) && files_is_bare(f))
		note_bare_file(s);
	return 0;
}

/* Finds the kind by the first names that tell it, so that no archive is read to its end for this. */
static int
find_kind_by_names(struct source *s)
{
	struct sample p = { 0 };
	const char *name;
	int e = 0;

	while (s->kind == NULL && (e = files_next(s->files, &name)) != 0) {
		if (p.first.n > 0 && (e < 0 || !is_of_sample(&p, name)))
			end_sample(s, &p);
		if (s->kind != NULL)
			break;
		if (e == ERR_ITEM && !files_is_stream(s->files)) {
			if (*s->fault == 0)
				snprintf(s->fault, sizeof(s->fault), "%s", err_line());
		} else if (e < 0 || (e = find_kind_by_name(s, &p, name)) < 0) {
			break;
		}
	}
	if (s->kind == NULL)
		end_sample(s, &p);
	buf_free(&p.first);
	/* Damage after the sample is found again after the rewind.  A stream cannot report damage before it later. */
	return s->kind != NULL ? 0 : e == ERR_ITEM ? ERR_FORMAT : e < 0 ? e : 0;
}

static int
fail_no_images(const struct source *s)
{
	if (*s->fault != 0)
		return err_fail(ERR_FORMAT, "%s: no images: %s", files_path(s->files), s->fault);
	return err_fail(ERR_FORMAT, "%s: no images: no image files, no CIFAR-10, CIFAR-100 or MNIST files, and "
	    "no archive that holds them", files_path(s->files));
}

static int
find_kind(struct source *s)
{
	unsigned how = 0;
	int e = find_kind_by_names(s);

	/* The archives of a directory count only if it holds nothing else. */
	if (e == 0 && s->kind == NULL && !files_is_stream(s->files) && files_skipped_archives(s->files) > 0) {
		how = FILES_ENTER;
		if ((e = files_rewind(s->files, how)) == 0)
			e = find_kind_by_names(s);
	}
	if (s->kind != NULL)
		return files_rewind(s->files, how);
	return e < 0 ? e : fail_no_images(s);
}

/* Whether the current file of the walk shows the kind of a source whose images need no class. */
static bool
is_classless_kind(struct source *s, const char *name)
{
	s->kind = source_cifar_knows(name) ? &source_cifar_kind : source_mnist_knows(name) ? &source_mnist_kind :
	    &source_images_kind;
	return s->kind != &source_images_kind || suffix_is_image(name) ||
	    (!files_is_dir(s->files) && files_is_bare(s->files));
}

/* The first file that is an image or of another kind tells.  Damage is found again after the rewind. */
static int
find_classless_kind(struct source *s)
{
	struct files *f = s->files;
	const char *name;
	int e;

	s->kind = &source_images_kind;
	while ((e = files_next(f, &name)) > 0 && !is_classless_kind(s, name))
		continue;
	if (e == 0 && !files_is_stream(f) && files_how(f) == 0 && files_skipped_archives(f) > 0) {
		ERR_TRY(files_rewind(f, FILES_ENTER));
		return find_classless_kind(s);
	}
	if (e == ERR_NOMEM)
		return e;
	return files_rewind(f, s->kind == &source_images_kind ? FILES_ENTER : files_how(f));
}

static bool
is_list_source(const struct source_opt *opt)
{
	return opt->n_paths == 0 && (opt->root != NULL || (opt->path != NULL && suffix_is_list(opt->path)));
}

/* The kind of images of one path: that of CIFAR, of MNIST, or images; NULL for a pipe, which is read once. */
static int
find_kind_of_path(const char *path, const struct source_kind **kind)
{
	struct source s = { 0 };
	int e = files_open(&path, 1, 0, &s.files);

	if (e == 0 && !files_is_stream(s.files))
		e = find_classless_kind(&s);
	files_close(s.files);
	*kind = s.kind;
	return e;
}

/* Refuses several paths of which only those of one kind would be read, and a list among them. */
static int
check_paths(const char *const *path, size_t n)
{
	const struct source_kind *first, *kind;

	for (size_t i = 0; i < n; i++)
		if (suffix_is_list(path[i]))
			return err_fail(ERR_ARG, "%s: a list stands alone", path[i]);
	ERR_TRY(find_kind_of_path(path[0], &first));
	for (size_t i = 1; i < n; i++) {
		ERR_TRY(find_kind_of_path(path[i], &kind));
		if (kind != first && kind != NULL && first != NULL)
			return err_fail(ERR_ARG, "%s and %s: are of different kinds (CIFAR, MNIST, images in class "
			    "folders); name them one at a time", path[0], path[i]);
	}
	return 0;
}

static int
open_files(struct source *s, const struct source_opt *opt)
{
	int e = opt->n_paths > 1 ? check_paths(opt->paths, opt->n_paths) : 0;

	if (e < 0)
		return e;
	e = opt->n_paths > 0 ? files_open(opt->paths, opt->n_paths, 0, &s->files)
	    : files_open(&opt->path, 1, 0, &s->files);

	return e < 0 ? e : opt->classless ? find_classless_kind(s) : find_kind(s);
}

int
source_open(const struct source_opt *given, struct source **out)
{
	struct source_opt with_defaults = *given, *opt = &with_defaults;
	struct source *s = calloc(1, sizeof(*s));
	int e = 0;

	*out = NULL;
	if (s == NULL)
		return err_nomem();
	s->label_width = opt->label_width;
	if (opt->bytes == 0)
		opt->bytes = IMG_BYTES;
	s->bytes = opt->bytes;
	s->part = opt->part;
	s->parts = opt->parts > 0 ? opt->parts : 1;
	if (s->part >= s->parts)
		e = err_fail(ERR_ARG, "part %u of %u", s->part, s->parts);
	else if (opt->labels != NULL)
		e = names_read(&s->classes, opt->labels);
	else if (opt->class_names != NULL)
		e = names_parse(&s->classes, opt->class_names);
	s->given = s->classes.n;
	if (e == 0 && is_list_source(opt))
		s->kind = &source_list_kind;
	else if (e == 0)
		e = open_files(s, opt);
	if (e == 0)
		e = s->kind->open(opt, s->files, &s->classes, &s->state);
	if (e == ERR_NOTSUP && *s->no_list != 0)
		err_note(0, "%s: its images are in no class folders, and %s", files_path(s->files), s->no_list);
	if (e == ERR_NOTSUP)
		e = ERR_FORMAT;
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
	files_close(s->files);
	names_free(&s->classes);
	free(s);
}

bool
source_is_half(const char *path)
{
	return source_mnist_knows(io_base_name(path));
}

/* The next item of any part. */
static int
next_of_all(struct source *s, bool wanted, struct source_item *item)
{
	const bool mine = s->id % s->parts == s->part;
	int e;

	*item = (struct source_item){ .name = "" };
	e = s->kind->next(s->state, wanted, item);
	if (e <= 0 && !source_is_item_error(e))
		return e;
	if (!s->kind->has_ids)
		item->id = s->id;
	s->id++;
	s->returned[item->part] |= e > 0;
	if (e > 0 && item->labels < s->label_width)
		return err_fail(ERR_ITEM, "has %u labels, not %u", item->labels, s->label_width);
	if (s->label_width > 0) {
		s->cut += mine && e > 0 && item->labels > s->label_width;
		item->labels = s->label_width;
	}
	if (e > 0 && s->given > 0 && !(item->label[0] >= 0 && item->label[0] < (float)s->given))
		return err_fail(ERR_CLASS, "its label %g is not one of the %zu given classes", (double)item->label[0],
		    s->given);
	return e;
}

/* The next item of this part. */
static int
next_of_part(struct source *s, bool wanted, struct source_item *item)
{
	bool mine;
	int e;

	do {
		mine = s->id % s->parts == s->part;
		e = next_of_all(s, wanted && mine, item);
	} while (!mine && (e > 0 || source_is_item_error(e)));
	return e;
}

bool
source_is_item_error(int e)
{
	return e == ERR_ITEM || e == ERR_BYTES || e == ERR_CLASS;
}

int
source_next(struct source *s, struct source_item *item)
{
	return next_of_part(s, true, item);
}

int
source_skip(struct source *s, struct source_item *item)
{
	return next_of_part(s, false, item);
}

int
source_read(const struct source *s, const char *name, struct buf *data, struct stamp *stamp)
{
	/* A list may name a pipe, whose writer nobody would wait for. */
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK), e;
	struct stat st;

	if (fd < 0) {
		e = err_sys("open");
		*stamp = stamp_of(name);
		return e;
	}
	*stamp = stamp_of_fd(fd);
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		e = err_fail(ERR_SYS, "is not a regular file");
	else if ((e = io_slurp_fd(fd, s->bytes, data)) == ERR_LIMIT)
		e = ERR_BYTES;
	close(fd);
	return e;
}

double
source_progress(const struct source *s, uint64_t done)
{
	double fraction = s->kind->progress != NULL ? s->kind->progress(s->state) : -1, of;

	if (fraction < 0 || s->id == 0)
		return fraction;
	of = (double)done * s->parts / (double)s->id;
	return of < 1 ? fraction * of : fraction;
}

uint64_t
source_cut_labels(const struct source *s)
{
	return s->cut;
}

bool
source_mixes_splits(const struct source *s)
{
	return s->returned[SOURCE_TRAIN] && s->returned[SOURCE_TEST];
}

const struct names *
source_classes(const struct source *s)
{
	return &s->classes;
}

int
source_fail_missing(const struct files *f, int e)
{
	char line[ERR_LINE];

	if (*files_fault(f) == 0)
		return e;
	snprintf(line, sizeof(line), "%s", err_line());
	return err_fail(ERR_FORMAT, "%s: %s", line, files_fault(f));
}

int
source_number_classes(struct names *classes, uint32_t most)
{
	char text[16];
	int e = 0;

	for (uint32_t i = 0; classes->n == i && e == 0 && i <= most && most < NAMES_MOST; i++)
		e = names_append(classes, text, (size_t)snprintf(text, sizeof(text), "%u", i));
	return e;
}
