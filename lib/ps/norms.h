/*
 * norms - the norms that an update needs, of arrays whose floats lie on several servers.
 *
 * They are exact sums of squares (net/optim/norm.h): one for all gradients, or, where the rule asks for the norms of each
 * array, two for each, of its gradient (2a) and of its weights (2a + 1).  So it does not matter which server adds what.
 *
 * With slack 0 alone.  When all slices of a server have the gradients of a step, their sum is not applied: the server
 * gives its part of the sums to every worker (NORMS), and a worker that has the parts of all servers gives their total
 * to each.  All totals are the same bits: the first one that comes is taken and the step closes; later ones change
 * nothing.  As long as one worker lives the step goes on; a worker that comes again gets the part again when it repeats
 * its push, that of the step before too, which another server may still wait for.  A server alone asks nobody.
 *
 * Threads: for one thread at a time.
 */
#ifndef PS_NORMS_H
#define PS_NORMS_H

#include "net/optim/norm.h"
#include "net/optim/opt.h"
#include "ps/shard_plan.h"

#include <stdbool.h>

/* What the norms make of an update. */
struct norms_scale {
	double	 shrink;	/* all gradients are multiplied by it */
	float	*rate;		/* [npace] and each pace's rate by its own */
};

struct norms {
	const struct shard_plan *plan;
	struct opt_hyper hyper;
	uint32_t	 n;		/* sums; 0: the rule needs none */
	bool		 each;		/* two for each array */
	struct norm	*now, *before;	/* [n] this server's part in the open step; in the one before it */
	bool		 has_before;	/* that one had samples */
	struct norm	*all;		/* [n] a worker's sums of all servers */
	uint8_t		*bytes;		/* [n * NORM_BYTES] of a message */
	uint64_t	*told;		/* [nworkers] 1 + the newest step whose part a worker was given in this life */
	uint32_t	 full;		/* slices whose gradients are in `now` */
	bool		 open;		/* all are, and other servers' parts are waited for */
	struct norms_scale scale;
};

uint32_t norms_count(const struct shard_plan *p, const struct opt_hyper *h);

int	 norms_init(struct norms *s, const struct shard_plan *p, const struct opt_hyper *h, uint32_t nworkers);	/* 0 or ERR_NOMEM */
void	 norms_free(struct norms *s);
/* Adds a slice of weights w and gradients g [count], the sum over the step's samples; NULL: there were none. */
void	 norms_add(struct norms *s, const struct shard_plan_slice *at, const float *w, const float *g);
/* The step's part is complete and becomes `before`; scale is what sums [n] over all servers make of `samples`. */
void	 norms_close(struct norms *s, const struct norm *sums, uint64_t samples);
/* Sums as a message's payload, in s->bytes; and back: false when len is not that of n sums. */
void	 norms_put(struct norms *s, const struct norm *sums);
bool	 norms_get(const void *payload, size_t len, struct norm *sums, uint32_t n);

#endif
