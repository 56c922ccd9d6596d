/*
 * server_state - a parameter server's brain: a worker's message in, messages to workers out.
 *
 * No sockets, no clock, no threads, no chance: what it emits depends on what it
 * took and on nothing else.  It holds the slices that ps/shard_plan.h gives to one
 * server of a job, and learns the job from the first worker's hello.
 *
 *	HELLO	taken, and answered by WELCOME, when the job is the same for all; another incarnation of a worker
 *		replaces the one before, which is not listened to any more.  Whose came later is for the caller to
 *		know: a worker's clock, or its host, may be another one in its next life.  Only the one before is
 *		known as gone by; what an older one says is ERR_FORMAT, and its hello would be taken.
 *	INIT	rank 0's first weights of a slice; pulls wait for them
 *	PULL	answered by WEIGHTS or STATE: with slack 0 the weights after the step named, if that is now or one step
 *		ago, so that a worker that died can repeat its step; else as they are, when the gate opens
 *	PUSH	ps/server/slice.h; answered by WEIGHTS when the gate opens, slice by slice
 *	SUM	ps/total.h; answered by TOTAL
 *	NORMS	ps/norms.h
 *	STOP	(server 0) its first slice's next step, of those that are not frozen, is the last one: its WEIGHTS say so, to all workers
 *	EPOCH	changes nothing here: traffic is counted by epochs (ps/server/epoch_traffic.h)
 *	BYE	answered by BYE; the worker is not waited for any more
 *
 * Every message names incarnation, worker, step and slice, and taking one
 * twice changes nothing.  Memory: four times the server's share of the weights,
 * and as much as workers run ahead of lower ranks; no message makes it take more.
 * Of each slice a worker has at most one answer of a kind coming, however often
 * it asks; an answer waits, as a bit, while there is no room for it.
 *
 * Ownership: messages taken are lent for the call, those emitted too.
 */
#ifndef PS_SERVER_SERVER_STATE_H
#define PS_SERVER_SERVER_STATE_H

#include "ps/shard_plan.h"
#include "wire/msg.h"

#include <stdbool.h>

struct server_state_opt {
	uint32_t nworkers;
	uint32_t index, nservers;	/* which server of the job */
	uint64_t incarnation;
	/* To worker: never a reply that the brain waits for, and it may call worker's brain, but not this one. */
	void	 (*emit)(void *arg, uint32_t worker, const struct msg *m);
	/* Whether weights or state may be emitted to worker now, any number of bytes; NULL: always. */
	bool	 (*room)(void *arg, uint32_t worker);
	void	*arg;
};

struct server_state;

int	 server_state_new(const struct server_state_opt *opt, struct server_state **s);	/* 0, ERR_LIMIT or ERR_NOMEM */
void	 server_state_free(struct server_state *s);		/* NULL is fine */

/*
 * Takes a message.  Returns 0; ERR_ARG when a hello is of another job; ERR_NOTSUP when it is of another version;
 * ERR_FORMAT, ERR_LIMIT when it is none of ours or out of turn, and then nothing has changed; ERR_NOMEM.  The line
 * names the worker.
 */
int	 server_state_take(struct server_state *s, const struct msg *m);
/* Worker w is gone without a word: as after its BYE. */
void	 server_state_lost(struct server_state *s, uint32_t w);
/* There may be room for worker w again: emits what it is due and had none, in the order of slices, as far as there is. */
void	 server_state_resume(struct server_state *s, uint32_t w);

bool	 server_state_gone(const struct server_state *s, uint32_t w);	/* worker w said BYE, or was lost */
bool	 server_state_sync(const struct server_state *s);	/* the job is known and its slack is 0 */
bool	 server_state_over(const struct server_state *s);	/* every worker came and left */
uint64_t server_state_steps(const struct server_state *s);	/* updates: the fewest of any slice and worker */
/* The slices and their plan; NULL before the first hello.  *w, *m: weights and state (NULL: none) of an own slice. */
const struct shard_plan *server_state_plan(const struct server_state *s);
const float *server_state_average(const struct server_state *s, uint32_t slice);	/* of an own slice; NULL: none */
void	 server_state_slice(const struct server_state *s, uint32_t slice, const float **w, const float **m);

#endif
