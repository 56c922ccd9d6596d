/*
 * cpu - the engine of processors: a graph as a list of steps over one block of memory.
 *
 * lib/engine/cpu computes on processors, and this header is shared by its files.  cpu_plan.c walks the graph once, asks
 * oneDNN (dnnl.h) for layouts, and lists the steps of the forward and the backward pass.  cpu_arena.c places each
 * buffer in memory for the steps in which it is alive.  cpu_pass.c runs the steps.  cpu_conv.h passes convolutions on
 * to a library or to kernels of our own, wino.h, point.h and amx.h; those of small maps become products by cpu_dense.h.
 * The other files have kernels of our own, too, which work on views of buffers.  bn_unit.h, bn_bf16.h and
 * bn_join.h have the inner loops of batch norm, cpu_pool_in.h the windows of pooling, cpu_pool_bf16.h its maximum in
 * bf16, and cpu_vec.h the vectors of most kernels.
 *
 * What makes the passes fast:
 *  - a concatenation is one buffer; its inputs are written into it, and their gradients are read out of it, with a
 *    stride;
 *  - a gradient with two contributions stays two views, which its reader adds; a batch norm adds the contribution that
 *    is there already to its own;
 *  - all inputs of a sum share one view of its gradient;
 *  - batch norm and ReLU, or in bf16 gelu, are one pass, whose backward pass overwrites its input;
 *  - a sum and ReLU are one pass, or part of a 1x1 convolution that computes one of the two parts;
 *  - ReLU after a convolution is part of the convolution;
 *  - in bf16 a 2x2 max pool after a convolution by Winograd's algorithm is part of it, and its input is never stored;
 *  - batch norm, 1x1 convolutions and gradients of pooling in f32, and batch norm, sums and gradients of 2x2 max
 *    pooling in bf16, write large outputs with non-temporal stores, so that the cache does not read the lines first;
 *  - in evaluation a batch norm after a convolution, and its ReLU, are part of the convolution, with the same bits
 *    in f32; a batch norm that computes gelu is not;
 *  - a monotonic activation before a max pool runs after it, on fewer values: max f(x) = f(max x).
 *
 * Layouts: as in dnnl.h.  A bf16 plan stores outputs and their gradients in bf16 with channels last, and input data,
 * scores and probabilities in f32.  Its kernels are those of f32, by cpu_vec.h, but max pooling has others, and so
 * have batch norm and sums where the processor computes with bf16.  The inputs of a bf16 concatenation are written and
 * read with a stride from pixel to pixel.  The lanes after the last channel of a block are zero in every buffer, and
 * every kernel keeps them zero.
 *
 * A unit is one sample's block of channels.  Threads share units by share.h, or in equal parts, and kernels add in an
 * order that depends neither on the number of threads nor on which thread takes what.
 */
#ifndef ENGINE_CPU_CPU_H
#define ENGINE_CPU_CPU_H

#include "engine/cpu/bn/bn_unit.h"
#include "engine/cpu/cpu_conv.h"
#include "engine/engine.h"
#include "engine/memplan.h"

#include <assert.h>

#define CPU_PARTS	2	/* the most views whose sum is a gradient */
#define CPU_SETS	4	/* batch sizes whose kernels are kept, including the full one */

/* Activations [n, c, h, w] in the arena. */
struct cpu_view {
	void	*p;		/* set when the buffers have their places */
	uint32_t buf;		/* index into plan->buf */
	size_t	 at;		/* elements from the buffer's start */
	size_t	 step;		/* elements from one sample to the next */
	size_t	 pitch;		/* elements from one pixel to the next */
	uint32_t c, h, w;
	uint32_t block;		/* adjacent channels of a pixel: 1, 8 or 16; or c */
	bool	 bf16;		/* else f32 */
	bool	 shared;	/* a gradient with other readers, which must not be overwritten */
};

