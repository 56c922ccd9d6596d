/*
 * kept - what a worker leaves to its successor, in a memory that outlives it (ps/memory.h).
 *
 * The servers have the weights.  A worker adds its own place in the job: the running figures of the epoch, the answers
 * of sums over the workers, and what its log has.  A worker that was started again learns from the servers from which
 * step it goes on.  That is the step whose gradients its predecessor sent last, or the one after it, so that the memory
 * has the figures before each of the two:
 *
 *	kept_put(k, s + 1, ...)	before the first gradient of step s is sent, after all servers closed the one before
 *	kept_find(k, from, ...)	in the successor
 *
 * In an elastic job the steps of a worker are numbers of batches, with gaps (ps/deal.h).
 *
 * The worker's state machine keeps the residuals of codecs beside them (struct worker_residuals in ps/worker/worker.h).
 *
 * At the end of an epoch the successor does again what its predecessor had not completed, in the same order.  Sums
 * whose answers are here are not requested again.
 *
 * Each number is stored before the one that makes it valid, so that a worker may die between any two stores.  Without a
 * memory (struct kept of zeros, or NULL) nothing is kept and nothing found.  Threads: one thread at a time.
 */
#ifndef TRAIN_KEPT_H
#define TRAIN_KEPT_H

#include "ps/memory.h"

#define KEPT_PHASES	12u	/* phases of the sums of a step */
#define KEPT_KINDS	16u	/* kinds of events, for kept_tell() */
#define KEPT_NUMBERS	256u	/* most numbers of a sum, and workers with batches */

/* The figures before a step. */
struct kept_place {
	double	 loss, correct, top5, samples;	/* running sums of the epoch */
	double	 best;				/* worker 0: best accuracy of a validation */
	uint64_t best_epoch;			/* from 1; 0: none */
	uint64_t next_cut;			/* step of the next cut (train/cut.h); 0: none */
	uint64_t left_out;			/* records of the epoch so far */
};

struct kept_page;

struct kept {
	struct memory	 *memory;	/* lent */
	struct kept_page *page;
	void		 *rest;		/* [rest] memory of the worker's state machine, zeros at first; NULL: none */
	uint64_t	  told;		/* what the log of the predecessors has */
};

/*
 * Makes room in a memory, and for `rest` bytes more.  It is in use then (memory_used()).  Returns 0 or an error of
 * memory_resize().
 */
int	 kept_reserve(struct memory *m, size_t rest);
/* Takes over what m holds; job identifies the run.  Returns 0, ERR_ARG if m is another run's, or as kept_reserve(). */
int	 kept_open(struct kept *k, struct memory *m, uint64_t job, size_t rest);

/* The process's start: `now`, or that of the first predecessor. */
double	 kept_since(struct kept *k, double now);

/* Stores that the job has weights, and that this worker joined it at a step, with the figures before that step. */
void	 kept_begin(struct kept *k, uint64_t step, const struct kept_place *p);
/* Whether a predecessor has joined the job, and at which step. */
bool	 kept_began(const struct kept *k, uint64_t *step);
/* Stores the figures before a step; kept_find() returns whether those of a predecessor are there, and reads them. */
void	 kept_put(struct kept *k, uint64_t step, const struct kept_place *p);
bool	 kept_find(const struct kept *k, uint64_t step, struct kept_place *p);
/* The newest step whose figures are there, and those; false without any. */
bool	 kept_newest(const struct kept *k, uint64_t *step, struct kept_place *p);

/*
 * The same for the answer of the sum of a phase at a step, of which the last two are kept.  Workers may have a step's
 * sums before all servers have closed the step before, which a successor then repeats with its own sums.
 */
void	 kept_put_sum(struct kept *k, uint64_t step, uint32_t phase, const double *v, uint32_t n);
bool	 kept_find_sum(const struct kept *k, uint64_t step, uint32_t phase, double *v, uint32_t n);

/*
 * Stores the batches [n] of the workers from a step on, and the step before which they may change next.  Of the last
 * two that were stored kept_find_batches() reads those at a step, and returns whether there are any.
 */
void	 kept_put_batches(struct kept *k, uint64_t step, uint64_t next, const uint32_t *batch, uint32_t n);
bool	 kept_find_batches(const struct kept *k, uint64_t step, uint64_t *next, uint32_t *batch, uint32_t n);

/* Notes that the log has an event of a kind, below KEPT_KINDS, at a step.  Returns false if a predecessor's has it. */
bool	 kept_tell(struct kept *k, uint64_t step, unsigned kind);
/* The step of the last event that a predecessor's log has, or 0. */
uint64_t kept_last_told(const struct kept *k);
/* Stores a reason why the run will end with a warning: a checkpoint was not written, or a record was left out. */
enum kept_warning { KEPT_UNSAVED = 1, KEPT_LEFT_OUT = 2 };
void	 kept_warn(struct kept *k, enum kept_warning w);
bool	 kept_warned(const struct kept *k, enum kept_warning w);
/* Stores that nothing is left to do but the goodbyes to the servers. */
void	 kept_part(struct kept *k);
bool	 kept_parting(const struct kept *k);

#endif
