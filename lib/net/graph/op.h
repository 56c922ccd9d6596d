/*
 * op - the kinds of layer: name, number of inputs, and the rule that gives the output's shape.
 *
 * What an op computes is the engines' matter; what it makes of shapes is here, once.
 */
#ifndef NET_GRAPH_OP_H
#define NET_GRAPH_OP_H

#include "net/graph/graph.h"

#define OP_INS 64	/* most inputs of a node (concat, add, mul) */

const char *op_name(enum graph_op op);		/* as in the graph's text */
enum graph_op op_find(const char *name);	/* GRAPH_OPS when there is none */
uint32_t op_most_in(enum graph_op op);		/* 0 for data, 1, or OP_INS */

/* Is c x h x w something a node can give: no side 0, not over GRAPH_FLOATS in all? */
bool	 op_fits(uint64_t c, uint64_t h, uint64_t w);

/*
 * Fills n's c h w from its attributes and the nodes it reads.  Returns 0, ERR_FORMAT or ERR_LIMIT; the line says
 * what does not fit, without n's name.
 */
int	 op_shape(const struct graph *g, struct graph_node *n);

#endif
