/*
 * chan - the pipe between the launcher and an agent: frames in both directions, log lines last.
 *
 * Frames of chan_send leave before those of chan_log, so that no message waits for log lines.  Log
 * frames wait in a spool (in memory, then in a file) and leave only as far as the other side has
 * granted credit.  Thus both sides use bounded memory, and the reading side never has to stop.
 * Text before the other side's CTL_MARK is skipped.
 *
 * After chan_keep a channel keeps each log frame that it sent until the frame is credited; these
 * are at most a window of bytes.  If the connection is lost, the channel of the next connection
 * takes them over (chan_inherit) and continues at the byte that the other side asks for.  Thus no
 * line is lost or sent twice.
 *
 * No function blocks: the caller polls as chan_poll() says and calls chan_run().
 * Ownership: a frame is valid until the next chan_run.
 * Threads: one thread at a time.
 */
#ifndef RUN_CHAN_H
#define RUN_CHAN_H

#include "base/frame.h"

#include <poll.h>

#define CHAN_WINDOW	(256u << 10)	/* bytes of log frames that may be in flight; the first credit */
#define CHAN_LOG	(65u << 10)	/* most bytes of a log frame's payload */
#define CHAN_NOISE	(1u << 20)	/* most bytes before the mark */

struct chan;

/*
 * Opens a channel that reads from `in` and writes to `out`, owns both and makes them non-blocking.
 * Both -1: the channel is shut from the start.  The caller blocks SIGPIPE.  Returns NULL and closes
 * both when out of memory.
 */
struct chan *chan_open(int in, int out);
void	 chan_close(struct chan *c);	/* drops what is queued; NULL is fine */

/* Queues a frame.  Returns 0 or ERR_NOMEM. */
int	 chan_send(struct chan *c, uint32_t type, const void *p, size_t n);
/* Queues a log frame, n <= CHAN_LOG.  Returns 0 or ERR_NOMEM.  chan_log_room says if more may be queued. */
int	 chan_log(struct chan *c, uint32_t type, const void *p, size_t n);
bool	 chan_log_room(const struct chan *c);
/* Sets the number of waiting log bytes above which there is no room; the default is SPOOL_MOST. */
void	 chan_log_limit(struct chan *c, uint64_t most);
/*
 * The other side accepts n further bytes of log frames.  If the channel keeps them, this also
 * acknowledges the first n of the kept bytes that were sent, which are freed.
 */
void	 chan_credit(struct chan *c, uint32_t n);
/* Keeps sent log frames until they are credited.  Call it before the first one is queued. */
void	 chan_keep(struct chan *c);
/*
 * The log of a new channel that keeps frames continues one that is lost, of which the other side has received and
 * credited these numbers of bytes.  Returns 0, ERR_FORMAT (no such log) or ERR_NOMEM.
 */
int	 chan_continue(struct chan *c, uint64_t received, uint64_t credited);
/* True if the other side has credited all log frames of a channel that keeps them. */
bool	 chan_log_done(const struct chan *c);
/* Closes the descriptors.  Frames sent from now on are dropped; log frames wait. */
void	 chan_shut(struct chan *c);
bool	 chan_is_shut(const struct chan *c);
/*
 * Moves the log of `old`, a channel that keeps frames, to c and closes old.  c continues after byte
 * `received` of the log, counted from its first frame on; the other side has credited `credited` of
 * these bytes.  Returns 0, ERR_FORMAT if either is not the end of a kept frame, or ERR_NOMEM; after
 * an error old is unchanged.
 */
int	 chan_inherit(struct chan *c, struct chan *old, uint64_t received, uint64_t credited);
/* Sends CTL_BEAT if nothing was sent for a second.  Call it at least once a second. */
void	 chan_beat(struct chan *c);

void	 chan_poll(const struct chan *c, struct pollfd fd[2]);
/* Writes what can be written now; call it before waiting.  Returns 0, ERR_SYS or ERR_NOMEM; 0 if the reader is gone. */
int	 chan_push(struct chan *c);
/*
 * Reads and writes what is possible now.  Returns 0, ERR_PEER (the other side is gone and all that it
 * sent was read), ERR_SYS, ERR_FORMAT (CHAN_NOISE bytes without a mark) or ERR_NOMEM.  After an
 * error chan_next still returns the frames received before.
 */
int	 chan_run(struct chan *c);
/* Returns 1 and the next frame other than CTL_BEAT, 0 if there is none yet, or ERR_LIMIT. */
int	 chan_next(struct chan *c, struct frame *f);
/*
 * Seconds since the last byte was received, or since chan_open.  Pauses of more than a second
 * between calls of chan_run do not count: if this process was stopped or starved, it could not have
 * noticed what the other side sent.
 */
double	 chan_silent_s(const struct chan *c);

#endif
