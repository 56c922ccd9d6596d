/* pack - packs the images of a source into records; with --resume, continues an earlier run. */
#include "im2rec/im2rec.h"

#include "base/err.h"
#include "record/recset.h"
#include "record/sum.h"
#include "source/suffix.h"
#include "front.h"
#include "front_progress.h"
#include "front_wait.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNREAD	256u	/* suffixes that are counted */

struct run {
	const struct im2rec	*o;
	struct source		*in;
	struct recset		*out;
	struct im2rec_watch	 watch;
	uint64_t		 items;		/* items of the source, packed or left out */
	/* Items left out by their suffix, if its format is not read. */
	struct {
		const char	*suffix;
		uint64_t	 n;
	} unread[UNREAD];
	struct names	 unknown;	/* what was said about items without a class, each once */
	uint64_t	 unclassed;	/* such items */
	bool		 nested;	/* the only class has folders */
};

/* Whether an item is in a folder of the only class. */
static bool
is_nested(const struct run *r, const char *name)
{
	const struct names *classes = source_classes(r->in);
	size_t n, k;

	if (classes->n != 1)
		return false;
	n = strlen(r->o->path[0]);
	k = strlen(classes->p[0]);
	while (n > 0 && r->o->path[0][n - 1] == '/')
		n--;
	if (strncmp(name, r->o->path[0], n) != 0 || name[n] != '/')
		return false;
	name += n + 1;
	return strncmp(name, classes->p[0], k) == 0 && name[k] == '/' && strchr(name + k + 1, '/') != NULL;
}

static int
take_record(void *ctx, const struct pack_item *item, const uint8_t *p, size_t n)
{
	struct run *r = ctx;
	int e = im2rec_watch_step(&r->watch, recset_records(r->out), recset_bytes(r->out),
	    progress_due() ? source_progress(r->in, r->items) : -1);

	r->items++;
	r->nested = r->nested || is_nested(r, item->name);
	return e < 0 ? e : recset_put(r->out, item, p, n);
}

static void
count_unread(struct run *r, const char *name)
{
	const char *suffix = suffix_not_read(name);
	unsigned i = 0;

	while (i < UNREAD && r->unread[i].n > 0 && r->unread[i].suffix != suffix)
		i++;
	if (suffix == NULL || i == UNREAD)
		return;
	r->unread[i].suffix = suffix;
	r->unread[i].n++;
}

/* Prints how many items were left out because of their format, if one line has not said it already. */
static void
say_unread(const struct run *r)
{
	struct buf text = { 0 };
	uint64_t sum = 0;
	int e = 0;

	for (unsigned i = 0; e == 0 && i < UNREAD && r->unread[i].n > 0; i++) {
		sum += r->unread[i].n;
		e = buf_put_fmt(&text, "%s%" PRIu64 " %s", i > 0 ? ", " : "", r->unread[i].n, r->unread[i].suffix);
	}
	if (e == 0 && sum > 1 && buf_terminate(&text) == 0)
		front_say("%" PRIu64 " files are left out whose formats are not read: %s", sum,
		    (const char *)text.p);
	buf_free(&text);
}

/* Whether the line about an item without a class was printed before: it concerns all images of a folder. */
static bool
is_said(struct run *r)
{
	const char *line = err_line();
	size_t n = strlen(line);

	r->unclassed++;
	if (names_find(&r->unknown, line, n) >= 0)
		return true;
	front_must(NULL, names_insert(&r->unknown, line, n));
	return false;
}

/* Reports a bad item.  If it has no name, the error's message says where it is. */
static void
warn_item(struct run *r, const char *name, int e)
{
	if (e == ERR_CLASS && is_said(r))
		return;
	im2rec_name_limit(e);
	count_unread(r, name);
	front_warn(*name != 0 ? name : NULL, e);
}

static int
report_bad_item(void *ctx, const struct pack_item *item, int e)
{
	struct run *r = ctx;
	int stop = im2rec_watch_check();

	if (stop < 0)
		return stop;
	r->items++;
	warn_item(r, item->name, e);
	return recset_reject(r->out, item, err_line());
}

