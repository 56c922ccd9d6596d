/*
 * alias - a table that maps another program's array names to a net's, and back.
 *
 * A line has two names with blanks between: the other program's, then the net's.  '#' begins a comment.  A '*' in both
 * names matches the same text.  The first line that matches gives the other name.  A name that no line matches stays
 * unchanged.
 */
#ifndef NET_ALIAS_H
#define NET_ALIAS_H

#include "base/buf.h"

#include <stdbool.h>

#define ALIAS_LINES	512	/* most lines that hold names */
#define ALIAS_BYTES	65536u	/* most bytes of a table */

struct alias;

/*
 * Loads a table.  A name with a '/' is a path, another is a file of share/names.  back maps the net's names to the
 * other program's.  Returns 0, ERR_SYS, ERR_FORMAT (names file, line and reason), ERR_LIMIT or ERR_NOMEM.
 */
int	 alias_load(const char *name, bool back, struct alias **a);
void	 alias_free(struct alias *a);	/* NULL is fine */
/* Appends the name that the table gives for `name` to out.  Returns 0 or ERR_NOMEM. */
int	 alias_apply(const struct alias *a, const char *name, struct buf *out);

#endif