enum cpu_kind {
	CPU_CONV,		/* y = conv or fc of x */
	CPU_CONV_BACK,		/* the gradients of its arrays, and dx unless no_dx */
	CPU_BN,			/* y = act(bn(x)) */
	CPU_BN_BACK,
	CPU_ACT,
	CPU_ACT_BACK,
	CPU_POOL,
	CPU_POOL_BACK,
	CPU_LOSS,		/* y = softmax(x) and the loss */
	CPU_LOSS_BACK,		/* y = y - onehot */
	CPU_COPY,		/* channels of x from x_first on into y from y_first on; layouts may differ */
	CPU_SUM,		/* y = the sum of dy, then ReLU if act is BN_RELU; never BN_GELU */
	CPU_PRODUCT,		/* y = the product of dy */
	CPU_PAD,
	CPU_PAD_BACK,
	CPU_LRN,
	CPU_LRN_BACK,
	CPU_DROP,		/* y = x masked */
	CPU_DROP_BACK		/* dx = dy masked */
};

struct cpu_step {
	enum cpu_kind	kind;
	uint32_t	node;
	uint32_t	state;		/* index into plan->conv, ->bn or ->pool */
	enum bn_act	act;		/* CPU_BN, CPU_BN_BACK and CPU_SUM */
	bool		no_dx;		/* the step computes no dx */
	bool		frozen;		/* nor gradients of its arrays; a batch norm's statistics are constants */
	struct cpu_view x, y, dx;
	struct cpu_view dy[CPU_PARTS];
	struct cpu_view plus;		/* what CPU_CONV adds to y, and CPU_BN_BACK to dx; c 0: nothing */
	uint32_t	ndy;
	uint32_t	x_first, y_first, count;	/* CPU_COPY */
};

/* A convolution or fully connected layer. */
struct cpu_conv_layer {
	uint32_t	  node;
	struct dnnl_shape shape;	/* n is the full batch */
	void		 *packed;
	float		 *bias, *dbias;
	float		 *loaded;	/* the weights as loaded, if some batch norm's .beta_conv this is; else NULL */
	struct cpu_view	  x, y, dx, dy;
	struct cpu_view	  plus;		/* shape.plus: what the forward pass adds to y */
	int32_t		  pool;		/* shape.pooled: the index of the max pool whose output y is; else -1 */
	/* Evaluation may compute a batch norm in the same kernel: its index, its output, and whether ReLU follows. */
	int32_t		  bn;		/* -1: none */
	struct cpu_view	  bn_y;
	bool		  bn_relu;
};

/* A batch norm.  Its arrays have one float for each channel, and zeros up to a whole block. */
struct cpu_bn {
	uint32_t node;
	int32_t	 conv;		/* the convolution whose .bn this is, or -1 */
	int32_t	 beta_conv;	/* the convolution from whose dy beta's gradient comes (cpu_beta.c), or -1 */
	size_t	 lanes;		/* floats of an array */
	float	*gamma, *beta;
	float	*mean, *var;	/* moments of the last batch of forward() */
	float	*scale, *shift;	/* y = scale * x + shift */
	float	*dgamma, *dbeta;
	float	*k1, *k0;	/* dx = scale * dy + k1 * (x - mean) + k0 */
};

/* The index in its window of each output's maximum; no bytes for averages. */
struct cpu_pool {
	uint32_t buf;		/* u16, in the layout of y */
	uint16_t *argmax;
};

/* The kernels of one batch size. */
struct cpu_set {
	uint32_t	  n;	/* 0: none yet */
	uint64_t	  used;	/* plan->clock of the last use; the least recently used set is dropped */
	struct cpu_conv **conv;	/* [nconv] */
	struct cpu_conv **folded;	/* [nconv] kernels of evaluation with a batch norm; NULL: as in training */
	bool		  evaluates;	/* folded is made */
};

struct engine_dev {
	struct dnnl_dev *dnnl;
	unsigned	 threads;
};

