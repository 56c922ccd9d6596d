/*
 * layer - the functions that a net's script calls to add nodes to its graph.
 *
 * 	x = data(3, 28, 28)
 * 	x = relu(bn(conv{x, 96, kernel = 3, pad = 1, name = "conv1"}))
 *
 * A function takes a table, or its positional arguments alone: the nodes it reads and then its main attribute.  Named
 * options are the attributes of net/graph/attr.h.  block(x) groups the layers since the last block, up to x, into a
 * block of the net and returns x.  One table in the source lists the functions with their defaults.
 */
#ifndef NET_GRAPH_LAYER_H
#define NET_GRAPH_LAYER_H

#include "net/graph/graph.h"

#include <lua.h>

#define LAYER_KINDS 32	/* most functions */

struct layer_net {
	struct graph *graph;		/* NULL until the script calls data() */
	uint32_t      c, h, w;		/* the image size requested; 0 0 0: the script's default */
	const char   *loss;		/* the loss requested; NULL: the script's */
	uint32_t      blocks;		/* blocks so far */
	uint32_t      made[LAYER_KINDS];	/* nodes of each kind that got a default name */
	bool	      nomem;		/* an allocation failed */
};

/* Adds the functions to the globals; sandbox_mine() must be a struct layer_net.  May raise Lua errors. */
void	 layer_open(lua_State *L);
/* Whether the value at idx is a node's handle; sets *at to the node's index in the graph. */
bool	 layer_node(lua_State *L, int idx, uint32_t *at);

#endif
