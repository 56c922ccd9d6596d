/*
 * total - a few numbers summed over all workers, in the order of ranks.
 *
 * A sum is named by (step, index); all workers ask for the same sums in the
 * same order.  One is open at a time.  The last one is remembered, so that who
 * asks again gets the same answer; who repeats one before it gets none.  A
 * worker that left counts as zeros.
 *
 * Threads: for one thread at a time.
 */
#ifndef PS_TOTAL_H
#define PS_TOTAL_H

#include <stdbool.h>
#include <stdint.h>

#define TOTAL_MOST 256u	/* most numbers of a sum */

struct total {
	uint32_t  nworkers;
	uint64_t  step;			/* of the sum that is open or was last */
	uint32_t  index, n;
	bool	  open, any;		/* one is open; there was one */
	double	 *part;			/* [nworkers, TOTAL_MOST] */
	double	  sum[TOTAL_MOST];	/* of the last */
	bool	 *here, *gone;		/* [nworkers] gave its part; left */
	bool	 *due;			/* [nworkers] waits for the answer */
};

int	 total_init(struct total *t, uint32_t nworkers);	/* 0 or ERR_NOMEM */
void	 total_free(struct total *t);
/*
 * Worker w's part v, n f64 as bytes; once open is false again the sum is in t->sum for whoever is due.
 * Returns 0 or ERR_FORMAT (not what the others sum, too many numbers).
 */
int	 total_add(struct total *t, uint32_t w, uint64_t step, uint32_t index, const void *v, uint32_t n);
void	 total_leave(struct total *t, uint32_t w);
void	 total_join(struct total *t, uint32_t w);

#endif
