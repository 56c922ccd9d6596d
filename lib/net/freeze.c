/* freeze - rules that mark arrays of a net as frozen. */
#include "net/freeze.h"
#include "base/err.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static int
freeze_pattern(struct graph *g, const char *pattern)
{
	bool any = false;

	for (uint32_t i = 0; i < g->nw; i++)
		if (fnmatch(pattern, g->w[i].name, 0) == 0)
			g->w[i].frozen = any = true;
	return any ? 0 : err_fail(ERR_ARG, "the net has no array '%.64s'; --print lists its arrays", pattern);
}

static int
freeze_up_to(struct graph *g, const char *name)
{
	uint32_t last = 0;

	while (last < g->nw && strcmp(g->w[last].name, name) != 0)
		last++;
	if (last == g->nw)
		return err_fail(ERR_ARG, "the net has no array '%.64s'", name);
	for (uint32_t i = 0; i <= last; i++)
		g->w[i].frozen = true;
	return 0;
}

/* Freezes the running statistics of each batch norm whose gamma and beta are frozen. */
static int
freeze_bn_statistics(struct graph *g)
{
	bool learns = false;

	if (g->nw == 0)
		return err_fail(ERR_ARG, "the net has no arrays to learn");
	for (uint32_t i = 0; i < g->naux; i++)
		g->aux[i].frozen = freeze_node(g, g->aux[i].node);
	for (uint32_t i = 0; i < g->nw; i++)
		learns |= !g->w[i].frozen;
	return learns ? 0 : err_fail(ERR_ARG, "all arrays of the net are frozen; leave one to learn");
}

int
freeze_rules(struct graph *g, const char *rules)
{
	static const char pattern[] = "freeze:", to[] = "freeze-to:";
	char *text = strdup(rules != NULL ? rules : ""), *rest = text, *rule;
	int e = text == NULL ? err_nomem() : 0;

	while (e == 0 && (rule = strsep(&rest, ";")) != NULL)
		if (strncmp(rule, pattern, sizeof(pattern) - 1) == 0)
			e = freeze_pattern(g, rule + sizeof(pattern) - 1);
		else if (strncmp(rule, to, sizeof(to) - 1) == 0)
			e = freeze_up_to(g, rule + sizeof(to) - 1);
	free(text);
	return e == 0 ? freeze_bn_statistics(g) : e;
}

int
freeze_blocks(const struct graph *g, uint32_t k, struct buf *rule)
{
	uint32_t blocks = 0, last = UINT32_MAX;

	for (uint32_t i = 0; i < g->n; i++)
		blocks = g->node[i].block > blocks ? g->node[i].block : blocks;
	if (k > blocks)
		return err_fail(ERR_ARG, "cannot freeze %u blocks: the net has %u; give fewer, or a pattern of names",
		    k, blocks);
	for (uint32_t i = 0; i < g->nw; i++)
		if (g->node[g->w[i].node].block > 0 && g->node[g->w[i].node].block <= k)
			last = i;
	return last < g->nw ? buf_put_fmt(rule, "freeze-to:%s", g->w[last].name) : 0;
}

bool
freeze_node(const struct graph *g, uint32_t i)
{
	uint32_t end, first = graph_learned(&g->node[i], &end);

	for (uint32_t a = first; a < end; a++)
		if (!g->w[a].frozen)
			return false;
	return first < end;
}
