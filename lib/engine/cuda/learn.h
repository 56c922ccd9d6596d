/*
 * learn - the state of the device optimizer, shared by the files learn*.c.
 *
 * An update is a list of kernels that is captured as a CUDA graph. What changes from step to step,
 * such as the rate and the number of samples, is uploaded in one small copy before the launch. The
 * host does not wait.
 */
#ifndef ENGINE_CUDA_LEARN_H
#define ENGINE_CUDA_LEARN_H

#include "engine/cuda/exec_plan.h"

/*
 * The sums of squares of parts of an array. Lanes are summed first, then strips, groups and parts,
 * in a fixed order.
 */
struct learn_squares {
	uint32_t npart, nstrip, ngroup;
	char	*base;			/* GPU memory */
	/* Bytes into base: kernel_strip [nstrip], u32 [ngroup + 1], u32 [npart + 1]. */
	size_t	 strip, group_of, part_of;
	size_t	 lanes, strips, groups;		/* f64 [nstrip, KERNEL_LANES], [nstrip], [ngroup] */
};

/* The norms of parameter groups, for the rules that change their rates by them. */
struct learn_norms {
	struct learn_squares of;	/* without parts: no norms are needed */
	bool	 each;			/* norms of the weights too */
	char	*base;			/* GPU memory */
	size_t	 wd, g, w;		/* bytes into base: f32 [ngroup], f64 [ngroup], f64 [ngroup] */
};

/* Matrices of one shape, side by side in the work area, and their products. */
struct learn_shape {
	uint32_t rows, cols, count;
	size_t	 at;			/* the first value in the work area */
	struct blas *gram, *square, *update;
};

/* Muon's matrices, sorted by shape. */
struct learn_muon {
	struct kernel_matrix *matrix;	/* [n] */
	uint32_t n;
	struct learn_shape *shape;
	uint32_t nshape;
	size_t	 numbers;		/* floats of a work area */
	char	*base;			/* GPU memory */
	/*
	 * Bytes into base: kernel_matrix [n]; f64 [n] twice; two work areas f32 [numbers];
	 * products.
	 */
	size_t	 table, u, w, work[2], a, b, scratch;
	struct learn_squares in_work, in_w;
};

struct learn {
	struct opt_hyper hyper;
	uint32_t states;	/* values of state per weight */
	struct engine_group *group;
	uint32_t ngroup;
	struct kernel_range *range;	/* [nrange] all groups but Muon's matrices */
	uint32_t nrange, range_values;	/* values: of all ranges */
	struct engine_fold *fold;
	uint32_t nfold;
	bool	 accumulate, averages;
	bool	 joined;	/* gradients, and statistics times samples, are sums over the joined devices */
	uint32_t averaged;
	uint64_t t;		/* the last update */
	bool	 added;		/* there are gradients since the last update */
	uint32_t sum_graph;	/* graph of the last sum: EXEC_GRAPH_SUM_FIRST or EXEC_GRAPH_SUM_NEXT */
	bool	 updated;	/* an update has followed the last backward pass */
	bool	 shown;		/* the average is where the weights are */
	bool	 uploading;	/* the upload of `up` may not be complete */
	char	*base;		/* GPU memory */
	size_t	 state, sum, stats, average, bad, step, rates, ranges;	/* bytes into base */
	char	*up;		/* pinned: step and rates as at base, then the downloaded u32 bad */
	size_t	 up_bytes;
	struct learn_norms norms;
	struct learn_muon muon;
};

/* Does Muon update this group? */
static inline bool
learn_is_matrix(const struct learn *l, const struct engine_group *r)
{
	return l->hyper.rule == OPT_MUON && r->rows > 0;
}

static inline float *
learn_floats(const struct learn *l, size_t at)
{
	return (float *)(l->base + at);
}

/* Reserves bytes after *all.  Returns their offset. */
static inline size_t
learn_reserve(size_t *all, size_t bytes)
{
	size_t at = *all;

	*all += memplan_round(bytes);
	return at;
}

/* learn.c.  The values of state that a rule keeps per weight. */
uint32_t learn_count_states(const struct opt_hyper *h);

/* learn_squares.c.  part [npart] are ranges of the array.  Return 0, ERR_NOMEM or ERR_SYS. */
int	 learn_squares_make(struct engine_plan *p, struct learn_squares *s, const struct kernel_strip *part,
    uint32_t npart);
void	 learn_squares_free(struct engine_plan *p, struct learn_squares *s);
/* Enqueues the sums of the squares of x's parts, into `to`, f64 [npart] on the GPU. */
int	 learn_squares_run(struct engine_plan *p, const struct learn_squares *s, const float *x, double *to);

/* learn_muon.c.  Return 0, ERR_NOTSUP (the library lacks a product), ERR_NOMEM or ERR_SYS. */
int	 learn_muon_make(struct engine_plan *p, struct learn *l);
void	 learn_muon_free(struct engine_plan *p, struct learn *l);
/* Enqueues the update of the matrices from gradients g [P]. */
int	 learn_muon_run(struct engine_plan *p, const struct learn *l, const float *g);

/* learn_norms.c.  Return 0, ERR_NOMEM or ERR_SYS. */
int	 learn_norms_make(struct engine_plan *p, struct learn *l);
/* Enqueues the change of the groups' rates by the norms of gradients g [P]. */
int	 learn_norms_run(struct engine_plan *p, const struct learn *l, const float *g);

#endif
