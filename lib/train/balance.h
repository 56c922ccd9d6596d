/*
 * balance - divides the samples of a step among workers by their measured speeds.
 *
 * A worker's batch is its part of a step.  The batches of all workers have the same sum in every step, so that a step
 * has the same samples whatever the batches are.  Each worker measures the time that a sample takes it, without waiting
 * for others.  From these times every worker computes the same batches, in whole numbers, so that machines of different
 * kinds agree.
 *
 * The log (log(5)) has each change of the batches as a comment, from which balance_read() makes a schedule:
 *
 *	# batches 87:23:82 from step 121 on
 *
 * Threads: no state.
 */
#ifndef TRAIN_BALANCE_H
#define TRAIN_BALANCE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define BALANCE_WORKERS	255u			/* most workers */
#define BALANCE_SAMPLE	(UINT64_C(1) << 40)	/* most nanoseconds of a sample */
#define BALANCE_TIMES	2u	/* a batch is at most so many times the first one, which bounds memory */

/*
 * Sets batch [n] to those with which the slowest worker ends a step first.  Worker i takes ns[i] nanoseconds a sample,
 * from 1 to BALANCE_SAMPLE, and has 1 to most[i] samples.  The sum stays.  Returns false, and changes nothing, if a
 * step would not be at least a twentieth shorter.
 */
bool	 balance_divide(const uint64_t *ns, const uint32_t *most, uint32_t n, uint32_t *batch);

/* Batches by step. */
struct balance_schedule {
	size_t	n;
	struct balance_change {
		uint64_t  from;		/* steps done before the first one with these batches */
		uint32_t *batch;	/* [workers] */
	} *change;			/* [n] in the order of the log */
};

/*
 * Reads the changes in a log of worker 0, or of the job, for workers that start with batches `first`.  Returns 0,
 * ERR_SYS, ERR_NOMEM, ERR_LIMIT, or ERR_FORMAT: there are none, or some are not of these workers and as many samples.
 */
int	 balance_read(const char *path, const uint32_t *first, uint32_t workers, struct balance_schedule *s);
void	 balance_free(struct balance_schedule *s);
/* The batches after `step` steps, or NULL: those that the workers start with. */
const uint32_t *balance_at(const struct balance_schedule *s, uint64_t step);

/* Appends batches, as --batch takes them: "87:23:82". */
int	 balance_put(struct buf *b, const uint32_t *batch, uint32_t n);
/* Appends the text of a change, as the log has it, with a zero after it. */
int	 balance_put_change(struct buf *b, const uint32_t *batch, uint32_t n, uint64_t step);

#endif
