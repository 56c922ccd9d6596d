/*
 * grow - room for one more array element, at amortized constant cost.
 *
 *	if ((p = grow_by_one(l->at, l->n, &l->cap, sizeof(*p))) == NULL)
 *		return ERR_NOMEM;
 *	l->at = p;
 *	l->at[l->n++] = x;
 *
 * Ownership: the array is the caller's, who frees it with free(3).
 */
#ifndef BASE_GROW_H
#define BASE_GROW_H

#include <stddef.h>

/*
 * Makes room for one more element.  at is the array (NULL at first) of n elements of size bytes; *cap is the number of
 * elements allocated.  Returns the array, which may have moved.  On ERR_NOMEM it records the error, returns NULL and
 * changes nothing.
 */
void	*grow_by_one(void *at, size_t n, size_t *cap, size_t size);

#endif
