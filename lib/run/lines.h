/*
 * lines - whole lines out of a descriptor that gives pieces.
 *
 * A line longer than LINES_MOST is cut there; a last line without its newline gets one.
 * Ownership: the descriptor becomes the lines'; what is given is lent until the next call.
 */
#ifndef RUN_LINES_H
#define RUN_LINES_H

#include <stddef.h>

#define LINES_MOST	65536u

struct lines;

/* fd is made non-blocking.  NULL when out of memory; fd is then closed. */
struct lines *lines_open(int fd);
void	 lines_close(struct lines *l);	/* NULL is fine */
int	 lines_fd(const struct lines *l);	/* -1 after the end */

/*
 * Reads once.  1: text [n] is one or more whole lines, newlines included; 0 at
 * the end, which is also where the descriptor cannot be read; ERR_AGAIN when no
 * whole line has come.
 */
int	 lines_next(struct lines *l, const char **text, size_t *n);

#endif
