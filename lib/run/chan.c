/* chan - the pipe between the launcher and an agent: frames in both directions, log lines last. */
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
	bool		 synced;	/* the other side's mark has been received */
	bool		 mark_queued;	/* our mark is queued; the other side may not be listening before */
	bool		 write_closed;	/* the other side reads no more; what it sent may still arrive */
	double		 received_at, sent_at;	/* when bytes were last received and sent */
	double		 ran_at;	/* when chan_run was last called */
	struct buf	 out;		/* bytes that are being written */
	size_t		 at;		/* bytes of out that are written */
	struct buf	 ctl;		/* frames that are written after out */
	struct spool	*log;		/* log frames, which are written after ctl */
	uint64_t	 credit;	/* bytes of log frames that may be sent; with keeps, CHAN_WINDOW - next */
	bool		 keeps;
	struct buf	 sent;		/* kept log frames that are not credited */
	size_t		 next;		/* bytes of sent that were sent on this connection */
	uint64_t	 done;		/* bytes that were credited, over all connections */
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
	c->in.b.wipes = c->out.wipes = c->ctl.wipes = true;	/* JOB has the job's key */
	c->credit = CHAN_WINDOW;
	c->received_at = c->sent_at = c->ran_at = clk_s();
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

/* Queues our mark before the first frame.  Not earlier, as the other side may not be listening yet. */
static int
queue_mark(struct chan *c)
{
	int e = c->mark_queued ? 0 : buf_put(&c->ctl, CTL_MARK, strlen(CTL_MARK));

	c->mark_queued = true;
	return e;
}

int
chan_send(struct chan *c, uint32_t type, const void *p, size_t n)
{
	if (chan_is_shut(c))
		return 0;
	ERR_TRY(queue_mark(c));
	return frame_put(&c->ctl, type, p, n);
}

int
chan_log(struct chan *c, uint32_t type, const void *p, size_t n)
{
	struct buf b = { 0 };
	int e;

	assert(n <= CHAN_LOG);
	if ((e = chan_is_shut(c) ? 0 : queue_mark(c)) == 0 && (e = frame_put(&b, type, p, n)) == 0)
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

/* Frees the first n kept bytes, which were credited. */
static void
drop_credited(struct chan *c, size_t n)
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
			drop_credited(c, n);
		c->next -= n;
	}
	c->credit += n;
}

void
chan_keep(struct chan *c)
{
	c->keeps = true;
}

int
chan_continue(struct chan *c, uint64_t received, uint64_t credited)
{
	uint64_t gap = received - credited;
	uint8_t *zeros;
	int e;

	if (credited > received || gap > CHAN_WINDOW || (gap > 0 && gap < FRAME_HEAD))
		return err_fail(ERR_FORMAT, "RESUME names bytes of the log that no agent sent");
	c->done = credited;
	if (gap == 0)
		return 0;
	/* A frame that is never sent again stands for those that wait for credit. */
	if ((zeros = calloc(1, gap)) == NULL)
		return err_nomem();
	e = frame_put(&c->sent, CTL_LINES, zeros, gap - FRAME_HEAD);
	free(zeros);
	return e;
}

bool
chan_log_done(const struct chan *c)
{
	return c->sent.n == 0 && spool_size(c->log) == 0;
}

/* True if byte `to` of the log is the end of a kept frame, or of the credited bytes. */
static bool
is_frame_end(const struct chan *c, uint64_t to)
{
	size_t at = 0;

	while (c->done + at < to && at < c->sent.n)
		at += FRAME_HEAD + (size_t)le_get32(c->sent.p + at);
	return c->done + at == to;
}

int
chan_inherit(struct chan *c, struct chan *old, uint64_t received, uint64_t credited)
{
	if (!old->keeps || credited > received || !is_frame_end(old, credited) || !is_frame_end(old, received))
		return err_fail(ERR_FORMAT, "RESUME: the offset is not the end of a frame");
	if (!chan_is_shut(c))
		ERR_TRY(queue_mark(c));
	spool_free(c->log);
	buf_free(&c->sent);
	c->keeps = true;
	c->log = old->log;
	c->sent = old->sent;
	c->done = old->done;
	old->log = NULL;
	old->sent = (struct buf){ 0 };
	if (credited > c->done)
		drop_credited(c, (size_t)(credited - c->done));
	c->next = (size_t)(received - credited);
	c->credit = CHAN_WINDOW - c->next;
	chan_close(old);
	return 0;
}

void
chan_beat(struct chan *c)
{
	if (c->mark_queued && c->ctl.n == 0 && c->at == c->out.n && clk_s() - c->sent_at >= BEAT_S)
		chan_send(c, CTL_BEAT, NULL, 0);
}

