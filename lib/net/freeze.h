/*
 * freeze - which arrays of a net stay as they are: rules into marks on a graph.
 *
 *	freeze:PATTERN		learned arrays whose names match (fnmatch(3))
 *	freeze-to:NAME		those up to and with the array of this name, in the order of the net
 *
 * Rules stand among the others of ps/shard_plan.h, semicolons between, so that a job's
 * description says what is frozen; rules of other kinds are passed over.  A
 * batch norm whose gamma and beta are both frozen keeps its running statistics,
 * and normalises by them in training too, as in evaluation.
 *
 * A mark is no part of the graph's text or hash: a frozen net is the same net.
 */
#ifndef NET_FREEZE_H
#define NET_FREEZE_H

#include "base/buf.h"
#include "net/graph/graph.h"

/*
 * Marks g by rules, which may be NULL.  Returns 0, ERR_ARG (a rule that matches no array, or there is nothing left to learn)
 * or ERR_NOMEM.
 */
int	 freeze_rules(struct graph *g, const char *rules);

/* The rule that freezes the first k blocks of g.  Returns 0, ERR_ARG (it has fewer; the line says how many) or ERR_NOMEM. */
int	 freeze_blocks(const struct graph *g, uint32_t k, struct buf *rule);

/* Does node i have learned arrays, all of them frozen? */
bool	 freeze_node(const struct graph *g, uint32_t i);

#endif
