/*
 * freeze - rules that mark arrays of a net as frozen.
 *
 * 	freeze:PATTERN		learned arrays whose names match (fnmatch(3))
 * 	freeze-to:NAME		all learned arrays up to and including NAME, in the order of the net
 *
 * Rules are separated by semicolons.  They stand among the rules of ps/shard_plan.h, so that a job's description
 * includes them; this module ignores rules of other kinds.  A batch norm whose gamma and beta are both frozen keeps its
 * running statistics and normalises by them in training, too.
 *
 * A mark is not part of the graph's text or hash: freezing does not change a net's identity.
 */
#ifndef NET_FREEZE_H
#define NET_FREEZE_H

#include "base/buf.h"
#include "net/graph/graph.h"

/*
 * Marks g by rules (NULL: none).  Returns 0, ERR_ARG (a rule matches no array, or all arrays are
 * frozen) or ERR_NOMEM.
 */
int	 freeze_rules(struct graph *g, const char *rules);

/* Appends the rule that freezes the first k blocks of g.  Returns 0, ERR_ARG (g has fewer) or ERR_NOMEM. */
int	 freeze_blocks(const struct graph *g, uint32_t k, struct buf *rule);

/* Whether node i has learned arrays and all of them are frozen. */
bool	 freeze_node(const struct graph *g, uint32_t i);

#endif