/* Adds a path; a file also by its size and time.  The items of a directory are compared one by one later. */
static int
put_file(struct buf *text, const char *path)
{
	struct stat st;

	if (path != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode))
		return buf_put_fmt(text, "%s\t%lld\t%lld.%09ld\n", path, (long long)st.st_size,
		    (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	return buf_put_fmt(text, "%s\n", path != NULL ? path : "");
}

/* Computes a hash of everything that influences the records. */
static int
hash_command(const struct im2rec *o, uint64_t *sum)
{
	const struct source_opt *in = &o->in;
	const struct transcode_opt *c = &o->pack.conv;
	struct buf text = { 0 };
	int e = buf_put_fmt(&text, TALLY_VERSION "\n%s\n%d %" PRIu32 " %" PRIu32 "/%" PRIu32 "\n%" PRIu32
	    " %d %d %d %d %d %d %d %" PRIu32 " %zu\n", in->root != NULL ? in->root : "", (int)in->split,
	    in->label_width, in->part, in->parts, c->resize, c->crop, c->crop_even, (int)c->color, (int)c->inter,
	    (int)c->encoding, c->quality, c->pass, c->pixels, in->bytes);

	for (size_t i = 0; e == 0 && i < o->paths; i++)
		e = put_file(&text, o->path[i]);
	if (e == 0)
		e = put_file(&text, in->labels);
	*sum = sum_of(text.p, text.n);
	buf_free(&text);
	return e;
}

/* Skips the items that an earlier run packed or left out, and reports the latter again. */
static int
skip_kept_items(struct run *r)
{
	struct source_item item;
	const char *reason;
	int e = 0, found;

	while (e >= 0 && recset_kept(r->out) > 0) {
		if ((found = source_skip(r->in, &item)) < 0 && !source_is_item_error(found))
			return found;
		if (found == 0)
			return err_fail(ERR_ARG,
			    "the source has fewer items than before; start again without --resume");
		r->items++;
		e = recset_pass(r->out, &(struct pack_item){ item.name, item.id, stamp_of(item.name) }, &reason);
		if (e == 0 && reason != NULL) {
			err_note(0, "%s", reason);
			warn_item(r, item.name, found == ERR_CLASS ? ERR_CLASS : ERR_ITEM);
		} else {
			r->nested = r->nested || is_nested(r, item.name);
		}
	}
	return e;
}

/* Adds to the message what a full disk, for example, has left. */
static void
propose_resume(const char *path)
{
	char partial[PATH_MAX], why[ERR_LINE];
	struct stat st;

	snprintf(partial, sizeof(partial), "%s.partial", path);
	snprintf(why, sizeof(why), "%s", err_line());
	if (stat(partial, &st) == 0 && st.st_size > 0)
		err_note(0, "%s; --resume continues %s", why, partial);
}

int
im2rec_pack(const struct im2rec *o)
{
	struct recset_opt to = { .path = o->out != NULL ? o->out : "-", .rejects = o->rejects, .resume = o->resume };
	struct run r = { .o = o };
	uint64_t cut;
	const struct pack_sink sink = { take_record, report_bad_item, &r };
	int e;

	if (strcmp(to.path, "-") == 0 && isatty(STDOUT_FILENO))
		front_wrong("refusing to write records to a terminal; use -o FILE.rec or > FILE.rec");
	if (strcmp(to.path, "-") == 0 && o->resume)
		front_wrong("--resume needs -o FILE.rec");
	front_wait_read(o->in.path);
	if ((e = source_open(&o->in, &r.in)) < 0 || (e = hash_command(o, &to.command)) < 0)
		front_die(NULL, e);
	front_wait_end();
	im2rec_watch_start(&r.watch, o->quiet);
	front_must(NULL, recset_create(&to, &r.out));
	if ((e = skip_kept_items(&r)) == 0)
		e = pack_run(r.in, &o->pack, &sink);
	if (e == 0)
		e = im2rec_watch_step(&r.watch, recset_records(r.out), recset_bytes(r.out), 1);
	if (e == 0)
		say_unread(&r);
	if (e == 0 && r.unclassed > r.unknown.n)
		front_say("%" PRIu64 " images are left out that have none of the given classes", r.unclassed);
	if (e == 0 && (cut = source_cut_labels(r.in)) > 0)
		front_say("%" PRIu64 " item%s more than %" PRIu32 " labels; the rest are left out", cut,
		    cut == 1 ? " has" : "s have", o->in.label_width);
	if (e == 0)
		e = recset_commit(r.out, source_classes(r.in));
	else
		recset_abandon(r.out);
	if (e == 0 && source_mixes_splits(r.in))
		front_say("images for training and for testing are packed together; --split train and --split test "
		    "pack them apart");
	if (e == 0 && r.nested && source_classes(r.in)->n == 1)
		front_say("all images are of one class, %s; if the folders in it are the classes, pack %s/%s",
		    source_classes(r.in)->p[0], o->path[0], source_classes(r.in)->p[0]);
	source_close(r.in);
	names_free(&r.unknown);
	im2rec_watch_end();
	if (e == ERR_SYS && o->out != NULL)
		propose_resume(o->out);
	front_must(NULL, e);
	return front_status();
}
