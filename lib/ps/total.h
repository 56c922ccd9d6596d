/*
 * total - a few numbers summed over all workers, in the order of ranks.
 *
 * (step, index) identifies a sum.  All workers request the same sums in the same order, and one sum is open at a
 * time.  A worker that repeats its request for the last sum gets the same answer; a request for an older one gets
 * none.  A worker that left counts as zeros.  The last sum is kept in the server's memory before it is answered.
 *
 * Threads: one thread at a time.
 */
#ifndef PS_TOTAL_H
#define PS_TOTAL_H

#include "ps/memory.h"

#define TOTAL_MOST 256u	/* most numbers of a sum */

/* The last sum. */
struct total_record {
	uint64_t step;
	uint32_t index, n;
	double	 sum[TOTAL_MOST];
};

struct total_kept {
	struct memory_word  word;
	struct total_record record[2];
};

struct total {
	const struct memory *memory;
	struct total_kept   *kept;	/* in the memory */
	uint32_t  nworkers;
	uint64_t  step;			/* of the open sum, or else of the last one */
	uint32_t  index, n;
	bool	  open, any;		/* a sum is open; there was one */
	double	 *part;			/* [nworkers, TOTAL_MOST] */
	double	  sum[TOTAL_MOST];	/* the last sum */
	bool	 *here, *gone;		/* [nworkers] its part was added; it left */
	bool	 *due;			/* [nworkers] it waits for the answer */
};

int	 total_init(struct total *t, uint32_t nworkers);	/* 0 or ERR_NOMEM */
void	 total_free(struct total *t);
/* Keeps sums in m from now on, and takes over the one that is there. */
void	 total_attach(struct total *t, const struct memory *m, struct total_kept *kept);
/*
 * Adds worker w's part v, n f64 as bytes.  When t->open is false afterwards, t->sum is the answer for all workers that
 * are due.  Returns 0 or ERR_FORMAT (the sum differs from the others', or has too many numbers).
 */
int	 total_add(struct total *t, uint32_t w, uint64_t step, uint32_t index, const void *v, uint32_t n);
void	 total_leave(struct total *t, uint32_t w);
void	 total_join(struct total *t, uint32_t w);

#endif
