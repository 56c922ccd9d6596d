/*
 * cpu_plan - what is known of each layer while a plan is made.
 *
 * An error in any helper is kept in e and makes the rest do nothing, so that
 * the planning reads as one thought; cpu_plan_make looks at it at the end.
 */
#ifndef ENGINE_CPU_CPU_PLAN_H
#define ENGINE_CPU_CPU_PLAN_H

#include "engine/cpu/cpu.h"

struct cpu_note {
	uint32_t	uses;		/* how many inputs of layers it is */
	uint32_t	user;		/* the last of these layers */
	bool		wants;		/* its gradient is wanted: it or a layer before it learns */
	bool		absorbed;	/* an activation that the layer before it computes */
	bool		last;		/* a convolution with its channels last */
	bool		late;		/* an activation that the pool behind it computes */
	uint32_t	home, first;	/* the concatenation in whose buffer it lies, from which channel; 0: none */
	uint32_t	block;
	bool		half;		/* its output is kept as bf16 */
	struct cpu_view view;		/* its output */
	struct cpu_view part[CPU_PARTS];	/* its gradient: the sum of these */
	uint32_t	parts;
};

static inline bool
cpu_plan_multiplies(const struct graph_node *l)
{
	return l->op == GRAPH_CONV || l->op == GRAPH_FC;
}

struct cpu_planner {
	struct engine_plan *p;
	const struct graph *g;
	struct cpu_note	   *note;	/* [g->n] */
	uint32_t	    steps, bufs;	/* how many there is room for */
	int		    e;
};

/* cpu_plan.c */
/* A new buffer for pictures of this shape at the full batch, and a view of all of it. */
struct cpu_view cpu_plan_view(struct cpu_planner *pl, uint32_t c, uint32_t h, uint32_t w, uint32_t block, bool half);
/* One for pictures as those of v. */
struct cpu_view cpu_plan_like(struct cpu_planner *pl, const struct cpu_view *v);
/* Channels [first, first + c) of v, at the start of a block; of bf16, which has all channels side by side, any. */
struct cpu_view cpu_plan_channels(struct cpu_view v, uint32_t first, uint32_t c);
/* The same numbers under another block or shape. */
struct cpu_view cpu_plan_as(struct cpu_view v, uint32_t c, uint32_t h, uint32_t w, uint32_t block);
/* Do the numbers of v lie as block wants them, and of this type? */
bool	 cpu_plan_lies(const struct cpu_view *v, uint32_t block, bool half);
/* Can channels [first, first + c) of a picture of `of` channels be seen as a view? */
bool	 cpu_plan_aligned(uint32_t first, uint32_t c, uint32_t of, uint32_t block, bool half);
/* Appends a step; the buffers it touches are alive in it. */
void	 cpu_plan_step(struct cpu_planner *pl, struct cpu_step s);

/* Layer i, a convolution or fully connected, for oneDNN. */
struct dnnl_shape cpu_plan_shape(const struct cpu_planner *pl, uint32_t i);

/* cpu_note.c: what each layer's note says of others: uses to late, but for last. */
void	 cpu_note_take(struct cpu_planner *pl);

/* cpu_last.c: sets `last` of the convolutions that are to have their channels last. */
void	 cpu_last_choose(struct cpu_planner *pl);

/* cpu_steps.c */
void	 cpu_steps_forward(struct cpu_planner *pl, uint32_t i);
void	 cpu_steps_backward(struct cpu_planner *pl, uint32_t i);

#endif
