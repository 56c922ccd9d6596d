/*
 * server_state - the state machine of a parameter server: a message of a worker in, messages to workers out.
 *
 * It has no sockets, clock, threads or random numbers: the messages that it emits depend only on those that it took.
 * It holds the slices that ps/shard_plan.h gives to one server of a job.  The first worker's hello describes the job.
 *
 *	HELLO	answered by WELCOME if the worker describes the same job as the first.  A new incarnation of a worker
 *		replaces the one before, whose messages are dropped from then on.  The caller must pass the hello of
 *		the newer one last.  It cannot compare clocks: a restarted worker may run on another host.  Only the
 *		replaced incarnation is remembered: a message of an older one fails with ERR_FORMAT, but its hello is
 *		accepted.  In a synchronous job a worker that has said goodbye does not return, except to say it
 *		again (MSG_LAST).
 *	INIT	first weights of a slice, from the worker that starts the job; pulls wait for them
 *	PULL	answered by WEIGHTS or STATE.  In a synchronous job it gets the weights after the named step, if that
 *		is the current step or the one before, so that a restarted worker can repeat its step.  In any other
 *		job it gets the newest weights, once the staleness bound allows it.
 *	PUSH	ps/server/slice.h; answered slice by slice by WEIGHTS, once the staleness bound allows it
 *	SUM	ps/total.h; answered by TOTAL
 *	NORMS	ps/norms.h
 *	STOP	(server 0) the step that slice `lead` (ps/shard_plan.h) closes next is the job's last; the WEIGHTS after
 *		it say so to every worker
 *	SET	(server 0) a change of settings that worker 0 asks for (ps/settings.h); server 0 tells all workers, and
 *		a worker that says hello.  What workers pass on of it is taken by all servers.
 *	EPOCH	no effect here: traffic is counted by epoch (ps/server/epoch_traffic.h)
 *	BYE	answered by BYE; nobody waits for the worker any more
 *
 * In an elastic job (ps/deal.h) server 0 counts the workers after each hello, goodbye and loss: there are as many as 1
 * and the highest rank that is there, but those at the start count until they leave.  It tells all workers each change
 * (DEAL), and all changes to a worker that says hello.
 *
 * Every message names incarnation, worker, step and slice.  A repeated message changes nothing.  Memory is three times
 * the server's shard of the weights, twice the optimizer's state and the average, weights with a codec twice as they
 * are sent, and the gradients that arrive before their turn; no message makes it allocate more.  For each slice a
 * worker has at most one answer of a kind outstanding, however often it asks.  An answer for which there is no room is
 * one bit (slice.due), not a message.
 *
 * The state machine may be given a memory that outlives it (ps/memory.h).  A successor with the same memory has every
 * update, sum and goodbye that was answered, but not the incarnations that were replaced.  Workers greet it and repeat
 * what was not answered.
 *
 * Ownership: messages taken and emitted are lent for the call, and those whose payload is lasting (wire/msg.h)
 * until they are answered.
 */
#ifndef PS_SERVER_SERVER_STATE_H
#define PS_SERVER_SERVER_STATE_H

#include "ps/memory.h"
#include "ps/shard_plan.h"
#include "wire/msg.h"

#include <stdbool.h>

struct server_state_opt {
	uint32_t nworkers;
	uint32_t elastic;		/* workers at the start of an elastic job, of at most nworkers; 0: fixed */
	uint32_t index, nservers;	/* which server of the job */
	uint64_t incarnation;
	struct memory *memory;		/* a memory that outlives this server, lent; NULL: a private one */
	bool	 lends;			/* a private memory can be lent to workers, memory_make() */
	bool	 once;			/* no process is started again: weights need one half, slice_place() */
	/* Sends a message to a worker.  It may call the worker's state machine, but not this one. */
	void	 (*emit)(void *arg, uint32_t worker, const struct msg *m);
	/* Whether a message with weights or state may be emitted to worker now; NULL: always. */
	bool	 (*room)(void *arg, uint32_t worker);
	void	*arg;
};

struct server_state;

/* Returns 0, ERR_LIMIT, ERR_FORMAT (the memory is another job's) or ERR_NOMEM. */
int	 server_state_new(const struct server_state_opt *opt, struct server_state **s);
void	 server_state_free(struct server_state *s);		/* NULL does nothing */

/*
 * Handles a message.  Returns 0; ERR_ARG for a hello of another job; ERR_NOTSUP for one of another version; ERR_FORMAT
 * or ERR_LIMIT if the message is invalid or out of turn, and then nothing has changed; or ERR_NOMEM.  The line names
 * the worker.
 */
int	 server_state_take(struct server_state *s, const struct msg *m);
/*
 * After the header of m has arrived from a worker: returns where its payload may be received, for server_state_take()
 * to handle next, or NULL for any place.  It is a conn_place_fn (wire/conn.h) with a struct server_state.
 */
void	*server_state_place(void *state, const struct msg *m);
/* Worker w left without a goodbye.  The effect is that of a BYE; before the first hello there is none. */
void	 server_state_lost(struct server_state *s, uint32_t w);
/*
 * Copies the gradients that worker w lends (msg.lasting) and that are not answered.  Call it before their memory
 * ends, and before the hello of a later connection.  Returns 0 or ERR_NOMEM.
 */
int	 server_state_keep(struct server_state *s, uint32_t w);
/* The memory with all weights that are emitted as `lasting`; NULL before the first hello. */
const struct memory *server_state_memory(const struct server_state *s);
/* Emits answers to worker w that waited for room, in the order of slices, as far as there is room now. */
void	 server_state_resume(struct server_state *s, uint32_t w);

/*
 * The first worker without whose message an answer to worker w cannot be given; MSG_NOBODY if no worker is in the way.
 */
uint32_t server_state_late(const struct server_state *s, uint32_t w);
bool	 server_state_gone(const struct server_state *s, uint32_t w);	/* worker w said BYE, or was lost */
/* Worker w said hello and is not gone; its connection may be that of a server before this one. */
bool	 server_state_here(const struct server_state *s, uint32_t w);
bool	 server_state_missed(const struct server_state *s, uint32_t w);	/* worker w was lost and has not returned */
bool	 server_state_sync(const struct server_state *s);	/* the job is known and its slack is 0 */
/* How many workers may be silent while the others go on; with slack all but one, until it is used up. */
uint32_t server_state_spare(const struct server_state *s);
bool	 server_state_over(const struct server_state *s);	/* every worker has left */
uint64_t server_state_steps(const struct server_state *s);	/* updates: the fewest of any slice and worker */
const struct shard_plan *server_state_plan(const struct server_state *s);	/* NULL before the first hello */
/* The average of an own slice; NULL: none. */
const float *server_state_average(const struct server_state *s, uint32_t slice);
/* The weights and the optimizer state (NULL: none) of an own slice. */
void	 server_state_slice(const struct server_state *s, uint32_t slice, const float **w, const float **m);

#endif
