/*
 * slice - one slice of a model at its server: gradients of workers in, weights out.
 *
 * In a synchronous job the gradients of a step are added in the order of ranks, and those that arrive early are held.
 * A step closes when every worker that has not left has pushed: the sum, divided by the samples of all, becomes one
 * update.  A sum starts as the first gradient with samples, and pushes without samples are not added, so
 * that the bits are those of one worker that adds the same micro-batches.  In any other job each push is an update of
 * its own.
 *
 * With backup workers a synchronous step closes with the gradients of all workers but `backup`, in the order of their
 * arrival.  One that arrives later is dropped, and its worker gets the newest weights.
 *
 * If workers get updates of weights (codec_updates()), the memory also has what they hold: an update is encoded as the
 * difference of the weights to what they held one step ago.
 *
 * A gradient that is lent (msg.lasting) is read where it is, until the answer, or slice_keep().
 *
 * If an update needs norms over all servers, the complete sum waits for slice_update().
 *
 * Weights, state and average are in the server's memory (ps/memory.h) twice.  An update reads one half, writes the
 * other, and then publishes it, before any answer: a server that is restarted has all updates that it answered, and
 * none in part.  In a synchronous job the other half holds the weights one step ago, for a worker that repeats its
 * step.  Open sums are not kept, as workers repeat gradients that were not answered.
 *
 * stale.clock[w] counts the accepted pushes of worker w.  In an elastic job steps are numbers of batches, with gaps,
 * and it is 1 and the number of the last one.  A push for an earlier step is a repetition and changes nothing.  An
 * answer to w is due from its push until the staleness bound allows its next step.
 *
 * Threads: one thread at a time for each slice.
 */
#ifndef PS_SERVER_SLICE_H
#define PS_SERVER_SLICE_H

#include "net/optim/opt.h"
#include "ps/memory.h"
#include "ps/settings.h"
#include "ps/stale.h"
#include "ps/norms.h"
#include "ps/server/slice_pool.h"
#include "wire/msg.h"

/* Answers due to a worker. */
#define SLICE_W		1u	/* the weights, once the staleness bound allows a step */
#define SLICE_STATE	2u	/* the optimizer's state */
#define SLICE_PULL	4u	/* the weights as soon as there are any */
#define SLICE_AVERAGE	8u	/* their average */
#define SLICE_BEFORE	16u	/* the weights one step ago */
#define SLICE_READY	64u	/* that it has weights, for the worker that sent them */
#define SLICE_EXACT	32u	/* the weights as f32, although they have a codec */

#define SLICE_NONE	UINT64_MAX	/* a record's step while its half is written */

/* What belongs to a half besides floats. */
struct slice_record {
	_Atomic uint64_t step;
	uint64_t	 updates;
	uint64_t	 clock;		/* not synchronous: clock of `worker`, with this update */
	uint32_t	 worker;
	uint32_t	 averaged;
	uint32_t	 average;	/* the half of the average */
};

struct slice_kept {
	struct memory_word  word;
	struct slice_record record[2];
};

struct slice {
	const struct shard_plan	*plan;
	const struct shard_plan_slice	*at;
	struct slice_pool	*pool;
	struct opt_hyper	 hyper;		/* the optimizer of the job's description */
	const struct settings_kept *settings;	/* its changes, in the server's memory */
	/* In the server's memory; a frozen slice has only w[0], and NULL for the others. */
	const struct memory	*memory;
	struct slice_kept	*kept;
	uint64_t		*clock;		/* [nworkers] clocks of stale */
	float			*w[2];		/* [count] weights or statistics */
	float			*m[2];		/* [count, states] optimizer state; NULL for statistics */
	float			*average[2];	/* [count] average of w, or NULL */
	float			*worker_w[2];	/* [count] what workers hold of w if they get updates, or NULL */
	struct codec		 answer;	/* shard_plan_answer() */
	/* [codec_bytes()] each half as it is sent, or how it updates the other one; NULL: f32 */
	uint8_t			*coded[2];
	bool			 encoded[2];	/* coded[] has the weights of its half, in this codec: */
	enum codec_kind		 coded_as[2];
	unsigned		 half;		/* index of the valid half */
	unsigned		 average_half;	/* index of the valid half of the average, which changes less often */
	/* [count] sum of the open step, a buffer of pool; NULL: no samples yet, or one gradient that is lent */
	float			*sum;
	const float		*first;		/* [count] the gradient that is lent, or NULL */
	uint32_t		 lender;	/* the worker that lends it */
	float			*spare;		/* [count] buffer of pool for the sum of lent gradients, or NULL */
	uint32_t		 averaged;	/* number of weights in average; 0: it is w */
	bool			 marked;	/* the weights after the open step become part of average */
	bool			 ready;		/* it has its first weights */
	bool			 began;		/* the other half has the weights one step ago */
	bool			 waits;		/* each update waits for norms */
	bool			 elastic;	/* a worker's steps are numbers of batches, with gaps (ps/deal.h) */
	/* sum has every gradient of the open step, and the update is not done */
	bool			 full;
	bool			 counted;	/* the full sum is in the server's norms */
	uint64_t		 step;		/* synchronous: updates done; else the step it began with */
	uint64_t		 updates;	/* not synchronous: pushes that became updates, since the job began */
	struct stale		 stale;
	struct slice_part	*part;		/* [nworkers] pushes of the open step */
	uint32_t		 here;		/* workers that have pushed in it */
	uint32_t		 given;		/* those of them with samples */
	uint32_t		 backup;	/* gradients that a step need not wait for; 0: it waits for all */
	uint32_t		 missing;	/* workers that have not, and have not left */
	uint32_t		 next;		/* rank whose push is added next */
	uint64_t		 samples;	/* samples in sum so far */
	float			 rate;		/* learning rate of the open step */
	bool			 rated;		/* rate is known */
	uint8_t			*due;		/* [nworkers] SLICE_ bits */
	uint64_t		 answered;	/* stale_least() when the answers to all workers were last looked at */
};

