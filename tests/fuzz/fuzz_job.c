/* fuzz_job - any bytes as a job: no crash, no memory without a bound, and what is taken can be said again. */
#include "run/job.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct buf b = { 0 };
	struct job j;

	if (job_get(p, n, &j) < 0)
		return 0;
	if (job_put(&j, &b) < 0 || b.n != n || memcmp(b.p, p, n) != 0)
		abort();
	buf_free(&b);
	job_free(&j);
	return 0;
}
