/* worker_state_in - what the files of worker_brain share: its state. */
#ifndef PS_WORKER_WORKER_STATE_IN_H
#define PS_WORKER_WORKER_STATE_IN_H

#include "ps/norms.h"
#include "ps/total.h"
#include "ps/worker/worker_state.h"

#define WORKER_ANY UINT64_MAX	/* whatever step the servers are at */

struct worker_part {
	uint32_t arrays;	/* that have floats in this slice, */
	uint32_t left;		/* of which so many are not yet pushed in this step */
	bool	 waiting;	/* for weights of step `want` */
	bool	 asked;		/* for its state, or its average */
	uint64_t want, got;
};

struct worker_link {
	bool	 welcome, empty, bye;
	uint64_t step;		/* of its welcome */
};

/* The parts of a step's norms on their way from all servers to all servers (ps/norms.h). */
struct worker_norms {
	uint32_t n;		/* sums; 0: none are needed */
	uint64_t step;		/* of the newest part */
	uint32_t missing;	/* servers whose part of it has not come */
	bool	*has;		/* [nservers] it has */
	struct norm *sum;	/* [n] of those that have */
	uint8_t	*bytes[2];	/* [n * NORM_BYTES] as they were sent, of even and odd steps: older ones have been taken */
};

struct worker_state {
	struct worker_state_opt o;
	const struct worker_opt *w;
	const struct graph *graph;
	struct shard_plan	*plan;
	struct worker_part *part;		/* [plan->n] */
	struct worker_link *link;		/* [nservers] */
	uint64_t	*pushed;	/* [nw] 1 + the step in which array a was pushed last */
	bool		*stale;		/* [nw] what came has not been copied */
	bool		 aux_stale;
	float		*staged;	/* [P + A] */
	float		*stats;		/* [A] weighted, as pushed */
	float		*state;		/* where state goes, ... */
	float		*average;	/* ... and the average */
	uint32_t	 averaged;	/* ... of so many: the most that an answer said */
	bool		 marked;	/* the open step is */
	uint64_t	 step;		/* finished */
	uint64_t	 updates;	/* of all workers, as heard last; slack other than 0 */
	uint32_t	 n;		/* samples of the open step */
	float		 rate;
	bool		 last, stopping;
	bool		 began;		/* all servers are there */
	struct worker_norms norms;
	uint64_t	 sum_step;	/* the sum asked for last */
	uint32_t	 sum_index, sum_n;
	bool		 summing;
	double		 sum[TOTAL_MOST];
};

/* A message of this worker to a server. */
void	 worker_state_emit(struct worker_state *b, uint32_t server, struct msg m);

#endif
