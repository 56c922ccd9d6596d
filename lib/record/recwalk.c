/* recwalk - reads records in sequence, from a file or a stream, and continues after damage. */
#include "record/recwalk.h"
#include "base/err.h"
#include "base/io.h"
#include "record/rec.h"
#include "record/sum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP	(1u << 18)	/* bytes per read */
#define FAR	16384u		/* longer records are not read to their end with peek */

struct recwalk {
	char		*path;
	int		 fd;
	uint32_t	 peek;
	uint64_t	 size;		/* bytes of a file */
	uint64_t	 start;		/* offset in the file of the stream's start */
	uint64_t	 at;		/* offset in the stream of the last record or damage */
	uint64_t	 bytes;		/* bytes of that record or damage in the stream */
	struct buf	 b;		/* bytes of the stream from base on */
	uint64_t	 base;		/* offset in the stream of b */
	bool		 ended;		/* the stream has no bytes after b */
	bool		 loaded;	/* the last record was returned in full */
};

static int
open_in(struct recwalk *w)
{
	struct stat st;
	off_t here;

	w->fd = strcmp(w->path, "-") == 0 ? STDIN_FILENO : open(w->path, O_RDONLY | O_CLOEXEC);
	if (w->fd < 0 || fstat(w->fd, &st) < 0)
		return err_sys("open");
	if (S_ISDIR(st.st_mode))
		return err_fail(ERR_SYS, "a folder; name the files of records in it");
	if (S_ISREG(st.st_mode) && (here = lseek(w->fd, 0, SEEK_CUR)) >= 0 && here < st.st_size) {
		w->start = (uint64_t)here;
		w->size = (uint64_t)(st.st_size - here);
	}
	return 0;
}

int
recwalk_open(const char *path, uint32_t peek, struct recwalk **out)
{
	struct recwalk *w = calloc(1, sizeof(*w));
	int e;

	*out = NULL;
	if (w == NULL)
		return err_nomem();
	w->fd = -1;
	w->peek = peek;
	e = (w->path = strdup(path)) != NULL ? open_in(w) : err_nomem();
	if (e == 0)
		e = buf_room(&w->b, STEP);	/* so that b.p is not NULL in an empty stream */
	if (e < 0) {
		err_within("%s", path);
		recwalk_close(w);
		return e;
	}
	*out = w;
	return 0;
}

void
recwalk_close(struct recwalk *w)
{
	if (w == NULL)
		return;
	if (w->fd > STDIN_FILENO)
		close(w->fd);
	buf_free(&w->b);
	free(w->path);
	free(w);
}

const char *
recwalk_path(const struct recwalk *w)
{
	return w->path;
}

uint64_t
recwalk_size(const struct recwalk *w)
{
	return w->size;
}

/* Drops the bytes before an offset; in a file, skips bytes in between unread. */
static void
seek_offset(struct recwalk *w, uint64_t at)
{
	size_t n;

	w->at = at;
	if (at - w->base <= w->b.n) {
		n = (size_t)(at - w->base);
		if (w->b.n - n > n)
			return;		/* later there are fewer bytes to move */
		memmove(w->b.p, w->b.p + n, w->b.n - n);
		w->b.n -= n;
	} else {
		w->b.n = 0;
	}
	w->base = at;
}

/* Bytes of the stream from at on that are in memory. */
static size_t
count_held_bytes(const struct recwalk *w)
{
	return w->b.n - (size_t)(w->at - w->base);
}

static const uint8_t *
get_bytes(const struct recwalk *w, size_t off)
{
	return w->b.p + (w->at - w->base) + off;
}

/* Reads until n bytes from at on are in memory, or to the stream's end. */
static int
hold_bytes(struct recwalk *w, size_t n)
{
	size_t got;

	while (count_held_bytes(w) < n && !w->ended) {
		/* Among long records, only the needed part of the next one is read. */
		size_t step = w->peek > 0 && w->size > 0 && w->bytes > FAR && n <= REC_HEAD + w->peek ?
		    REC_HEAD + w->peek : STEP;

		ERR_TRY(buf_room(&w->b, step));
		/* The file's position may be inside a record. */
		if (w->size > 0 && lseek(w->fd, (off_t)(w->start + w->base + w->b.n), SEEK_SET) < 0)
			return err_sys("%s: seek", w->path);
		ERR_TRY(err_wrap(io_read(w->fd, w->b.p + w->b.n, step, &got), "%s", w->path));
		w->b.n += got;
		w->ended = got < step;
	}
	return 0;
}

