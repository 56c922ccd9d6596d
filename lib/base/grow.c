/* grow - room for one more element of an array, at a cost that does not rise with their number. */
#include "base/grow.h"
#include "base/err.h"

#include <stdlib.h>

#define LEAST	64

void *
grow_by_one(void *at, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap > 0 ? 2 * *cap : LEAST;
	void *p;

	if (n < *cap)
		return at;
	if ((p = reallocarray(at, more, size)) == NULL) {
		(void)err_nomem();
		return NULL;
	}
	*cap = more;
	return p;
}
