/* chan - the pipe between the launcher and an agent: frames both ways, lines of logs behind everything else. */
#include "run/chan.h"

#include "base/clk.h"
#include "base/err.h"
#include "run/ctl.h"
#include "run/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define BEAT_S	1.0
#define PIECE	65536u

struct chan {
	int		 fd_in, fd_out;
	struct frame_in	 in;
	bool		 met;		/* the mark has come */
	bool		 begun;		/* we sent something; the other side may not be listening before */
	bool		 deaf;		/* the other side reads no more; what it said may still be on its way */
	double		 heard, said;	/* when bytes last came and went */
	struct buf	 out;		/* being written ... */
	size_t		 at;		/* ... up to here */
	struct buf	 ctl;		/* frames that go next */
	struct spool	*log;		/* frames that go then */
	uint64_t	 credit;
};

struct chan *
chan_open(int in, int out)
{
	struct chan *c = calloc(1, sizeof(*c));

	if (c == NULL || (c->log = spool_new()) == NULL) {
		free(c);
		close(in);
		close(out);
		return NULL;
	}
	fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
	fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
	c->fd_in = in;
	c->fd_out = out;
	c->in.max = CTL_MOST;
	c->credit = CHAN_WINDOW;
	c->heard = c->said = clk_s();
	return c;
}

void
chan_close(struct chan *c)
{
	if (c == NULL)
		return;
	close(c->fd_in);
	close(c->fd_out);
	frame_free(&c->in);
	buf_free(&c->out);
	buf_free(&c->ctl);
	spool_free(c->log);
	free(c);
}

/* Our mark goes before all else, but not before there is something to say. */
static int
begin(struct chan *c)
{
	int e = c->begun ? 0 : buf_put(&c->ctl, CTL_MARK, strlen(CTL_MARK));

	c->begun = true;
	return e;
}

int
chan_send(struct chan *c, uint32_t type, const void *p, size_t n)
{
	int e = begin(c);

	return e < 0 ? e : frame_put(&c->ctl, type, p, n);
}

int
chan_log(struct chan *c, uint32_t type, const void *p, size_t n)
{
	struct buf b = { 0 };
	int e;

	assert(n <= CHAN_LOG);
	if ((e = begin(c)) == 0 && (e = frame_put(&b, type, p, n)) == 0)
		e = spool_put(c->log, b.p, b.n);
	buf_free(&b);
	return e;
}

bool
chan_log_room(const struct chan *c)
{
	return spool_room(c->log);
}

void
chan_credit(struct chan *c, uint32_t n)
{
	c->credit += n;
}

void
chan_beat(struct chan *c)
{
	if (c->begun && c->ctl.n == 0 && c->at == c->out.n && clk_s() - c->said >= BEAT_S)
		chan_send(c, CTL_BEAT, NULL, 0);
}

/* The frame that comes next may be of the largest size: its head is still in the spool. */
static bool
log_may(const struct chan *c)
{
	return spool_size(c->log) > 0 && c->credit >= FRAME_HEAD + CHAN_LOG;
}

/* One log frame, when the other side has room for it. */
static int
log_next(struct chan *c)
{
	uint8_t head[FRAME_HEAD];
	uint32_t n;
	int e;

	if (!log_may(c))
		return 0;
	if ((e = spool_take(c->log, head, sizeof(head))) < 0)
		return e;
	n = le_get32(head);
	if ((e = buf_room(&c->out, sizeof(head) + n)) < 0 || (e = spool_take(c->log, c->out.p + sizeof(head), n)) < 0)
		return e;
	memcpy(c->out.p, head, sizeof(head));
	c->out.n = sizeof(head) + n;
	c->credit -= c->out.n;
	return 0;
}

/* Something to write in out, if there is anything.  Logs are put there one frame at a time: nothing else waits for more. */
static int
out_next(struct chan *c)
{
	struct buf empty;

	if (c->at < c->out.n)
		return 0;
	c->at = c->out.n = 0;
	if (c->ctl.n == 0)
		return log_next(c);
	empty = c->out;
	c->out = c->ctl;
	c->ctl = empty;
	return 0;
}

static bool
wants_out(const struct chan *c)
{
	return !c->deaf && (c->at < c->out.n || c->ctl.n > 0 || log_may(c));
}

void
chan_poll(const struct chan *c, struct pollfd fd[2])
{
	fd[0] = (struct pollfd){ .fd = c->fd_in, .events = POLLIN };
	fd[1] = (struct pollfd){ .fd = wants_out(c) ? c->fd_out : -1, .events = POLLOUT };
}

static int
write_some(struct chan *c)
{
	ssize_t r;
	int e = 0;

	while (!c->deaf && (e = out_next(c)) == 0 && c->at < c->out.n) {
		r = write(c->fd_out, c->out.p + c->at, c->out.n - c->at);
		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (r < 0) {
			c->deaf = true;
			return 0;
		}
		c->at += (size_t)r;
		c->said = clk_s();
	}
	return e;
}

static int
read_some(struct chan *c)
{
	uint8_t piece[PIECE];
	ssize_t r = read(c->fd_in, piece, sizeof(piece));
	int e;

	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (r <= 0)
		return err_fail(ERR_PEER, "the other side is gone");
	c->heard = clk_s();
	if ((e = frame_feed(&c->in, piece, (size_t)r)) < 0)
		return e;
	if (!c->met)
		c->met = frame_sync(&c->in, CTL_MARK, strlen(CTL_MARK));
	if (!c->met && c->in.skipped > CHAN_NOISE)
		return err_fail(ERR_FORMAT, "it prints without end, and no agent answers");
	return 0;
}

int
chan_run(struct chan *c)
{
	int e = write_some(c);

	return e < 0 ? e : read_some(c);
}

int
chan_next(struct chan *c, struct frame *f)
{
	int e = 0;

	while (c->met && (e = frame_next(&c->in, f)) > 0 && f->type == CTL_BEAT)
		;
	return e;
}

double
chan_silent_s(const struct chan *c)
{
	return clk_s() - c->heard;
}
