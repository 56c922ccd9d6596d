/*
 * cpu - a graph as a list of steps over one piece of memory; what the files of this engine share.
 *
 * A plan is made once: cpu_plan.c walks the graph, asks oneDNN (dnnl.h) for
 * layouts, and writes down the steps of a pass forward and a pass backward;
 * cpu_arena.c gives each buffer a place for the steps in which it is alive; the
 * kernels in the other files run on views of it, and cpu_pass.c runs the steps.
 *
 * What keeps the passes short:
 *  - a concatenation is one buffer, into which its inputs write with a stride,
 *    and out of which their gradients are read with the same stride;
 *  - a gradient that comes from two layers stays two views, which the reader adds,
 *    and one that goes to all inputs of a sum stays one view;
 *  - batch norm and ReLU are one pass; its backward writes over its input;
 *  - a sum and ReLU are one pass;
 *  - ReLU behind a convolution is part of the convolution;
 *  - an activation that never falls goes behind the maximum it stands before, where
 *    there are fewer values: max f(x) = f(max x).
 *
 * Layouts: as in dnnl.h.  A plan of bf16 keeps outputs and their gradients in that type, channels
 * last, but for the data as they come and the scores and probabilities; its kernels are those of f32,
 * by cpu_half.h.  There a concatenation's inputs write, and are read, with a stride from pixel to pixel.
 * The channels past c in the last block are zero in every buffer, and each kernel keeps it so.
 * Kernels share work by units (one picture's block of channels), and add in an order that does not
 * depend on the number of threads.
 */
#ifndef ENGINE_CPU_CPU_H
#define ENGINE_CPU_CPU_H

#include "engine/cpu/cpu_conv.h"
#include "engine/engine.h"
#include "engine/memplan.h"

#include <assert.h>

#define CPU_PARTS	2	/* views that a gradient may come in */
#define CPU_SETS	4	/* batch sizes whose kernels are kept, the full one counted */

/* Pictures [n, c, h, w] somewhere in the arena. */
struct cpu_view {
	void	*p;		/* set when the buffers have their places */
	uint32_t buf;		/* index into plan->buf */
	size_t	 at;		/* numbers from the buffer's start */
	size_t	 step;		/* numbers from one picture to the next */
	size_t	 pitch;		/* numbers from one pixel to the next */
	uint32_t c, h, w;
	uint32_t block;		/* channels side by side: 1, 8 or 16; or c */
	bool	 half;		/* bf16, else f32 */
	bool	 shared;	/* of a gradient: others read it too, so that nobody writes over it */
};

enum cpu_kind {
	CPU_MUL,		/* y = conv or fc of x */
	CPU_MUL_BACK,		/* the gradients of its arrays, and dx unless absent */
	CPU_BN,			/* y = bn(x), and ReLU when relu */
	CPU_BN_BACK,
	CPU_ACT,
	CPU_ACT_BACK,
	CPU_POOL,
	CPU_POOL_BACK,
	CPU_LOSS,		/* y = softmax(x) and the loss */
	CPU_LOSS_BACK,		/* y = y - onehot */
	CPU_COPY,		/* channels of x from x_first into y from y_first; layouts may differ */
	CPU_SUM,		/* y = the sum of dy, and ReLU when relu */
	CPU_TIMES,		/* y = the product of dy */
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
	uint32_t	state;		/* index into plan->mul, ->bn or ->pool */
	bool		relu;
	bool		absent;		/* dx is not wanted */
	/* neither are the gradients of its arrays; a batch norm's statistics are constants */
	bool		frozen;
	struct cpu_view x, y, dx;
	struct cpu_view dy[CPU_PARTS];
	uint32_t	ndy;
	uint32_t	x_first, y_first, count;	/* CPU_COPY */
};

/* A conv or fc layer. */
struct cpu_mul {
	uint32_t	  node;
	struct dnnl_shape shape;	/* n is the full batch */
	void		 *held;
	float		 *bias, *dbias;
	struct cpu_view	  x, y, dx, dy;
};

/* A batch norm; arrays of channels, padded with zeros to whole blocks. */
struct cpu_bn {
	uint32_t node;
	size_t	 lanes;		/* channels, padded */
	float	*gamma, *beta;
	float	*mean, *var;	/* of the batch forward() saw last */
	float	*scale, *shift;	/* y = scale * x + shift */
	float	*dgamma, *dbeta;
	float	*k1, *k0;	/* dx = scale * dy + k1 * (x - mean) + k0 */
};

/* Which of a window's values was the largest, for each output. */
struct cpu_pool {
	uint32_t buf;		/* u16, in the layout of y */
	uint16_t *which;
};

