/*
 * total - a few numbers summed over all workers, in the order of ranks.
 *
 * A sum has a name: the step, the phase in which the workers are in it, and an index.  All workers request the same
 * sums in the same order, in which names grow, and one sum is open at a time.  The last sum that closed is kept in the
 * server's memory before it is answered, and stays answerable while the next one is open: a worker that was started
 * again may lack its answer while others wait for the next.  A request for an older sum gets no answer, as every worker
 * has that.  A worker that left counts as zeros.
 *
 * Threads: one thread at a time.
 */
#ifndef PS_TOTAL_H
#define PS_TOTAL_H

#include "ps/memory.h"

#define TOTAL_MOST 256u	/* most numbers of a sum */

struct total_name {
	uint64_t step;
	uint32_t index;		/* TOTAL_INDEX() */
	uint32_t n;		/* numbers; no part of the name */
};

/* A phase below 2^16, and an index within it. */
#define TOTAL_INDEX(phase, i)	((uint32_t)(phase) << 16 | (uint32_t)(i))

struct total_record {
	struct total_name name;
	double	 sum[TOTAL_MOST];
};

/* The last sum that closed. */
struct total_kept {
	struct memory_word  word;
	struct total_record record[2];
};

enum total_due { TOTAL_NOT_DUE, TOTAL_WAITS, TOTAL_DUE };

struct total {
	const struct memory *memory;
	struct total_kept   *kept;	/* records in the memory */
	uint32_t  nworkers;
	bool	  open;			/* `now` is */
	struct total_name now;
	double	 *part;			/* [nworkers, TOTAL_MOST] */
	bool	  any;			/* there is a last sum */
	struct total_record last;
	bool	 *here, *gone;		/* [nworkers] its part was added; it left */
	uint8_t	 *due;			/* [nworkers] enum total_due: it waits for `now`; `last` is to be sent to it */
};

int	 total_init(struct total *t, uint32_t nworkers);	/* 0 or ERR_NOMEM */
void	 total_free(struct total *t);
/* Keeps sums in m from now on, and takes over the one that is there. */
void	 total_attach(struct total *t, const struct memory *m, struct total_kept *kept);
/*
 * Adds worker w's part v, n f64 as bytes.  Afterwards t->last is the answer for all workers with TOTAL_DUE.  Returns 0
 * or ERR_FORMAT (the sum differs from the others', or has too many numbers).
 */
int	 total_add(struct total *t, uint32_t w, uint64_t step, uint32_t index, const void *v, uint32_t n);
void	 total_leave(struct total *t, uint32_t w);
void	 total_join(struct total *t, uint32_t w);

#endif
