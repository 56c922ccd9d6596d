/*
 * learn - the optimizer where the weights are: what of it stands in the GPU's memory, and how it is found there.
 *
 * An update is a list of kernels that is recorded once.  What changes from step to
 * step, the rate, the number of samples and what hangs on them, goes up in one small
 * copy before it is played, and nobody waits.
 */
#ifndef ENGINE_CUDA_LEARN_H
#define ENGINE_CUDA_LEARN_H

#include "engine/cuda/plan.h"

/* Squares of parts of an array: sums of lanes, then of strips, of groups and of parts, each in one order. */
struct learn_squares {
	uint32_t npart, nstrip, ngroup;
	char	*held;			/* the GPU's */
	/* bytes into it: kernel_strip [nstrip], u32 [ngroup + 1], u32 [npart + 1] */
	size_t	 strip, group_of, part_of;
	size_t	 lanes, strips, groups;		/* f64 [nstrip, KERNEL_LANES], [nstrip], [ngroup] */
};

/* Norms of groups, which change their paces. */
struct learn_norms {
	struct learn_squares of;	/* of no parts: no norms are needed */
	bool	 each;			/* of the weights too */
	char	*held;			/* the GPU's */
	size_t	 wd, g, w;		/* bytes into it: f32 [ngroup], f64 [ngroup], f64 [ngroup] */
};

/* Matrices of one shape, side by side in the room where they are worked on, and their products. */
struct learn_shape {
	uint32_t rows, cols, count;
	size_t	 at;			/* number of the room's */
	struct blas *gram, *square, *turn;
};

/* Muon's matrices, those of one shape side by side. */
struct learn_muon {
	struct kernel_matrix *matrix;	/* [n]; 0: there are none */
	uint32_t n;
	struct learn_shape *shape;
	uint32_t nshape;
	size_t	 numbers;		/* of a room */
	char	*held;			/* the GPU's */
	/* bytes into it: matrix; f64 [n] twice; f32 [numbers] twice; products */
	size_t	 table, u, w, room[2], a, b, scratch;
	struct learn_squares in_room, in_w;
};

struct learn {
	struct opt_hyper hyper;
	struct engine_group *group;
	uint32_t ngroup;
	struct engine_fold *fold;
	uint32_t nfold;
	bool	 accumulate, averages;
	uint32_t averaged;
	uint64_t t;		/* of the last update */
	bool	 added;		/* pieces since the last update */
	bool	 shown;		/* the average stands where the weights do */
	bool	 flying;	/* `up` may be on its way */
	char	*held;		/* the GPU's */
	size_t	 state, sum, stats, average, bad, now, pace;	/* bytes into it */
	char	*up;		/* pinned: now and pace as in `held`, then u32 bad on its way down */
	size_t	 up_bytes;
	struct learn_norms norms;
	struct learn_muon muon;
};

/* Is a group a matrix that Muon takes? */
static inline bool
learn_matrix(const struct learn *l, const struct engine_group *r)
{
	return l->hyper.rule == OPT_MUON && r->rows > 0;
}

/* Makes room for bytes behind *all, and says where. */
static inline size_t
learn_room(size_t *all, size_t bytes)
{
	size_t at = *all;

	*all += memplan_round(bytes);
	return at;
}

/* learn_squares.c.  part [npart] is where each part stands in the array.  Returns 0 or ERR_NOMEM, ERR_SYS. */
int	 learn_squares_make(struct engine_plan *p, struct learn_squares *s, const struct kernel_strip *part,
    uint32_t npart);
void	 learn_squares_free(struct engine_plan *p, struct learn_squares *s);
/* Enqueues: the sums of the squares of x's parts to `to`, f64 [npart] on the GPU. */
int	 learn_squares_run(struct engine_plan *p, const struct learn_squares *s, const float *x, double *to);

/* learn_muon.c.  Returns 0, ERR_NOTSUP (the library has no such product), ERR_NOMEM or ERR_SYS. */
int	 learn_muon_make(struct engine_plan *p, struct learn *l);
void	 learn_muon_free(struct engine_plan *p, struct learn *l);
/* Enqueues the matrices' update, g [P] being the gradients. */
int	 learn_muon_run(struct engine_plan *p, const struct learn *l, const float *g);

/* learn_norms.c.  Returns 0 or ERR_NOMEM, ERR_SYS. */
int	 learn_norms_make(struct engine_plan *p, struct learn *l);
/* Enqueues what makes paces of norms, g [P] being the gradients. */
int	 learn_norms_run(struct engine_plan *p, const struct learn *l, const float *g);

#endif
