/* fuzz_record - any bytes as a job's record: no crash, no memory without a bound, and what is taken can be said again. */
#include "run/record.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf b = { 0 };
	struct record r;

	if (record_get(&r, p, n) < 0)
		return 0;
	if (record_put(&r, &b) < 0 || b.n != n || memcmp(b.p, p, n) != 0)
		abort();
	buf_free(&b);
	record_free(&r);
	return 0;
}
