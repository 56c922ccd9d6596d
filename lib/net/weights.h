/*
 * weights - a net's weights as a safetensors file (tensor/tensors.h).
 *
 * lib/net is what is known of a net without computing it.  graph/ describes nets, optim/ updates their arrays, merge/
 * and onnx/ combine and convert files of them.  Beside these, init, whiten and freeze prepare the arrays, weights,
 * rename and alias read and write them, and measure compares them.
 *
 * The first tensors are the learned arrays and the running statistics, under their names in the graph.  The optimizer's
 * state follows, as "NAME:momentum" and the like (opt_tail()), then the moving averages as "NAME:average", and the mean
 * image.  Any of these three may be missing.
 * Metadata: "graph" (the text of net(5)), "optimizer" if the state is that of another one than sgd, and the caller's
 * own pairs.
 */
#ifndef NET_WEIGHTS_H
#define NET_WEIGHTS_H

#include "net/graph/graph.h"
#include "net/optim/opt.h"
#include "net/rename.h"
#include "tensor/tensors.h"

#define WEIGHTS_METAS	(TENSORS_METAS - 2)	/* most of the caller's pairs of metadata */

#define WEIGHTS_GRAPH	"graph"		/* keys of metadata */
#define WEIGHTS_OPTIMIZER "optimizer"
#define WEIGHTS_PREPROCESSING "preprocessing"	/* train/preprocess.h */
#define WEIGHTS_CLASS_NAMES "class_names"	/* lines */
#define WEIGHTS_NET	"net"		/* a name, then lines KEY=VALUE in the order of their keys */
#define WEIGHTS_MEAN_IMAGE "mean_image"		/* name of a tensor */

struct weights {
	struct graph	*graph;		/* from the metadata; NULL if the file has none */
	float		*w;		/* [P] */
	float		*aux;		/* [A] */
	float		*state;		/* [P, opt_states(rule)], or NULL */
	enum opt_rule	 rule;		/* the rule that the state belongs to */
	float		*average;	/* [P + A], of weights and statistics, or NULL */
	struct tensors_meta meta[WEIGHTS_METAS];	/* all pairs except "graph" and "optimizer" */
	uint32_t	 nmeta;
};

/* The contents of a file of weights, all lent; state, average and mean_image may be NULL. */
struct weights_content {
	const struct graph *graph;
	const float	*w, *aux;	/* weights [P] and statistics [A] */
	const float	*state;		/* [P, opt_states(rule)] */
	enum opt_rule	 rule;
	const float	*average;	/* [P + A], of both */
	const float	*mean_image;	/* the shape of the graph's input */
	const struct tensors_meta *meta;	/* [nmeta] */
	uint32_t	 nmeta;		/* at most WEIGHTS_METAS */
};

/* Writes the file atomically.  Returns 0, ERR_SYS, ERR_NOMEM, ERR_LIMIT, or ERR_FORMAT if metadata is not UTF-8. */
int	 weights_save(const char *path, const struct weights_content *f);
/*
 * Reads a file into *f, which the caller frees.  Arrays have the order of want, or of the stored graph if want is NULL.
 * Tensors that the net does not have are ignored.  A file has state for all learned arrays or for none.  Memory is
 * at most a third more than the size of the file.  Returns 0, ERR_SYS, ERR_SHORT, ERR_LIMIT, ERR_NOMEM, or ERR_FORMAT:
 * a tensor is missing, has the wrong shape or type, or holds NaN or infinite numbers; the message names it.  On error
 * *f is empty.
 */
int	 weights_load(const char *path, const struct graph *want, struct weights *f);

/*
 * Reads the graph in a file's metadata, which the caller frees; *g is NULL if there is none.  Returns 0, ERR_SYS,
 * ERR_SHORT, ERR_LIMIT, ERR_NOMEM or ERR_FORMAT.
 */
int	 weights_read_graph(const char *path, struct graph **g);

/*
 * Whether x is a float tensor of the array's shape.  Trailing dimensions of 1 do not count: a full
 * layer fits a 1x1 convolution.
 */
bool	 weights_fit(const struct tensor *x, const struct graph_array *a);
/*
 * Returns ERR_FORMAT, naming tensor NAME and TAIL, unless all of w [n] are finite.  A net would compute with NaNs, and
 * a ReLU that turns them into 0 would hide them.
 */
int	 weights_finite(const float *w, size_t n, const char *name, const char *tail);
#define WEIGHTS_MISFIT	512
/* Writes why weights_fit() fails, as "10x64, not 12x64" or "I64, no floats", and returns `to`. */
const char *weights_misfit(const struct tensor *x, const struct graph_array *a, char to[WEIGHTS_MISFIT]);
/* The tensor, without a name, in which an array is written. */
struct tensor weights_tensor(const struct graph_array *a);

/* The result of weights_start(): how many arrays of the net the file had, and how many keep their initial values. */
struct weights_taken {
	uint32_t	taken, left;
	struct buf	names;		/* names of the arrays left, each with its reason; the caller frees it */
};

/*
 * Initializes w [P] and aux [A] from the tensors of a file whose names and shapes match arrays of g.  The tensors may
 * have any float type; MXNet's names match, too, and rules (NULL: none) rename others.  Arrays without a match stay
 * unchanged, for example a classifier with other classes.  Returns as weights_load(), ERR_FORMAT if nothing
 * matches, and ERR_ARG if a rule changes no name.
 */
int	 weights_start(const char *path, struct rename_rules *rules, const struct graph *g, float *w, float *aux,
	     struct weights_taken *r);
const char *weights_get(const struct weights *f, const char *key);	/* NULL if there is none */
void	 weights_free(struct weights *f);	/* leaves *f empty */

#endif
