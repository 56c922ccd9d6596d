/*
 * weights - a net's weights as a file: safetensors, so that other tools read it as is.
 *
 * Tensors, in this order: the learned arrays and aux under their names in the
 * graph, then optimizer state as "NAME:momentum" and the like (opt_tail()), and
 * the moving average of all as "NAME:average", when there are any.  Metadata: "graph" (text of net(5)), "optimizer" where the state
 * is not that of sgd, and the caller's own.  The format is in tensors.h.
 */
#ifndef NET_WEIGHTS_H
#define NET_WEIGHTS_H

#include "net/graph/graph.h"
#include "net/optim/opt.h"
#include "net/rename.h"
#include "tensor/tensors.h"

#define WEIGHTS_METAS	(TENSORS_METAS - 2)	/* most pairs of metadata of the caller's */

#define WEIGHTS_GRAPH	"graph"		/* keys of metadata */
#define WEIGHTS_OPTIMIZER "optimizer"

struct weights {
	struct graph	*graph;		/* from the metadata; NULL when the file has none */
	float		*w;		/* [P] */
	float		*aux;		/* [A] */
	float		*state;		/* [P, opt_states(rule)], or NULL */
	enum opt_rule	 rule;		/* whose state that is */
	float		*average;	/* [P + A] of the weights and the statistics, or NULL */
	struct tensors_meta meta[WEIGHTS_METAS];	/* all pairs, "graph" and "optimizer" left out */
	uint32_t	 nmeta;
};

/*
 * Writes at once or not at all.  state is that of the rule, or NULL; average [P + A], or NULL.  Returns 0, ERR_SYS,
 * ERR_NOMEM, ERR_LIMIT, or ERR_FORMAT for metadata that is not UTF-8.
 */
int	 weights_save(const char *path, const struct graph *g, const float *w, const float *aux, const float *state,
	     enum opt_rule rule, const float *average, const struct tensors_meta *meta, uint32_t nmeta);
/*
 * Reads a file into a new struct, its arrays in the order of want when that is not NULL, else of the stored graph.
 * Tensors that the net does not have are left alone; state is there for all learned arrays or for none.  Memory is
 * taken for no more than the file holds.  Returns 0, ERR_SYS, ERR_SHORT, ERR_FORMAT (a tensor missing, of another shape
 * or dtype, with numbers that are not finite, or the file broken; the line names it), ERR_LIMIT or ERR_NOMEM.  On error *f
 * is empty.
 */
int	 weights_load(const char *path, const struct graph *want, struct weights *f);

/*
 * Is x an array's numbers, of whatever float type?  A full layer's matrix may stand in a file as a 1x1 convolution's, and the
 * reverse: ones behind are no difference.
 */
bool	 weights_fit(const struct tensor *x, const struct graph_array *a);
/*
 * ERR_FORMAT, naming tensor NAME and TAIL, unless all of w [n] are finite: a net computes with others, and where its engine
 * has a ReLU that makes 0 of them nothing else tells.
 */
int	 weights_finite(const float *w, size_t n, const char *name, const char *tail);
#define WEIGHTS_MISFIT	512
/* Why x does not: "10x64, not 12x64", or that it has no floats.  Gives to back. */
const char *weights_misfit(const struct tensor *x, const struct graph_array *a, char to[WEIGHTS_MISFIT]);
/* The tensor, without a name, that an array is written as. */
struct tensor weights_tensor(const struct graph_array *a);

/* What came of weights_start(): arrays of the net that were in the file, and those that stay as they began. */
struct weights_taken {
	uint32_t	taken, left;
	struct buf	names;		/* of those left, with the reason of each; to be freed */
};

/*
 * Weights to start from, by name: w [P] and aux [A] of the net g get those arrays whose names and shapes a file of
 * tensors has, of whatever float type, MXNet's or after rules (NULL: none) other nets' names as well.  Others are left as
 * they are: a classifier of other classes.  Returns as weights_load(), and ERR_FORMAT when the file has none.
 */
int	 weights_start(const char *path, const struct rename_rules *rules, const struct graph *g, float *w, float *aux,
	     struct weights_taken *r);
const char *weights_get(const struct weights *f, const char *key);	/* NULL when there is none */
void	 weights_free(struct weights *f);	/* and is empty again */

#endif
