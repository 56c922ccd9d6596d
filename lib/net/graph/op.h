/* op - the kinds of layer: their names, numbers of inputs and output shapes. */
#ifndef NET_GRAPH_OP_H
#define NET_GRAPH_OP_H

#include "net/graph/graph.h"

#define OP_INS 64	/* most inputs of a node (concat, add, mul) */

const char *op_name(enum graph_op op);		/* as in the graph's text */
enum graph_op op_find(const char *name);	/* GRAPH_OPS if there is none */
uint32_t op_most_in(enum graph_op op);		/* 0 for data, 1, or OP_INS */

/* Whether a node's output may be c x h x w: no dimension 0, at most GRAPH_FLOATS elements. */
bool	 op_fits(uint64_t c, uint64_t h, uint64_t w);

/*
 * Sets n's c, h and w from its attributes and inputs.  Returns 0, ERR_FORMAT or ERR_LIMIT; the message says what does
 * not fit, without n's name.
 */
int	 op_shape(const struct graph *g, struct graph_node *n);

#endif
