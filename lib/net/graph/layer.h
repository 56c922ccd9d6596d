/*
 * layer - the functions that a net's script calls: handles of nodes and options in, nodes of a graph out.
 *
 *	x = data(3, 28, 28)
 *	x = relu(bn(conv{x, 96, kernel = 3, pad = 1, name = "conv1"}))
 *
 * block(x) says that the layers up to x, from the block before on, are a block of
 * the net, and gives x back.
 *
 * A function takes a table, or its positional part alone: the nodes it reads
 * and then its main value; named options follow net/graph/attr.h.  One table in the
 * source lists the functions with their defaults: a new layer is a line there.
 */
#ifndef NET_GRAPH_LAYER_H
#define NET_GRAPH_LAYER_H

#include "net/graph/graph.h"

#include <lua.h>

#define LAYER_KINDS 32	/* most functions */

struct layer_net {
	struct graph *graph;		/* NULL until the script called data() */
	uint32_t      c, h, w;		/* the picture asked for; 0 0 0: the script's own */
	uint32_t      blocks;		/* named so far */
	uint32_t      made[LAYER_KINDS];	/* nodes named for want of a name */
	bool	      nomem;
};

/* Adds the functions to the globals; sandbox_mine() is a struct layer_net.  May raise Lua errors. */
void	 layer_open(lua_State *L);
/* Is the value at idx a node's handle?  *at gets its index in the graph. */
bool	 layer_node(lua_State *L, int idx, uint32_t *at);

#endif