struct engine_plan {
	struct engine_dev  *dev;
	const struct graph *graph;
	uint32_t	    batch;
	bool		    bf16;
	struct cpu_step	   *step;
	uint32_t	    nstep, nforward;	/* the first nforward steps are the forward pass */
	struct memplan_buf *buf;
	uint32_t	    nbuf;
	struct cpu_conv_layer *conv;
	uint32_t	    nconv;
	struct cpu_bn	   *bn;
	uint32_t	    nbn;
	struct cpu_pool	   *pool;
	uint32_t	    npool;
	uint32_t	   *state;	/* [graph->n] index into conv, bn or pool */
	struct cpu_view	    data, prob;
	struct cpu_set	    set[CPU_SETS];	/* the first is the full batch */
	uint64_t	    clock;
	void		   *arena;	/* activations and their gradients */
	void		   *kept;	/* weights and statistics */
	void		   *scratch;	/* memory of the running kernel */
	size_t		    arena_bytes, kept_bytes, scratch_bytes;
	size_t		    scratch_least;	/* bytes for batch norm and LRN */
	float		   *aux;	/* [A] running statistics */
	int32_t		   *label;	/* [batch] */
	struct samples_mix *mix;	/* [batch]; share 0: no mixture */
	float		   *target;	/* [batch, graph_targets()] */
	const float	   *positive;	/* weights of targets of 1 in the batch (samples.h), or NULL */
	struct engine_draw  draw;	/* random draw of the last batch of forward() */
	uint32_t	    n;		/* samples of that batch; 0: backward() has nothing to start from */
	struct engine_result result;
	struct engine_cost *cost;	/* [graph->n][ENGINE_DIRECTIONS] while profiled, else NULL */
};

static inline size_t
cpu_blocks(const struct cpu_view *v)
{
	return (v->c + v->block - 1) / v->block;
}

/* Elements of a unit, with its stride. */
static inline size_t
cpu_unit(const struct cpu_view *v)
{
	return (size_t)v->h * v->w * v->pitch;
}

static inline bool
cpu_is_dense(const struct cpu_view *v)
{
	return v->pitch == v->block && v->step == cpu_blocks(v) * cpu_unit(v);
}

/* Bytes of an element. */
static inline size_t
cpu_size(const struct cpu_view *v)
{
	return v->bf16 ? 2 : sizeof(float);
}

/* Element j of sample i. */
static inline void *
cpu_elem(const struct cpu_view *v, size_t i, size_t j)
{
	return (char *)v->p + (i * v->step + j) * cpu_size(v);
}

/* The first element of block b of sample i. */
static inline void *
cpu_at(const struct cpu_view *v, size_t i, size_t b)
{
	return cpu_elem(v, i, b * cpu_unit(v));
}

/* A unit in memory. */
struct cpu_ptr {
	void  *p;
	size_t pitch;		/* elements from one pixel to the next */
};

static inline struct cpu_ptr
cpu_ptr(const struct cpu_view *v, size_t i, size_t b)
{
	return (struct cpu_ptr) { cpu_at(v, i, b), v->pitch };
}

/* The unit of the second of n views whose sum is a gradient; p NULL: n is 1. */
static inline struct cpu_ptr
cpu_ptr_second(const struct cpu_view *v, uint32_t n, size_t i, size_t b)
{
	return n > 1 ? cpu_ptr(&v[1], i, b) : (struct cpu_ptr) { NULL, 0 };
}

/* Groups: a sample's blocks, or 16 adjacent channels and the rest of a block of all channels. */
static inline size_t
cpu_lanes(const struct cpu_view *v)
{
	return v->block < 16 ? v->block : 16;
}

static inline size_t
cpu_groups(const struct cpu_view *v)
{
	return (v->c + cpu_lanes(v) - 1) / cpu_lanes(v);
}

/* Adjacent channels of group g. */
static inline size_t
cpu_width(const struct cpu_view *v, size_t g)
{
	size_t lanes = cpu_lanes(v);

	return v->block == lanes || v->c - g * lanes > lanes ? lanes : v->c - g * lanes;
}

/* The first element of group g of sample i. */
static inline void *
cpu_group(const struct cpu_view *v, size_t i, size_t g)
{
	return v->block == cpu_lanes(v) ? cpu_at(v, i, g) : cpu_elem(v, i, g * cpu_lanes(v));
}

/* A sample as lines of `count` adjacent elements: one line, or one for each pixel if the view has a stride. */
struct cpu_lines {
	size_t lines, count;
};