static int
ends_inside(const struct recwalk *w)
{
	return err_fail(ERR_SHORT, "record at %llu: the stream ends inside it", (unsigned long long)w->at);
}

/* Reads the data from..to after at, which must not contain a head. */
static int
hold_data(struct recwalk *w, size_t from, size_t to)
{
	while (from < to) {
		size_t want = to - from > STEP ? from + STEP : to, n;
		const uint8_t *p;
		int e;

		if ((e = hold_bytes(w, want)) < 0)
			return e;
		if ((n = count_held_bytes(w)) < want)
			want = n;
		p = get_bytes(w, 0);
		for (; from + 4 <= want; from += 4)
			if (le_get32(p + from) == REC_MAGIC)
				return err_fail(ERR_FORMAT, "record at %llu: covers the head at %llu",
				    (unsigned long long)w->at, (unsigned long long)(w->at + from));
		if (n < to && w->ended)
			return ends_inside(w);
		if (want == to)
			break;
	}
	return 0;
}

/*
 * Measures the parts of the record at at.  Returns 1, 0 at the end of the stream, ERR_FORMAT, ERR_SHORT or ERR_LIMIT if
 * there is no record, or another error.
 */
static int
measure_record(struct recwalk *w, struct recwalk_rec *r)
{
	bool inside = false;
	size_t pos = 0;

	for (r->whole = 0;; r->whole += 4) {	/* the magic word between two parts */
		enum rec_part part;
		uint32_t n;

		ERR_TRY(hold_bytes(w, pos + REC_HEAD));
		if (pos == 0 && count_held_bytes(w) == 0)
			return 0;
		if (count_held_bytes(w) < pos + REC_HEAD)
			return ends_inside(w);
		ERR_TRY(rec_head(get_bytes(w, pos), w->at, inside, &part, &n));
		if (pos + rec_extent(n) > RECWALK_LONGEST)
			return err_fail(ERR_LIMIT, "record at %llu: longer than %u bytes", (unsigned long long)w->at,
			    RECWALK_LONGEST);
		ERR_TRY(hold_data(w, pos + REC_HEAD, pos + (size_t)rec_extent(n)));
		pos += (size_t)rec_extent(n);
		r->whole += n;
		if (part == REC_WHOLE || part == REC_LAST)
			break;
		inside = true;
	}
	r->bytes = pos;
	return 1;
}

/* Finds the first head of a record from..to after at, unaligned; returns 0 if there is none. */
static size_t
find_head(const struct recwalk *w, size_t from, size_t to)
{
	static const uint8_t magic[4] = { 0x0a, 0x23, 0xd7, 0xce };
	const uint8_t *p = get_bytes(w, 0), *hit;

	for (; from + REC_HEAD <= to; from = (size_t)(hit - p) + 1) {
		if ((hit = memmem(p + from, to - from - 4, magic, sizeof(magic))) == NULL)
			return 0;
		if (hit[7] >> 5 == REC_WHOLE || hit[7] >> 5 == REC_FIRST)
			return (size_t)(hit - p);
	}
	return 0;
}

/*
 * A record without a head after it is accepted if it has no head inside: after missing bytes, heads are no longer at
 * multiples of 4.
 */
static int
check_successor(struct recwalk *w, size_t n)
{
	enum rec_part part;
	uint32_t more;
	size_t hit;
	int e;

	if ((e = hold_bytes(w, n + REC_HEAD)) < 0 || count_held_bytes(w) == n)
		return e;
	if (count_held_bytes(w) >= n + REC_HEAD && rec_head(get_bytes(w, n), w->at, false, &part, &more) == 0)
		return 0;
	if ((hit = find_head(w, 1, n)) == 0)
		return 0;
	return err_fail(ERR_FORMAT, "record at %llu: covers the head at %llu", (unsigned long long)w->at,
	    (unsigned long long)(w->at + hit));
}

