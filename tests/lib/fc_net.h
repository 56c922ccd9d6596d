/* fc_net - a net of one full layer, a [2,6], for tests of its parameter server. */
#ifndef TESTS_LIB_FC_NET_H
#define TESTS_LIB_FC_NET_H

#include "net/graph/graph.h"

static inline struct graph *
fc_net(void)
{
	struct graph *g = graph_new(1, 2, 3);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 2 }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

#endif
