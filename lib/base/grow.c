/* grow - room for one more array element, at amortized constant cost. */
#include "base/grow.h"
#include "base/err.h"
#include "base/num.h"

#include <stdlib.h>

#define LEAST	64

void *
grow_by_one(void *at, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap > 0 ? 2 * *cap : LEAST, bytes;
	void *p;

	if (n < *cap)
		return at;
	if (num_mul(more, size, &bytes) < 0 || (p = realloc(at, bytes)) == NULL) {
		(void)err_nomem();
		return NULL;
	}
	*cap = more;
	return p;
}
