/* exec_node - for each node of a graph: its readers, whether it needs a gradient, and whether it is a score. */
#include "engine/cuda/exec_plan.h"

#include <stdlib.h>

/*
 * Marks the nodes whose output is f32: what the loss reads, and the inputs of elementwise layers on the
 * way there.  The search ends at products, which can write f32, and at larger images.
 */
static void
mark_scores(struct engine_plan *p)
{
	for (uint32_t i = p->graph->n - 1; i > 0; i--) {
		const struct graph_node *l = exec_node_at(p, i);
		const bool product = l->op == GRAPH_CONV || l->op == GRAPH_FC;

		for (uint32_t k = 0; k < l->nin; k++) {
			const struct graph_node *in = exec_node_at(p, l->in[k]);

			if (l->op == GRAPH_SOFTMAX || (p->node[i].score && !product && in->h * in->w == 1))
				p->node[l->in[k]].score = true;
		}
	}
}

int
exec_node_make(struct engine_plan *p)
{
	if ((p->node = calloc(p->graph->n, sizeof(*p->node))) == NULL)
		return device_nomem(p->dev->host);
	for (uint32_t i = 0; i < p->graph->n; i++) {
		const struct graph_node *l = exec_node_at(p, i);

		for (uint32_t end, a = graph_learned(l, &end); a < end; a++)
			p->node[i].wants |= !p->graph->w[a].frozen;
		p->node[i].keep = EXEC_NONE;
		for (uint32_t k = 0; k < l->nin; k++) {
			p->node[l->in[k]].readers++;
			p->node[l->in[k]].reader = i;
			p->node[i].wants |= p->node[l->in[k]].wants;
		}
	}
	for (uint32_t i = 0; i < p->graph->n; i++)
		if ((p->node[i].part = calloc(p->node[i].readers + 1, sizeof(*p->node[i].part))) == NULL)
			return device_nomem(p->dev->host);
	mark_scores(p);
	return 0;
}

void
exec_node_clear(struct engine_plan *p)
{
	for (uint32_t i = 0; p->node != NULL && i < p->graph->n; i++)
		free(p->node[i].part);
	free(p->node);
}
