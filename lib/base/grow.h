/*
 * grow - room for one more element of an array, at a cost that does not rise with their number.
 *
 *	if ((p = grow_by_one(l->at, l->n, &l->cap, sizeof(*p))) == NULL)
 *		return ERR_NOMEM;
 *	l->at = p;
 *	l->at[l->n++] = x;
 *
 * Ownership: the array is the caller's, to be freed by free(3).
 */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <stddef.h>

/*
 * at (NULL at first) has n elements of size bytes, and *cap counts those that it has room for.  Returns the array, which may
 * have moved, with room for one more; NULL: ERR_NOMEM is noted, and array and *cap are as they were.
 */
void	*grow_by_one(void *at, size_t n, size_t *cap, size_t size);

#endif
