/* recfile - random access to the records of a .rec file, by number. */
#include "record/recfile.h"
#include "base/err.h"
#include "base/io.h"
#include "record/beside.h"
#include "record/idx.h"
#include "record/rec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOKS	256u	/* entries of an index that are checked when it is opened */

struct recfile {
	struct recs	 recs;
	char		*path;
	int		 fd;
	uint64_t	 size;
	struct idx	 idx;
};

/* Bytes from the start of record i to the start of the next. */
static uint64_t
get_record_extent(const struct recfile *f, uint64_t i)
{
	return (i + 1 < f->idx.n ? f->idx.at[i + 1] : f->size) - f->idx.at[i];
}

/* Whether a record starts at the offset at and, if it has one part, ends at the offset end. */
static bool
is_record(const struct recfile *f, uint64_t at, uint64_t end)
{
	uint8_t head[REC_HEAD];
	enum rec_part part;
	uint32_t n;

	if (at > f->size || f->size - at < REC_HEAD || io_pread(f->fd, head, sizeof(head), at) < 0 ||
	    rec_head(head, at, false, &part, &n) < 0)
		return false;
	return part == REC_FIRST || at + rec_extent(n) == end;
}

/*
 * Checks evenly spaced entries, because the index may belong to another file or omit records.  Every entry is checked
 * again when its record is read.
 */
static bool
does_index_fit(const struct recfile *f)
{
	const struct idx *x = &f->idx;
	size_t looks = x->n < LOOKS ? x->n : LOOKS;

	if (x->n == 0)
		return f->size == 0;
	if (x->at[0] != 0 || x->at[x->n - 1] >= f->size)
		return false;
	for (size_t k = 0; k < looks; k++) {
		size_t i = looks > 1 ? (size_t)((uint64_t)k * (x->n - 1) / (looks - 1)) : 0;

		if (!is_record(f, x->at[i], x->at[i] + get_record_extent(f, i)))
			return false;
	}
	return true;
}

/* Reads the .idx beside the file.  Returns 1, 0 if there is none or it does not fit, or ERR_NOMEM. */
static int
read_index(struct recfile *f)
{
	char *name = beside_name(f->path, ".idx");
	struct buf text = { 0 };
	size_t most;
	int e;

	if (name == NULL)
		return err_nomem();
	/* A record has at least 8 bytes, a line of the index at most 42. */
	most = f->size / REC_HEAD > SIZE_MAX / 42 - 1 ? SIZE_MAX : (size_t)(f->size / REC_HEAD + 1) * 42;
	e = io_slurp(name, most, &text);
	if (e == 0)
		e = idx_parse(&f->idx, text.p, text.n);
	buf_free(&text);
	free(name);
	if (e == ERR_NOMEM)
		return e;
	return e == 0 && does_index_fit(f);
}

/* Scans the file for its records.  A damaged one is refused, as their numbers are those of sound ones. */
static int
scan_file(struct recfile *f)
{
	int e = idx_scan(&f->idx, f->fd, f->size);
	char line[ERR_LINE];

	if ((e != ERR_FORMAT && e != ERR_SHORT) || f->idx.n == 0)
		return e;
	snprintf(line, sizeof(line), "%s", err_line());
	return err_fail(e, "%s; pack what im2rec --to-tar reads of it", line);
}

static int
open_in(struct recfile *f)
{
	struct stat st;
	int e;

	f->fd = strcmp(f->path, "-") == 0 ? dup(STDIN_FILENO) : open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0)
		return err_sys("open");
	if (fstat(f->fd, &st) < 0)
		return err_sys("open");
	if (S_ISDIR(st.st_mode))
		return err_note(EISDIR, "open"), ERR_SYS;
	if (!S_ISREG(st.st_mode))
		return err_fail(ERR_ARG, "is a pipe or a device; reading in shuffled order needs a file");
	f->size = (uint64_t)st.st_size;
	if ((e = read_index(f)) != 0)
		return e < 0 ? e : 0;
	return scan_file(f);
}

uint64_t
recfile_at(const struct recs *r, uint64_t i)
{
	const struct recfile *f = (const struct recfile *)r;

	assert(i < f->idx.n);
	return f->idx.at[i];
}

static int
read_record(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n)
{
	const struct recfile *f = (const struct recfile *)r;
	uint64_t at = recfile_at(r, i), bytes = get_record_extent(f, i);
	size_t used;
	int e;

	if (bytes > RECFILE_LONGEST)
		return err_fail(ERR_LIMIT, "%s: record at %llu: longer than %u bytes", f->path,
		    (unsigned long long)at, RECFILE_LONGEST);
	room->n = 0;
	ERR_TRY(buf_room(room, (size_t)bytes));
	if ((e = io_pread(f->fd, room->p, (size_t)bytes, at)) == 0 &&
	    (e = rec_join(room->p, (size_t)bytes, at, data, n, &used)) == 0 && used < bytes)
		e = err_fail(ERR_FORMAT, "record at %llu: the .idx omits the record after it, so it belongs to "
		    "another file: remove it", (unsigned long long)at);
	return err_wrap(e, "%s", f->path);
}

/* The kernel then reads several records at once, so that read_record() need not wait for the disk each time. */
static void
want_record(const struct recs *r, uint64_t i)
{
	const struct recfile *f = (const struct recfile *)r;

	posix_fadvise(f->fd, (off_t)recfile_at(r, i), (off_t)get_record_extent(f, i), POSIX_FADV_WILLNEED);
}

static void
name_record(const struct recs *r, uint64_t i, char *text, size_t size)
{
	snprintf(text, size, "%s: record at %llu", r->path, (unsigned long long)recfile_at(r, i));
}

static int
read_class_names(const struct recs *r, struct names *l)
{
	return classes_read(l, r->path);
}

static void
close_file(struct recs *r)
{
	struct recfile *f = (struct recfile *)r;

	if (f->fd >= 0)
		close(f->fd);
	idx_free(&f->idx);
	free(f->path);
	free(f);
}

int
recfile_open(const char *path, struct recs **out)
{
	struct recfile *f = calloc(1, sizeof(*f));
	int e;

	*out = NULL;
	if (f == NULL)
		return err_nomem();
	f->recs = (struct recs){ .read = read_record, .name = name_record, .want = want_record,
	    .classes = read_class_names, .close = close_file };
	f->fd = -1;
	f->recs.path = f->path = strdup(path);
	e = f->path != NULL ? open_in(f) : err_nomem();
	if (e < 0) {
		err_within("%s", path);
		close_file(&f->recs);
		return e;
	}
	f->recs.count = f->idx.n;
	*out = &f->recs;
	return 0;
}