/* The kernels of one batch size. */
struct cpu_set {
	uint32_t	  n;	/* 0: none yet */
	uint64_t	  used;	/* when, for the choice of which to drop */
	struct cpu_conv **mul;	/* [nmul] */
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
	uint32_t	    nstep, nforward;	/* the first nforward are the pass forward */
	struct memplan_buf  *buf;
	uint32_t	    nbuf;
	struct cpu_mul	   *mul;
	uint32_t	    nmul;
	struct cpu_bn	   *bn;
	uint32_t	    nbn;
	struct cpu_pool	   *pool;
	uint32_t	    npool;
	uint32_t	   *state;	/* [graph->n] index into mul, bn or pool */
	struct cpu_view	    data, prob;
	struct cpu_set	    set[CPU_SETS];	/* the first is the full batch */
	uint64_t	    clock;
	void		   *arena, *kept, *scratch;	/* activations; weights and statistics; the moment's */
	size_t		    arena_bytes, kept_bytes, scratch_bytes;
	size_t		    scratch_least;	/* bytes that batch norm and LRN want */
	float		   *aux;	/* [A] running statistics */
	int32_t		   *label;	/* [batch] */
	struct samples_mix *mix;	/* [batch]; a share of 0: none */
	struct engine_draw  draw;	/* of that batch */
	uint32_t	    n;		/* of the batch forward() saw last; 0: none to go backward from */
	struct engine_result result;
};

static inline size_t
cpu_blocks(const struct cpu_view *v)
{
	return (v->c + v->block - 1) / v->block;
}

/* Numbers of one picture's block. */
static inline size_t
cpu_unit(const struct cpu_view *v)
{
	return (size_t)v->h * v->w * v->pitch;
}

static inline bool
cpu_dense(const struct cpu_view *v)
{
	return v->pitch == v->block && v->step == cpu_blocks(v) * cpu_unit(v);
}

static inline size_t
cpu_size(const struct cpu_view *v)
{
	return v->half ? 2 : sizeof(float);
}

/* Number j of picture i. */
static inline void *
cpu_nth(const struct cpu_view *v, size_t i, size_t j)
{
	return (char *)v->p + (i * v->step + j) * cpu_size(v);
}

/* The first number of block b of picture i. */
static inline void *
cpu_at(const struct cpu_view *v, size_t i, size_t b)
{
	return cpu_nth(v, i, b * cpu_unit(v));
}

/* How kernels cut a picture: into its blocks, and a block of all channels into groups of 16 and what is left. */
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

/* Channels of group g that lie side by side. */
static inline size_t
cpu_width(const struct cpu_view *v, size_t g)
{
	size_t lanes = cpu_lanes(v);

	return v->block == lanes || v->c - g * lanes > lanes ? lanes : v->c - g * lanes;
}

/* The first number of group g of picture i. */
static inline void *
cpu_group(const struct cpu_view *v, size_t i, size_t g)
{
	return v->block == cpu_lanes(v) ? cpu_at(v, i, g) : cpu_nth(v, i, g * cpu_lanes(v));
}

/*
 * A picture as lines of `count` numbers side by side, which its neighbours of the same shape have too: one line, or one
 * a pixel where other channels lie between.
 */
struct cpu_lines {
	size_t lines, count;
};

static inline struct cpu_lines
cpu_lines(const struct cpu_view *v)
{
	return v->pitch == v->block ? (struct cpu_lines) { 1, cpu_blocks(v) * cpu_unit(v) } :
	    (struct cpu_lines) { (size_t)v->h * v->w, v->c };
}

/* Lines that suit both. */
static inline struct cpu_lines
cpu_lines_of(const struct cpu_view *v, struct cpu_lines with)
{
	return with.lines > 1 ? with : cpu_lines(v);
}

/* cpu_plan.c: the steps and buffers of a graph.  Returns 0, ERR_NOTSUP, ERR_LIMIT or ERR_NOMEM, naming the layer. */
int	 cpu_plan_make(struct engine_plan *p);

/* cpu_arena.c: how much memory all of a plan needs, and where in it; then that memory.  Return 0 or ERR_NOMEM. */
int	 cpu_arena_place(struct engine_plan *p);
int	 cpu_arena_take(struct engine_plan *p);
/* Room for bytes of scratch; kernels are to be bound again when it moved (1). */
int	 cpu_arena_scratch(struct engine_plan *p, size_t bytes);
void	 cpu_arena_free(struct engine_plan *p);

/* cpu.c: says to OpenMP how many threads a loop of the calling thread has; at each entry. */
void	 cpu_enter(const struct engine_dev *dev);

/* cpu_pass.c: forward, backward, statistics and evaluate of engine.h. */
int	 cpu_pass_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
	     const struct engine_hook *hook, struct engine_result *result);
