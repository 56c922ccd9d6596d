/* fuzz_recwalk - hostile record files: every byte is part of a record or skipped, with and without peek. */
#include "record/recwalk.h"
#include "record/sum.h"
#include "place.h"

static void
walk(const char *path, const uint8_t *p, size_t size, uint32_t peek)
{
	struct recwalk_rec r;
	struct recwalk *w;
	uint64_t at = 0;
	int e;

	if (recwalk_open(path, peek, &w) < 0)
		abort();
	while ((e = recwalk_next(w, &r)) > 0 || e == ERR_ITEM) {
		if (r.at != at || r.bytes == 0 || r.bytes > size - at)
			abort();
		at += r.bytes;
		if (e < 0)
			continue;
		if (r.n > r.whole || (peek == 0 && (r.n != r.whole || r.sum != sum_of(p + r.at, (size_t)r.bytes))))
			abort();
		if (recwalk_load(w, &r) == 0 && r.n != r.whole)
			abort();
	}
	if (e != 0 || at != size)
		abort();
	recwalk_close(w);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	char path[64];

	place_put("x.rec", p, size);
	snprintf(path, sizeof(path), "%s/x.rec", place_dir);
	walk(path, p, size, 0);
	walk(path, p, size, 64);
	return 0;
}