static inline struct cpu_lines
cpu_lines(const struct cpu_view *v)
{
	return v->pitch == v->block ? (struct cpu_lines) { 1, cpu_blocks(v) * cpu_unit(v) } :
	    (struct cpu_lines) { (size_t)v->h * v->w, v->c };
}

/* Lines that exist in v too. */
static inline struct cpu_lines
cpu_lines_of(const struct cpu_view *v, struct cpu_lines with)
{
	return with.lines > 1 ? with : cpu_lines(v);
}

/*
 * cpu_plan.c: fills in the steps and buffers of the plan's graph.  Returns 0, or ERR_NOTSUP, ERR_LIMIT or ERR_NOMEM
 * with the layer's name.
 */
int	 cpu_plan_make(struct engine_plan *p);

/* cpu_arena.c: place computes all sizes and offsets, allocate takes the memory.  Return 0 or ERR_NOMEM. */
int	 cpu_arena_place(struct engine_plan *p);
int	 cpu_arena_allocate(struct engine_plan *p);
/* Makes scratch at least this large.  Returns 0, ERR_NOMEM, or 1 if it moved: all kernels must be bound again. */
int	 cpu_arena_scratch(struct engine_plan *p, size_t bytes);
void	 cpu_arena_free(struct engine_plan *p);
/* Are n samples of this map so large that non-temporal stores write them best? */
bool	 cpu_arena_large(const struct cpu_view *v, uint32_t n);

/*
 * cpu.c: fixes the number of threads of the calling thread's parallel loops.  Every function of engine.h that has one
 * calls it.
 */
void	 cpu_enter(const struct engine_dev *dev);

/* cpu_pass.c: forward, backward, statistics and evaluate of engine.h. */
int	 cpu_pass_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
	     const struct engine_hook *hook, struct engine_result *result);
int	 cpu_pass_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook);
int	 cpu_pass_statistics(struct engine_plan *p, float *stats);
int	 cpu_pass_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *result, float *prob);

/* cpu_set.c: the kernels of each batch size.  Return 0, ERR_NOTSUP or ERR_NOMEM. */
int	 cpu_set_bind(struct engine_plan *p, const struct cpu_set *set);	/* makes scratch large enough first */
size_t	 cpu_set_scratch(const struct engine_plan *p, const struct cpu_set *set);	/* bytes */
int	 cpu_set_get(struct engine_plan *p, uint32_t n, bool evaluate, const struct cpu_set **set);
void	 cpu_set_free(struct engine_plan *p);

/* cpu_finite.c: are the output of this step of the forward pass and its statistics finite, for n samples? */
bool	 cpu_finite(const struct engine_plan *p, const struct cpu_step *s, uint32_t n);

/*
 * cpu_profile.c.  now: the time, or 0 unless the plan is profiled.  add: adds a step of n samples that began at `from`
 * to the costs of its layer.
 */
extern const struct engine_profiler cpu_profiler;
uint64_t cpu_profile_now(const struct engine_plan *p);
void	 cpu_profile_add(struct engine_plan *p, const struct cpu_step *s, enum engine_direction dir, uint32_t n,
	     uint64_t from);

/* cpu_explain.c: explain of engine.h. */
int	 cpu_explain(const struct engine_plan *p, struct buf *out);

extern const struct engine engine_cpu;

/* The kernels: n samples, views of one layout. */

/* cpu_bn.c.  moments: mean and var of x.  coefficients: scale and shift from mean, var, gamma, beta. */
void	 cpu_bn_moments(const struct cpu_view *x, uint32_t n, float *scratch, struct cpu_bn *bn);
void	 cpu_bn_coefficients(struct cpu_bn *bn, const float *mean, const float *var, size_t c, float eps);
void	 cpu_bn_forward(const struct cpu_view *x, const struct cpu_view *y, uint32_t n, const struct cpu_bn *bn,
	     enum bn_act act);
/*
 * dgamma and dbeta, and dx unless it is NULL, plus what `plus` has unless it is NULL.  dx may be x or plus.  constant:
 * only dx, for mean and var that are constants.
 */
