/*
 * rename - rules that rename tensors.
 *
 * A rule is REGEX=TEXT: each match of an extended regular expression (regex(7)) in a name is replaced by the text, in
 * which \1 to \9 stand for the matched groups and \\ for a backslash.  The matches are those of sed(1) with the flag g.
 * Two more rules use a table of net/alias.h: from:TABLE maps another program's names to the net's, to:TABLE the net's
 * to the other program's.  Every rule is applied once to every name, in order.
 */
#ifndef NET_RENAME_H
#define NET_RENAME_H

#include "base/buf.h"

#define RENAME_RULES	256	/* most rules */

struct rename_rules;

/* Makes an empty list.  Returns 0 or ERR_NOMEM. */
int	 rename_new(struct rename_rules **r);
void	 rename_free(struct rename_rules *r);	/* NULL is fine */
/*
 * Appends a rule.  Returns 0, ERR_ARG (the message says what is wrong), ERR_LIMIT, ERR_NOMEM, or an
 * error of alias_load().
 */
int	 rename_add(struct rename_rules *r, const char *rule);
/* Sets out to the new name, with a zero at the end.  Returns 0, ERR_LIMIT (longer than 64 KiB) or ERR_NOMEM. */
int	 rename_apply(struct rename_rules *r, const char *name, struct buf *out);
/* The first rule that has changed no name so far, or NULL. */
const char *rename_idle_rule(const struct rename_rules *r);

#endif
