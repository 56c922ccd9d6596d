/*
 * graph - a net as a flat list of layers over one array of weights.
 *
 * lib/net/graph describes nets.  Read it in this order: graph (the layers and their arrays); attr and op (attributes
 * and shapes); script, layer and sandbox (Lua scripts into graphs).  net/weights.h introduces the rest of lib/net.
 *
 * Node i reads the outputs of earlier nodes; node 0 is the data and the last node the loss.  Every output is [N, c, h,
 * w], N being the batch.  The learned arrays are contiguous in w f32 [P], in the order of the nodes and within a node
 * weight, bias, gamma, beta.  The running means and variances of batch norm are contiguous in aux f32 [A].  A gradient
 * has the same offsets as w.
 *
 * Layouts (row major): conv weight [K, C/groups, R, S], fc weight [K, C*H*W], the rest one dimension.  N batch, C
 * channels in, K channels out, H W height and width, R S kernel height and width, P number of weights, A of statistics.
 *
 * Ownership: graph_new() makes a graph, graph_add() grows it, and it owns everything in it.  Once the loss is added it
 * is const, except for the marks of net/freeze.h.  Threads: any number may read a finished graph.
 */
#ifndef NET_GRAPH_GRAPH_H
#define NET_GRAPH_GRAPH_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_NAME	64	/* bytes of a name with its zero */
#define GRAPH_INIT	256	/* bytes of an initialization rule with its zero */
#define GRAPH_NODES	4096	/* most nodes */
#define GRAPH_FLOATS	(1u << 30)	/* most weights; most floats of one node's output for one image */

enum graph_op {
	GRAPH_DATA,	/* the batch: images of c x h x w */
	GRAPH_CONV,	/* cross-correlation; out = (in + 2 pad - dilate (kernel - 1) - 1) / stride + 1, rounded down */
	GRAPH_FC,	/* y [N,k] = x [N, C*H*W] weight^T + bias */
	GRAPH_BN,	/* y = gamma (x - mean) / sqrt(var + eps) + beta per channel; biased variance */
	GRAPH_ACT,	/* elementwise; see enum graph_act */
	GRAPH_POOL,	/* max or average; see struct graph_node */
	GRAPH_CONCAT,	/* joins channels, in the order of in[] */
	GRAPH_FLATTEN,	/* [N, c*h*w, 1, 1] */
	GRAPH_ADD,	/* elementwise sum of in[] */
	GRAPH_MUL,	/* elementwise product of in[] */
	GRAPH_PAD,	/* a border of zeros, or of the image reflected at its edge */
	GRAPH_LRN,	/* y = x / (knorm + alpha / size * sum of x^2 over `size` channels around)^power */
	GRAPH_DROPOUT,	/* in training y = 0 with probability drop, else x / (1 - drop); in evaluation y = x */
	GRAPH_SOFTMAX,	/* the loss; see enum graph_loss */
	GRAPH_OPS
};

enum graph_act {
	GRAPH_RELU,
	GRAPH_TANH,
	GRAPH_SIGMOID,
	GRAPH_LINEAR,		/* alpha x */
	GRAPH_LEAKY,		/* x > 0 ? x : alpha x */
	GRAPH_ELU,		/* x > 0 ? x : alpha (exp x - 1) */
	GRAPH_GELU,		/* x P(Z <= x), Z normal: by the error function */
	GRAPH_GELU_TANH,	/* GELU approximated by tanh */
	GRAPH_SWISH		/* x sigmoid x */
};
/*
 * The loss of scores x [K].  SOFTMAX: -sum of q log p, p = softmax(x), q = (1 - smooth) onehot(y) + smooth / K.  The
 * others compare each output with its target t [K], and are means over the K outputs.  SIGMOID: -t log p - (1 - t)
 * log(1 - p), p = 1 / (1 + exp(-x)).  SQUARED: (p - t)^2, p = x.
 */
enum graph_loss { GRAPH_LOSS_SOFTMAX, GRAPH_LOSS_SIGMOID, GRAPH_LOSS_SQUARED };
enum graph_pool { GRAPH_MAX, GRAPH_AVG };
/* The divisor of an average: r*s always; the part of the window within the padded image; the part within the image. */
enum graph_divide { GRAPH_WINDOW, GRAPH_PADDED, GRAPH_INSIDE };
/* How weights are initialized: by the run's rule, as a Dirac delta (net/init.h), from images (net/whiten.h). */
enum graph_begin { GRAPH_BY_RULE, GRAPH_IDENTITY, GRAPH_WHITEN };
enum graph_role { GRAPH_WEIGHT, GRAPH_BIAS, GRAPH_GAMMA, GRAPH_BETA, GRAPH_MEAN, GRAPH_VAR };

