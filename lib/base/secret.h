/*
 * secret - memory for a key: never swapped out, if the system allows it, and left out of core dumps.
 *
 * Threads: no state.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stddef.h>

/*
 * Allocates n bytes of zeros in pages of their own.  Where RLIMIT_MEMLOCK allows none, they are not locked.  Returns 0
 * or ERR_NOMEM.
 */
int	 secret_new(size_t n, void **p);
/* Locks a secret again in a process that was just forked: the lock stays with the parent. */
void	 secret_keep(void *p, size_t n);
void	 secret_free(void *p, size_t n);	/* wipes it; NULL does nothing */

#endif
