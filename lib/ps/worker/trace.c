/* trace - the time line of a worker for some of its steps, as a file for trace viewers. */
#include "ps/worker/trace.h"
#include "base/buf.h"
#include "base/clk.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TAIL	"\n]}\n"
#define US(ns)	(ns) / 1000, (unsigned)((ns) % 1000)	/* arguments of US_FMT */
#define US_FMT	"%" PRIu64 ".%03u"

static const char *const row_name[TRACE_ROWS] = {
	[TRACE_STEPS] = "training", [TRACE_LAYERS] = "layers", [TRACE_NETWORK] = "network",
	    [TRACE_CHECKPOINTS] = "checkpoints"
};

struct trace {
	int		 fd;
	uint32_t	 rank;
	uint64_t	 began;			/* clk_ns() of trace_open() */
	uint64_t	 first, end;		/* recorded steps [first, end) */
	bool		 begun;
	uint64_t	 before;		/* steps of earlier runs */
	atomic_bool	 on;
	/* Under the lock: */
	pthread_mutex_t	 lock;
	struct buf	 b;			/* events that are not in the file yet, each with a comma before it */
	uint64_t	 size;			/* bytes of the file without its tail */
	uint64_t	 flights;		/* number of flights so far, which gives their ids */
	char		*device[TRACE_DEVICE_ROWS];	/* names of the rows of devices, after the others */
	uint32_t	 ndevice;
	int		 e;			/* the first error, after which nothing is written */
	char		*path;
};

static int
write_at(int fd, const uint8_t *p, size_t n, uint64_t at)
{
	while (n > 0) {
		ssize_t k = pwrite(fd, p, n, (off_t)at);

		if (k < 0 && errno != EINTR)
			return ERR_SYS;
		if (k > 0) {
			p += k;
			n -= (size_t)k;
			at += (uint64_t)k;
		}
	}
	return 0;
}

/*
 * Writes events and a new tail over the old one in one call, so that the file is valid even if the process is killed.
 */
static void
flush_events(struct trace *t)
{
	size_t n = t->b.n;

	if (t->e == 0)
		t->e = buf_put(&t->b, TAIL, strlen(TAIL));
	if (t->e == 0 && write_at(t->fd, t->b.p, t->b.n, t->size) < 0)
		t->e = err_sys("%s", t->path);
	t->size += n;
	t->b.n = 0;
}

static void
name_row(struct trace *t, int row, const char *name)
{
	if (t->e == 0)
		t->e = buf_put_fmt(&t->b,
		    ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRIu32
		    ",\"tid\":%d,\"args\":{\"name\":\"%s\"}}"
		    ",\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%" PRIu32
		    ",\"tid\":%d,\"args\":{\"sort_index\":%d}}",
		    t->rank, row, name, t->rank, row, row);
}

static void
put_trace_head(struct trace *t)
{
	t->e = buf_put_fmt(&t->b,
	    "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"tally\":\"%s\",\"began_ns\":\"%" PRIu64 "\"},"
	    "\"traceEvents\":[\n"
	    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRIu32
	    ",\"tid\":0,\"args\":{\"name\":\"worker %" PRIu32 "\"}}",
	    TALLY_VERSION, clk_wall_ns(), t->rank, t->rank);
	for (int r = 1; r < TRACE_ROWS; r++)
		name_row(t, r, row_name[r]);
	flush_events(t);
}

int
trace_open(const char *path, uint32_t rank, uint64_t first, uint64_t n, struct trace **to)
{
	struct trace *t = calloc(1, sizeof(*t));
	int e;

	*to = NULL;
	if (t == NULL || (t->path = strdup(path)) == NULL) {
		free(t);
		return err_nomem();
	}
	if ((t->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) < 0) {
		e = err_sys("%s", path);
		free(t->path);
		free(t);
		return e;
	}
	pthread_mutex_init(&t->lock, NULL);
	t->rank = rank;
	t->began = clk_ns();
	t->first = first;
	t->end = n < UINT64_MAX - first ? first + n : UINT64_MAX;
	put_trace_head(t);
	if (t->e == 0)
		*to = t;
	return t->e == 0 ? 0 : trace_close(t);
}