struct graph_node {
	enum graph_op	 op;
	char		 name[GRAPH_NAME];
	uint32_t	*in;		/* indices of earlier nodes */
	uint32_t	 nin;
	uint32_t	 c, h, w;	/* output shape for one image */
	/* k: channels out of conv and fc; r, s: kernel of conv and pool */
	uint32_t	 k, r, s;
	uint32_t	 stride[2], pad[2];	/* rows, columns; conv and pool, pad also GRAPH_PAD */
	uint32_t	 dilate[2];	/* conv: distance between kernel elements; 0 counts as 1 */
	uint32_t	 groups;	/* conv: groups of channels in and out; 0 counts as 1 */
	bool		 bias;		/* conv, fc */
	enum graph_begin begin;		/* conv, fc */
	/* pool: output size rounded up, windows cut at the border (MXNet before 2016-07) */
	bool		 ceil;
	bool		 reflect;	/* pad */
	enum graph_pool	 pool;
	enum graph_divide divide;	/* pool: divisor of an average */
	enum graph_act	 act;
	float		 alpha;		/* act, lrn */
	uint32_t	 size;		/* lrn: channels [c - size/2, c + (size-1)/2] */
	float		 power, knorm;	/* lrn */
	float		 drop;		/* dropout */
	enum graph_loss	 loss;		/* softmax */
	float		 smooth;	/* softmax: label smoothing */
	bool		 fix_gamma;	/* bn: gamma stays 1, its gradient is 0 */
	float		 eps;		/* bn */
	float		 momentum;	/* bn: running = momentum * running + (1 - momentum) * batch */
	/* number of its block in the script, from 1; 0: none.  Not part of the text or hash */
	uint32_t	 block;
	/* Indices of the node's arrays in graph.w or graph.aux; -1 for an array it does not have. */
	int32_t		 weight, bias_at, gamma, beta, mean, var;
};

struct graph_array {
	char		 name[GRAPH_NAME + 16];	/* MXNet's: NODE_weight, NODE_bias, NODE_gamma, NODE_moving_mean ... */
	enum graph_role	 role;
	uint32_t	 node;
	uint32_t	 ndim, dim[4];
	size_t		 first, count;		/* range in w [P] or aux [A] */
	bool		 frozen;		/* not learned (net/freeze.h).  Not part of the text or hash */
};

/* What the script proposes for training.  Not part of the text or hash.  Zeros: it proposes nothing. */
struct graph_defaults {
	char		 init[GRAPH_INIT];	/* rule of net/init.h */
	double		 rate;			/* learning rate of sgd */
	float		 mean[3], std[3];	/* mean and deviation of pixels 0..255 */
};

struct graph {
	struct graph_node  *node;
	uint32_t	    n;
	struct graph_array *w;		/* learned arrays, by first */
	uint32_t	    nw;
	struct graph_array *aux;	/* running statistics, by first */
	uint32_t	    naux;
	size_t		    P, A;
	uint32_t	    classes;	/* classes of the loss; 0 before it is added */
	struct graph_defaults defaults;
};

/* Returns the first of the node's learned arrays, which are adjacent in graph.w; *end is the one after the last. */
static inline uint32_t
graph_learned(const struct graph_node *n, uint32_t *end)
{
	int32_t first = n->weight >= 0 ? n->weight : n->gamma;

	*end = (uint32_t)(first + (n->weight >= 0) + (n->bias_at >= 0) + (n->gamma >= 0) + (n->beta >= 0));
	return (uint32_t)first;
}

/* Numbers of a sample that its outputs are compared with; 0: it has a class. */
static inline uint32_t
graph_targets(const struct graph *g)
{
	return g->node[g->n - 1].loss == GRAPH_LOSS_SOFTMAX ? 0 : g->classes;
}

/* Sets both sides of an attribute: .stride = GRAPH_BOTH(2). */
#define GRAPH_BOTH(n) { (n), (n) }

/* Starts a net for images of c x h x w.  Returns NULL if out of memory. */
struct graph *graph_new(uint32_t c, uint32_t h, uint32_t w);
void	 graph_free(struct graph *g);	/* NULL is fine */

/*
 * Adds a node and sets *at to its index.  *like gives the op, the name (unique; letters, digits, '_', '-', '.'), in,
 * nin and the op's attributes (net/graph/attr.h).  graph_add() computes the rest.  It refuses the loss while the graph
 * has a node that nothing reads.  Returns 0, ERR_FORMAT (names node and reason), ERR_LIMIT or ERR_NOMEM; on error the
 * graph is unchanged.
 */
int	 graph_add(struct graph *g, const struct graph_node *like, uint32_t *at);

/*
 * The text of net(5), one node a line.  graph_parse(graph_text(g)) restores a finished g.  graph_parse() accepts
 * untrusted bytes.  Return 0, ERR_NOMEM, ERR_FORMAT or ERR_LIMIT; the message names the line.
 */
int	 graph_text(const struct graph *g, struct buf *out);
int	 graph_parse(const char *text, size_t n, struct graph **g);

/* Prints a table of the nodes with shapes, counts and multiply-adds, then the totals. */
int	 graph_print(const struct graph *g, struct buf *out);

/* FNV-1a of the text: equal graphs have equal hashes. */
uint64_t graph_hash(const struct graph *g);

/* Multiply-adds of one forward pass of one image, in all layers or in one (conv and fc only). */
uint64_t graph_macs(const struct graph *g);
uint64_t graph_node_macs(const struct graph *g, uint32_t node);

#endif