void	 cpu_bn_backward(const struct cpu_view *x, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *plus,
	     const struct cpu_view *dx, uint32_t n, float *scratch, struct cpu_bn *bn, enum bn_act act, bool constant,
	     float eps);
/* Floats of scratch for moments and backward. */
size_t	 cpu_bn_scratch(uint32_t n, size_t lanes);

/*
 * cpu_beta.c: dbeta [conv->c] of a batch norm whose output only this convolution reads, with weights w [K,C,R,S] and
 * gradient dy.
 */
bool	 cpu_beta_fits(const struct graph_node *conv);
/* Floats of scratch. */
size_t	 cpu_beta_scratch(const struct dnnl_shape *conv);
void	 cpu_beta_backward(const struct dnnl_shape *conv, const float *w, const struct cpu_view *dy, uint32_t n,
	     float *scratch, float *dbeta);

/* cpu_act.c.  y may be x, and dx may be dy[0].  wants_x: backward reads x; if false it reads y, which may be x. */
bool	 cpu_act_wants_x(const struct graph_node *node);
void	 cpu_act_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint32_t n);
void	 cpu_act_backward(const struct graph_node *node, const struct cpu_view *x_or_y, const struct cpu_view *dy,
	     uint32_t ndy, const struct cpu_view *dx, uint32_t n);

/* cpu_pool.c.  Only the backward pass of a maximum reads argmax. */
void	 cpu_pool_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y,
	     uint16_t *argmax, uint32_t n);
void	 cpu_pool_backward(const struct graph_node *node, const struct cpu_view *dy, uint32_t ndy,
	     const struct cpu_view *dx, const uint16_t *argmax, uint32_t n);

/* cpu_copy.c: copies count channels between any layouts, and zeroes the lanes after the last channel of y. */
void	 cpu_copy(const struct cpu_view *x, uint32_t x_first, const struct cpu_view *y, uint32_t y_first,
	     uint32_t count, uint32_t n);

/* cpu_sum.c: one or two parts; y may be part[0]. */
void	 cpu_sum(const struct cpu_view *part, uint32_t parts, const struct cpu_view *y, bool relu, uint32_t n);
void	 cpu_sum_product(const struct cpu_view *part, uint32_t parts, const struct cpu_view *y, uint32_t n);

/* cpu_pad.c */
void	 cpu_pad_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint32_t n);
void	 cpu_pad_backward(const struct graph_node *node, const struct cpu_view *dy, uint32_t ndy,
	     const struct cpu_view *dx, uint32_t n);

/* cpu_lrn.c.  scratch has cpu_lrn_scratch() floats for each thread. */
size_t	 cpu_lrn_scratch(const struct graph_node *node);
void	 cpu_lrn_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y,
	     float *scratch, uint32_t n);
void	 cpu_lrn_backward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *dy,
	     uint32_t ndy, const struct cpu_view *dx, float *scratch, uint32_t n);

/* cpu_drop.c, for node i of the graph.  y may be x.  draw NULL: no dropout. */
void	 cpu_drop(const struct graph_node *node, uint32_t i, const struct engine_draw *draw, const struct cpu_view *x,
	     uint32_t nx, const struct cpu_view *y, uint32_t n);

/* cpu_head.c.  x and prob are f32 [n, classes]. */
void	 cpu_head_forward(const struct cpu_view *x, const struct cpu_view *prob, const int32_t *label,
	     const struct samples_mix *mix, float smooth, uint32_t n, struct engine_result *result);
/* The same for the losses that compare each output with its target. */
void	 cpu_head_targets(const struct cpu_view *x, const struct cpu_view *prob, enum graph_loss loss,
	     const float *target, const float *positive, const struct samples_mix *mix, uint32_t n,
	     struct engine_result *result);
void	 cpu_head_targets_back(const struct cpu_view *prob, enum graph_loss loss, const float *target,
	     const float *positive, const struct samples_mix *mix, uint32_t n);
void	 cpu_head_backward(const struct cpu_view *prob, const int32_t *label, const struct samples_mix *mix,
	     float smooth, uint32_t n);

#endif
