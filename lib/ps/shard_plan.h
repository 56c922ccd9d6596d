/*
 * shard_plan - who owns which floats of a model: slices, a function of (graph, servers, slice size, optimizer).
 *
 * Server s of S owns the range [ceil(P*s/S), ceil(P*(s+1)/S)) of the weights,
 * cut into slices of at most `bytes`; the running statistics aux [A] are the
 * last slices and server 0's.  A slice is what one message carries, what is
 * summed and answered for itself.  Every server has a slice of weights that is
 * not frozen, if need be an empty one, so that every server sees every step; the
 * first of them, `lead`, is server 0's.
 *
 * Arrays that are frozen (net/freeze.h) have slices of their own, which move once,
 * at the start of a job: they are neither pushed nor pulled after it, have no
 * state, and a server owns them without work; what is shared out evenly is the
 * rest, L floats instead of P.
 *
 * Where the optimizer must see matrices as a whole (OPT_WHOLE), servers are cut at the array that begins nearest to that
 * place, and a matrix, the weights of two dimensions or more but for the last, the classifier's, is a slice of its own.
 *
 * The rule of a slice: weights take an optimizer step (opt_step), aux is folded
 * (opt_fold) with the momentum of the batch norm whose statistics it holds.
 * Multipliers of the rate and of the decay belong to learned arrays by name.
 *
 * Both sides make the plan from the same description of the job, so it is never sent.
 * Threads: a finished plan may be read by any number.
 */
#ifndef PS_SHARD_PLAN_H
#define PS_SHARD_PLAN_H

#include "net/graph/graph.h"
#include "net/optim/opt.h"

#define SHARD_PLAN_SLICE	(512u << 10)	/* bytes of a slice unless something else is asked for: in cache, and early */
#define SHARD_PLAN_LEAST	4u		/* fewest and most bytes of a slice; the most fits a message, ... */
#define SHARD_PLAN_MOST	(8u << 20)	/* ... and so does its state, OPT_STATES times that */
#define SHARD_PLAN_MATRIX	(16u << 20)	/* most bytes of a matrix that is a slice; its state is no larger */
#define SHARD_PLAN_SERVERS	4096u		/* most servers of a job */
#define SHARD_PLAN_SLICES	(1u << 20)	/* most slices */

enum shard_plan_kind { SHARD_PLAN_WEIGHTS, SHARD_PLAN_AUX };

struct shard_plan_slice {
	enum shard_plan_kind	kind;
	uint32_t	owner;		/* server */
	size_t		first, count;	/* floats of w or of aux */
	bool		frozen;
	uint32_t	rows;		/* of the matrix that this is for the optimizer; 0: it is none */
};

/* A range of aux that is folded with one momentum; ranges join and cover [0, A). */
struct shard_plan_fold {
	size_t	first, count;
	float	momentum;
};

/*
 * A range of w whose arrays have the same multipliers; ranges join and cover [0, P).  Each array has its own where the
 * optimizer tells arrays apart (OPT_NORMS, OPT_WHOLE).
 */
struct shard_plan_group {
	size_t	first, count;
	float	lr, wd;
	uint32_t rows;		/* of one array: its first dimension, if it has more; else 0 */
};

struct shard_plan {
	struct shard_plan_slice *slice;
	uint32_t	   n;		/* slices, */
	uint32_t	   nweights;	/* of which the first so many are of weights, by first */
	uint32_t	   lead;	/* the first slice that is not frozen */
	uint32_t	   nservers;
	struct shard_plan_fold  *fold;	/* by first */
	uint32_t	   nfold;
	struct shard_plan_group  *group;	/* by first */
	uint32_t	   ngroup;
	size_t		   P, A;
};

/*
 * Of h the rule is read, NULL is sgd.  bytes is rounded down to whole floats.  mults is NULL, "" or rules with semicolons
 * between: lr:PATTERN=X multiplies the rate of the arrays whose names match (fnmatch(3)), wd:PATTERN=X the decay; of
 * several rules for an array all count.  Those of net/freeze.h must have marked g before.
 * Returns 0, ERR_ARG (a rule that is none, or that matches no array), ERR_LIMIT (also a matrix too large to be a slice)
 * or ERR_NOMEM.
 */
int	 shard_plan_new(const struct graph *g, uint32_t nservers, uint32_t bytes, const char *mults, const struct opt_hyper *h,
	     struct shard_plan **p);
void	 shard_plan_free(struct shard_plan *p);	/* NULL is fine */

/* The slices of weights that share floats with [first, first + count): [*from, *to); count > 0. */
void	 shard_plan_over(const struct shard_plan *p, size_t first, size_t count, uint32_t *from, uint32_t *to);

#endif
