/*
 * slice - one slice of a model at its server: what workers push in, weights out.
 *
 * Slack 0: the pushes of a step are added in the order of ranks, whatever the
 * order in which they come (those that come early are held), divided by the
 * samples of all, and become one step of the slice's rule; a step closes when
 * every worker that has not left has pushed.  Sums begin as a copy of the first
 * push that has samples, and pushes without samples are not added, so that the
 * bits are those of one worker that adds the same pieces.  Otherwise each push is a step of its own.
 *
 * Where an update needs norms over all servers the sum waits, full, until slice_update().
 *
 * gate.clock[w] counts the pushes of worker w that were taken; a push for an
 * earlier step was taken already and changes nothing.  An answer to w is due
 * from its push until the gate opens for it.
 *
 * Threads: a slice is for one thread at a time.
 */
#ifndef PS_SERVER_SLICE_H
#define PS_SERVER_SLICE_H

#include "net/optim/opt.h"
#include "ps/stale.h"
#include "ps/norms.h"
#include "wire/msg.h"

/* Room for pushes that come before their turn: taken when first needed, used again, shared by a server's slices. */
struct slice_pool {
	size_t	count;		/* floats of the largest slice */
	void	*spare;
	float	*work;		/* for an update of the largest matrix, or NULL */
};

void	 slice_pool_free(struct slice_pool *p);

#define SLICE_W		1u	/* what is due to a worker: the weights, when the gate opens, */
#define SLICE_STATE	2u	/* the optimizer's state, */
#define SLICE_PULL	4u	/* the weights as soon as there are any, */
#define SLICE_AVERAGE	8u	/* their average, */
#define SLICE_BEFORE	16u	/* the weights one step ago */

struct slice {
	const struct shard_plan	*plan;
	const struct shard_plan_slice	*at;
	struct slice_pool	*pool;
	struct opt_hyper	 hyper;
	float			*w;		/* [count], the server's memory, ... */
	float			*m;		/* [count, states] ... and the optimizer's; NULL for aux and what is frozen */
	float			*sum;		/* [count] of the open step; of a frozen slice this and what follows are NULL */
	float			*average;	/* [count] of w, or NULL */
	uint32_t		 averaged;	/* ... of so many; 0: it is w */
	bool			 marked;	/* the open step's weights go into it */
	float			*before;	/* [count] w one step ago, for a worker that must repeat it; slack 0 only */
	bool			 ready;		/* has its first weights */
	bool			 began;		/* took a push: before is set */
	bool			 waits;		/* for norms before each update */
	bool			 full;		/* every gradient of the open step is in sum, and the update is not done */
	bool			 counted;	/* and is in the norms (the server's) */
	uint64_t		 step;		/* slack 0: updates done; else the step it began with */
	uint64_t		 updates;	/* slack other than 0: pushes that became steps, from the job's beginning */
	struct stale		 stale;
	struct slice_part	*part;		/* [nworkers] the open step's pushes */
	uint32_t		 next;		/* rank whose push is added next */
	uint64_t		 samples;	/* added so far */
	float			 rate;
	bool			 rated;		/* rate is known */
	uint8_t			*due;		/* [nworkers] SLICE_ bits */
};

/* w, m, sum, before as above; not ready yet.  Returns 0 or ERR_NOMEM. */
int	 slice_init(struct slice *s, const struct shard_plan *p, uint32_t i, uint32_t nworkers, uint32_t slack,
	     const struct opt_hyper *hyper, struct slice_pool *pool);
void	 slice_free(struct slice *s);

/* First weights, state or average (MSG_INIT); nothing changes once it is ready.  0 or ERR_FORMAT. */
int	 slice_first(struct slice *s, const struct msg *m);
/* Returns 0, ERR_FORMAT (length, samples, rate or step are wrong, or it is frozen; nothing changed) or ERR_NOMEM. */
int	 slice_push(struct slice *s, const struct msg *m);
/* Closes the step of a full slice. */
void	 slice_update(struct slice *s, const struct norms_scale *k);
/* Worker w is not waited for any more; is here (again). */
void	 slice_leave(struct slice *s, uint32_t w);
void	 slice_join(struct slice *s, uint32_t w);

/* Steps of worker w in the weights as they are: what an answer to it says. */
uint64_t slice_step(const struct slice *s, uint32_t w);

#endif
