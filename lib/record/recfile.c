/* recfile - a .rec that can be read at any place: its records by number. */
#include "record/recfile.h"
#include "base/err.h"
#include "base/io.h"
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

#define LOOKS	256u	/* entries of an index that are looked at when it is opened */

struct recfile {
	struct recs	 recs;
	char		*path;
	int		 fd;
	uint64_t	 size;
	struct idx	 idx;
};

/* Bytes from the beginning of record i to that of the next. */
static uint64_t
record_extent(const struct recfile *f, uint64_t i)
{
	return (i + 1 < f->idx.n ? f->idx.at[i + 1] : f->size) - f->idx.at[i];
}

/* Whether a record begins at the offset and, if it is whole, ends where it should. */
static bool
is_record(const struct recfile *f, uint64_t at, uint64_t end)
{
	uint8_t head[REC_HEAD];
	enum rec_part part;
	uint32_t n;

	if (at > f->size || f->size - at < REC_HEAD || io_pread(f->fd, head, sizeof(head), at) < 0 ||
	    rec_head(head, at, &part, &n) < 0)
		return false;
	return part == REC_WHOLE ? at + rec_extent(n) == end : part == REC_FIRST;
}

/*
 * An index left over from another file, or one that leaves records out, must not be believed.  Some entries all over
 * it are looked at here, the first and the last among them; each one when its record is read.
 */
static bool
index_fits(const struct recfile *f)
{
	const struct idx *x = &f->idx;
	size_t looks = x->n < LOOKS ? x->n : LOOKS;

	if (x->n == 0)
		return f->size == 0;
	if (x->at[0] != 0 || x->at[x->n - 1] >= f->size)
		return false;
	for (size_t k = 0; k < looks; k++) {
		size_t i = looks > 1 ? (size_t)((uint64_t)k * (x->n - 1) / (looks - 1)) : 0;

		if (!is_record(f, x->at[i], x->at[i] + record_extent(f, i)))
			return false;
	}
	return true;
}

/* Reads the .idx beside the file.  Returns 1, or 0 when there is none that fits, or ERR_NOMEM. */
static int
index_beside(struct recfile *f)
{
	size_t stem = strlen(f->path), most;
	struct buf text = { 0 };
	char *name;
	int e;

	if (stem < 4 || strcmp(f->path + stem - 4, ".rec") != 0)
		return 0;
	if ((name = strdup(f->path)) == NULL)
		return err_nomem();
	memcpy(name + stem - 4, ".idx", 4);
	/* A record has 8 bytes or more, a line of the index 42 at most. */
	most = f->size / REC_HEAD > SIZE_MAX / 42 - 1 ? SIZE_MAX : (size_t)(f->size / REC_HEAD + 1) * 42;
	e = io_slurp(name, most, &text);
	if (e == 0)
		e = idx_parse(&f->idx, text.p, text.n);
	buf_free(&text);
	free(name);
	if (e == ERR_NOMEM)
		return e;
	return e == 0 && index_fits(f);
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
		return err_fail(ERR_ARG, "is a pipe or a device; records are read in shuffled order, from a file");
	f->size = (uint64_t)st.st_size;
	if ((e = index_beside(f)) != 0)
		return e < 0 ? e : 0;
	return idx_scan(&f->idx, f->fd, f->size);
}

uint64_t
recfile_at(const struct recs *r, uint64_t i)
{
	const struct recfile *f = (const struct recfile *)r;

	assert(i < f->idx.n);
	return f->idx.at[i];
}

/* Whether the record at p takes all n bytes up to the next that the index knows. */
static int
ends_at(const uint8_t *p, size_t n, uint64_t at)
{
	enum rec_part part = REC_FIRST;
	size_t pos = 0;

	while (part != REC_WHOLE && part != REC_LAST) {
		uint32_t more;
		int e;

		if (n - pos < REC_HEAD)
			return 0;	/* rec_join() has the word for that */
		if ((e = rec_head(p + pos, at, &part, &more)) < 0)
			return e;
		if (rec_extent(more) > n - pos)
			return 0;
		pos += (size_t)rec_extent(more);
	}
	if (pos < n)
		return err_fail(ERR_FORMAT, "record at %llu: the .idx beside the file leaves out what follows it, "
		    "it belongs to another file: remove it", (unsigned long long)at);
	return 0;
}

static int
read_record(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n)
{
	const struct recfile *f = (const struct recfile *)r;
	uint64_t at = recfile_at(r, i), bytes = record_extent(f, i);
	int e;

	if (bytes > RECFILE_LONGEST)
		return err_fail(ERR_LIMIT, "%s: record at %llu: longer than %u bytes", f->path,
		    (unsigned long long)at, RECFILE_LONGEST);
	room->n = 0;
	if ((e = buf_room(room, (size_t)bytes)) < 0)
		return e;
	if ((e = io_pread(f->fd, room->p, (size_t)bytes, at)) < 0 || (e = ends_at(room->p, (size_t)bytes, at)) < 0 ||
	    (e = rec_join(room->p, (size_t)bytes, at, data, n)) < 0)
		err_within("%s", f->path);
	return e;
}

/* The system reads it meanwhile, with others, where one read after the other would wait for the disk each time. */
static void
want_record(const struct recs *r, uint64_t i)
{
	const struct recfile *f = (const struct recfile *)r;

	posix_fadvise(f->fd, (off_t)recfile_at(r, i), (off_t)record_extent(f, i), POSIX_FADV_WILLNEED);
}

static void
name_record(const struct recs *r, uint64_t i, char *text, size_t size)
{
	snprintf(text, size, "%s: record at %llu", r->path, (unsigned long long)recfile_at(r, i));
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
recfile_open(struct recs **out, const char *path)
{
	struct recfile *f = calloc(1, sizeof(*f));
	int e;

	*out = NULL;
	if (f == NULL)
		return err_nomem();
	f->recs = (struct recs){ .read = read_record, .name = name_record, .want = want_record,
	    .close = close_file };
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
