/* give - im2rec --cat and --to-tar: writes the images of records to standard output, or as a webdataset. */
#include "im2rec/im2rec.h"

#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "image/img.h"
#include "record/classes.h"
#include "record/imrec.h"
#include "record/recwalk.h"
#include "record/tarfile.h"
#include "source/label.h"
#include "front.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANGES	256	/* most ranges of --cat */
#define PEEK	64u	/* bytes read of a record that is not selected */
#define NAME	256	/* bytes of a file's name */

static int
give_record(const char *path, uint64_t number, const struct recwalk_rec *r, im2rec_give *fn, void *ctx)
{
	struct imrec rec;
	int e;

	if ((e = imrec_decode(&rec, r->data, r->n)) < 0)
		e = ERR_ITEM;
	else
		e = fn(ctx, number, &rec);
	if (e == ERR_ITEM)
		err_within("%s: record %" PRIu64 " at %" PRIu64, path, number, r->at);
	return e;
}

int
im2rec_each(const char *path, struct im2rec_watch *watch, im2rec_give *fn, void *ctx)
{
	struct recwalk_rec r;
	struct recwalk *w;
	uint64_t number = 0;
	int e;

	ERR_TRY(recwalk_open(path, 0, &w));
	while ((e = recwalk_next(w, &r)) > 0 || e == ERR_ITEM) {
		if (im2rec_watch_check() < 0)
			break;
		if (e > 0)
			e = give_record(path, number++, &r, fn, ctx);
		if (e == ERR_ITEM)
			front_warn(NULL, e);
		else if (e < 0)
			break;
		if ((e = im2rec_watch_step(watch, number, r.at,
		    recwalk_size(w) > 0 ? (double)r.at / (double)recwalk_size(w) : -1)) < 0)
			break;
	}
	recwalk_close(w);
	return e < 0 && e != ERR_ITEM ? e : im2rec_watch_check();
}

struct range {
	uint64_t	lo, hi;
};

/* Parses "3", "3-7" or "3-", separated by commas. */
static size_t
parse_ranges(const char *text, struct range *range)
{
	char *copy = strdup(text), *rest = copy, *one;
	size_t n = 0;

	if (copy == NULL)
		front_die("--cat", err_nomem());
	while ((one = strsep(&rest, ",")) != NULL) {
		char *dash = strchr(one, '-');
		struct range *r = &range[n++];

		if (dash != NULL)
			*dash = 0;
		if (n > RANGES || num_u64(one, 0, UINT64_MAX, &r->lo) < 0)
			front_wrong("--cat: '%.64s' is not a list of record numbers such as 3 or 0-9,12 or 100-", text);
		r->hi = dash == NULL ? r->lo : UINT64_MAX;
		if (dash != NULL && dash[1] != 0 && (num_u64(dash + 1, 0, UINT64_MAX, &r->hi) < 0 || r->hi < r->lo))
			front_wrong("--cat: '%.64s' is not a list of record numbers such as 3 or 0-9,12 or 100-", text);
	}
	free(copy);
	return n;
}

static bool
is_selected(const struct range *r, size_t n, uint64_t number)
{
	for (; n > 0; n--, r++)
		if (number >= r->lo && number <= r->hi)
			return true;
	return false;
}

/* The largest selected number, or UINT64_MAX. */
static uint64_t
find_last_selected(const struct range *r, size_t n)
{
	uint64_t last = 0;

	for (; n > 0; n--, r++)
		if (r->hi > last)
			last = r->hi;
	return last;
}

static int
write_image(struct recwalk *w, struct recwalk_rec *r)
{
	struct imrec rec;

	ERR_TRY(recwalk_load(w, r));
	if (imrec_decode(&rec, r->data, r->n) < 0)
		return err_wrap(ERR_ITEM, "%s: record at %" PRIu64, recwalk_path(w), r->at);
	fwrite(rec.image, 1, rec.n, stdout);
	return 0;
}

int
im2rec_cat(const struct im2rec *o)
{
	struct range range[RANGES + 1];
	size_t n = parse_ranges(o->which, range);
	uint64_t last = find_last_selected(range, n), number = 0;
	struct recwalk_rec r;
	struct recwalk *w;
	int e;

	if (o->paths != 1)
		front_wrong("--cat: needs one file");
	im2rec_watch_input(o);
	front_must(NULL, recwalk_open(o->path[0], PEEK, &w));
	while (number <= last && ((e = recwalk_next(w, &r)) > 0 || e == ERR_ITEM)) {
		if (e > 0)
			e = is_selected(range, n, number++) ? write_image(w, &r) : 0;
		if (e < 0 && e != ERR_ITEM)
			break;
		if (e < 0)
			front_warn(NULL, e);
	}
	recwalk_close(w);
	if (e < 0 && e != ERR_ITEM)
		front_die(NULL, e);
	for (size_t i = 0; i < n; i++)
		if (number <= range[i].lo || (range[i].hi != UINT64_MAX && number <= range[i].hi)) {
			front_warn(o->path[0], err_fail(ERR_LIMIT, "has %" PRIu64 " records, numbered from 0", number));
			break;
		}
	return front_status();
}

struct taring {
	struct tarfile	*tar;
	const char	*to;		/* its name */
	struct buf	 text;
	uint64_t	 last;		/* id of the previous record */
	bool		 any;
};

