/* partial - a .rec in progress with its journal: TRAIN.rec.partial and TRAIN.rec.journal. */
#include "record/partial.h"
#include "base/err.h"
#include "base/io.h"
#include "record/rec.h"
#include "record/sum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_ONCE	(1u << 18)		/* bytes per write */
#define LONGEST	(3ull * REC_LONGEST)	/* most bytes of a record: one that consists of magic words */

static char *
join_strings(const char *a, const char *b)
{
	char *p;

	return asprintf(&p, "%s%s", a, b) < 0 ? NULL : p;
}

/* Refuses a device or a pipe, which renaming would replace. */
static int
refuse_special_file(const char *path)
{
	struct stat st;

	if (*path == 0)
		return err_fail(ERR_ARG, "the name is empty");
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_fail(ERR_ARG, "is not a regular file; write to standard output, as in > %s", path);
	return 0;
}

/* Opens and locks the file.  It may wait for the lock, and the owner may have renamed the file meanwhile. */
static int
open_and_lock(struct partial *p)
{
	for (;;) {
		if ((p->fd = open(p->part, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
			return io_create_failed(p->part);
		if (flock(p->fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? err_fail(ERR_SYS, "another im2rec is writing it") :
			    err_sys("lock");
		if (io_is_open(p->part, p->fd))
			return 0;
		close(p->fd);
	}
}

/* Whether the record's bytes in the file match the journal. */
static int
confirm_record(struct partial *p, const struct journal_item *it, uint64_t size, struct buf *room)
{
	if (it->bytes > size - p->bytes || it->bytes > LONGEST)
		return 0;
	room->n = 0;
	ERR_TRY(buf_room(room, (size_t)it->bytes));
	ERR_TRY(io_pread(p->fd, room->p, (size_t)it->bytes, p->bytes));
	return sum_of(room->p, (size_t)it->bytes) == it->sum;
}

/* Reads the journal as far as the records confirm it; *end is the end of its last good line. */
static int
confirm_all(struct partial *p, struct journal *j, uint64_t *end)
{
	struct journal_item it;
	struct buf room = { 0 };
	struct stat st;
	int e;

	if (fstat(p->fd, &st) < 0)
		return err_sys("stat");
	*end = journal_at(j);
	while ((e = journal_next(j, &it)) > 0) {
		if (it.packed && (e = confirm_record(p, &it, (uint64_t)st.st_size, &room)) <= 0)
			break;
		p->items++;
		p->records += it.packed;
		p->bytes += it.packed ? it.bytes : 0;
		*end = journal_at(j);
	}
	buf_free(&room);
	return e < 0 ? e : 0;
}

/* Resumes an earlier run.  Returns 1, or 0 if there is none. */
static int
resume_run(struct partial *p, uint64_t command)
{
	struct journal *j;
	uint64_t was, end;
	int e = journal_open(p->journal, &was, &j);

	if (e < 0)	/* no journal, or its first line is not on disk */
		return e == ERR_NOMEM ? e : 0;
	if (was != command) {
		journal_close(j);
		return err_fail(ERR_ARG,
		    "the earlier run had other options or another source; start again without --resume");
	}
	e = confirm_all(p, j, &end);
	journal_close(j);
	if (e < 0)
		return e;
	if (truncate(p->journal, (off_t)end) < 0 || ftruncate(p->fd, (off_t)p->bytes) < 0 ||
	    lseek(p->fd, (off_t)p->bytes, SEEK_SET) < 0)
		return err_sys("truncate");
	p->left = p->items;
	return (e = journal_open(p->journal, &was, &p->kept)) < 0 ? e : 1;
}

static int
begin_partial(struct partial *p, uint64_t command, bool resume)
{
	int e;

	ERR_TRY(refuse_special_file(p->path));
	ERR_TRY(open_and_lock(p));
	if ((e = resume ? resume_run(p, command) : 0) < 0)
		return e;
	if ((p->journal_fd = open(p->journal, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (e > 0 ? 0 : O_TRUNC),
	    0666)) < 0)
		return io_create_failed(p->journal);
	if (e > 0)
		return 0;
	if (ftruncate(p->fd, 0) < 0)
		return err_sys("truncate");
	return journal_put_head(&p->lines, command);
}

int
partial_open(const char *path, uint64_t command, bool resume, struct partial **out)
{
	struct partial *p = calloc(1, sizeof(*p));
	int e;

	*out = NULL;
	if (p == NULL)
		return err_nomem();
	p->fd = p->journal_fd = -1;
	p->path = strdup(path);
	p->part = join_strings(path, ".partial");
	p->journal = join_strings(path, ".journal");
	e = p->path != NULL && p->part != NULL && p->journal != NULL ? begin_partial(p, command, resume) : err_nomem();
	if (e < 0) {
		err_within("%s", path);
		partial_close(p);
		return e;
	}
	*out = p;
	return 0;
}

void
partial_close(struct partial *p)
{
	if (p == NULL)
		return;
	/* Without a journal of this command, the files belong to another process or command. */
	if (p->journal_fd >= 0 && p->items == 0) {
		unlink(p->journal);
		unlink(p->part);
	}
	journal_close(p->kept);
	if (p->fd >= 0)
		close(p->fd);
	if (p->journal_fd >= 0)
		close(p->journal_fd);
	buf_free(&p->wait);
	buf_free(&p->lines);
	free(p->path);
	free(p->part);
	free(p->journal);
	free(p);
}

int
partial_pass(struct partial *p, const char *name, uint64_t place, struct journal_item *it)
{
	int e = journal_next(p->kept, it);

	if (e > 0 && it->place == place) {
		p->left--;
		return 0;
	}
	if (e < 0)
		return err_wrap(e, "%s", p->journal);
	return err_fail(ERR_ARG, "%s: item %llu of the source is now %s, which the earlier run did not have; "
	    "start again without --resume", p->path, (unsigned long long)(p->items - p->left), name);
}

int
partial_put(struct partial *p, const struct journal_item *from, const uint8_t *framed)
{
	struct journal_item it = *from;

	if (it.packed)
		it.sum = sum_of(framed, (size_t)it.bytes);
	ERR_TRY(journal_put(&p->lines, &it));
	p->items++;
	if (it.packed) {
		ERR_TRY(buf_put(&p->wait, framed, (size_t)it.bytes));
		p->records++;
		p->bytes += it.bytes;
	}
	return p->wait.n + p->lines.n < AT_ONCE ? 0 : partial_flush(p);
}

int
partial_flush(struct partial *p)
{
	int e = io_write(p->fd, p->wait.p, p->wait.n);

	if (e == 0)
		e = io_write(p->journal_fd, p->lines.p, p->lines.n);
	p->wait.n = p->lines.n = 0;
	return err_wrap(e, "%s", p->path);
}

int
partial_rename(struct partial *p)
{
	ERR_TRY(err_wrap(io_flush(p->fd), "%s", p->path));
	if (rename(p->part, p->path) < 0)
		return err_sys("%s: rename", p->path);
	io_flush_name(p->path);
	unlink(p->journal);
	return 0;
}
