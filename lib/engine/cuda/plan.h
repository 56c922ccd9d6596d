/*
 * plan - a graph as a list of steps over one piece of the GPU's memory; what the files of this module share.
 *
 * A plan is made once, without a call of the GPU: plan.c walks the graph and
 * writes down the steps of a pass forward, plan_back.c those of a pass backward,
 * arena.c gives each buffer a place for the steps in which it is alive.  set.c
 * then asks the libraries for the products and convolutions of one batch size, and
 * run.c enqueues the steps, which are recorded and from then on played again.
 *
 * What keeps the passes short:
 *  - a concatenation is one buffer; its inputs write their window of it, and
 *    their gradients are windows of its gradient;
 *  - ReLU is part of the batch norm, bias or sum before it, and a sum of two of the batch norm or convolution that it
 *    reads; bias, sum and ReLU are part of the convolution where the library has a kernel for that.  A net with a batch
 *    norm between convolution and sum (resnet of torchvision) has such sums in evaluation alone, one without (resnet
 *    with batch norm in front, nets without any) in training too;
 *  - in evaluation a batch norm is part of the convolution that it alone reads: its weights are multiplied by gamma /
 *    sqrt(var + eps) in f32 and then rounded, once after weights or statistics have changed;
 *  - a gradient that comes from several layers stays several views until somebody reads it.
 *
 * Pictures lie as kernel.h has it, in the plan's type; weights [K, R S, C] in the
 * same type; what the optimizer reads and what a caller sees is f32.
 */
#ifndef ENGINE_CUDA_PLAN_H
#define ENGINE_CUDA_PLAN_H

#include "engine/cuda/device/blas.h"
#include "engine/cuda/device/dnn.h"
#include "engine/cuda/kernel/kernel.h"
#include "engine/memplan.h"

#include <assert.h>

#define PLAN_SETS	4	/* batch sizes whose kernels are kept, the full one counted */
#define PLAN_SLICES	8	/* pieces in which a pass backward hands over gradients, at most */
#define PLAN_NONE	UINT32_MAX

/* What is recorded of a batch size: slices of the pass backward behind the rest. */
enum plan_tape { PLAN_WEIGHTS, PLAN_FOLDED, PLAN_TRAIN, PLAN_TRAIN_PIXELS, PLAN_EVAL, PLAN_EVAL_PIXELS, PLAN_FIRST,
    PLAN_MORE, PLAN_UPDATE,
	PLAN_BACK };
#define PLAN_TAPES	(PLAN_BACK + PLAN_SLICES)

/* What of the weights the kernels have: those that learn, those with batch norms in them, or neither. */
enum plan_weights { PLAN_PLAIN, PLAN_FOLD, PLAN_STALE };

/* Pictures [n, h, w, c] in a buffer; c 0: none. */
struct plan_view {
	uint32_t buf;
	uint32_t c, h, w, ld;
	uint32_t first;		/* numbers from the buffer's start: the first channel */
};

enum plan_kind {
	PLAN_INPUT,		/* y of the batch */
	PLAN_MUL,		/* y = conv or fc of x, both dense */
	PLAN_MUL_WEIGHT,	/* the gradient of its weight from x and dy, both dense */
	PLAN_MUL_DATA,		/* dx of dy */
	/* y = x + bias, when the node has one, plus part when there is one, and ReLU when relu */
	PLAN_BIAS,
	PLAN_BIAS_BACK,		/* the gradient of the bias: sums of dy */
	PLAN_RELU_BACK,		/* dx = dy where y > 0 */
	PLAN_BN,		/* y = batch norm of x, plus part when there is one, and ReLU when relu */
	PLAN_BN_BACK,
	PLAN_ACT, PLAN_ACT_BACK,
	PLAN_DROP,		/* y = x masked; also dx of dy */
	PLAN_POOL, PLAN_POOL_BACK,
	PLAN_LRN, PLAN_LRN_BACK,
	PLAN_PAD, PLAN_PAD_BACK,
	PLAN_COPY,		/* y = x */
	PLAN_TURN,		/* y [n, c h w] in the order of c, h, w from x in that of h, w, c, both dense */
	PLAN_TURN_BACK,		/* dx of dy */
	PLAN_ADD,		/* y = the sum of part, and ReLU when relu */
	PLAN_TIMES,		/* y = the product of part */
	PLAN_LOSS, PLAN_LOSS_BACK
};

