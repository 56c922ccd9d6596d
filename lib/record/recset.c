/* recset - writes a .rec and the files beside it, which appear atomically. */
#include "record/recset.h"
#include "base/err.h"
#include "base/io.h"
#include "record/beside.h"
#include "record/idx.h"
#include "record/newtext.h"
#include "record/partial.h"
#include "record/sum.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_ONCE	(1u << 18)	/* bytes per write */

struct recset {
	char		*path, *rejects_path;
	struct partial	*partial;	/* NULL if the records go to standard output */
	struct buf	 wait;		/* records for standard output that are not yet written */
	uint64_t	 records, bytes;
	struct buf	 rejects;	/* the text */
};

enum { IDX, SUM, LABELS, REJECTS, TEXTS };
static const char *const endings[REJECTS] = { ".idx", ".sum", ".labels" };

/* Fails before the work if the rejects could not be written after it. */
static int
try_rejects(const char *path)
{
	struct io_new f;
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return err_fail(ERR_ARG, "%s: is a directory; name a file for the rejects", path);
	/* To open a pipe and close it would end it for its reader. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return 0;
	ERR_TRY(err_wrap(io_create(&f, path), "%s", path));
	io_abandon(&f);
	return 0;
}

int
recset_create(const struct recset_opt *opt, struct recset **out)
{
	struct recset *s = calloc(1, sizeof(*s));
	int e = 0;

	*out = NULL;
	if (s == NULL)
		return err_nomem();
	if ((s->path = strdup(opt->path)) == NULL ||
	    (opt->rejects != NULL && (s->rejects_path = strdup(opt->rejects)) == NULL))
		e = err_nomem();
	if (e == 0 && opt->rejects != NULL)
		e = try_rejects(opt->rejects);
	if (e == 0 && strcmp(opt->path, "-") != 0)
		e = partial_open(opt->path, opt->command, opt->resume, &s->partial);
	if (e < 0) {
		recset_abandon(s);
		return e;
	}
	*out = s;
	return 0;
}

uint64_t
recset_kept(const struct recset *s)
{
	return s->partial != NULL ? s->partial->left : 0;
}

static int
note_reject(struct recset *s, const char *name, const char *reason)
{
	size_t at = s->rejects.n;

	if (s->rejects_path == NULL)
		return 0;
	ERR_TRY(buf_put_fmt(&s->rejects, "%s\t%s\n", name, reason));
	for (size_t tab = at + strlen(name); at + 1 < s->rejects.n; at++)
		if (s->rejects.p[at] < ' ' && at != tab)
			s->rejects.p[at] = '?';
	return 0;
}

/* A hash of an item's name and, for a file, its stamp: another image under the same name is another item. */
static uint64_t
find_journal_place(const struct pack_item *item)
{
	const struct stamp *t = &item->stamp;
	uint64_t v[4] = { sum_of(item->name, strlen(item->name)), t->bytes, (uint64_t)t->s, (uint64_t)t->ns };

	return t->bytes == 0 && t->s == 0 ? v[0] : sum_of(v, sizeof(v));
}

int
recset_pass(struct recset *s, const struct pack_item *item, const char **reason)
{
	struct journal_item it;

	ERR_TRY(partial_pass(s->partial, item->name, find_journal_place(item), &it));
	*reason = it.packed ? NULL : it.reason;
	return it.packed ? 0 : note_reject(s, it.name, it.reason);
}

static int
flush_recset(struct recset *s)
{
	int e = io_write(STDOUT_FILENO, s->wait.p, s->wait.n);

	s->wait.n = 0;
	return err_wrap(e, "standard output");
}

int
recset_put(struct recset *s, const struct pack_item *item, const uint8_t *p, size_t n)
{
	if (s->partial != NULL)
		return partial_put(s->partial, &(struct journal_item){ .place = find_journal_place(item),
		    .packed = true, .name = item->name, .id = item->id, .bytes = n }, p);
	ERR_TRY(buf_put(&s->wait, p, n));
	s->bytes += n;
	s->records++;
	return s->wait.n < AT_ONCE ? 0 : flush_recset(s);
}

int
recset_reject(struct recset *s, const struct pack_item *item, const char *reason)
{
	int e;

	if ((e = note_reject(s, item->name, reason)) < 0 || s->partial == NULL)
		return e;
	return partial_put(s->partial, &(struct journal_item){ .place = find_journal_place(item), .name = item->name,
	    .reason = reason }, NULL);
}

/* One name per line; bytes that would break the line become question marks. */
static int
put_labels(struct buf *text, const struct names *classes)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < classes->n; i++) {
		size_t at = text->n;

		if ((e = buf_put_fmt(text, "%s\n", classes->p[i])) == 0)
			for (; at + 1 < text->n; at++)
				if (text->p[at] < ' ')
					text->p[at] = '?';
	}
	return e;
}

