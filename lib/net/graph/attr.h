/*
 * attr - the attributes of a graph's nodes: which op has which, their words and bounds.
 *
 * One table serves the checks of graph_add(), the text of net(5) and the
 * options of a script's layer functions, so a new layer's attributes are
 * written once.  Values pass as text, as in the graph's text: whole numbers, 0 or 1,
 * fractions that give the same float back, one of a list of words, or two whole
 * numbers as 3x1, which is 3 where they are equal.
 *
 * An attribute that came later than the format has a default, and is in the text
 * only where it is another: older texts stay valid, and keep their hashes.
 */
#ifndef NET_GRAPH_ATTR_H
#define NET_GRAPH_ATTR_H

#include "net/graph/graph.h"

#define ATTR_TEXT 32	/* bytes that any value's text fits, its zero counted */

enum attr_kind { ATTR_COUNT, ATTR_PAIR, ATTR_FLAG, ATTR_REAL, ATTR_WORD };

struct attr {
	const char	  *key;
	enum attr_kind	   kind;
	size_t		   at;		/* offset in struct graph_node */
	uint32_t	   ops;		/* bit 1 << op for each op that has it */
	double		   lo, hi;	/* counts and reals */
	const char *const *word;	/* words: by value, NULL behind the last */
	bool		   optional;	/* may be left out: it is dflt then, and so is a count or pair of 0 below lo */
	uint32_t	   dflt;	/* counts, pairs, flags and words; reals are 0 */
};

/* All of them, in the order of the text; key NULL behind the last. */
extern const struct attr attr_list[];

bool		   attr_has(const struct attr *a, enum graph_op op);
const struct attr *attr_find(enum graph_op op, const char *key);	/* NULL when op has no such attribute */

/* Returns 0, ERR_FORMAT or ERR_LIMIT; the line names key and reason. */
int	 attr_set(const struct attr *a, struct graph_node *n, const char *text);
void	 attr_text(const struct attr *a, const struct graph_node *n, char text[ATTR_TEXT]);

/* Is it optional and at its default? */
bool	 attr_unsaid(const struct attr *a, const struct graph_node *n);
/* Sets the optional attributes of n->op to their defaults. */
void	 attr_defaults(struct graph_node *n);

/* Copies the attributes that n->op has.  Returns 0 or ERR_LIMIT when one is out of bounds. */
int	 attr_copy(struct graph_node *n, const struct graph_node *like);

#endif
