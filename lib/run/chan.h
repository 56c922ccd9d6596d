/*
 * chan - the pipe between the launcher and an agent: frames both ways, lines of logs behind everything else.
 *
 * What the other side must act upon never waits behind log lines: frames of
 * chan_send leave before those of chan_log, which wait in a spool (in memory,
 * then in a file) and leave only as far as the other side gave credit, so that
 * neither side holds memory without a bound, and the side that reads never has
 * to stop.  Text in front of the other side's CTL_MARK is skipped.
 *
 * A channel that keeps (chan_keep) has the log frames that it sent until they are credited, a window of them at most: one that
 * takes its place after the connection was lost (chan_inherit) goes on from the byte of the log that
 * the other side says it has, so that nothing is lost or comes twice.
 *
 * Nothing blocks: the caller polls for chan_poll() and calls chan_run().
 * Ownership: a frame is lent until the next chan_run.
 * Threads: a channel is for one thread at a time.
 */
#ifndef RUN_CHAN_H
#define RUN_CHAN_H

#include "base/frame.h"

#include <poll.h>

#define CHAN_WINDOW	(256u << 10)	/* bytes of log frames that may be on their way; the first credit */
#define CHAN_LOG	(65u << 10)	/* most bytes of a log frame's payload */
#define CHAN_NOISE	(1u << 20)	/* most bytes in front of the mark */

struct chan;

/* Reads from in and writes to out, which become the channel's and non-blocking; SIGPIPE is blocked too.  -1: it is shut from
 * the start.  NULL when out of memory; they are closed then too. */
struct chan *chan_open(int in, int out);
void	 chan_close(struct chan *c);	/* NULL is fine; what is queued is dropped */

/* Queues a frame.  Returns 0 or ERR_NOMEM. */
int	 chan_send(struct chan *c, uint32_t type, const void *p, size_t n);
/* Queues a frame behind all others, n <= CHAN_LOG.  Returns 0 or ERR_NOMEM; chan_log_room says whether more should be logged. */
int	 chan_log(struct chan *c, uint32_t type, const void *p, size_t n);
bool	 chan_log_room(const struct chan *c);
/* The most bytes of log frames that wait before there is no room (SPOOL_MOST). */
void	 chan_log_limit(struct chan *c, uint64_t most);
/* The other side takes n bytes more of log frames; where the channel keeps them, it has done with the first n of those that were sent. */
void	 chan_credit(struct chan *c, uint32_t n);
/* Log frames are kept, from the first on: called before any. */
void	 chan_keep(struct chan *c);
/* Has the other side done with all log frames of a channel that keeps? */
bool	 chan_log_done(const struct chan *c);
/* Closes the descriptors: what is sent from now on is dropped, what is logged waits. */
void	 chan_shut(struct chan *c);
bool	 chan_is_shut(const struct chan *c);
/*
 * c takes over the log of a channel that keeps, and that is closed by this: it goes on behind `got`, bytes of log frames from
 * the first one on, of which the other side has done with `done`.  Returns 0, ERR_FORMAT where these
 * are not ends of frames that are kept, or ERR_NOMEM; old then stays as it is.
 */
int	 chan_inherit(struct chan *c, struct chan *old, uint64_t got, uint64_t done);
/* Sends CTL_BEAT when nothing was sent for a second; call it at least as often. */
void	 chan_beat(struct chan *c);

void	 chan_poll(const struct chan *c, struct pollfd fd[2]);
/* Writes what can be written now, before the caller waits.  Returns 0, ERR_SYS or ERR_NOMEM; who reads no more is no error. */
int	 chan_push(struct chan *c);
/*
 * Reads and writes what can be done now.  Returns 0, or ERR_PEER (the other side is gone and all it said was read),
 * ERR_SYS, ERR_FORMAT (no mark in so much text), ERR_NOMEM.  Frames that came before are still given by chan_next.
 */
int	 chan_run(struct chan *c);
/* The next frame: 1, 0 when none has come, ERR_LIMIT.  Beats are not given. */
int	 chan_next(struct chan *c, struct frame *f);
/*
 * Seconds since the last byte came (or the channel was opened); not counted are those in which chan_run was not called for
 * more than one: who did not run himself, on a machine that was stopped or had no time for him, has not heard a silence.
 */
double	 chan_silent_s(const struct chan *c);

#endif
