/*
 * threads - threads that work on a ring of slots; what is done is taken in the order in which it was given.
 *
 * The caller fills a slot, gives it as a number of parts, and later takes it,
 * when all of its parts are done.  Parts are begun in order, by any thread.
 * Who looks only at slots that were taken sees nothing of the threads' timing.
 *
 * Threads: the calls are for one thread at a time.  The crew's threads take no signals.
 */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <stdint.h>

/* Does a part of a slot; worker is 0..threads-1. */
typedef void threads_fn(void *ctx, unsigned worker, uint32_t slot, uint32_t part);

struct threads;

/* A choice of how many threads, from the processors that this process may use. */
unsigned threads_count(void);

/* Returns 0, ERR_SYS or ERR_NOMEM. */
int	 threads_new(struct threads **c, unsigned threads, uint32_t slots, threads_fn *fn, void *ctx);
/* Waits for parts that are being done; those not begun are forgotten.  NULL is fine. */
void	 threads_free(struct threads *c);

/*
 * The slot that is to be filled next, or -1 when all are given and not yet
 * taken.  The slot taken last is the caller's until it is filled anew.
 */
int64_t	 threads_next_slot(const struct threads *c);
/* Gives that slot: parts 0.. are done by the threads; with none it is done at once. */
void	 threads_submit(struct threads *c, uint32_t parts);
/* Waits for the slot given first of those not taken: its number, or -1 when there is none. */
int64_t	 threads_wait(struct threads *c);
/* That slot while it is not taken, without waiting; -1 when there is none, or it is not done. */
int64_t	 threads_peek(struct threads *c);

/* Fills a slot; returns its parts, or 0 when nothing more comes. */
typedef uint32_t threads_fill_fn(void *ctx, uint32_t slot);
/* Is told of a slot that is done.  Returns 0, or what ends the run. */
typedef int threads_drain_fn(void *ctx, uint32_t slot);
/* Keeps slots filled and takes them until all that came is drained.  Returns 0 or what drain did. */
int	 threads_run(struct threads *c, threads_fill_fn *fill, threads_drain_fn *drain);

/* Forgets all that was given, after waiting for what is being done. */
void	 threads_cancel(struct threads *c);

#endif