/* Writes a record's lines to the index and the sums. */
static int
put_lines(struct newtext *t, uint64_t id, const struct sum_line *l)
{
	int e;

	ERR_TRY(idx_put(&t[IDX].wait, id, l->at));
	ERR_TRY(sum_put(&t[SUM].wait, l));
	return (e = newtext_step(&t[IDX])) < 0 ? e : newtext_step(&t[SUM]);
}

/* Writes the journal's records to the files beside the .rec. */
static int
put_all_lines(struct recset *s, struct newtext *t)
{
	struct sum_line l = { 0 };
	struct journal_item it;
	struct journal *j;
	uint64_t command;
	int e;

	ERR_TRY(partial_flush(s->partial));
	ERR_TRY(journal_open(s->partial->journal, &command, &j));
	while ((e = journal_next(j, &it)) > 0) {
		if (!it.packed)
			continue;
		l.bytes = it.bytes;
		l.sum = it.sum;
		if ((e = put_lines(t, it.id, &l)) < 0)
			break;
		l.at += it.bytes;
	}
	journal_close(j);
	if (e == 0 && l.at != s->partial->bytes)
		e = err_fail(ERR_FORMAT, "%s: does not list all records", s->partial->journal);
	return e;
}

/* Writes the files beside the records, not yet under their names. */
static int
write_beside(struct recset *s, const struct names *classes, struct newtext *t)
{
	int e = 0;

	for (int i = 0; s->partial != NULL && e == 0 && i < REJECTS; i++)
		if (i != LABELS || classes->n > 0)
			e = newtext_create(&t[i], beside_name(s->path, endings[i]));
	if (e == 0 && s->rejects_path != NULL)
		e = newtext_create(&t[REJECTS], strdup(s->rejects_path));
	if (e == 0 && s->partial != NULL)
		e = put_all_lines(s, t);
	if (e == 0)
		e = put_labels(&t[LABELS].wait, classes);
	if (e == 0)
		e = buf_put(&t[REJECTS].wait, s->rejects.p, s->rejects.n);
	for (int i = 0; e == 0 && i < TEXTS; i++)
		e = newtext_seal(&t[i]);
	return e;
}

static int
remove_old(const char *rec)
{
	int e = 0;

	for (int i = 0; e == 0 && i < REJECTS; i++) {
		char *name = beside_name(rec, endings[i]);

		if (name == NULL)
			return err_nomem();
		if (unlink(name) < 0 && errno != ENOENT)
			e = err_sys("%s: remove", name);
		free(name);
	}
	return e;
}

int
recset_commit(struct recset *s, const struct names *classes)
{
	struct newtext t[TEXTS] = { 0 };
	int e = s->partial != NULL ? 0 : flush_recset(s);

	if (e == 0)
		e = write_beside(s, classes, t);
	if (e == 0 && s->partial != NULL && (e = remove_old(s->path)) == 0)
		e = partial_rename(s->partial);
	for (int i = 0; e == 0 && i < TEXTS; i++)
		e = newtext_commit(&t[i]);
	if (e == 0 && s->partial != NULL)
		io_flush_name(s->path);
	for (int i = 0; i < TEXTS; i++)
		newtext_free(&t[i]);
	recset_abandon(s);
	return e;
}

void
recset_abandon(struct recset *s)
{
	if (s == NULL)
		return;
	if (s->partial != NULL)
		partial_flush(s->partial);
	else
		flush_recset(s);	/* complete records: only the end of the stream is missing */
	partial_close(s->partial);
	buf_free(&s->wait);
	buf_free(&s->rejects);
	free(s->path);
	free(s->rejects_path);
	free(s);
}

uint64_t
recset_records(const struct recset *s)
{
	return s->partial != NULL ? s->partial->records : s->records;
}

uint64_t
recset_bytes(const struct recset *s)
{
	return s->partial != NULL ? s->partial->bytes : s->bytes;
}
