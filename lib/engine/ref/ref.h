/*
 * ref - the plan of the reference engine, and the functions of each layer.
 *
 * lib/engine/ref is ref.c (plans and passes) and a file for each kind of layer.  Each layer's file states its formulas:
 * x and y are the input and the output of the layer, and dx is the gradient of the loss with respect to x.  Sums are of
 * doubles in a fixed order, so that ref is more exact than the engines that the tests compare with it, and returns the
 * same bits in every run.
 */
#ifndef ENGINE_REF_REF_H
#define ENGINE_REF_REF_H

#include "engine/engine.h"

struct engine_plan {
	const struct graph *graph;
	uint32_t	 batch;
	uint32_t	 n;		/* samples of this pass; 0: backward() has no batch */
	bool		 bf16;
	bool		 train;		/* this pass trains: batch norm uses the batch's statistics */
	float		*w, *aux;	/* [P], [A] as loaded */
	float		*g;		/* [P] the caller's, during backward() */
	double		*stat;		/* [A] mean and variance of this pass, laid out as aux */
	double		*scratch;	/* space for one layer at a time; the most that any layer needs */
	float		*outputs;	/* y of all nodes, then dy of all nodes */
	float		**y, **dy;	/* pointers into outputs for each node [batch, c, h, w] */
	int32_t		*label;		/* [batch] */
	struct samples_mix *mix;	/* [batch]; share 0: not mixed */
	float		*target;	/* [batch, graph_targets()] */
	const float	*positive;	/* weights of the batch's labels (samples.h), or NULL */
	struct engine_draw draw;
	struct engine_memory memory;
	struct engine_result result;
};

struct ref_op {
	const char *name;
	/* Computes y of node i from the inputs' y. */
	void	 (*forward)(struct engine_plan *p, uint32_t i);
	/*
	 * Writes the layer's ranges of g and adds to the inputs' dy, because a node may feed several layers.  dy of
	 * node i is complete.
	 */
	void	 (*backward)(struct engine_plan *p, uint32_t i);
	/* *n gets the doubles of scratch that node i needs.  Returns 0 or ERR_LIMIT.  NULL: none. */
	int	 (*scratch)(const struct graph *g, uint32_t i, size_t *n);
};

extern const struct engine engine_ref;

extern const struct ref_op ref_conv, ref_fc, ref_bn, ref_act, ref_pool, ref_concat, ref_flatten, ref_add, ref_mul,
	ref_pad, ref_lrn, ref_dropout, ref_softmax;

/* ref_target.c: forward and backward of the losses that compare each output with a number. */
void	 ref_target_forward(struct engine_plan *p, uint32_t i);
void	 ref_target_backward(struct engine_plan *p, uint32_t i);

/* ref_half.c: these round to bf16 in a plan of bf16, and else only copy.  `to` may be `from`. */
void	 ref_half_round(const struct engine_plan *p, const float *from, float *to, size_t n);
/* Round the output of node i, and its complete gradient. */
void	 ref_half_output(struct engine_plan *p, uint32_t i);
void	 ref_half_gradient(struct engine_plan *p, uint32_t i);

/* The k-th input of node i. */
static inline const struct graph_node *
ref_in(const struct graph *g, uint32_t i, uint32_t k)
{
	return &g->node[g->node[i].in[k]];
}

/* Floats of a node's output for one sample. */
static inline size_t
ref_floats(const struct graph_node *l)
{
	return (size_t)l->c * l->h * l->w;
}

/* Learned array a in base [P], weights or gradients; NULL for a = -1. */
static inline float *
ref_array(const struct graph *g, float *base, int32_t a)
{
	return a < 0 ? NULL : base + g->w[a].first;
}

#endif
