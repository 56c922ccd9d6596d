/* fuzz_graph - any bytes as a graph's text: no crash, and what is read is written so that it reads the same. */
#include "net/graph/graph.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf text = { 0 }, print = { 0 };
	struct graph *g, *again = NULL;

	if (graph_parse((const char *)p, n, &g) < 0) {
		if (g != NULL)
			abort();
		return 0;
	}
	if (graph_text(g, &text) < 0 || graph_parse((const char *)text.p, text.n, &again) < 0)
		abort();
	if (graph_hash(again) != graph_hash(g) || again->P != g->P || again->A != g->A ||
	    graph_macs(again) != graph_macs(g) || graph_print(g, &print) < 0)
		abort();
	buf_free(&text);
	buf_free(&print);
	graph_free(again);
	graph_free(g);
	return 0;
}
