/* fuzz_job_record - any bytes as a job's record: no crash, no memory without a bound, and what is taken can be said again. */
#include "run/launcher/job_record.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf b = { 0 };
	struct job_record r;

	if (job_record_get(p, n, &r) < 0)
		return 0;
	if (job_record_put(&r, &b) < 0 || b.n != n || memcmp(b.p, p, n) != 0)
		abort();
	buf_free(&b);
	job_record_free(&r);
	return 0;
}
