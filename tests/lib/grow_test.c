/* grow_test - is there room for each element, is what was there kept, and is a failure without effect? */
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
	is(wrong, 0, "there is room for each, and each stays");
	ok(moves < 20, "the array is made larger seldom: %zu times", moves);
	before = cap;
	ok(grow_by_one(at, cap, &cap, SIZE_MAX / 16) == NULL, "what cannot be had");
	is(cap, before, "... changes nothing");
	is(at[99999], 99999, "... and loses nothing");
	free(at);
	return done();
}
