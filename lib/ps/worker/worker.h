/*
 * worker - the learning side of a worker: gradients out, weights in.
 *
 * The arrays w [P] and aux [A] are the caller's; the worker fills them slice by
 * slice as the servers answer, and only inside worker_need(), worker_ready()
 * and the calls that say so, so that the caller never sees them change.
 * Without servers the same server brain is called in this process: one code.  But
 * where the engine learns where its weights are (ps/worker/device_opt.h) worker_device_opt() is true
 * from worker_begin() on: nothing is pushed or needed then, and w and aux
 * are filled by worker_read() alone.
 *
 * A step:
 *	worker_step(wk, n, rate)		n samples, 0 when this worker has none
 *	worker_push(wk, a, g)			array a's range of the gradient g [P] is final; any order, each array once
 *	worker_finish(wk, stats)		batch norm statistics, weighted here by n; ends the pushes
 *	worker_need(wk, a)			before the next step reads array a: waits until it has come
 *	worker_ready(wk)			waits for everything: all of w and aux are of the step now
 *
 * The bytes of a slice leave as soon as the arrays in it were pushed, on a
 * thread of the worker's own, while the caller computes.  worker_push() waits
 * until the statistics of the step before have come, mostly no time: so servers
 * are never more than a step apart, and a worker that died can repeat its step.  What was pushed of g
 * is lent until worker_need() of the arrays or worker_ready() returned.
 * Threads: all calls from one thread.  Errors: ERR_PEER when a server or, in a
 * synchronous job, the job went away (the line says who); ERR_AUTH; ERR_ARG
 * when the server runs another job.  Whoever waits longer than
 * `patience_s` tells `waiting` for whom.
 */
#ifndef PS_WORKER_WORKER_H
#define PS_WORKER_WORKER_H

#include "engine/engine.h"
#include "net/graph/graph.h"
#include "net/optim/opt.h"
#include "ps/stale.h"
#include "ps/worker/trace.h"
#include "wire/peer_traffic.h"

#include <stdbool.h>

#define WORKER_PATIENCE 10.0	/* seconds */

struct worker_opt {
	const struct graph *graph;
	uint32_t	 rank, nworkers;
	uint32_t	 slack;			/* STALE_SYNC 0, STALE_ASYNC; see ps/stale.h */
	struct opt_hyper hyper;			/* lr and t are not read: the rate comes with each step */
	const char	*mults;			/* rules of ps/shard_plan.h, NULL or "" for none; at most HELLO_MULTS - 1 bytes */
	uint64_t	 incarnation;		/* of this start of the worker, by io_random() */
	char *const	*server;		/* [nservers] addresses, lent; NULL: the server's brain in this process */
	uint32_t	 nservers;		/* 0 without servers */
	const uint8_t	*key;			/* [CONN_KEY], with servers */
	uint32_t	 slice;			/* bytes of a slice, ps/shard_plan.h; 0: SHARD_PLAN_SLICE */
	float		*w, *aux;
	const struct engine *engine;		/* ... and a plan of it, lent, of an engine that may learn by itself without servers; ... */
	struct engine_plan *plan;		/* ... NULL: none */
	bool		 pieces;		/* ... and steps of several pieces */
	struct trace	*trace;			/* of ps/worker/trace.h, lent; NULL: none */
	double		 patience_s;		/* 0: WORKER_PATIENCE */
	void		(*waiting)(void *arg, const char *whom);	/* may be NULL */
	void		*arg;
};

struct worker;

/* Connects and says hello to every server. */
int	 worker_open(const struct worker_opt *opt, struct worker **wk);
void	 worker_close(struct worker *wk);	/* NULL is fine; says nothing to anybody */

/* What rank 0 has for a beginning beside weights; a struct of zeros is nothing.  Lent until worker_begin() returned. */
struct worker_first {
	const float	*state;		/* [P, states] of opt.h; NULL: zeros */
	const float	*average;	/* [P + A] of net/optim/average.h, or NULL; ... */
	uint32_t	 averaged;	/* ... of so many weights */
	uint32_t	 updates;	/* with a slack: pushes that became updates; 0: as many as steps */
};

/*
 * The beginning: rank 0 gives what is in w and aux, *first (NULL: nothing) and the steps already done; the others wait.
 * On return w and aux are the job's, *step the number of updates they have.
 */
int	 worker_begin(struct worker *wk, const struct worker_first *first, uint64_t *step);

int	 worker_step(struct worker *wk, uint32_t n, float rate);
void	 worker_mark(struct worker *wk);	/* of this step: its weights go into the average; all workers say so */
int	 worker_push(struct worker *wk, uint32_t a, const float *g);
int	 worker_finish(struct worker *wk, const float *stats);
int	 worker_need(struct worker *wk, uint32_t a);
int	 worker_ready(struct worker *wk);
uint64_t worker_steps(const struct worker *wk);	/* updates in w after worker_ready() */
/* Steps of the job: those done, but without slack 0 the pushes of all workers, below 2^32, that were in the weights that came last. */
uint64_t worker_updates(const struct worker *wk);
bool	 worker_last(const struct worker *wk);	/* after worker_ready(): the job ends here, everywhere */

/* Replaces v[0..n) by the sum over all workers, in rank order; every worker must call it.  n <= 256. */
int	 worker_sum(struct worker *wk, double *v, uint32_t n);
/* Reads the optimizer's state [P, states] from all servers: of the step now with slack 0, else as new as each server's is. */
int	 worker_pull_state(struct worker *wk, float *state);
/*
 * Reads the average [P + A] of the weights likewise, in a job that has one; *n is of how many.  Before the first, and for
 * what is frozen, it is the weights.
 */
int	 worker_average(struct worker *wk, float *to, uint32_t *n);
/* w and aux are those of the step now, after worker_ready(). */
int	 worker_read(struct worker *wk);
bool	 worker_device_opt(const struct worker *wk);
/* Where worker_device_opt(): the plan evaluates with the average, until the call without it. */
int	 worker_show(struct worker *wk, bool average);
/* Asks that all workers end after the same step, soon. */
int	 worker_stop(struct worker *wk);
/* Tells the servers that an epoch begins, from 0: their logs are by epoch. */
int	 worker_epoch(struct worker *wk, uint64_t n);
/* The orderly end: tells the servers and waits until what was queued is gone. */
int	 worker_bye(struct worker *wk);

/* Bytes sent and received so far, and seconds the caller waited in here. */
void	 worker_traffic(const struct worker *wk, uint64_t *sent, uint64_t *got, double *waited_s);
/* The same by kind of message, of one of the servers. */
void	 worker_peer_traffic(const struct worker *wk, uint32_t server, struct peer_traffic *t);

#endif
