/* grow_test - room for one more array element. */
#include "base/err.h"
#include "base/grow.h"
#include "tap.h"

#include <stdint.h>
#include <stdlib.h>

int
main(void)
{
	uint32_t *at = NULL, *p;
	size_t cap = 0, moves = 0, wrong = 0, before;

	for (uint32_t n = 0; n < 100000; n++) {
		before = cap;
		if ((p = grow_by_one(at, n, &cap, sizeof(*p))) == NULL)
			break;
		moves += cap != before;
		wrong += cap <= n;
		at = p;
		at[n] = n;
	}
	for (uint32_t n = 0; n < 100000; n++)
		wrong += at[n] != n;
	is(wrong, 0, "every element has room and keeps its value");
	ok(moves < 20, "the array is reallocated rarely: %zu times", moves);
	before = cap;
	ok(grow_by_one(at, cap, &cap, SIZE_MAX / 16) == NULL, "grow_by_one refuses a size that overflows");
	is(cap, before, "a refused size leaves *cap unchanged");
	is(at[99999], 99999, "a refused size leaves the array unchanged");
	free(at);
	return done();
}
