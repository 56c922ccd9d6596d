/* worker_brain_in - what the files of worker_brain share: its state. */
#ifndef PS_WORKER_BRAIN_IN_H
#define PS_WORKER_BRAIN_IN_H

#include "ps/total.h"
#include "ps/worker_brain.h"

#define WORKER_ANY UINT64_MAX	/* whatever step the servers are at */

struct worker_part {
	uint32_t arrays;	/* that have floats in this slice, */
	uint32_t left;		/* of which so many are not yet pushed in this step */
	bool	 waiting;	/* for weights of step `want` */
	bool	 asked;		/* for its state */
	uint64_t want, got;
};

struct worker_link {
	bool	 welcome, empty, bye;
	uint64_t step;		/* of its welcome */
};

struct worker_brain {
	struct worker_brain_opt o;
	const struct worker_opt *w;
	const struct graph *graph;
	struct plan	*plan;
	struct worker_part *part;		/* [plan->n] */
	struct worker_link *link;		/* [nservers] */
	uint64_t	*pushed;	/* [nw] 1 + the step in which array a was pushed last */
	bool		*stale;		/* [nw] what came has not been copied */
	bool		 aux_stale;
	float		*staged;	/* [P + A] */
	float		*stats;		/* [A] weighted, as pushed */
	float		*state;		/* where state goes */
	uint64_t	 step;		/* finished */
	uint32_t	 n;		/* samples of the open step */
	float		 rate;
	bool		 last, stopping;
	uint64_t	 sum_step;	/* the sum asked for last */
	uint32_t	 sum_index, sum_n;
	bool		 summing;
	double		 sum[TOTAL_MOST];
};

#endif
