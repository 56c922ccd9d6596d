/*
 * worker_state - the state machine of a worker: gradients sent and weights received, without sockets or threads.
 *
 * It is the counterpart of ps/server/server_state.h: it emits messages to servers and takes theirs, and never waits.
 * A caller that waits asks it which server is missing.  Received weights are staged, or stay where the server lends
 * them (msg.lasting), and move into the caller's w and aux only in worker_state_missing().
 *
 * Ownership: payloads of emitted messages must not change until the servers have answered: the caller's w, aux and
 * state until worker_state_begun(), a step's gradients until the arrays of their slices have arrived.  The payload of
 * MSG_HELLO is lent for the call.  Threads: one thread at a time.
 */
#ifndef PS_WORKER_WORKER_STATE_H
#define PS_WORKER_WORKER_STATE_H

#include "ps/shard_plan.h"
#include "ps/worker/worker.h"
#include "wire/msg.h"

struct worker_state_opt {
	const struct worker_opt *worker;	/* lent */
	uint32_t nservers;			/* 1 if the only server is in this process */
	/* Sends a message to a server; the answer may be taken before it returns. */
	void	(*emit)(void *arg, uint32_t server, const struct msg *m);
	void	 *arg;
};

struct worker_state;

/* Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 worker_state_new(const struct worker_state_opt *opt, struct worker_state **ws);
void	 worker_state_free(struct worker_state *ws);	/* NULL does nothing */
const struct shard_plan *worker_state_plan(const struct worker_state *ws);

/*
 * Handles a server's message; an answer that is not awaited is dropped.  Returns 0, ERR_FORMAT (invalid), or for a
 * refusal ERR_ARG before the welcome and ERR_PEER after it.
 */
int	 worker_state_take(struct worker_state *ws, uint32_t server, const struct msg *m);

/*
 * After the header of m has arrived: returns where its payload may be received, for worker_state_take() to handle next,
 * or NULL for any place.
 */
void	*worker_state_place(const struct worker_state *ws, uint32_t server, const struct msg *m);

int	 worker_state_hello(struct worker_state *ws, uint32_t server);	/* 0 or ERR_NOMEM */
bool	 worker_state_welcome(const struct worker_state *ws, uint32_t server);	/* the server accepted the hello */
bool	 worker_state_kept(const struct worker_state *ws, uint32_t server);	/* the server is restarted if it dies */
bool	 worker_state_empty(const struct worker_state *ws);	/* a server that accepted it had no weights */
/* Stages weights that the server lends and that are not in w yet.  Call it before their memory ends. */
void	 worker_state_keep(struct worker_state *ws, uint32_t server);
/* After another welcome of the server, on a new connection: emits all that it has not answered. */
void	 worker_state_repeat(struct worker_state *ws, uint32_t server);
bool	 worker_state_parting(const struct worker_state *ws);	/* it has said goodbye */
void	 worker_state_part(struct worker_state *ws, uint32_t server);	/* as after the server's answer */
bool	 worker_state_parted(const struct worker_state *ws, uint32_t server);	/* the server answered the goodbye */

/* As the functions of worker.h with the same names, without waiting. */
void	 worker_state_begin(struct worker_state *ws, const struct worker_first *first, uint64_t step);
uint64_t worker_state_deal(struct worker_state *ws, uint64_t at, uint32_t *workers);
/* After WORKER_WAIT_STEP: goes on to the step that all slices have reached, and returns it. */
uint64_t worker_state_catch_up(struct worker_state *ws, bool *renewed);
void	 worker_state_step(struct worker_state *ws, uint32_t n, float rate);
void	 worker_state_mark(struct worker_state *ws);
/*
 * Before worker_state_push() of the same array: encodes the slices that it completes.  It may run at the same time as
 * calls that send or take messages.
 */
void	 worker_state_encode(struct worker_state *ws, uint32_t a, const float *g);
void	 worker_state_push(struct worker_state *ws, uint32_t a, const float *g);
void	 worker_state_finish(struct worker_state *ws, const float *stats);
void	 worker_state_sum(struct worker_state *ws, uint32_t phase, const double *v, uint32_t n);
void	 worker_state_state(struct worker_state *ws, float *state);
void	 worker_state_average(struct worker_state *ws, float *average);
void	 worker_state_exact(struct worker_state *ws, float *weights);
uint32_t worker_state_averaged(const struct worker_state *ws);
void	 worker_state_stop(struct worker_state *ws);
/* Asks server 0 for a change; an earlier one is decided. */
void	 worker_state_set(struct worker_state *ws, const struct setting *s);
/* Without a server: decides a change. */
void	 worker_state_decide(struct worker_state *ws, const struct setting *s, uint64_t from);
/* Adds changes that the job knows from its start. */
void	 worker_state_know_settings(struct worker_state *ws, const struct settings *all);
const struct settings *worker_state_settings(const struct worker_state *ws);
void	 worker_state_epoch(struct worker_state *ws, uint64_t n);
void	 worker_state_bye(struct worker_state *ws);
uint64_t worker_state_steps(const struct worker_state *ws);
uint64_t worker_state_updates(const struct worker_state *ws);
struct staleness worker_state_staleness(struct worker_state *ws);
bool	 worker_state_last(const struct worker_state *ws);

/* What a worker waits for. */
enum worker_wait {
	WORKER_WAIT_ARRAY,	/* array a of the weights */
	WORKER_WAIT_ALL,	/* all weights and statistics */
	/* with backup workers the answers that decide the next step: if the first is late, the newest of all slices */
	WORKER_WAIT_STEP,
	WORKER_WAIT_STATS,	/* the answers to worker_state_finish(), which belong to no array of weights */
	WORKER_WAIT_SUM,	/* the answer to worker_state_sum() */
	WORKER_WAIT_STATE,	/* the answers to worker_state_state(), _average() or _exact() */
	WORKER_WAIT_BYE		/* the answers to worker_state_bye() */
};

/*
 * Returns 1 and sets *server to the index of a server that still has to answer, or 0 if nothing is missing.
 * WORKER_WAIT_ARRAY copies the array into w once it is complete, WORKER_WAIT_ALL the statistics into aux.  A step may
 * begin only while WORKER_WAIT_STATS of the step before returns 0.
 */
int	 worker_state_missing(struct worker_state *ws, enum worker_wait what, uint32_t a, uint32_t *server);
/* Whether a server has to answer anything. */
bool	 worker_state_owed(const struct worker_state *ws, uint32_t server);
/* Copies the sum to v[0..n) after WORKER_WAIT_SUM. */
void	 worker_state_total(const struct worker_state *ws, double *v, uint32_t n);
/*
 * After worker_state_begin(), once nothing is missing: sets *step to the steps of the job.  Returns 0, or ERR_FORMAT if
 * the servers contradict each other.
 */
int	 worker_state_begun(struct worker_state *ws, uint64_t *step);

#endif
