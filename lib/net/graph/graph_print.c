/* graph_print - prints a graph as a table of shapes, counts and multiply-adds. */
#include "net/graph/attr.h"
#include "net/graph/graph.h"
#include "net/graph/op.h"

#include <inttypes.h>
#include <stdio.h>

static size_t
count_own_weights(const struct graph *g, const struct graph_node *n)
{
	size_t sum = 0;

	for (uint32_t end, a = graph_learned(n, &end); a < end; a++)
		sum += g->w[a].count;
	return sum;
}

/* Every output of a conv or fc is a sum of as many products as one filter has weights. */
uint64_t
graph_node_macs(const struct graph *g, uint32_t node)
{
	const struct graph_node *n = &g->node[node];

	return n->weight < 0 ? 0 : (uint64_t)g->w[n->weight].count * n->h * n->w;
}

uint64_t
graph_macs(const struct graph *g)
{
	uint64_t sum = 0;	/* stays below 2^60: the weights are at most 2^30 together, h*w at most 2^30 */

	for (uint32_t i = 0; i < g->n; i++)
		sum += graph_node_macs(g, i);
	return sum;
}

static int
print_node(const struct graph *g, const struct graph_node *n, int width, struct buf *out)
{
	char shape[40], text[ATTR_TEXT];
	int e;

	snprintf(shape, sizeof(shape), "%" PRIu32 "x%" PRIu32 "x%" PRIu32, n->c, n->h, n->w);
	e = buf_put_fmt(out, "%-*s  %-7s  %-12s  %10zu  %12" PRIu64 " ", width, n->name, op_name(n->op), shape,
	    count_own_weights(g, n), graph_node_macs(g, (uint32_t)(n - g->node)));
	for (uint32_t i = 0; e == 0 && i < n->nin; i++)
		e = buf_put_fmt(out, "%s%s", i == 0 ? " in=" : ",", g->node[n->in[i]].name);
	for (const struct attr *a = attr_list; e == 0 && a->key != NULL; a++)
		if (attr_has(a, n->op) && !attr_is_default(a, n) && n->op != GRAPH_DATA) {
			attr_text(a, n, text);
			e = buf_put_fmt(out, " %s=%s", a->key, text);
		}
	return e == 0 ? buf_put(out, "\n", 1) : e;
}

int
graph_print(const struct graph *g, struct buf *out)
{
	int e, width = 4;	/* strlen("node") */

	for (uint32_t i = 0; i < g->n; i++)
		width = (int)strlen(g->node[i].name) > width ? (int)strlen(g->node[i].name) : width;
	e = buf_put_fmt(out, "%-*s  %-7s  %-12s  %10s  %12s  %s\n", width, "node", "layer", "shape", "weights",
	    "multiply-add", "attributes");
	for (uint32_t i = 0; e == 0 && i < g->n; i++)
		e = print_node(g, &g->node[i], width, out);
	if (e < 0)
		return e;
	return buf_put_fmt(out,
	    "%zu weights in %" PRIu32 " arrays, %zu running statistics, %.1f M multiply-adds an image, "
	    "hash %016" PRIx64 "\n", g->P, g->nw, g->A, (double)graph_macs(g) * 1e-6, graph_hash(g));
}