/* Whether a record's head, or the end of the file, is at the offset. */
static bool
begins_or_ends(const struct recwalk *w, uint64_t at)
{
	uint8_t head[REC_HEAD];
	enum rec_part part;
	uint32_t n;

	if (at >= w->size)
		return at == w->size;
	return io_pread(w->fd, head, sizeof(head), w->start + at) == 0 && rec_head(head, at, false, &part, &n) == 0;
}

/*
 * Accepts the record at at by its head, if its successor's head confirms it.  Returns 1, or 0 if the whole record must
 * be read.
 */
static int
measure_by_head(struct recwalk *w, struct recwalk_rec *r)
{
	enum rec_part part;
	uint32_t n;

	ERR_TRY(hold_bytes(w, REC_HEAD));
	if (count_held_bytes(w) < REC_HEAD || rec_head(get_bytes(w, 0), w->at, false, &part, &n) < 0 ||
	    part != REC_WHOLE || n < FAR || !begins_or_ends(w, w->at + rec_extent(n)))
		return 0;
	ERR_TRY(hold_bytes(w, REC_HEAD + w->peek));
	r->bytes = rec_extent(n);
	r->whole = n;
	r->data = get_bytes(w, REC_HEAD);
	r->n = count_held_bytes(w) - REC_HEAD < n ? count_held_bytes(w) - REC_HEAD : n;
	return 1;
}

/* Finds the next head after the damage at at; *bytes gets the bytes skipped. */
static int
skip_damage(struct recwalk *w, uint64_t *bytes)
{
	uint64_t from = w->at;
	size_t hit;
	int e;

	while ((e = hold_bytes(w, 1 + REC_HEAD)) == 0 && (hit = find_head(w, 1, count_held_bytes(w))) == 0 && !w->ended)
		seek_offset(w, w->at + count_held_bytes(w) - REC_HEAD);	/* the last bytes may be a part of a head */
	if (e == 0)
		*bytes = w->at + (hit > 0 ? hit : count_held_bytes(w)) - from;
	w->at = from;
	return e;
}

static int
report_damage(struct recwalk *w, struct recwalk_rec *r)
{
	char line[ERR_LINE];

	snprintf(line, sizeof(line), "%s", err_line());
	ERR_TRY(skip_damage(w, &r->bytes));
	return err_fail(ERR_ITEM, "%s: %s; %llu bytes skipped", w->path, line, (unsigned long long)r->bytes);
}

/* Reads the whole record at at.  Returns as measure_record(). */
static int
load_record(struct recwalk *w, struct recwalk_rec *r)
{
	int e = measure_record(w, r);
	size_t used;

	if (e <= 0 || (e = check_successor(w, (size_t)r->bytes)) < 0)
		return e;
	w->loaded = true;
	r->sum = sum_of(get_bytes(w, 0), (size_t)r->bytes);
	ERR_TRY(rec_join(w->b.p + (w->at - w->base), (size_t)r->bytes, w->at, &r->data, &r->n, &used));
	return 1;
}

int
recwalk_next(struct recwalk *w, struct recwalk_rec *r)
{
	int e = 0;

	seek_offset(w, w->at + w->bytes);
	w->loaded = false;
	*r = (struct recwalk_rec){ .at = w->at };
	if (w->peek > 0 && w->size > 0)
		e = measure_by_head(w, r);
	if (e == 0)
		e = load_record(w, r);
	if (e == ERR_FORMAT || e == ERR_SHORT || e == ERR_LIMIT)
		e = report_damage(w, r);
	w->bytes = r->bytes;
	return e;
}

int
recwalk_load(struct recwalk *w, struct recwalk_rec *r)
{
	int e;

	if (w->loaded)
		return 0;
	if ((e = load_record(w, r)) > 0)
		return 0;
	return err_wrap(e == ERR_SYS || e == ERR_NOMEM ? e : ERR_ITEM, "%s", w->path);
}
