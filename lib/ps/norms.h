/*
 * norms - the norms that an update needs, of arrays whose floats are spread over several servers.
 *
 * A norm is an exact sum of squares (net/optim/norm.h), so that the result does not depend on which server adds what.
 * There is one sum over all gradients; if the optimizer needs norms of each array, there are two for each array a: of
 * its gradient (2a) and of its weights (2a + 1).
 *
 * Only synchronous jobs have norms.  When all slices of a server have the gradients of a step, the server does not
 * apply them yet.  It sends its part of the sums to every worker (NORMS).  A worker that has the parts of all servers
 * sends the total to each server.  All totals are the same bits: a server takes the first one and closes the step, and
 * drops the rest.  The step goes on as long as one worker lives.  A worker that returns and repeats its push gets the
 * part again, also that of the step before, for which another server may still wait.  A worker that gets a part again
 * sends the total again to that server.  A single server sends nothing.
 *
 * A server keeps its part and the total in its memory before it closes a step, as its slices close one after the
 * other: if it is restarted meanwhile, the others close with the same total.
 *
 * Threads: one thread at a time.
 */
#ifndef PS_NORMS_H
#define PS_NORMS_H

#include "net/optim/norm.h"
#include "net/optim/opt.h"
#include "ps/memory.h"
#include "ps/shard_plan.h"

#include <stdbool.h>

/* Factors of an update that follow from the norms. */
struct norms_scale {
	double	 shrink;	/* factor of all gradients */
	float	*rate;		/* [ngroup] factor of each parameter group's learning rate */
};

/* The norms of the last step that was closed. */
struct norms_kept {
	struct memory_word word;
	struct {
		uint64_t step, samples;
	} record[2];
	struct norm	 sum[];		/* [2, 2, n] part and total of each half */
};

struct norms {
	const struct memory *memory;
	struct norms_kept *kept;	/* records in the memory */
	const struct shard_plan *plan;
	struct opt_hyper hyper;
	uint32_t	 n;		/* number of sums; 0: the optimizer needs none */
	bool		 each;		/* there are two sums for each array */
	struct norm	*now, *before;	/* [n] this server's part of the open step, and of the step before */
	uint64_t	 before_step;	/* step of `before` */
	bool		 has_before;	/* the step before had samples */
	struct norm	*all;		/* [n] buffer for the total that a worker sends */
	uint8_t		*bytes;		/* [n * NORM_BYTES] buffer for a message */
	/* [nworkers] 1 + the newest step whose part was sent to this incarnation of a worker */
	uint64_t	*sent;
	uint32_t	 full;		/* slices whose gradients are in `now` */
	bool		 open;		/* all slices are, and the total is awaited */
	struct norms_scale scale;
};

/* The number of sums that an optimizer needs. */
uint32_t norms_count(const struct shard_plan *p, const struct opt_hyper *h);

/* Returns 0 or ERR_NOMEM. */
int	 norms_init(struct norms *s, const struct shard_plan *p, const struct opt_hyper *h, uint32_t nworkers);
void	 norms_free(struct norms *s);
/* Bytes of struct norms_kept. */
size_t	 norms_kept_size(const struct norms *s);
/* Keeps norms in m from now on, and takes over those that are there.  Returns whether there are any. */
bool	 norms_attach(struct norms *s, const struct memory *m, struct norms_kept *kept);
/* Adds a slice of weights w and gradients g [count], summed over the step's samples; g is NULL if there were none. */
void	 norms_add(struct norms *s, const struct shard_plan_slice *at, const float *w, const float *g);
/* Closes a step of `samples` samples: computes scale from sums [n] over all servers, and moves `now` to `before`. */
void	 norms_close(struct norms *s, uint64_t step, const struct norm *sums, uint64_t samples);
/* Writes sums as a message's payload to s->bytes. */
void	 norms_put(struct norms *s, const struct norm *sums);
/* Reads n sums from a payload.  Returns false if len is not that of n sums. */
bool	 norms_get(const void *payload, size_t len, struct norm *sums, uint32_t n);

#endif
