/*
 * rename - rules that turn the names of tensors into others.
 *
 * A rule is REGEX=TEXT: what an extended regular expression (regex(7)) matches
 * in a name becomes the text, in which \1 to \9 stand for what its groups
 * matched and \\ for a backslash.  from:TABLE and to:TABLE are rules as well:
 * another program's names into ours by a table of net/alias.h, and ours into
 * its.  Every rule is applied once to every name, in order.
 */
#ifndef NET_RENAME_H
#define NET_RENAME_H

#include "base/buf.h"

#define RENAME_RULES	256	/* most rules */

struct rename_rules;

/* A list without rules.  Returns 0 or ERR_NOMEM. */
int	 rename_new(struct rename_rules **r);
void	 rename_free(struct rename_rules *r);	/* NULL is fine */
/* Appends a rule.  Returns 0, ERR_ARG (the line says what is wrong with it), ERR_LIMIT, ERR_NOMEM, or what alias_load() returns. */
int	 rename_add(struct rename_rules *r, const char *rule);
/* Makes name, which ends in a zero, the new one in out.  Returns 0, ERR_LIMIT (longer than 64 KiB) or ERR_NOMEM. */
int	 rename_apply(const struct rename_rules *r, const char *name, struct buf *out);

#endif
