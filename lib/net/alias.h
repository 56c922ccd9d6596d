/*
 * alias - the names that another program has for the arrays of a net, and ours: a table that is read both ways.
 *
 * A line has two names, theirs and ours, with blanks between; '#' begins a comment.  A '*' in both stands for any text, the
 * same in both.  The first line that fits a name gives the other one; a name that no line fits stays as it is.
 */
#ifndef NET_ALIAS_H
#define NET_ALIAS_H

#include "base/buf.h"

#include <stdbool.h>

#define ALIAS_LINES	512	/* most lines with names */
#define ALIAS_BYTES	65536u	/* most bytes of a table */

struct alias;

/*
 * The table of a path, which holds a '/', or of share/names; back: ours into theirs.  Returns 0, ERR_SYS, ERR_FORMAT (file, line and
 * reason named), ERR_LIMIT or ERR_NOMEM.
 */
int	 alias_load(struct alias **a, const char *name, bool back);
void	 alias_free(struct alias *a);	/* NULL is fine */
/* Appends the other name.  Returns 0 or ERR_NOMEM. */
int	 alias_apply(const struct alias *a, const char *name, struct buf *out);

#endif
