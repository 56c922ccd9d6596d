/* fuzz_img - hostile pictures: what decodes is of the size and kind that was asked for. */
#include "image/img.h"

#include <stdlib.h>

#define PIXELS	(1u << 16)

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	static const uint32_t kinds[] = { 0, 1, 3 };
	uint32_t c = kinds[size % 3];
	volatile uint8_t sum = 0;
	struct img_codec *k;
	struct img_head head;
	struct img out;

	if (img_codec_new(&k, PIXELS) < 0)
		abort();
	if (img_check(k, p, size) == 0 && img_head(k, p, size, &head) < 0)
		abort();
	if (img_decode(k, p, size, c, &out) == 0) {
		if ((c > 0 && out.c != c) || (uint64_t)out.h * out.w > PIXELS || out.h == 0 || out.w == 0)
			abort();
		for (size_t i = 0; i < (size_t)out.c * out.h * out.w; i++)
			sum = sum ^ out.p[i];
	}
	img_codec_free(k);
	return 0;
}
