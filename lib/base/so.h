/*
 * so - loads libraries at run time that the build does not need.
 *
 * Threads: any.
 */
#ifndef BASE_SO_H
#define BASE_SO_H

#include <stdbool.h>
#include <stddef.h>

struct so_symbol {
	const char	*name;
	void		*to;		/* the address of a pointer to the function */
	bool		 optional;	/* the pointer is NULL if the library lacks it */
};

/*
 * Loads the first library of `names`, which ends with NULL, and sets the functions.  The library stays loaded until the
 * process ends.  Returns 0 or ERR_NOTSUP.
 */
int	 so_load(const char *const *names, const struct so_symbol *symbols, size_t n);

#endif