struct plan_step {
	enum plan_kind	 kind;
	uint32_t	 node;
	bool		 relu;
	bool		 constant;	/* a frozen batch norm: statistics are the running ones */
	struct plan_view x, y, dy, dx;
	struct plan_view part[KERNEL_PARTS];
	uint32_t	 parts;
	uint32_t	 keep;	/* buffer of 4 bytes an output: a maximum's place, an LRN's size; or PLAN_NONE */
	/*
	 * PLAN_BN: the convolution, of mul, that does its work in evaluation, and what that reads;
	 * PLAN_NONE: there is none.
	 */
	uint32_t	 folds;
	struct plan_view before;
};

/* A conv or fc layer; views as in its steps, all dense. */
struct plan_mul {
	uint32_t	 node;
	struct plan_view x, y, dy, dx;	/* dx.c 0: not wanted */
	size_t		 held;		/* bytes into kept: the weight as the kernels want it */
	size_t		 weight_bytes;	/* of it, and of its gradient */
	bool		 learns;	/* its weight does */
	bool		 fuses, relu;	/* a convolution that may do itself what the PLAN_BIAS behind it does */
	struct plan_view more;		/* what that adds; c 0: nothing */
	uint32_t	 bn;		/* the PLAN_BN that it does the work of in evaluation, or PLAN_NONE; */
	size_t		 bias;		/* then bytes into kept: f32 [2, k], its bias and the factor of its weights */
	size_t		 added;		/* bytes into kept: its bias [k] in the plan's type, where that is not f32 */
};

/* What is planned for a node's output. */
struct plan_node {
	struct plan_view  y;
	uint32_t	  readers, reader;	/* how many; the last one */
	bool		  fused;	/* a ReLU that is part of the step before it */
	bool		  wants;	/* a gradient: something learned stands at or below it */
	struct plan_view *part;		/* [readers] its gradient's parts */
	uint32_t	  parts;
	uint32_t	  keep;
	uint32_t	  state;	/* conv, fc: index into mul; bn, dropout: number among those */
};

/* Bytes into kept: the GPU's memory for all of a plan's life. */
struct plan_kept {
	size_t w, g, aux, stats;	/* f32 [P], [P], [A], [A] */
	size_t bn;			/* f32 [lanes][5]: kernel_bn's three, dbeta, dgamma */
	size_t label, loss, before, prob;	/* [batch]; prob f32 [batch, classes] */
	size_t key;			/* u32 [drops, batch] */
	size_t norm, place, scale;	/* kernel_norm; kernel_place [batch]; f32 scale, 1 / scale */
	size_t bad;			/* u32 */
	size_t small, small_bytes;	/* label, key, norm, place, scale side by side: what goes up in one copy */
	size_t mean, batch;		/* f32 [c,h,w]; the batch as it comes */
	size_t all;
};

/* The kernels of one batch size. */
struct plan_set {
	uint32_t	   n;		/* 0: none yet */
	uint64_t	   used;	/* when, for the choice of which to drop */
	struct dnn	 **dnn;		/* [nmul][3] by direction; NULL for an fc */
	struct blas	 **blas;	/* [nmul][3]; NULL for a conv */
	bool		  *fused;	/* [nmul] a convolution that does what its PLAN_BIAS would */
	/* [nmul] a convolution that does what the batch norm behind it would, in evaluation */
	struct dnn	 **eval;
	bool		   evals;	/* those were asked for */
	struct device_tape *tape[PLAN_TAPES];
	uint8_t		   seen[PLAN_TAPES];	/* times that it was enqueued, up to 2 */
};

struct engine_dev {
	const struct engine *via;	/* first: see cuda.c */
	const struct cuda_host *host;
	struct device	   *d;
	struct join	   *join;	/* the group it is one of, and which; or NULL: join.h */
	uint32_t	    rank;
	uint8_t		   *pictures;	/* that it holds, on the GPU; or NULL */
	struct engine_tune  tune;
};

