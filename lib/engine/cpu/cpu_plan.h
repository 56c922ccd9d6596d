/*
 * cpu_plan - the notes about each layer while a plan is made.
 *
 * Each helper stores its error in e, and does nothing after an error.  cpu_plan_make checks e at the end.
 */
#ifndef ENGINE_CPU_CPU_PLAN_H
#define ENGINE_CPU_CPU_PLAN_H

#include "engine/cpu/cpu.h"

struct cpu_note {
	uint32_t	readers;	/* inputs of other layers that are this layer's output */
	uint32_t	reader;		/* the last layer that reads it */
	bool		needs_grad;	/* it or a layer before it learns, and its gradient is computed */
	bool		beta_only;	/* a batch norm with no gradient but beta's, computed by cpu_beta.c */
	bool		absorbed;	/* an activation that the layer before it computes */
	bool		delayed;	/* an activation that the pool after it computes */
	bool		channels_last;	/* a convolution with its channels last */
	bool		bf16;		/* the type of its output */
	bool		dense;		/* its output is no part of a concatenation */
	uint32_t	summed_by;	/* the convolution that computes this sum; 0: none */
	bool		pooled;		/* a max pool that the convolution before it computes */
	uint32_t	concat, first;	/* the concatenation that contains its output, from this channel on; 0: none */
	uint32_t	block;
	struct cpu_view view;		/* its output */
	struct cpu_view part[CPU_PARTS];	/* its gradient is the sum of these */
	uint32_t	parts;
};

/* Is l a convolution or fully connected layer? */
static inline bool
cpu_plan_is_conv(const struct graph_node *l)
{
	return l->op == GRAPH_CONV || l->op == GRAPH_FC;
}

struct cpu_planner {
	struct engine_plan *p;
	const struct graph *g;
	struct cpu_note	   *note;	/* [g->n] */
	size_t		    steps, bufs;	/* allocated elements of p->step and p->buf */
	int		    e;
};

/* Does layer i compute the activation that reads it? */
static inline bool
cpu_plan_is_absorbed(const struct cpu_planner *pl, uint32_t i)
{
	return pl->note[i].readers == 1 && pl->note[pl->note[i].reader].absorbed;
}

/* The activation that layer i, a batch norm or sum, computes. */
static inline enum bn_act
cpu_plan_act(const struct cpu_planner *pl, uint32_t i)
{
	if (!cpu_plan_is_absorbed(pl, i))
		return BN_PLAIN;
	return pl->g->node[pl->note[i].reader].act == GRAPH_GELU ? BN_GELU : BN_RELU;
}

/* cpu_plan.c */
/* Makes a buffer for activations of this shape at the full batch, and returns a view of it. */
struct cpu_view cpu_plan_view(struct cpu_planner *pl, uint32_t c, uint32_t h, uint32_t w, uint32_t block, bool bf16);
/* The same with the shape, block and type of v. */
struct cpu_view cpu_plan_like(struct cpu_planner *pl, const struct cpu_view *v);
/* Channels [first, first + c) of v.  In f32 the first must start a block. */
struct cpu_view cpu_plan_channels(struct cpu_view v, uint32_t first, uint32_t c);
/* The same elements with another block or shape. */
struct cpu_view cpu_plan_reshape(struct cpu_view v, uint32_t c, uint32_t h, uint32_t w, uint32_t block);
/* Does v have the layout of this block, and this type? */
bool	 cpu_plan_has_layout(const struct cpu_view *v, uint32_t block, bool bf16);
/* Is there a view of channels [first, first + c) of `of` channels? */
bool	 cpu_plan_aligned(uint32_t first, uint32_t c, uint32_t of, uint32_t block, bool bf16);
/* Appends a step, and keeps its buffers alive until it. */
void	 cpu_plan_step(struct cpu_planner *pl, struct cpu_step s);

/* The shape of layer i, a convolution or fully connected layer. */
struct dnnl_shape cpu_plan_shape(const struct cpu_planner *pl, uint32_t i);

/* cpu_note.c: fills in readers to delayed of each note. */
void	 cpu_note_fill(struct cpu_planner *pl);

/* cpu_last.c: sets channels_last of each note. */
void	 cpu_last_choose(struct cpu_planner *pl);

/* cpu_steps.c: append the steps of layer i. */
void	 cpu_steps_forward(struct cpu_planner *pl, uint32_t i);
void	 cpu_steps_backward(struct cpu_planner *pl, uint32_t i);

#endif
