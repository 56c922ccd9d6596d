/*
 * names - a list of names: the classes of a data set, in the order of their numbers.
 *
 * A struct names of zeros is empty.  Ownership: the names belong to the list.
 */
#ifndef SOURCE_NAMES_H
#define SOURCE_NAMES_H

#include <stddef.h>

#define NAMES_MOST	(1u << 17)	/* names of a list */
#define NAMES_BYTES	(1u << 26)	/* of all of them */

struct names {
	char	**p;
	size_t	  n, cap, bytes;
	size_t	 *sorted;	/* of a list in another order: its numbers in the order of bytes; or NULL */
};

/* Appends the n bytes of a name.  Returns 0, ERR_LIMIT or ERR_NOMEM. */
int	 names_append(struct names *l, const char *name, size_t n);
/* Puts it where it stands in the order of bytes, unless it is there.  Returns the same.  For lists made so alone. */
int	 names_insert(struct names *l, const char *name, size_t n);
/*
 * Reads the lines of a file into an empty list, in their order; empty lines and one's end in CR count for nothing.
 * Returns 0, ERR_SYS, ERR_FORMAT (a name twice, or none at all), ERR_LIMIT or ERR_NOMEM; the line names the file.
 */
int	 names_read(struct names *l, const char *path);
/* The number of a name in a list made by names_insert() or names_read(), or pushed in the order of bytes; or -1. */
long	 names_find(const struct names *l, const char *name, size_t n);
void	 names_free(struct names *l);	/* and is empty again */

#endif