int
trace_close(struct trace *t)
{
	int e;

	if (t == NULL)
		return 0;
	t->on = false;
	if (t->e == 0)
		flush_events(t);
	if (close(t->fd) < 0 && t->e == 0)
		t->e = err_sys("%s", t->path);
	e = t->e;
	pthread_mutex_destroy(&t->lock);
	for (uint32_t i = 0; i < t->ndevice; i++)
		free(t->device[i]);
	buf_free(&t->b);
	free(t->path);
	free(t);
	return e;
}

void
trace_step(struct trace *t, uint64_t done)
{
	if (t == NULL)
		return;
	if (!t->begun)
		t->before = done;
	t->begun = true;
	pthread_mutex_lock(&t->lock);
	if (t->b.n > 0 && t->e == 0)
		flush_events(t);
	pthread_mutex_unlock(&t->lock);
	t->on = done - t->before + 1 >= t->first && done - t->before + 1 < t->end;
}

uint64_t
trace_now(const struct trace *t)
{
	return t != NULL && t->on ? clk_ns() - t->began + 1 : 0;
}

void
trace_transfer(struct trace *t, enum trace_row row, uint64_t from, const char *name, uint64_t sent, uint64_t received)
{
	uint64_t now = from > 0 ? trace_now(t) : 0;

	if (now == 0)
		return;
	pthread_mutex_lock(&t->lock);
	if (t->e == 0)
		t->e = buf_put_fmt(&t->b,
		    ",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%d,\"ts\":" US_FMT
		    ",\"dur\":" US_FMT, name, t->rank, (int)row, US(from), US(now - from));
	if (t->e == 0 && sent + received > 0)
		t->e = buf_put_fmt(&t->b, ",\"args\":{\"sent\":%" PRIu64 ",\"received\":%" PRIu64 "}", sent, received);
	if (t->e == 0)
		t->e = buf_put(&t->b, "}", 1);
	pthread_mutex_unlock(&t->lock);
}

void
trace_span(struct trace *t, enum trace_row row, uint64_t from, const char *name)
{
	trace_transfer(t, row, from, name, 0, 0);
}

/* Finds or starts the row of that name.  Returns 0 if there are too many. */
static int
find_device_row(struct trace *t, const char *name)
{
	uint32_t i = 0;

	while (i < t->ndevice && strcmp(t->device[i], name) != 0)
		i++;
	if (i == TRACE_DEVICE_ROWS)
		return 0;
	if (i == t->ndevice) {
		if ((t->device[i] = strdup(name)) == NULL)
			return 0;
		t->ndevice++;
		name_row(t, TRACE_ROWS + (int)i, name);
	}
	return TRACE_ROWS + (int)i;
}

void
trace_device(struct trace *t, const char *row, const char *name, uint64_t from, uint64_t to)
{
	int tid;

	if (t == NULL || from < t->began || to < from)
		return;
	pthread_mutex_lock(&t->lock);
	if ((tid = find_device_row(t, row)) > 0 && t->e == 0)
		t->e = buf_put_fmt(&t->b,
		    ",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%d,\"ts\":" US_FMT
		    ",\"dur\":" US_FMT "}", name, t->rank, tid, US(from - t->began + 1), US(to - from));
	pthread_mutex_unlock(&t->lock);
}

void
trace_flight(struct trace *t, uint64_t from, uint32_t slice, uint64_t bytes)
{
	uint64_t now = from > 0 ? trace_now(t) : 0;

	if (now == 0)
		return;
	pthread_mutex_lock(&t->lock);
	t->flights++;
	for (int end = 0; end < 2 && t->e == 0; end++)
		t->e = buf_put_fmt(&t->b,
		    ",\n{\"ph\":\"%s\",\"cat\":\"slice\",\"id\":\"%" PRIu32 ".%" PRIu64 "\",\"name\":\"slice %" PRIu32
		    "\",\"pid\":%" PRIu32 ",\"tid\":%d,\"ts\":" US_FMT ",\"args\":{\"bytes\":%" PRIu64 "}}",
		    end ? "e" : "b",
		    t->rank, t->flights, slice, t->rank, TRACE_NETWORK, US(end ? now : from), bytes);
	pthread_mutex_unlock(&t->lock);
}
