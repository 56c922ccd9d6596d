/*
 * worker - a worker's interface to the servers: gradients out, weights in.
 *
 * lib/ps/worker is a worker's side.  Read it in this order: worker (the interface); worker_state*.c (the state
 * machine); worker_net, worker_link and worker_late (connections, and reports of waits); send_queue; device_opt
 * (training without servers); trace (the time line).
 *
 * The caller owns the arrays w [P] and aux [A].  The worker fills them only inside worker_need(), worker_ready() and
 * the calls that say so, slice by slice as the servers answer.  Without servers it calls a server's state machine in
 * this process.  If the engine has an optimizer of its own (ps/worker/device_opt.h), worker_device_opt() is true from
 * worker_begin() on: then the caller pushes nothing and needs no arrays, and only worker_read() fills w and aux.
 *
 * A step:
 *	worker_step(wk, n, rate)		n samples, 0 if this worker has none
 *	worker_push(wk, a, g)			array a's range of the gradient g [P] is final; each array once
 *	worker_finish(wk, stats)		batch norm statistics, weighted here by n; ends the pushes
 *	worker_need(wk, a)			waits until array a has arrived, before the next step reads it
 *	worker_ready(wk)			waits until all of w and aux have arrived
 *
 * A thread of the worker sends a slice as soon as all its arrays are pushed, while the caller computes.  worker_step()
 * first waits for the statistics of the step before, which have usually arrived.  Servers are therefore never more than
 * one step apart, and a restarted worker can repeat its step.  A pushed range of g is lent until worker_need() of
 * its array or worker_ready() returns.
 *
 * A wait in which nothing arrives for `wait_report_s` is reported to `waiting`, and again after three times as long:
 * "worker 0", if a server says that it waits for that one, or "server 1 (HOST:PORT)".
 *
 * Threads: all calls from one thread.  Errors: ERR_PEER if a server, or another worker of a synchronous job, is lost
 * (the line names it); ERR_AUTH; ERR_ARG if the server runs another job.
 */
#ifndef PS_WORKER_WORKER_H
#define PS_WORKER_WORKER_H

#include "engine/engine.h"
#include "net/graph/graph.h"
#include "net/optim/opt.h"
#include "ps/memory.h"
#include "ps/settings.h"
#include "ps/stale.h"
#include "ps/staleness.h"
#include "ps/worker/trace.h"
#include "wire/conn.h"
#include "wire/path/loan.h"
#include "wire/peer_traffic.h"

#include <signal.h>
#include <stdbool.h>

#define WORKER_WAIT_REPORT_S 3.0	/* seconds */

/*
 * What a worker with codecs (wire/codec.h) leaves to its successor: the residuals of the gradients that it has sent.
 *
 * A step reads the residuals of one parity and writes the others.  Servers are never more than one step apart, so that
 * a successor finds those before the step that it repeats.  It must not store again what belongs to a gradient that a
 * server may have taken: if it died meanwhile, its own successor would lack them.  In a synchronous job these are all
 * residuals that are complete, which are the same again.  In any other job the repeated gradients have new weights, and
 * the server of a slice has taken either the first one or none.
 *
 * In an elastic job steps are counted by each worker, and `batch` finds the step of the batch that is repeated.
 */
struct worker_residuals {
	_Atomic uint64_t step;		/* step before which all residuals are complete; 0: none was sent */
	_Atomic uint64_t batch[2];	/* elastic: 1 + the batch of the step before an even and an odd step */
	float		 residual[];	/* [2, P] before even and odd steps */
};

struct worker_opt {
	const struct graph *graph;
	uint32_t	 rank, nworkers;
	/* Workers at the start of an elastic job (ps/deal.h), of at most nworkers; 0: their number is fixed. */
	uint32_t	 elastic;
	uint32_t	 slack;			/* STALE_SYNC 0, STALE_ASYNC; see ps/stale.h */
	uint32_t	 backup;		/* gradients that a step need not wait for, ps/server/slice.h */
	struct opt_hyper hyper;			/* without lr and t: each step has its own rate */
	/* rules of ps/shard_plan.h, NULL or "" for none; at most HELLO_MULTS - 1 bytes */
	const char	*mults;
	uint64_t	 incarnation;		/* random number of this start of the worker, from io_random() */
	char *const	*server;		/* [nservers] addresses, lent */
	uint32_t	 nservers;		/* 0: the server's state machine in this process */
	const uint8_t	*key;			/* [CONN_KEY]; NULL: none, wire/plain.h */
	enum conn_transport transport;
	double		 silence_s;		/* silence of wire/conn.h with each server; 0: CONN_SILENCE_S */
	uint32_t	 slice;			/* bytes of a slice, ps/shard_plan.h; 0: shard_plan_usual_slice() */
	float		*w, *aux;
	const struct settings *settings;	/* changes that all workers know from the start, lent; NULL: none */
	/* Memory that servers on this host may read: gradients in it are not copied; NULL: none.  Lent. */
	const struct loan *lends;
	const struct engine *engine;		/* engine of plan */
	struct engine_plan *plan;		/* plan on which the device optimizer may run, lent; NULL: none */
	bool		 accumulate;		/* steps have several micro-batches */
	bool		 kept;			/* the worker is started again if it dies: servers wait for it */
	bool		 returns;		/* the job has had weights from this worker's predecessor */
	bool		 parting;		/* the predecessor had nothing left to do but worker_bye() */
	/* With codecs: what outlives the worker; lent.  NULL: it has its own, which starts from zeros. */
	struct worker_residuals *residuals;
	const struct memory *memory;	/* the memory that holds residuals, if they are not NULL */
	struct trace	*trace;			/* lent; NULL: none */
	/* Above 0: the process is asked to stop, and a server that is lost has little time to return.  May be NULL. */
	const volatile sig_atomic_t *stop;
	double		 wait_report_s;		/* 0: WORKER_WAIT_REPORT_S */
	void		(*waiting)(void *arg, const char *whom);	/* may be NULL */
	void		*arg;
};

