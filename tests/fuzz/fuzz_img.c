/* fuzz_img - hostile pictures: what decodes is of the size and kind that was asked for, and a JPEG as turbojpeg makes it. */
#include "image/img.h"

#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

#define PIXELS	(1u << 16)

/* A part's pixels are those of the whole. */
static int
part_differs(struct img_codec *k, const uint8_t *p, size_t size, const struct img *all)
{
	const struct img_region q = { all->h / 3, all->w / 4, all->h - all->h / 3 * 2, all->w - all->w / 4 * 2 };
	size_t row = (size_t)q.w * all->c, n = (size_t)all->c * all->h * all->w;
	uint8_t *whole = malloc(n), *part = malloc(row * q.h);
	int differs;

	if (whole == NULL || part == NULL)
		abort();
	memcpy(whole, all->p, n);
	differs = img_decode_region(k, p, size, all->h, all->w, &q, all->c, part) < 0;
	for (uint32_t y = 0; y < q.h && !differs; y++)
		differs = memcmp(part + y * row, whole + ((size_t)(q.y + y) * all->w + q.x) * all->c, row) != 0;
	free(whole);
	free(part);
	return differs;
}

/* A JPEG's pixels are those of turbojpeg, which has no CMYK for us to compare. */
static int
whole_differs(const uint8_t *p, size_t size, const struct img_head *head, const struct img *all)
{
	size_t n = (size_t)all->c * all->h * all->w;
	uint8_t *whole;
	tjhandle tj;
	int differs;

	if (head->format != IMG_JPEG || head->odd)
		return 0;
	if ((whole = malloc(n)) == NULL || (tj = tjInitDecompress()) == NULL)
		abort();
	differs = tjDecompress2(tj, p, (unsigned long)size, whole, (int)all->w, 0, (int)all->h,
	    all->c == 1 ? TJPF_GRAY : TJPF_RGB, 0) < 0 && tjGetErrorCode(tj) != TJERR_WARNING;
	differs = differs || memcmp(whole, all->p, n) != 0;
	tjDestroy(tj);
	free(whole);
	return differs;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	static const uint32_t kinds[] = { 0, 1, 3 };
	uint32_t c = kinds[size % 3];
	volatile uint8_t sum = 0;
	struct img_codec *k;
	struct img_head head;
	struct img out;

	if (img_codec_new(PIXELS, &k) < 0)
		abort();
	if (img_check(k, p, size) == 0 && img_head(k, p, size, &head) < 0)
		abort();
	if (img_decode(k, p, size, c, &out) == 0) {
		if ((c > 0 && out.c != c) || (uint64_t)out.h * out.w > PIXELS || out.h == 0 || out.w == 0)
			abort();
		for (size_t i = 0; i < (size_t)out.c * out.h * out.w; i++)
			sum = sum ^ out.p[i];
		if (img_head(k, p, size, &head) < 0 || whole_differs(p, size, &head, &out) || part_differs(k, p, size, &out))
			abort();
	}
	img_codec_free(k);
	return 0;
}
