/* fuzz_idx - hostile indexes: what is taken is ascending, and is taken again when written. */
#include "record/idx.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	struct idx x = { 0 }, again = { 0 };
	struct buf text = { 0 };

	if (idx_parse(&x, p, size) == 0) {
		for (size_t i = 0; i < x.n; i++)
			if ((i > 0 && x.at[i] <= x.at[i - 1]) || idx_put(&text, i, x.at[i]) < 0)
				abort();
		if (idx_parse(&again, text.p, text.n) < 0 || again.n != x.n ||
		    (x.n > 0 && memcmp(again.at, x.at, x.n * sizeof(*x.at)) != 0))
			abort();
	}
	idx_free(&x);
	idx_free(&again);
	buf_free(&text);
	return 0;
}
