/*
 * loan - memory of a process that another process of the same host reads where it is.
 *
 * The owner passes a descriptor that is open only to read, and the other maps it.  It gives no rights that a process of
 * the same user lacks: that could open any memory of the owner's through /proc.  The memory is sealed: it cannot
 * shrink, so that no read of it raises SIGBUS.  Its bytes may change while they are read, so that a reader copies what
 * it decides by.
 *
 * Threads: any, of different loans.
 */
#ifndef WIRE_PATH_LOAN_H
#define WIRE_PATH_LOAN_H

#include <stdbool.h>
#include <stddef.h>

#define LOAN_PAGE 65536u	/* bytes of the largest page: a memory may have fewer than these beyond its contents */

struct loan {
	void	*p;		/* page-aligned; NULL: none */
	size_t	 size;
	int	 fd;		/* the owner's descriptor, to be passed; else -1 */
};

/*
 * Makes size > 0 bytes of zeros, which children do not have.  The descriptor is -1 if the system cannot lend them.
 * Returns 0 or ERR_NOMEM.
 */
int	 loan_make(size_t size, struct loan *l);
/*
 * Opens the memory that this process has mapped from fd, to be passed and closed by the caller.  Returns a descriptor,
 * or -1 if it could shrink.
 */
int	 loan_open(int fd);
/*
 * Maps another's memory of at most `most` bytes to read, and closes fd.  Returns 0, ERR_SYS, ERR_LIMIT if it is larger,
 * or ERR_FORMAT if it could shrink.
 */
int	 loan_take(int fd, size_t most, struct loan *l);
/* Unmaps it, which may be taken or made.  A struct loan of zeros is none. */
void	 loan_free(struct loan *l);
/* Whether the n bytes at p are in it. */
bool	 loan_has(const struct loan *l, const void *p, size_t n);

#endif
