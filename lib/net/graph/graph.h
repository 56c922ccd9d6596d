/*
 * graph - a net as a flat list of layers over one array of weights.
 *
 * Node i reads the outputs of nodes before it; node 0 is the data, the last
 * node the loss.  Every output is [N, c, h, w], N being the batch.  The learned
 * arrays stand one behind the other in w f32 [P], in the order of the nodes
 * and within a node weight, bias, gamma, beta; batch norm's running mean and
 * variance stand the same way in aux f32 [A].  A gradient has the same offsets.
 *
 * Layouts (row major): conv weight [K, C/groups, R, S], fc weight [K, C*H*W], the rest
 * one dimension.  The alphabet: N batch, C channels in, K channels out, H W
 * height and width, R S kernel height and width, P number of weights.
 *
 * Ownership: a graph is made by graph_new and grown by graph_add; everything in
 * it belongs to it and is const, but for the marks of net/freeze.h, once the loss
 * was added.  Threads: a finished
 * graph may be read by any number.
 */
#ifndef NET_GRAPH_GRAPH_H
#define NET_GRAPH_GRAPH_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_NAME	64	/* bytes of a name, its zero counted */
#define GRAPH_NODES	4096	/* most nodes */
#define GRAPH_FLOATS	(1u << 30)	/* most weights; most floats of one node's output for one picture */

enum graph_op {
	GRAPH_DATA,	/* the batch: c h w as given */
	GRAPH_CONV,	/* cross-correlation; out = (in + 2 pad - dilate (kernel - 1) - 1) / stride + 1, rounded down */
	GRAPH_FC,	/* y [N,k] = x [N, C*H*W] weight^T + bias */
	GRAPH_BN,	/* y = gamma (x - mean) / sqrt(var + eps) + beta per channel; biased variance */
	GRAPH_ACT,	/* each number by itself; enum graph_act */
	GRAPH_POOL,	/* max or average; see struct graph_node */
	GRAPH_CONCAT,	/* joins channels, in the order of in[] */
	GRAPH_FLATTEN,	/* [N, c*h*w, 1, 1] */
	GRAPH_ADD,	/* the sum of in[], number by number */
	GRAPH_MUL,	/* their product */
	GRAPH_PAD,	/* a border of zeros, or of the picture reflected at its edge */
	GRAPH_LRN,	/* y = x / (knorm + alpha / size * sum of x^2 over `size` channels around)^power */
	GRAPH_DROPOUT,	/* in training y = 0 with chance drop, else x / (1 - drop); in evaluation y = x */
	GRAPH_SOFTMAX,	/* the loss: -sum of q log p, q = (1 - smooth) onehot(y) + smooth / classes; dx = p - q */
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
	GRAPH_GELU_TANH,	/* the same approximated by tanh */
	GRAPH_SWISH		/* x sigmoid x */
};
enum graph_pool { GRAPH_MAX, GRAPH_AVG };
/* What an average divides by: r*s whatever was cut; the window cut at the padded border; the part within the picture. */
enum graph_divide { GRAPH_WINDOW, GRAPH_PADDED, GRAPH_INSIDE };
/* How a weight begins: by the rule of the run, as the identity as far as that goes (net/init.h), from pictures (whiten.h). */
enum graph_begin { GRAPH_BY_RULE, GRAPH_IDENTITY, GRAPH_WHITEN };
enum graph_role { GRAPH_WEIGHT, GRAPH_BIAS, GRAPH_GAMMA, GRAPH_BETA, GRAPH_MEAN, GRAPH_VAR };

