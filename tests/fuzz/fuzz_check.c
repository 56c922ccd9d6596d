/* fuzz_check - hostile records with a hostile index and sums beside them: all is told, nothing is taken for sound twice. */
#include "image/img.h"
#include "record/check.h"
#include "place.h"

static int
bad(void *ctx, int e)
{
	if (e >= 0 || *err_line() == 0)
		abort();
	++*(unsigned *)ctx;
	return 0;
}

static int
step(void *ctx, uint64_t records, uint64_t bytes, double share)
{
	(void)ctx;
	if (share > 1 || records > bytes)
		abort();
	return 0;
}

/* The input: two bytes with the lengths of the .idx and the .sum, these, and the .rec. */
int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	size_t idx = size > 2 ? p[0] : 0, sum = size > 2 ? p[1] : 0, from = size > 2 ? 2 : size;
	unsigned told = 0;
	const struct check_sink sink = { bad, step, &told };
	struct check_found f;
	char path[64];

	if (idx > size - from)
		idx = size - from;
	if (sum > size - from - idx)
		sum = size - from - idx;
	place_put("x.idx", p + from, idx);
	place_put("x.sum", p + from + idx, sum);
	place_put("x.rec", p + from + idx + sum, size - from - idx - sum);
	snprintf(path, sizeof(path), "%s/x.rec", place_dir);
	if (check_run(path, 1, IMG_PIXELS, &sink, &f) < 0 || f.bad > told || f.index == CHECK_NONE || f.sums == CHECK_NONE ||
	    (told == 0) != (f.bad == 0 && f.index == CHECK_AGREES && f.sums == CHECK_AGREES))
		abort();
	return 0;
}