struct engine_plan {
	const struct engine *via;	/* first */
	struct engine_dev  *dev;
	const struct graph *graph;
	uint32_t	    batch;
	int		    type;	/* enum kernel_type */
	bool		    tf32, any_order;
	struct plan_step   *step;
	uint32_t	    nstep, most_steps, nforward;	/* the first nforward are the pass forward */
	struct memplan_buf  *buf;
	uint32_t	    nbuf, most_bufs;
	struct plan_mul	   *mul;
	uint32_t	    nmul, ndrop;
	uint32_t	    lanes;	/* channels of all batch norms */
	struct plan_node   *node;	/* [graph->n] */
	struct plan_kept    kept;
	/* slice k of the pass backward: steps [slice[k], slice[k + 1]) */
	uint32_t	    slice[PLAN_SLICES + 1], nslice;
	size_t		    arena_bytes, sums_bytes, weight_bytes, scratch_bytes;
	/* The GPU's memory. */
	char		   *arena, *held, *scratch;	/* buffers; kept; sums, a weight's gradient, the libraries' */
	/* The host's, pinned. */
	char		   *up, *down;
	size_t		    up_mean, up_batch, up_w;	/* bytes into up, behind what kept.small holds */
	size_t		    down_g, down_stats, down_prob, down_loss, down_before, down_bad;	/* bytes into down */
	struct device_mark *born[PLAN_SLICES], *ready[PLAN_SLICES];	/* a slice's gradients are made, are here */
	/*
	 * Pictures have two places, in up_batch and in kept.batch alike; numbers, which go ahead of nothing, take both.
	 * came: what goes to a place is there; coming: it may not be.
	 */
	struct device_mark *came[2];
	bool		    coming[2];
	uint32_t	    slot;	/* the place of the batch forward() or evaluate() saw last */
	struct samples	    next;	/* what ahead() told; pixel NULL: nothing of use ... */
	bool		    boarded;	/* the pixels of the next batch went to the other buffer */
	struct watch	   *watch;	/* watch.h, or NULL */
	struct plan_set	    set[PLAN_SETS];	/* the first is the full batch */
	uint64_t	    clock;
	bool		   *dirty;	/* [nw] array in up, not on the GPU yet */
	enum plan_weights   weights;
	bool		    any_dirty, flying;	/* flying: copies up from `up` may be under way */
	struct learn	   *learn;	/* the optimizer, or NULL */
	struct engine_draw  draw;
	uint32_t	    n;		/* of the batch forward() saw last; 0: none to go backward from */
	bool		    pixels;	/* it came as pixels */
};

static inline bool
plan_dense(const struct plan_view *v)
{
	return v->ld == v->c;
}

/* Is learned array a, -1 for none, one that learns? */
static inline bool
plan_learns(const struct graph *g, int32_t a)
{
	return a >= 0 && !g->w[a].frozen;
}

/* Does batch norm i stay as it is? */
static inline bool
plan_frozen(const struct graph *g, uint32_t i)
{
	return !plan_learns(g, g->node[i].gamma) && !plan_learns(g, g->node[i].beta);
}

/* plan.c.  The steps of a graph; returns 0, ERR_NOTSUP, ERR_LIMIT or ERR_NOMEM, naming the layer. */
int	 plan_make(struct engine_plan *p);
void	 plan_clear(struct engine_plan *p);	/* frees what plan_make() took */
/*
 * For plan_back.c: a new step, zeroed but for kind and node; a new dense buffer; x, or a step's
 * copy of it that is dense.
 */
struct plan_step *plan_add(struct engine_plan *p, enum plan_kind kind, uint32_t node);
int	 plan_buffer(struct engine_plan *p, uint32_t c, uint32_t h, uint32_t w, struct plan_view *v);
int	 plan_make_dense(struct engine_plan *p, uint32_t node, struct plan_view *v);
int	 plan_nomem(const struct engine_plan *p);

/* plan_back.c.  The steps backward. */
int	 plan_back(struct engine_plan *p);

/* arena.c.  Places for buffers and for what is kept; nothing of it asks the GPU.  Returns 0, ERR_NOMEM or ERR_LIMIT. */
int	 arena_place(struct engine_plan *p);
/* The buffers of a step: calls each for those it has. */
void	 arena_views(const struct plan_step *s, void (*each)(void *arg, const struct plan_view *v), void *arg);

/*
 * set.c. The kernels of n samples, on this thread's device from then on. Returns 0, ERR_NOTSUP,
 * ERR_NOMEM or ERR_SYS.
 */
int	 set_get(struct engine_plan *p, uint32_t n, struct plan_set **set);
/* Before its first evaluation: the kernels with batch norms in them.  Returns likewise. */
int	 set_evaluates(struct engine_plan *p, struct plan_set *set);
void	 set_free(struct engine_plan *p, struct plan_set *set);	/* NULL-filled is fine */

/* run.c.  Enqueues steps [from, to) for the set's batch; train: batch norm by this batch, dropout on. */
int	 run_steps(struct engine_plan *p, const struct plan_set *set, uint32_t from, uint32_t to, bool train,
    bool pixels);
