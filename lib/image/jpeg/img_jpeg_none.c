/* img_jpeg_none - refuses every JPEG: replaces img_jpeg_fast if libjpeg has no private header of a known version. */
#include "image/jpeg/img_jpeg_fast.h"

#include <stddef.h>

int
img_jpeg_fast_new(struct img_jpeg_fast **f)
{
	*f = NULL;
	return 0;
}

void
img_jpeg_fast_free(struct img_jpeg_fast *f)
{
	(void)f;
}

int
img_jpeg_fast_region(struct img_jpeg_fast *f, const uint8_t *data, size_t n, uint32_t h, uint32_t w,
    const struct img_region *region, uint32_t c, uint8_t *p)
{
	(void)f, (void)data, (void)n, (void)h, (void)w, (void)region, (void)c, (void)p;
	return 0;
}

int
img_jpeg_fast_planes(struct img_jpeg_fast *f, const uint8_t *data, size_t n, const struct img_jpeg_head *head,
    const unsigned shrink[3], const struct resize_plane plane[3])
{
	(void)f, (void)data, (void)n, (void)head, (void)shrink, (void)plane;
	return 0;
}