/* True if a log frame may be sent.  It may be of the largest size, as its head is still in the spool. */
static bool
may_send_log(const struct chan *c)
{
	return (spool_size(c->log) > 0 || c->next < c->sent.n) && c->credit >= FRAME_HEAD + CHAN_LOG;
}

/* Moves the first frame of the spool to the end of b. */
static int
read_spool_frame(struct chan *c, struct buf *b)
{
	uint8_t head[FRAME_HEAD];
	uint32_t n;

	ERR_TRY(spool_take(c->log, head, sizeof(head)));
	n = le_get32(head);
	ERR_TRY(buf_put(b, head, sizeof(head)));
	ERR_TRY(buf_room(b, n));
	ERR_TRY(spool_take(c->log, b->p + b->n, n));
	b->n += n;
	return 0;
}

/* Queues one log frame, if credit allows. */
static int
queue_log_frame(struct chan *c)
{
	size_t n;
	int e = 0;

	if (!may_send_log(c))
		return 0;
	if (!c->keeps) {
		e = read_spool_frame(c, &c->out);
	} else if (c->next < c->sent.n || (e = read_spool_frame(c, &c->sent)) == 0) {
		n = FRAME_HEAD + le_get32(c->sent.p + c->next);
		e = buf_put(&c->out, c->sent.p + c->next, n);
		c->next += n;
	}
	c->credit -= c->out.n;
	return e;
}

/* Refills out when it is written.  Log frames are added one at a time, so that other frames wait for at most one. */
static int
refill_output(struct chan *c)
{
	struct buf empty;

	if (c->at < c->out.n)
		return 0;
	if (c->out.n > 0)
		explicit_bzero(c->out.p, c->out.n);
	c->at = c->out.n = 0;
	if (c->ctl.n == 0)
		return queue_log_frame(c);
	empty = c->out;
	c->out = c->ctl;
	c->ctl = empty;
	return 0;
}

static bool
wants_write(const struct chan *c)
{
	return !c->write_closed && (c->at < c->out.n || c->ctl.n > 0 || may_send_log(c));
}

void
chan_poll(const struct chan *c, struct pollfd fd[2])
{
	fd[0] = (struct pollfd){ .fd = c->fd_in, .events = POLLIN };
	fd[1] = (struct pollfd){ .fd = wants_write(c) ? c->fd_out : -1, .events = POLLOUT };
}

static int
write_frames(struct chan *c)
{
	ssize_t r;
	int e = 0;

	while (!c->write_closed && (e = refill_output(c)) == 0 && c->at < c->out.n) {
		r = write(c->fd_out, c->out.p + c->at, c->out.n - c->at);
		if (r < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (r < 0) {
			c->write_closed = true;
			return 0;
		}
		c->at += (size_t)r;
		c->sent_at = clk_s();
	}
	return e;
}

static int
read_frames(struct chan *c)
{
	uint8_t piece[PIECE];
	ssize_t r = read(c->fd_in, piece, sizeof(piece));
	int e;

	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (r <= 0)
		return err_fail(ERR_PEER, "the other side is gone");
	c->received_at = clk_s();
	e = frame_feed(&c->in, piece, (size_t)r);
	explicit_bzero(piece, (size_t)r);
	if (e < 0)
		return e;
	if (!c->synced)
		c->synced = frame_sync(&c->in, CTL_MARK, strlen(CTL_MARK));
	if (!c->synced && c->in.skipped > CHAN_NOISE)
		return err_fail(ERR_FORMAT, "no agent answers: %u bytes of other text", CHAN_NOISE);
	return 0;
}

/* Discounts the time in which this process did not run: what the other side sent then may arrive only now. */
static void
discount_pause(struct chan *c)
{
	double now = clk_s();

	if (now - c->ran_at > BEAT_S)
		c->received_at += now - c->ran_at;
	if (c->received_at > now)
		c->received_at = now;
	c->ran_at = now;
}

int
chan_push(struct chan *c)
{
	return chan_is_shut(c) ? 0 : write_frames(c);
}

int
chan_run(struct chan *c)
{
	int e;

	discount_pause(c);
	e = chan_push(c);
	return e < 0 || chan_is_shut(c) ? e : read_frames(c);
}

int
chan_next(struct chan *c, struct frame *f)
{
	int e = 0;

	while (c->synced && (e = frame_next(&c->in, f)) > 0 && f->type == CTL_BEAT)
		;
	return e;
}

double
chan_silent_s(const struct chan *c)
{
	return clk_s() - c->received_at;
}
