/* img_png_plain_none - leaves every PNG to libspng: replaces img_png_plain in a build with PNGPLAIN=0. */
#include "image/img_png_plain.h"

int
img_png_plain(struct libdeflate_decompressor *z, const uint8_t *p, size_t n, uint32_t pixels, struct buf *room,
    struct img_png_ihdr *h, uint8_t **rows)
{
	(void)z, (void)p, (void)n, (void)pixels, (void)room, (void)h, (void)rows;
	return 0;
}

uint32_t
img_png_plain_channels(const struct img_png_ihdr *h)
{
	(void)h;
	return 0;
}

void
img_png_plain_unfilter(const struct img_png_ihdr *h, uint8_t *rows, uint8_t *p)
{
	(void)h, (void)rows, (void)p;
}
