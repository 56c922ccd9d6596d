/* extract - im2rec --extract: writes the images of records to a directory, with a list that packs them again. */
#include "im2rec/im2rec.h"

#include "base/err.h"
#include "image/img.h"
#include "source/label.h"
#include "record/classes.h"
#include "record/newtext.h"
#include "front.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME		256	/* bytes of the name of a file or a directory */
#define CLASS_NAME	200	/* most bytes of a class's name that are kept */

struct extracting {
	const char	*dir;
	DIR		*into;		/* dir, so that nobody can replace it meanwhile */
	struct names	 classes;
	struct newtext	 list;
};

/* Names the directory of a label: its class's name, without characters that mean something in a path, or the number. */
static void
name_class(const struct names *l, float label, char *name)
{
	char *p;

	if (!(label >= 0 && label < (float)l->n && label == truncf(label))) {
		snprintf(name, NAME, "%.9g", (double)label);
		return;
	}
	snprintf(name, NAME, "%.*s", CLASS_NAME, l->p[(size_t)label]);
	for (p = name; *p != 0; p++)
		if (strchr("/\\:*?\"<>|", *p) != NULL || (unsigned char)*p <= ' ' || *p == 0x7f)
			*p = '_';
	if (*name == '.' || *name == '-')
		*name = '_';
	if (*name == 0)
		snprintf(name, NAME, "%.0f", (double)label);
}

/* Makes a directory, or refuses one that has files, so that none is overwritten or mixed with others. */
static int
open_empty_dir(struct extracting *x)
{
	struct dirent *d;
	size_t names = 0;

	if (mkdir(x->dir, 0777) < 0 && errno != EEXIST)
		return err_sys("%s: create", x->dir);
	if ((x->into = opendir(x->dir)) == NULL)
		return err_sys("%s: open", x->dir);
	while ((d = readdir(x->into)) != NULL)
		names += strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
	return names == 0 ? 0 : err_fail(ERR_SYS, "%s: exists and is not empty", x->dir);
}

/* Opens the directory of a class.  Others may write to the one above it, and plant a link there. */
static int
open_class(const struct extracting *x, const char *class)
{
	int fd;

	if (mkdirat(dirfd(x->into), class, 0777) < 0 && errno != EEXIST)
		return err_sys("%s/%s: create", x->dir, class);
	fd = openat(dirfd(x->into), class, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : err_sys("%s/%s: open without following links", x->dir, class);
}

/* Names the file by the record's id and, if an earlier record has the same id, also by its number. */
static int
create_extracted_file(const struct extracting *x, const char *class, const struct imrec *rec, uint64_t number,
	char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
	const char *suffix = img_suffix(rec->image, rec->n), *file = name + strlen(class) + 1;
	int dir, fd;

	if (suffix == NULL)
		return err_fail(ERR_ITEM, "its image has an unknown format");
	if ((dir = open_class(x, class)) < 0)
		return dir;
	snprintf(name, 2 * NAME, "%s/%08" PRIu64 ".%s", class, rec->id, suffix);
	fd = openat(dir, file, flags, 0666);
	if (fd < 0 && errno == EEXIST) {
		snprintf(name, 2 * NAME, "%s/%08" PRIu64 "-%" PRIu64 ".%s", class, rec->id, number, suffix);
		fd = openat(dir, file, flags, 0666);
	}
	if (fd < 0)
		fd = err_sys("%s/%s: create", x->dir, name);
	close(dir);
	return fd;
}

static int
put_line(struct extracting *x, const char *name, const struct imrec *rec)
{
	struct buf *b = &x->list.wait;
	int e = buf_put_fmt(b, "%" PRIu64, rec->id);

	for (uint32_t i = 0; e == 0 && i < rec->labels; i++)
		if ((e = buf_put(b, "\t", 1)) == 0)
			e = label_put(b, imrec_label(rec, i));
	if (e == 0)
		e = buf_put_fmt(b, "\t%s\n", name);
	return e == 0 ? newtext_step(&x->list) : e;
}

static int
extract_one(void *ctx, uint64_t number, const struct imrec *rec)
{
	struct extracting *x = ctx;
	char class[NAME], name[2 * NAME];
	int e, fd;

	ERR_TRY(im2rec_can_pack_again(rec));
	name_class(&x->classes, imrec_label(rec, 0), class);
	if ((fd = create_extracted_file(x, class, rec, number, name)) < 0)
		return fd;
	if ((e = io_write(fd, rec->image, rec->n)) < 0)
		err_within("%s/%s", x->dir, name);
	if (close(fd) < 0 && e == 0)
		e = err_sys("%s/%s: close", x->dir, name);
	return e == 0 ? put_line(x, name, rec) : e;
}

static int
begin_extraction(struct extracting *x, const char *rec)
{
	size_t n = strlen(x->dir);
	bool listed;
	char *list;
	int e = 0;

	while (n > 1 && x->dir[n - 1] == '/')
		n--;
	if (asprintf(&list, "%.*s.lst", (int)n, x->dir) < 0)
		return err_nomem();
	/* A list that exists is the user's, such as that from which the records were packed. */
	listed = access(list, F_OK) == 0;
	if (!listed || access(x->dir, F_OK) == 0)
		e = open_empty_dir(x);
	if (e == 0 && listed)
		e = err_fail(ERR_SYS, "%s: exists, and would be replaced; extract to another directory", list);
	if (e < 0 || (e = strcmp(rec, "-") != 0 ? classes_read(&x->classes, rec) : 0) < 0) {
		free(list);
		return e;
	}
	return newtext_create(&x->list, list);
}

int
im2rec_extract(const struct im2rec *o)
{
	struct extracting x = { .dir = o->out };
	struct im2rec_watch watch;
	int e;

	if (o->out == NULL || o->paths != 1)
		front_wrong("--extract: needs -o DIRECTORY and one file of records");
	im2rec_watch_input(o);
	im2rec_watch_start(&watch, o->quiet);
	if ((e = begin_extraction(&x, o->path[0])) == 0)
		e = im2rec_each(o->path[0], &watch, extract_one, &x);
	if (e == 0 && (e = newtext_seal(&x.list)) == 0)
		e = newtext_commit(&x.list);
	newtext_free(&x.list);
	if (x.into != NULL)
		closedir(x.into);
	names_free(&x.classes);
	im2rec_watch_end();
	front_must(NULL, e);
	return front_status();
}
