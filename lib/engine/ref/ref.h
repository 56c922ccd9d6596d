/*
 * ref - the inside of the plain engine: a plan, and a table of functions a layer.
 *
 * Each layer's file states its formulas; x and y are a layer's input and
 * output, d in front of a name is the gradient of the loss by it.  Sums run in
 * double and in one order, so that ref is the better judge of the others and
 * gives the same bits on every run.
 */
#ifndef ENGINE_REF_REF_H
#define ENGINE_REF_REF_H

#include "engine/engine.h"

struct engine_plan {
	const struct graph *graph;
	uint32_t	 batch;
	uint32_t	 n;		/* samples of this pass; 0: there is none to go back through */
	bool		 bf16;
	bool		 train;		/* this pass: batch norm by the batch's statistics */
	float		*w, *aux;	/* [P], [A] as loaded */
	float		*g;		/* [P] the caller's, while backward runs */
	double		*stat;		/* [A] mean and variance of this pass, laid out as aux */
	double		*scratch;	/* for one layer at a time, as long as the hungriest one says */
	float		**y, **dy;	/* a node each: [batch, c, h, w] */
	int32_t		*label;		/* [batch] */
	struct samples_mix *mix;	/* [batch], of this pass; a share of 0: none */
	struct engine_draw draw;	/* of this pass */
	struct engine_memory memory;
	struct engine_result result;
};

/*
 * A layer.  forward: y from the inputs' y.  backward: adds to the inputs' dy (a
 * node may feed several) and writes the layer's ranges of g; it runs when the
 * node's dy is complete.
 */
struct ref_op {
	const char *name;
	void	 (*forward)(struct engine_plan *p, uint32_t i);
	void	 (*backward)(struct engine_plan *p, uint32_t i);
	/* *n gets the doubles of scratch it needs; returns 0 or ERR_LIMIT.  NULL: none. */
	int	 (*scratch)(const struct graph *g, uint32_t i, size_t *n);
};

extern const struct engine engine_ref;

extern const struct ref_op ref_conv, ref_fc, ref_bn, ref_act, ref_pool, ref_concat, ref_flatten, ref_add, ref_mul,
	ref_pad, ref_lrn, ref_dropout, ref_softmax;

/* ref_half.c: rounding where the plan is one of bf16; to may be from. */
void	 ref_half_round(const struct engine_plan *p, const float *from, float *to, size_t n);
/* What node i has put out, and the gradient it is about to read. */
void	 ref_half_output(struct engine_plan *p, uint32_t i);
void	 ref_half_gradient(struct engine_plan *p, uint32_t i);

/* The k-th input of node i. */
static inline const struct graph_node *
ref_in(const struct graph *g, uint32_t i, uint32_t k)
{
	return &g->node[g->node[i].in[k]];
}

/* Floats of one picture's output. */
static inline size_t
ref_floats(const struct graph_node *l)
{
	return (size_t)l->c * l->h * l->w;
}

/* The range of learned array a (-1: NULL) in base [P], which holds weights or gradients. */
static inline float *
ref_array(const struct graph *g, float *base, int32_t a)
{
	return a < 0 ? NULL : base + g->w[a].first;
}

#endif
