/* fuzz_cut - any bytes as the manifest of a cut: no crash, and what is accepted is complete. */
#include "train/cut.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct cut_manifest m = { .epoch = UINT64_MAX, .step = UINT64_MAX, .bytes = UINT64_MAX };

	if (cut_parse(p, n, &m) == 0 && (m.epoch > INT64_MAX || m.step > INT64_MAX || m.bytes > INT64_MAX))
		abort();
	return 0;
}