struct graph_node {
	enum graph_op	 op;
	char		 name[GRAPH_NAME];
	uint32_t	*in;		/* indices of earlier nodes */
	uint32_t	 nin;
	uint32_t	 c, h, w;	/* output shape of one picture */
	/* conv, pool (k: conv and fc, channels out) */
	uint32_t	 k, r, s;
	uint32_t	 stride[2], pad[2];	/* lines, columns; pad also of GRAPH_PAD */
	uint32_t	 dilate[2];	/* conv: from tap to tap; 0 counts as 1 */
	uint32_t	 groups;	/* conv: channels in and out are cut in so many parts; 0 counts as 1 */
	bool		 bias;		/* conv, fc */
	enum graph_begin begin;		/* conv, fc */
	bool		 ceil;		/* pool: size rounded up, windows cut at the border (MXNet before 2016-07) */
	bool		 reflect;	/* pad */
	enum graph_pool	 pool;
	enum graph_divide divide;	/* pool: of an average */
	enum graph_act	 act;
	float		 alpha;		/* act, lrn */
	uint32_t	 size;		/* lrn: channels [c - size/2, c + (size-1)/2] */
	float		 power, knorm;	/* lrn */
	float		 drop;		/* dropout */
	float		 smooth;	/* softmax: of the labels */
	bool		 fix_gamma;	/* bn: gamma stays 1, its gradient is 0 */
	float		 eps;		/* bn */
	float		 momentum;	/* bn: running = momentum * running + (1 - momentum) * batch */
	uint32_t	 block;		/* of the blocks its script names, from 1; 0: in none; no part of the text or hash */
	/* Indices into graph.w or graph.aux of what the node has; -1 where it has none. */
	int32_t		 weight, bias_at, gamma, beta, mean, var;
};

struct graph_array {
	char		 name[GRAPH_NAME + 16];	/* as MXNet: NODE_weight, NODE_bias, NODE_gamma, NODE_moving_mean ... */
	enum graph_role	 role;
	uint32_t	 node;
	uint32_t	 ndim, dim[4];
	size_t		 first, count;		/* the range in w [P] or aux [A] */
	bool		 frozen;		/* stays as it is (net/freeze.h); no part of the text or hash */
};

struct graph {
	struct graph_node  *node;
	uint32_t	    n;
	struct graph_array *w;		/* learned arrays, by first */
	uint32_t	    nw;
	struct graph_array *aux;	/* running statistics, by first */
	uint32_t	    naux;
	size_t		    P, A;
	uint32_t	    classes;	/* of the loss; 0 until it was added */
};

/* An attribute of two sides that are alike: .stride = GRAPH_BOTH(2). */
#define GRAPH_BOTH(n) { (n), (n) }

/* Begins a net for pictures of c x h x w.  Returns NULL when out of memory. */
struct graph *graph_new(uint32_t c, uint32_t h, uint32_t w);
void	 graph_free(struct graph *g);	/* NULL is fine */

/*
 * Adds a node: op, name (unique; letters, digits, '_', '-', '.'), in/nin and
 * the attributes of its op (net/graph/attr.h: which, and their bounds) are read from
 * *like, the rest is worked out here and what the op has not is 0 or -1.  The
 * loss is refused while there is a node that nothing reads.  *at gets its
 * index.  Returns 0, ERR_FORMAT (the line names node and reason), ERR_LIMIT or
 * ERR_NOMEM; on error the graph is as it was.
 */
int	 graph_add(struct graph *g, const struct graph_node *like, uint32_t *at);

/*
 * The text of net(5): a line a node, so that graph_parse(graph_text(g)) is g once its loss was added.
 * graph_parse takes foreign bytes: ERR_FORMAT or ERR_LIMIT name the line.
 */
int	 graph_text(const struct graph *g, struct buf *out);
int	 graph_parse(const char *text, size_t n, struct graph **g);

/* For people: the nodes with shapes, counts and multiply-adds, aligned, and the totals. */
int	 graph_print(const struct graph *g, struct buf *out);

/* FNV-1a of the text: equal graphs have equal hashes. */
uint64_t graph_hash(const struct graph *g);

/* Multiply-adds of one forward pass of one picture (conv and fc only). */
uint64_t graph_macs(const struct graph *g);

#endif
