/*
 * threads - a thread pool that works on a ring of slots and hands them back in the order of submission.
 *
 * The caller fills a slot, submits it as a number of parts, and later waits for it.  A slot is done when all of its
 * parts are done.  Any thread may do any part; parts start in order.  A caller that looks only at slots it waited for
 * sees no effect of the threads' timing.
 *
 * Threads: one caller at a time.  The pool's threads block all signals.
 */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Does one part of a slot; worker is 0..threads-1. */
typedef void threads_fn(void *ctx, unsigned worker, uint32_t slot, uint32_t part);

struct threads;

/* The processors that this process may use; 1 if their number is unknown. */
unsigned threads_processors(void);
/* A default number of threads, from these. */
unsigned threads_count(void);

/* Fails with ERR_SYS after pthread_create() returned errnum; the line names the purpose of the thread and the limit. */
int	 threads_fail(int errnum, const char *purpose);
/* Starts a thread of its own, in which all signals are blocked.  Returns 0 or ERR_SYS. */
int	 threads_start(pthread_t *t, void *(*fn)(void *), void *arg);

/* Returns 0, ERR_SYS or ERR_NOMEM. */
int	 threads_new(unsigned threads, uint32_t slots, threads_fn *fn, void *ctx, struct threads **c);
/* Waits for parts in progress and drops those not started.  NULL is fine. */
void	 threads_free(struct threads *c);

/*
 * The slot to fill next.  Returns false if all slots are submitted and not yet waited for.  The slot waited for last
 * belongs to the caller until it fills it again.
 */
bool	 threads_next_slot(const struct threads *c, uint32_t *slot);
/* Submits that slot: the threads do parts 0..parts-1.  With no parts it is done at once. */
void	 threads_submit(struct threads *c, uint32_t parts);
/* Waits for the oldest slot submitted.  Returns false if there is none. */
bool	 threads_wait(struct threads *c, uint32_t *slot);
/* Waits so many seconds for it, which stays the oldest.  Returns false if it is not done then. */
bool	 threads_wait_within(struct threads *c, double seconds);
/* As threads_wait(), but returns false if that slot is not done, and the slot stays the oldest. */
bool	 threads_peek(struct threads *c, uint32_t *slot);

/* Fills a slot.  Returns its number of parts, or 0 if there is no more work. */
typedef uint32_t threads_fill_fn(void *ctx, uint32_t slot);
/* Consumes a slot that is done.  Returns 0, or an error that ends the run. */
typedef int threads_drain_fn(void *ctx, uint32_t slot);
/* Fills and drains slots until there is no more work.  Returns 0 or the error of drain. */
int	 threads_run(struct threads *c, threads_fill_fn *fill, threads_drain_fn *drain);

/* Drops all submitted slots, after it waited for the parts in progress. */
void	 threads_cancel(struct threads *c);

#endif