/* Bytes that a slice takes beside its memory: its sum, and what it keeps of each worker. */
uint64_t slice_room(const struct shard_plan_slice *at, uint32_t nworkers);
/* Initializes slice i of p except for its arrays.  Returns 0 or ERR_NOMEM. */
int	 slice_init(struct slice *s, const struct shard_plan *p, uint32_t i, uint32_t nworkers, uint32_t slack,
	     const struct opt_hyper *hyper, struct slice_pool *pool);
/*
 * Places it in a memory at base + *at, or measures it if base is NULL, and advances *at.  With `once` both halves are
 * the same floats, for a server that nobody restarts.
 */
void	 slice_place(struct slice *s, void *base, size_t *at, bool once);
/* Takes over what m has at its place. */
void	 slice_attach(struct slice *s, const struct memory *m);
void	 slice_free(struct slice *s);

/* Sets first weights, state or average (MSG_INIT); ignored once the slice is ready.  Returns 0 or ERR_FORMAT. */
int	 slice_first(struct slice *s, const struct msg *m);
/*
 * Handles a gradient.  Returns 0, ERR_FORMAT (invalid, out of turn, or the slice is frozen; nothing changed) or
 * ERR_NOMEM.
 */
int	 slice_push(struct slice *s, const struct msg *m);
/*
 * After the header of m has arrived: returns where its gradient may be received, for slice_push() to handle next, or
 * NULL for any place.
 */
void	*slice_reserve(struct slice *s, const struct msg *m);
/* Closes the step of a full slice. */
void	 slice_update(struct slice *s, const struct norms_scale *k);
/* slice_code.c: room for encoded weights.  Returns 0 or ERR_NOMEM. */
int	 slice_alloc_coded(struct slice *s, bool sync);
/* Room for them after a change of the codec. */
int	 slice_realloc_coded(struct slice *s);
/* The codec of the weights of a half. */
struct codec slice_answer(const struct slice *s, unsigned half);
/* The weights of a half as they are sent, which all workers get; they are encoded once. */
const void *slice_coded(struct slice *s, unsigned half);
/* Computes what workers hold after the update into half `to`.  What its codec loses is part of the next update. */
void	 slice_update_worker_w(struct slice *s, unsigned to);
/* The sum of the gradients so far, or NULL. */
const float *slice_sum(const struct slice *s);
/* Copies the gradient that worker w lends, whose memory is about to end.  Returns 0 or ERR_NOMEM. */
int	 slice_keep(struct slice *s, uint32_t w);
/* Worker w left; it joins or returns. */
void	 slice_leave(struct slice *s, uint32_t w);
void	 slice_join(struct slice *s, uint32_t w);

/* The step number in an answer to worker w: the steps that the current weights include. */
uint64_t slice_step(const struct slice *s, uint32_t w);
/*
 * The current weights are sent to worker w.  Returns how many updates its last gradient was behind, or MSG_UNKNOWN if
 * that is not known, or was returned before.
 */
float	 slice_read(struct slice *s, uint32_t w);

#endif
