/*
 * lines - whole lines from a descriptor that delivers arbitrary parts of them.
 *
 * A line longer than LINES_MOST is split there.  A newline is added to a last line without one.
 * Ownership: the reader owns the descriptor.  The text that it returns is valid until the next call.
 */
#ifndef RUN_LINES_H
#define RUN_LINES_H

#include <stddef.h>

#define LINES_MOST	65536u

struct lines;

/* Makes fd non-blocking.  Returns NULL and closes fd when out of memory. */
struct lines *lines_open(int fd);
void	 lines_close(struct lines *l);	/* NULL is fine */
int	 lines_fd(const struct lines *l);	/* -1 after the end */

/*
 * Reads once.  Returns 1 and one or more whole lines in text [n]; 0 at the end, or if the
 * descriptor cannot be read; ERR_AGAIN if there is no whole line yet.
 */
int	 lines_next(struct lines *l, const char **text, size_t *n);

#endif
