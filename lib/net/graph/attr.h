/*
 * attr - the attributes of a graph's nodes: their ops, values and bounds.
 *
 * One table serves the checks of graph_add(), the text of net(5) and the options of a script's layer functions.  Values
 * pass as text: integers, 0 or 1, decimal fractions that restore the same float, one of a list of words, or two
 * integers as 3x1 (3 if both are equal).
 *
 * An attribute that is newer than the format has a default, and the text omits it at the default.  So older texts stay
 * valid and keep their hashes.
 */
#ifndef NET_GRAPH_ATTR_H
#define NET_GRAPH_ATTR_H

#include "net/graph/graph.h"

#define ATTR_TEXT 32	/* bytes of the longest value's text with its zero */

enum attr_kind { ATTR_COUNT, ATTR_PAIR, ATTR_FLAG, ATTR_REAL, ATTR_WORD };

struct attr {
	const char	  *key;
	enum attr_kind	   kind;
	size_t		   at;		/* offset in struct graph_node */
	uint32_t	   ops;		/* bit 1 << op for each op that has it */
	double		   lo, hi;	/* bounds of counts and reals */
	const char *const *word;	/* the words, indexed by value; NULL at the end */
	bool		   optional;	/* may be omitted: the value is dflt, as for a count or pair of 0 below lo */
	uint32_t	   dflt;	/* default of counts, pairs, flags and words; a real's is 0 */
};

/* All attributes in the order of the text; the last has key NULL. */
extern const struct attr attr_list[];

bool		   attr_has(const struct attr *a, enum graph_op op);
const struct attr *attr_find(enum graph_op op, const char *key);	/* NULL if op has no such attribute */

/* Parses a value.  Returns 0, ERR_FORMAT or ERR_LIMIT; the message names key and reason. */
int	 attr_set(const struct attr *a, struct graph_node *n, const char *text);
void	 attr_text(const struct attr *a, const struct graph_node *n, char text[ATTR_TEXT]);

/* Whether the text omits it: the attribute is optional and at its default. */
bool	 attr_is_default(const struct attr *a, const struct graph_node *n);
/* Sets the optional attributes of n->op to their defaults. */
void	 attr_defaults(struct graph_node *n);

/* Copies the attributes that n->op has.  Returns 0, or ERR_LIMIT if one is out of bounds. */
int	 attr_copy(struct graph_node *n, const struct graph_node *like);

#endif