struct worker;

/* The bytes of struct worker_residuals for a net of P weights; 0 if no rule of mults sets a codec. */
size_t	 worker_residuals_size(const char *mults, size_t P);

/* Connects to every server and sends the hello. */
int	 worker_open(const struct worker_opt *opt, struct worker **wk);
void	 worker_close(struct worker *wk);	/* sends no goodbye; NULL does nothing */

/* What a job starts with besides weights; a struct of zeros is nothing.  Lent until worker_begin() returns. */
struct worker_first {
	uint32_t	 starter;	/* rank of the worker that supplies it, the same in all workers */
	const float	*state;		/* [P, states] optimizer state of opt.h; NULL: zeros */
	const float	*average;	/* [P + A] average of net/optim/average.h, or NULL */
	uint32_t	 averaged;	/* number of weights in the average */
	uint32_t	 updates;	/* not synchronous: pushes that became updates; 0: as many as steps */
	/* changes of settings, which begin with those of worker_opt; NULL: there are no others */
	const struct settings *settings;
};

/*
 * Starts the job: worker first->starter, or 0 if first is NULL, supplies w, aux, *first and the steps already done;
 * the other workers wait for them.  On return w and aux are the job's, and *step is the number of their updates.  A
 * worker that returns supplies nothing; ERR_ARG if there are no weights.
 */
int	 worker_begin(struct worker *wk, const struct worker_first *first, uint64_t *step);

/*
 * In an elastic job (ps/deal.h): sets *batch to this worker's first batch from batch `at` on, or to DEAL_NONE, and
 * *workers to the number of workers then.  The batch is the step that worker_step() begins.
 */
int	 worker_deal(struct worker *wk, uint64_t at, uint64_t *batch, uint32_t *workers);
/*
 * In a job with backup workers, before each step: sets *step to the one that the servers are at, if this worker is
 * late, and *renewed if other weights of the same step may have arrived.
 */
int	 worker_catch_up(struct worker *wk, uint64_t *step, bool *renewed);
int	 worker_step(struct worker *wk, uint32_t n, float rate);
/* The weights after this step become part of the average; all workers mark the same steps. */
void	 worker_mark(struct worker *wk);
int	 worker_push(struct worker *wk, uint32_t a, const float *g);
int	 worker_finish(struct worker *wk, const float *stats);
int	 worker_need(struct worker *wk, uint32_t a);
int	 worker_ready(struct worker *wk);
uint64_t worker_steps(const struct worker *wk);	/* updates in w after worker_ready() */
/*
 * Updates of the job: the steps, or if not synchronous, the pushes of all workers (below 2^32) in the newest weights.
 */
uint64_t worker_updates(const struct worker *wk);
/* How many updates the gradients of all slices were behind since the last call; of none in a synchronous job. */
int	 worker_staleness(struct worker *wk, struct staleness *s);
bool	 worker_last(const struct worker *wk);	/* after worker_ready(): the job ends here for all */

/*
 * Replaces v[0..n) by the sum over all workers, in rank order; every worker must call it.  n <= 256.  The phases of a
 * step grow, so that a worker that was started again cannot take one sum for another.
 */
int	 worker_sum(struct worker *wk, uint32_t phase, double *v, uint32_t n);
/*
 * Reads the optimizer state [P, states] from all servers: of the current step if synchronous, else the newest of each.
 */
int	 worker_pull_state(struct worker *wk, float *state);
/*
 * Reads the average [P + A] in the same way, in a job that has one; *n is the number of weights in it.  If that is 0,
 * and for frozen arrays, it is the weights.
 */
int	 worker_average(struct worker *wk, float *to, uint32_t *n);
/*
 * Sets weights [P] to those of the servers, which no codec has rounded, after worker_read().  In a job that is not
 * synchronous, slices with a codec have the newest weights.
 */
int	 worker_exact(struct worker *wk, float *weights);
/* Makes w and aux those of the current step, after worker_ready(). */
int	 worker_read(struct worker *wk);
bool	 worker_device_opt(const struct worker *wk);	/* the device optimizer runs */
/* With the device optimizer: the plan evaluates with the average, or with the weights again. */
int	 worker_show(struct worker *wk, bool average);
/* Requests that all workers end soon, after the same step. */
int	 worker_stop(struct worker *wk);
/*
 * Between steps: asks for a change of settings (ps/settings.h); only worker 0 may, and again only after it is decided.
 * slack must not be set in a synchronous job, and momentum and wd not with the device optimizer.
 */
int	 worker_set(struct worker *wk, const struct setting *s);
/*
 * Copies all changes that are known if there are more than *all has.  Those for a step are known before worker_step()
 * begins it, once its weights have arrived.
 */
int	 worker_settings(struct worker *wk, struct settings *all);
/* Announces epoch n, from 0, to the servers, for their logs. */
int	 worker_epoch(struct worker *wk, uint64_t n);
/*
 * Tells the servers that the process exits early, as they would wait for a worker that is started again (kept).  Call
 * it from another thread.  The other calls do not return afterwards.
 */
void	 worker_quit(struct worker *wk);
/* Sends a goodbye to the servers and waits for the answers. */
int	 worker_bye(struct worker *wk);

/* Bytes sent and received so far, and seconds that the caller waited in these functions. */
void	 worker_traffic(const struct worker *wk, uint64_t *sent, uint64_t *received, double *waited_s);
/* The traffic with one server by kind of message. */
void	 worker_peer_traffic(const struct worker *wk, uint32_t server, struct peer_traffic *t);

#endif
