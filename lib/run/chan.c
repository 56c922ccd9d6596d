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
	struct frame_reader	 in;
	bool		 met;		/* the mark has come */
	bool		 begun;		/* we sent something; the other side may not be listening before */
	bool		 deaf;		/* the other side reads no more; what it said may still be on its way */
	double		 heard, said;	/* when bytes last came and went */
	double		 ran;		/* when chan_run last did */
	struct buf	 out;		/* being written ... */
	size_t		 at;		/* ... up to here */
	struct buf	 ctl;		/* frames that go next */
	struct spool	*log;		/* frames that go then */
	uint64_t	 credit;	/* bytes of them that may go; where they are kept, a window less what is not credited */
	bool		 keeps;
	struct buf	 sent;		/* kept: those not credited ... */
	size_t		 next;		/* ... of which so many went out here */
	uint64_t	 done;		/* bytes that were credited, of all connections */
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
	if (in >= 0) {
		fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
		fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
	}
	c->fd_in = in;
	c->fd_out = out;
	c->in.max = CTL_MOST;
	c->credit = CHAN_WINDOW;
	c->heard = c->said = c->ran = clk_s();
	return c;
}

void
chan_close(struct chan *c)
{
	if (c == NULL)
		return;
	chan_shut(c);
	buf_free(&c->sent);
	spool_free(c->log);
	free(c);
}

void
chan_shut(struct chan *c)
{
	if (c->fd_in >= 0) {
		close(c->fd_in);
		close(c->fd_out);
	}
	c->fd_in = c->fd_out = -1;
	frame_free(&c->in);
	buf_free(&c->out);
	buf_free(&c->ctl);
	c->at = c->in.at = 0;
}

bool
chan_is_shut(const struct chan *c)
{
	return c->fd_in < 0;
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
	int e;

	if (chan_is_shut(c))
		return 0;
	e = begin(c);
	return e < 0 ? e : frame_put(&c->ctl, type, p, n);
}

int
chan_log(struct chan *c, uint32_t type, const void *p, size_t n)
{
	struct buf b = { 0 };
	int e;

	assert(n <= CHAN_LOG);
	if ((e = chan_is_shut(c) ? 0 : begin(c)) == 0 && (e = frame_put(&b, type, p, n)) == 0)
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
chan_log_limit(struct chan *c, uint64_t most)
{
	spool_limit(c->log, most);
}

/* The first n bytes that are kept are needed no more. */
static void
let_go(struct chan *c, size_t n)
{
	memmove(c->sent.p, c->sent.p + n, c->sent.n - n);
	c->sent.n -= n;
	c->done += n;
}

void
chan_credit(struct chan *c, uint32_t n)
{
	if (c->keeps) {
		n = n < c->next ? n : (uint32_t)c->next;
		if (n > 0)
			let_go(c, n);
		c->next -= n;
	}
	c->credit += n;
}

void
chan_keep(struct chan *c)
{
	c->keeps = true;
}

bool
chan_log_done(const struct chan *c)
{
	return c->sent.n == 0 && spool_size(c->log) == 0;
}

/* Is byte `to` of the log the end of a frame that is kept, or of what was credited? */
static bool
ends_frame(const struct chan *c, uint64_t to)
{
	size_t at = 0;

	while (c->done + at < to && at < c->sent.n)
		at += FRAME_HEAD + (size_t)le_get32(c->sent.p + at);
	return c->done + at == to;
}

int
chan_inherit(struct chan *c, struct chan *old, uint64_t got, uint64_t done)
{
	int e;

	if (!old->keeps || done > got || !ends_frame(old, done) || !ends_frame(old, got))
		return err_fail(ERR_FORMAT, "a place in the log that is none");
	if (!chan_is_shut(c) && (e = begin(c)) < 0)
		return e;
	spool_free(c->log);
	buf_free(&c->sent);
	c->keeps = true;
	c->log = old->log;
	c->sent = old->sent;
	c->done = old->done;
	old->log = NULL;
	old->sent = (struct buf){ 0 };
	if (done > c->done)
		let_go(c, (size_t)(done - c->done));
	c->next = (size_t)(got - done);
	c->credit = CHAN_WINDOW - c->next;
	chan_close(old);
	return 0;
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
	return (spool_size(c->log) > 0 || c->next < c->sent.n) && c->credit >= FRAME_HEAD + CHAN_LOG;
}

/* The spool's first frame, behind what b has. */
static int
take_frame(struct chan *c, struct buf *b)
{
	uint8_t head[FRAME_HEAD];
	uint32_t n;
	int e;

	if ((e = spool_take(c->log, head, sizeof(head))) < 0)
		return e;
	n = le_get32(head);
	if ((e = buf_put(b, head, sizeof(head))) < 0 || (e = buf_room(b, n)) < 0 || (e = spool_take(c->log, b->p + b->n, n)) < 0)
		return e;
	b->n += n;
	return 0;
}

/* One log frame, when the other side has room for it. */
static int
log_next(struct chan *c)
{
	size_t n;
	int e = 0;

	if (!log_may(c))
		return 0;
	if (!c->keeps) {
		e = take_frame(c, &c->out);
	} else if (c->next < c->sent.n || (e = take_frame(c, &c->sent)) == 0) {
		n = FRAME_HEAD + le_get32(c->sent.p + c->next);
		e = buf_put(&c->out, c->sent.p + c->next, n);
		c->next += n;
	}
	c->credit -= c->out.n;
	return e;
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

/* A machine that stands still for a while does so with both ends: what waits in the pipe was said before, or comes now. */
static void
mind_pause(struct chan *c)
{
	double now = clk_s();

	if (now - c->ran > BEAT_S)
		c->heard += now - c->ran;
	if (c->heard > now)
		c->heard = now;
	c->ran = now;
}

int
chan_push(struct chan *c)
{
	return chan_is_shut(c) ? 0 : write_some(c);
}

int
chan_run(struct chan *c)
{
	int e;

	mind_pause(c);
	e = chan_push(c);
	return e < 0 || chan_is_shut(c) ? e : read_some(c);
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