static int
put_file(struct taring *t, const char *name, const uint8_t *p, size_t n)
{
	return err_wrap(tarfile_put(t->tar, name, p, n), "%s", t->to);
}

/* Writes a class (.cls) if the source reads the label as one, and other labels as a list in JSON. */
static int
put_labels(struct taring *t, const char *key, const struct imrec *rec)
{
	float first = imrec_label(rec, 0);
	bool class = rec->labels == 1 && first == truncf(first) && !signbit(first) && first < (float)SOURCE_CLASSES;
	char name[NAME];
	int e = 0;

	t->text.n = 0;
	snprintf(name, sizeof(name), "%s.%s", key, class ? "cls" : "json");
	if (class)
		e = buf_put_fmt(&t->text, "%.0f", (double)first);
	for (uint32_t i = 0; !class && e == 0 && i < rec->labels; i++) {
		float v = imrec_label(rec, i);
		const char *quote = isfinite(v) ? "" : "\"";

		if ((e = buf_put_fmt(&t->text, "%s%s", i == 0 ? "{\"labels\": [" : ", ", quote)) == 0 &&
		    (e = label_put(&t->text, v)) == 0)
			e = buf_put_fmt(&t->text, "%s", quote);
	}
	if (e == 0 && !class)
		e = buf_put_fmt(&t->text, "]}");
	return e == 0 ? put_file(t, name, t->text.p, t->text.n) : e;
}

int
im2rec_can_pack_again(const struct imrec *rec)
{
	return rec->labels <= IMREC_LABELS ? 0
	    : err_fail(ERR_ITEM, "has %" PRIu32 " labels, and im2rec packs at most %u", rec->labels, IMREC_LABELS);
}

/* Adjacent files with the same key are one sample, so that of two records with one id the second has its number too. */
static int
write_tar_record(void *ctx, uint64_t number, const struct imrec *rec)
{
	struct taring *t = ctx;
	const char *suffix = img_suffix(rec->image, rec->n);
	char key[64], name[NAME];
	int e;

	if (suffix == NULL)
		return err_fail(ERR_ITEM, "its image has an unknown format");
	ERR_TRY(im2rec_can_pack_again(rec));
	if (t->any && rec->id == t->last)
		snprintf(key, sizeof(key), "%08" PRIu64 "-%" PRIu64, rec->id, number);
	else
		snprintf(key, sizeof(key), "%08" PRIu64, rec->id);
	t->last = rec->id;
	t->any = true;
	snprintf(name, sizeof(name), "%s.%s", key, suffix);
	e = put_file(t, name, rec->image, rec->n);
	return e == 0 ? put_labels(t, key, rec) : e;
}

/* Adds the names of the classes of all records to the text.  Leaves it empty if one of the files has none. */
static int
read_tar_names(const struct im2rec *o, struct buf *text)
{
	struct names first = { 0 };
	bool all = true;
	int e = 0;

	for (size_t i = 0; e == 0 && i < o->paths; i++) {
		struct names l = { 0 };

		if (strcmp(o->path[i], "-") != 0 && (e = classes_read(&l, o->path[i])) < 0)
			break;
		all = all && l.n > 0;
		if (i > 0 && all && !names_equal(&first, &l))
			e = err_fail(ERR_ARG, "%s: its classes are not those of %s; write an archive of each",
			    o->path[i], o->path[0]);
		if (i == 0)
			first = l;
		else
			names_free(&l);
	}
	if (e == 0 && all)
		e = names_put_lines(&first, text);
	names_free(&first);
	return e;
}

static int
write_tar(const struct im2rec *o, struct im2rec_watch *watch, int fd)
{
	struct taring t = { 0 };
	struct buf names = { 0 };
	int e = read_tar_names(o, &names);

	if (e == 0)
		e = tarfile_open(fd, &t.tar);
	t.to = fd != STDOUT_FILENO ? o->out : "standard output";
	/* The names come first, so that a reader of a pipe has them before the numbers. */
	if (e == 0 && names.n > 0)
		e = put_file(&t, SOURCE_NAMES_FILE, names.p, names.n);
	for (size_t i = 0; e == 0 && i < o->paths; i++)
		e = im2rec_each(o->path[i], watch, write_tar_record, &t);
	if (e < 0)
		tarfile_drop(t.tar);
	else
		e = err_wrap(tarfile_end(t.tar), "%s", t.to);
	buf_free(&t.text);
	buf_free(&names);
	return e;
}

int
im2rec_to_tar(const struct im2rec *o)
{
	bool to_file = o->out != NULL && strcmp(o->out, "-") != 0;
	struct io_new f = { .fd = STDOUT_FILENO };
	struct im2rec_watch watch;
	int e;

	if (!to_file && isatty(STDOUT_FILENO))
		front_wrong("refusing to write an archive to a terminal; use -o FILE.tar or > FILE.tar");
	im2rec_watch_input(o);
	im2rec_watch_start(&watch, o->quiet);
	if (to_file && (e = io_create(&f, o->out)) < 0)
		front_die(o->out, e);
	e = write_tar(o, &watch, f.fd);
	if (to_file && e == 0)
		e = io_commit(&f);
	else if (to_file)
		io_abandon(&f);
	im2rec_watch_end();
	front_must(NULL, e);
	return front_status();
}
