/* fuzz_frame - any bytes, in pieces of any size: no crash, no memory without a bound. */
#include "base/frame.h"

#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const char mark[] = "\001m";
	struct frame_reader in = { .max = 256 };
	struct frame f;
	size_t piece = n > 0 ? 1 + p[0] % 16 : 1;
	volatile uint8_t sum = 0;
	bool synced = n > 0 && p[0] & 128;
	int e = 0;

	for (size_t at = 1; at < n && e >= 0; at += piece) {
		frame_feed(&in, p + at, n - at < piece ? n - at : piece);
		if (!synced && !(synced = frame_sync(&in, mark, sizeof(mark) - 1)))
			continue;
		while ((e = frame_next(&in, &f)) > 0)
			for (uint32_t i = 0; i < f.len; i++)
				sum = (uint8_t)(sum + f.p[i]);
		if (in.b.n > FRAME_HEAD + in.max + piece)
			abort();
	}
	frame_free(&in);
	return 0;
}
