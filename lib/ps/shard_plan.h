/*
 * shard_plan - which server owns which floats of a model, and how they are cut into slices.
 *
 * lib/ps is the parameter server.  Read it in this order: shard_plan, hello (a job's description), stale (who may
 * step), staleness, deal (who computes which batch), norms and total (sums over workers and servers), memory (what
 * outlives a server), peer_traffic_row (rows of the log).  Options that change are in settings, and a request for
 * that in mailbox.  server/ has server_state, a state machine, and serve, its
 * event loop.  worker/ has worker_state, a state machine, worker_net, its connections, and worker, the interface for
 * training.
 *
 * The weights are cut into S * k parts of one size, of which server s of S owns those with i % S == s: part i is
 * [ceil(P*i/(S*k)), ceil(P*(i+1)/(S*k))).  k is the least number for which a part has at most `bytes`; with one server,
 * whole matrices, or factors (below), it is 1.  So all servers are busy with each layer, whose gradients come together.
 * Parts are cut into slices of at most `bytes`.  A slice is the unit of transfer: one message carries it, and servers
 * sum and answer it by itself.  The running statistics aux [A] are the last slices and belong to server 0.  Every part
 * has at least one slice of weights that is not frozen, if need be an empty one, so that every server takes part in
 * every step.  The first of them, `lead`, is server 0's.
 *
 * Frozen arrays (net/freeze.h) have slices of their own.  Workers send and receive them once, at the start of a job,
 * and they have no optimizer state.  Parts divide the floats that are not frozen evenly, L instead of P.
 *
 * If the optimizer needs whole matrices (OPT_WHOLE), servers are cut at the nearest start of an array, and each matrix
 * is a slice of its own.  Matrices are the weights of two dimensions or more, except the last one, the classifier.
 *
 * Arrays with different codecs (wire/codec.h) have slices of their own.  Matrices that are sent as factors are cut
 * between rows, into slices of up to SHARD_PLAN_MOST bytes.  Codecs are for the gradients and weights of arrays that
 * are not frozen.  First weights, statistics, optimizer state and averages are always f32.
 *
 * Weights take an optimizer step (opt_step).  Statistics are folded with the momentum of their batch norm.
 *
 * Workers and servers compute the same plan from the description of the job, so that it is never sent.
 * Threads: any number may read a finished plan.
 */
#ifndef PS_SHARD_PLAN_H
#define PS_SHARD_PLAN_H

#include "net/graph/graph.h"
#include "net/optim/opt.h"
#include "wire/codec.h"
#include "wire/msg.h"

#define SHARD_PLAN_SLICE	(512u << 10)	/* bytes of a slice of a large net: fits the cache */
#define SHARD_PLAN_LEAST	4u		/* fewest bytes of a slice */
#define SHARD_PLAN_MOST	(8u << 20)		/* bytes of a slice; OPT_STATES times as much fit a message */
#define SHARD_PLAN_MATRIX	(16u << 20)	/* most bytes of a matrix that is a slice; its state is no larger */
#define SHARD_PLAN_SERVERS	4096u		/* most servers of a job */
#define SHARD_PLAN_SLICES	(1u << 20)	/* most slices */

enum shard_plan_kind { SHARD_PLAN_WEIGHTS, SHARD_PLAN_AUX };

struct shard_plan_slice {
	enum shard_plan_kind	kind;
	uint32_t	owner;		/* server */
	size_t		first, count;	/* floats of w or of aux */
	bool		frozen;
	uint32_t	rows;		/* rows of the matrix that this slice is; 0: it is not a matrix */
	struct codec	codec;		/* codec of its gradients in messages */
};

/* A range of aux with one momentum; the ranges are adjacent and cover [0, A). */
struct shard_plan_fold {
	size_t	first, count;
	float	momentum;
};

/*
 * A parameter group: a range of w whose arrays have the same multipliers.  The ranges are adjacent and cover [0, P).
 * Each array is a group of its own if the optimizer treats arrays separately (OPT_NORMS, OPT_WHOLE).
 */
struct shard_plan_group {
	size_t	first, count;
	float	lr, wd;		/* multipliers of the learning rate and the decay */
	uint32_t rows;		/* first dimension if the group is one array with at least two dimensions, else 0 */
};

struct shard_plan {
	struct shard_plan_slice *slice;
	uint32_t	   n;		/* number of slices */
	uint32_t	   nweights;	/* slices of weights, which come first, by `first` */
	uint32_t	   lead;	/* the first slice that is not frozen */
	uint32_t	   nservers;
	struct shard_plan_fold  *fold;	/* by first */
	uint32_t	   nfold;
	struct shard_plan_group  *group;	/* by first */
	uint32_t	   ngroup;
	size_t		   P, A;
	struct codec	  *codec;	/* [arrays] codec of each learned array */
};

/*
 * Makes a plan.  Only the rule of h is read; NULL is sgd.  bytes is rounded down to whole floats.  mults is NULL, ""
 * or rules separated by semicolons: lr:PATTERN=X multiplies the rate of the arrays whose names match (fnmatch(3)),
 * wd:PATTERN=X the decay; all rules for an array count.  codec:PATTERN=NAME sets the codec; the last rule for an array
 * counts, and without one it is f32.  The caller has applied freeze_rules() to g.  Returns 0,
 * ERR_ARG (an invalid rule, or one that matches no array), ERR_LIMIT (also for a matrix that is too large) or
 * ERR_NOMEM.
 */
int	 shard_plan_new(const struct graph *g, uint32_t nservers, uint32_t bytes, const char *mults,
    const struct opt_hyper *h,
	     struct shard_plan **p);
/*
 * The bytes of a slice that suit P weights on nservers: a server has several, which are sent as soon as their gradients
 * are complete, but not so many that their messages cost more.  SHARD_PLAN_SLICE without servers.
 */
uint32_t shard_plan_usual_slice(size_t P, uint32_t nservers);
void	 shard_plan_free(struct shard_plan *p);	/* NULL does nothing */
/* Whether rules (NULL: none) set codecs that round, so that workers need residuals. */
bool	 shard_plan_coded(const char *mults);
/*
 * Whether the codec may change while the job runs (ps/settings.h): rules set one, maybe f32, and each is f32, bf16 or
 * fp16.
 */
bool	 shard_plan_recodes(const char *mults);
/*
 * The codec of a slice's weights in messages.  Only in a synchronous job do all workers hold the same weights, so that
 * servers can send updates of them: in any other one it is bf16 if codec_updates().
 */
struct codec shard_plan_answer(const struct shard_plan_slice *s, bool sync);
/* The codec of the gradient or the weights of a slice that m carries. */
struct codec shard_plan_codec(const struct shard_plan_slice *s, const struct msg *m, bool sync);
/* The flags of a message that carries codec `now` where the plan has another one. */
uint16_t shard_plan_codec_flags(struct codec plan, struct codec now);
/* The codec of a gradient, or of weights, that m carries; f32 for any other message. */
enum codec_kind shard_plan_carried(const struct shard_plan *p, const struct msg *m, bool sync);
/* The bytes of a slice's gradient in a message, with the codec of the plan. */
size_t	 shard_plan_bytes(const struct shard_plan_slice *s);

/* Sets [*from, *to) to the slices of weights that overlap [first, first + count); count > 0. */
void	 shard_plan_over(const struct shard_plan *p, size_t first, size_t count, uint32_t *from, uint32_t *to);

#endif
