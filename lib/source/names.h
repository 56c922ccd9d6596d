/*
 * names - a list of names: the classes of a data set, in the order of their numbers.
 *
 * A zeroed struct names is empty.  Ownership: the names belong to the list.
 */
#ifndef SOURCE_NAMES_H
#define SOURCE_NAMES_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define NAMES_MOST	(1u << 17)	/* most names of a list */
#define NAMES_SHOWN	8u		/* names in a message */
#define NAMES_BYTES	(1u << 26)	/* most bytes of all names */

struct names {
	char	**p;
	size_t	  n, cap, bytes;
	size_t	 *sorted;	/* [n] the numbers by name, or NULL if the list itself is sorted */
};

/* Appends the n bytes of a name.  Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 names_append(struct names *l, const char *name, size_t n);
/* Inserts a name in the order of bytes, unless it exists; for lists made only in this way.  Returns the same. */
int	 names_insert(struct names *l, const char *name, size_t n);
/*
 * Reads the lines of a file into an empty list, in their order.  Ignores empty lines, a CR at the end of a line and a
 * byte order mark of UTF-8.  Returns 0, ERR_SYS, ERR_FORMAT (a name twice, none at all, or a zero byte, as in UTF-16),
 * ERR_LIMIT or ERR_NOMEM; the line names the file.
 */
int	 names_read(struct names *l, const char *path);
/*
 * Writes a zero byte after the bytes of a file of names, as names_parse() needs it.  Returns 0, ERR_FORMAT if there is
 * one among them, or ERR_NOMEM.
 */
int	 names_end_text(struct buf *text);
/* The same as names_read() from a text; the message does not name it. */
int	 names_parse(struct names *l, const char *text);
/* The number of a name, or -1.  The list must be sorted, or come from names_read() or names_parse(). */
long	 names_find(const struct names *l, const char *name, size_t n);
/* Whether two lists have the same names in the same order. */
bool	 names_equal(const struct names *a, const struct names *b);
/* Whether each name is its number, as those of MNIST; also of an empty list. */
bool	 names_are_numbers(const struct names *l);
/* Whether lines of names are UTF-8 without control characters, so that they can be sent, stored and printed. */
bool	 names_are_printable(const char *lines);
/* Appends the first names to a text, with commas between, and "..." if there are more.  Returns 0 or ERR_NOMEM. */
int	 names_put(const struct names *l, struct buf *text);
/* Appends all names, each with a newline after it.  Returns the same. */
int	 names_put_lines(const struct names *l, struct buf *text);
void	 names_free(struct names *l);	/* leaves an empty list */

#endif
