/*
 * worker_brain - what a worker has pushed and what has come: a worker without sockets or threads.
 *
 * The counterpart of ps/server.h: it emits messages to servers and takes
 * theirs, and never waits; who waits asks it what is missing.  What comes is
 * staged, and moves into the caller's w and aux only in worker_brain_array()
 * and worker_brain_aux().
 *
 * Ownership: payloads of emitted messages stay as they are until the servers
 * answered them: the caller's w, aux and state until worker_brain_begun(), a
 * step's gradients until the arrays of the slices they are in have come back.
 * A payload of MSG_HELLO is lent for the call.
 * Threads: for one thread at a time.
 */
#ifndef PS_WORKER_BRAIN_H
#define PS_WORKER_BRAIN_H

#include "ps/plan.h"
#include "ps/worker.h"
#include "wire/msg.h"

struct worker_brain_opt {
	const struct worker_opt *worker;	/* lent */
	uint32_t nservers;			/* 1 when there are none but the one in this process */
	/* To server; it may take the answer before it returns. */
	void	(*emit)(void *arg, uint32_t server, const struct msg *m);
	void	 *arg;
};

struct worker_brain;

int	 worker_brain_new(const struct worker_brain_opt *opt, struct worker_brain **b);	/* ERR_LIMIT, ERR_NOMEM */
void	 worker_brain_free(struct worker_brain *b);	/* NULL is fine */

/*
 * Takes a server's message; what nobody waits for is dropped.  Returns 0, ERR_FORMAT (none of ours), or what a refusal
 * means: ERR_ARG before the welcome, ERR_PEER after it.
 */
int	 worker_brain_take(struct worker_brain *b, uint32_t server, const struct msg *m);

int	 worker_brain_hello(struct worker_brain *b, uint32_t server);	/* 0 or ERR_NOMEM */
bool	 worker_brain_welcome(const struct worker_brain *b, uint32_t server);	/* the server took it */
bool	 worker_brain_parted(const struct worker_brain *b, uint32_t server);	/* and answered our goodbye */

/* As worker.h's functions of the same names, without their waiting. */
void	 worker_brain_begin(struct worker_brain *b, const struct worker_first *first, uint64_t step);
void	 worker_brain_step(struct worker_brain *b, uint32_t n, float rate);
void	 worker_brain_mark(struct worker_brain *b);
void	 worker_brain_push(struct worker_brain *b, uint32_t a, const float *g);
void	 worker_brain_finish(struct worker_brain *b, const float *stats);
void	 worker_brain_sum(struct worker_brain *b, const double *v, uint32_t n);
void	 worker_brain_state(struct worker_brain *b, float *state);
void	 worker_brain_average(struct worker_brain *b, float *average);	/* has come when worker_brain_stated() */
uint32_t worker_brain_averaged(const struct worker_brain *b);
void	 worker_brain_stop(struct worker_brain *b);
void	 worker_brain_epoch(struct worker_brain *b, uint64_t n);
void	 worker_brain_bye(struct worker_brain *b);
uint64_t worker_brain_steps(const struct worker_brain *b);
uint64_t worker_brain_updates(const struct worker_brain *b);
bool	 worker_brain_last(const struct worker_brain *b);

/*
 * Has it come?  Each gives -1 when it has, and then the result may be used; else the index of a server that is waited
 * for.  _array and _aux then copy what came, once.
 */
int	 worker_brain_array(struct worker_brain *b, uint32_t a);
int	 worker_brain_aux(struct worker_brain *b);
/*
 * What worker_brain_finish() pushes belongs to no array: its last answer must have come before anything of the next step
 * is pushed.
 */
int	 worker_brain_settled(const struct worker_brain *b);
int	 worker_brain_total(const struct worker_brain *b, double *v, uint32_t n);
int	 worker_brain_stated(const struct worker_brain *b);
int	 worker_brain_left(const struct worker_brain *b);	/* goodbye was answered */
/* The steps of the job after worker_brain_begin(), when all has come: 0, or ERR_FORMAT (servers do not fit together). */
int	 worker_brain_begun(struct worker_brain *b, uint64_t *step);

#endif
