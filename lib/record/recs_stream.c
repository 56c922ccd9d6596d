/* recs_stream - records in order of arrival, shuffled within a window: for streams that can be read only once. */
#include "record/recs_stream.h"
#include "base/err.h"
#include "base/rng.h"
#include "record/rec.h"
#include "record/recfile.h"
#include "record/recimg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW	0x77696e646f77u	/* "window": the generator's stream, unlike those of other uses of the seed */

struct recs_stream {
	char		*path;
	int		 fd, wake;
	struct rec_reader *in;
	struct recmaker	*maker;			/* replaces the four members above, or NULL */
	struct rng	 rng;
	struct recs_stream_record *slot;	/* [slots]: the window */
	uint64_t	 slots, filled;
	bool		 ended;
};

bool
recs_stream_is(const char *path)
{
	struct stat st;

	if (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &st) < 0 : stat(path, &st) < 0)
		return false;
	return !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Makes a stream without a source of records. */
static int
make_stream(uint64_t window, uint64_t seed, struct recs_stream **out)
{
	struct recs_stream *s = calloc(1, sizeof(*s));

	*out = s;
	if (s == NULL)
		return err_nomem();
	s->slots = window > 0 ? window : 1;
	s->rng = rng_start(seed, 0, WINDOW);
	s->fd = s->wake = -1;
	return (s->slot = calloc(s->slots, sizeof(*s->slot))) == NULL ? err_nomem() : 0;
}

static int
finish_open(struct recs_stream **s, int e)
{
	if (e < 0) {
		recs_stream_close(*s);
		*s = NULL;
	}
	return e;
}

int
recs_stream_open(const char *path, uint64_t window, uint64_t seed, struct recs_stream **out)
{
	int e = make_stream(window, seed, out);
	struct recs_stream *s = *out;

	if (e < 0)
		return finish_open(out, e);
	if ((s->path = strdup(path)) == NULL)
		e = err_nomem();
	/* A named pipe is opened before its writer opens it, and then waited for as for bytes. */
	else if ((s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0 ||
	    (s->fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) :
	    open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0)
		e = err_sys("%s: open", path);
	else
		e = rec_open(s->fd, s->wake, RECFILE_LONGEST, &s->in);
	return finish_open(out, e);
}

int
recs_stream_open_maker(struct recmaker *maker, struct recs_stream **out)
{
	int e = make_stream(0, 0, out);

	if (e == 0)
		(*out)->maker = maker;
	return finish_open(out, e);
}

void
recs_stream_close(struct recs_stream *s)
{
	if (s == NULL)
		return;
	rec_close(s->in);
	for (uint64_t i = 0; s->slot != NULL && i < s->slots; i++)
		buf_free(&s->slot[i].room);
	if (s->fd >= 0)
		close(s->fd);
	if (s->wake >= 0)
		close(s->wake);
	free(s->slot);
	free(s->path);
	free(s);
}

void
recs_stream_blame(const struct recs_stream *s, const struct recs_stream_record *r, const struct imrec *rec)
{
	char name[RECS_NAME];
	struct buf text = { 0 };

	if (s->maker != NULL && rec->labels > 0 && recmaker_name(s->maker, rec->id, &text) == 0) {
		err_within("%s", (const char *)text.p);
	} else {
		snprintf(name, sizeof(name), "%s: record at %llu", s->path, (unsigned long long)r->at);
		recimg_blame(rec, name);
	}
	buf_free(&text);
}

/* Reads the next record of the maker; the record of a bad image holds the message. */
static int
read_made_record(struct recs_stream *s, struct recs_stream_record *r)
{
	int e = recmaker_next(s->maker, &r->room);

	if ((r->bad = e == ERR_ITEM)) {
		r->room.n = 0;
		e = buf_put(&r->room, err_line(), strlen(err_line()) + 1);
		return e < 0 ? e : 1;
	}
	return e;
}

/* Reads the next record into r.  Returns 1, 0 at the end, or an error. */
static int
read_next_record(struct recs_stream *s, struct recs_stream_record *r)
{
	const uint8_t *data;
	size_t n;
	int e;

	if (s->maker != NULL)
		return read_made_record(s, r);
	if ((e = rec_next(s->in, &data, &n)) > 0) {
		r->at = rec_at(s->in);
		r->room.n = 0;
		return (e = buf_put(&r->room, data, n)) < 0 ? e : 1;
	}
	if (e < 0 && e != ERR_STOP)
		err_within("%s", s->path);
	return e;
}

int
recs_stream_take(struct recs_stream *s, struct recs_stream_record *r)
{
	struct recs_stream_record *out, got;
	int e;

	while (!s->ended && s->filled < s->slots) {
		if ((e = read_next_record(s, &s->slot[s->filled])) < 0)
			return e;
		s->ended = e == 0;
		s->filled += e > 0;
	}
	if (s->filled == 0)
		return 0;
	out = &s->slot[rng_below(&s->rng, s->filled)];
	got = *out;
	*out = s->slot[--s->filled];
	s->slot[s->filled] = *r;	/* the next record reuses the memory of r */
	*r = got;
	return 1;
}

double
recs_stream_waited(const struct recs_stream *s)
{
	return s->in != NULL ? rec_waited(s->in) : 0;
}

void
recs_stream_stop(struct recs_stream *s)
{
	const uint64_t one = 1;

	if (s->wake >= 0 && write(s->wake, &one, sizeof(one)) < 0)
		return;		/* fails only if the eventfd is already readable */
}