/* The weights from f32 as they came to what the kernels want; fold: with batch norms in them. */
int	 run_weights(struct engine_plan *p, bool fold);
/* Where mul i's bias is, f32 [k], for its kernels; NULL: it has none. */
float	*run_bias(const struct engine_plan *p, uint32_t i);
/*
 * The same in the plan's type, for convolutions that add it themselves: a bias of pictures' own type is what cuDNN has
 * ready kernels for, and for one of f32 it compiles one, half a second each.
 */
void	*run_added(const struct engine_plan *p, uint32_t i);
void	*run_weight(const struct engine_plan *p);	/* where a weight's gradient lies until it is turned */
struct kernel_view run_view(const struct engine_plan *p, const struct plan_view *v);
const float *run_unscale(const struct engine_plan *p);	/* 1 / scale on the GPU, or NULL when that is 1 */

/* pass.c: as struct engine has them. */
int	 pass_load(struct engine_plan *p, uint32_t a, const float *w);
int	 pass_load_aux(struct engine_plan *p, const float *aux);
int	 pass_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
	     const struct engine_hook *hook, struct engine_result *result);
void	 pass_prefetch(struct engine_plan *p, const struct samples *s);
int	 pass_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *result, float *prob);
int	 pass_statistics(struct engine_plan *p, float *stats);
/* pass_back.c: as struct engine has it. */
int	 pass_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook);
/* The range of g that slice k makes final: layers come from the last to the first, and arrays lie in their order. */
void	 pass_slice(const struct engine_plan *p, uint32_t k, size_t *first, size_t *end);
/*
 * Enqueues on DEVICE_COPY slice k's way down, if its gradients are wanted, the statistics' with the
 * last, and its mark.
 */
int	 pass_down(struct engine_plan *p, uint32_t k, bool gradients);
/* pass.c: enqueues steps, or plays what was recorded of them.  up(): the numbers of `small` to the GPU. */
int	 pass_play(struct engine_plan *p, struct plan_set *set, uint32_t tape);
int	 pass_up_small(struct engine_plan *p);
int	 pass_board(struct engine_plan *p);	/* the pixels of the next batch set out, if it is known */
/* Weights that were loaded, and as the kernels want them; PLAN_PLAIN or PLAN_FOLD. */
int	 pass_weights(struct engine_plan *p, struct plan_set *set, enum plan_weights as);
void	*pass_small(const struct engine_plan *p, size_t kept);	/* where in `up` a part of kept.small stands */

/* learn.c: as struct engine has them; learn_free(): NULL is fine. */
int	 learn_begin(struct engine_plan *p, const struct engine_opt *how);
int	 learn_advance(struct engine_plan *p, uint64_t n, float rate, uint64_t t, bool mark);
int	 learn_show(struct engine_plan *p, bool average);
int	 learn_fetch(struct engine_plan *p, float *w, float *aux, float *state, float *average, uint32_t *averaged);
void	 learn_free(struct engine_plan *p);
int	 learn_update(struct engine_dev *dev, float *w, float *state, const float *g, size_t count, double n,
	     const struct opt_hyper *hyper);
/* Behind a pass backward whose gradients stay: they are added to those of the pieces before. */
int	 learn_piece(struct engine_plan *p, struct plan_set *set);
/* Enqueues: of n samples, adding; the update. */
int	 learn_gather(struct engine_plan *p, uint32_t n, bool first);
int	 learn_steps(struct engine_plan *p);
/*
 * Asks for the word whether gradients were numbers, in front of a wait; and behind it reads the
 * word: 0 or ERR_FORMAT.
 */
int	 learn_ask(struct engine_plan *p);
int	 learn_judge(struct engine_plan *p);

/* run_bn.c */
int	 run_bn(struct engine_plan *p, const struct plan_step *s, const struct plan_set *set, bool train);
int	 run_bn_fold(struct engine_plan *p, const struct plan_step *s);
int	 run_bn_back(struct engine_plan *p, const struct plan_step *s, uint32_t n);
/* Sums over pixels of dy, times 1 / scale, into f32 [c]. */
int	 run_columns(struct engine_plan *p, const struct plan_view *dy, uint32_t n, float *to);
/* Bytes of scratch that either takes for c channels of m pixels. */
size_t	 run_bn_scratch(uint32_t m, uint32_t c);

#endif