int	 cpu_pass_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook);
int	 cpu_pass_statistics(struct engine_plan *p, float *stats);
int	 cpu_pass_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *result, float *prob);

/* cpu_set.c: kernels by batch size.  Return 0, ERR_NOTSUP or ERR_NOMEM. */
int	 cpu_set_first(struct engine_plan *p);	/* binds those of the full batch */
size_t	 cpu_set_scratch(const struct engine_plan *p, const struct cpu_set *set);	/* bytes */
int	 cpu_set_get(struct engine_plan *p, uint32_t n, struct cpu_set **set);
void	 cpu_set_free(struct engine_plan *p);

/* cpu_finite.c: whether what a step of the pass forward gave for n pictures, and its statistics, are all numbers. */
bool	 cpu_finite(const struct engine_plan *p, const struct cpu_step *s, uint32_t n);

/* cpu_explain.c: as struct engine has it. */
int	 cpu_explain(const struct engine_plan *p, struct buf *out);

extern const struct engine engine_cpu;

/* The kernels: n pictures, views of one layout, padding lanes kept zero. */

/* cpu_bn.c.  moments: mean and var of x.  coefficients: scale and shift from mean, var, gamma, beta. */
void	 cpu_bn_moments(const struct cpu_view *x, uint32_t n, float *scratch, struct cpu_bn *bn);
void	 cpu_bn_coefficients(struct cpu_bn *bn, const float *mean, const float *var, size_t c, float eps);
void	 cpu_bn_forward(const struct cpu_view *x, const struct cpu_view *y, uint32_t n, const struct cpu_bn *bn,
	     bool relu);
/* dgamma and dbeta, and dx unless it is NULL; dx may be x.  constant: dx alone, of mean and var that x did not make. */
void	 cpu_bn_backward(const struct cpu_view *x, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *dx,
	     uint32_t n, float *scratch, struct cpu_bn *bn, bool relu, bool constant, float eps);
/* Floats of scratch for either. */
size_t	 cpu_bn_scratch(uint32_t n, size_t lanes);

/* cpu_act.c; y may be x, dx may be dy[0].  Is x read for the way back?  Else y is, and x may be written over. */
bool	 cpu_act_wants_x(const struct graph_node *node);
void	 cpu_act_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint32_t n);
/* from is x or y. */
void	 cpu_act_backward(const struct graph_node *node, const struct cpu_view *from, const struct cpu_view *dy,
	     uint32_t ndy, const struct cpu_view *dx, uint32_t n);

/* cpu_pool.c; which is read by the maximum's backward alone. */
void	 cpu_pool_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y,
	     uint16_t *which, uint32_t n);
void	 cpu_pool_backward(const struct graph_node *node, const struct cpu_view *dy, uint32_t ndy,
	     const struct cpu_view *dx, const uint16_t *which, uint32_t n);

/* cpu_copy.c.  copy: count channels, layouts may differ; the padding of y is zeroed behind its last channel. */
void	 cpu_copy(const struct cpu_view *x, uint32_t x_first, const struct cpu_view *y, uint32_t y_first,
	     uint32_t count, uint32_t n);

/* cpu_sum.c: one or two parts; y may be part[0]. */
void	 cpu_sum(const struct cpu_view *part, uint32_t parts, const struct cpu_view *y, bool relu, uint32_t n);
void	 cpu_sum_times(const struct cpu_view *part, uint32_t parts, const struct cpu_view *y, uint32_t n);

/* cpu_pad.c */
void	 cpu_pad_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint32_t n);
void	 cpu_pad_backward(const struct graph_node *node, const struct cpu_view *dy, uint32_t ndy,
	     const struct cpu_view *dx, uint32_t n);

/* cpu_lrn.c; scratch: cpu_lrn_scratch() floats a thread. */
size_t	 cpu_lrn_scratch(const struct graph_node *node);
void	 cpu_lrn_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y,
	     float *scratch, uint32_t n);
void	 cpu_lrn_backward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *dy,
	     uint32_t ndy, const struct cpu_view *dx, float *scratch, uint32_t n);

/* cpu_drop.c: node i of the graph; y may be x.  draw NULL: nothing is dropped. */
void	 cpu_drop(const struct graph_node *node, uint32_t i, const struct engine_draw *draw, const struct cpu_view *x,
	     uint32_t nx, const struct cpu_view *y, uint32_t n);

/* cpu_head.c: x, prob [n, classes]. */
void	 cpu_head_forward(const struct cpu_view *x, const struct cpu_view *prob, const int32_t *label,
	     const struct samples_mix *mix, float smooth, uint32_t n, struct engine_result *result);
void	 cpu_head_backward(const struct cpu_view *prob, const int32_t *label, const struct samples_mix *mix,
	     float smooth, uint32_t n);

#endif
