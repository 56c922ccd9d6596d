/* img - encoded pictures in, pixels out, and the reverse. */
#include "data/img.h"
#include "data/img_jpeg.h"
#include "data/img_png.h"
#include "base/err.h"

#include <assert.h>
#include <stdlib.h>

struct img_codec {
	struct img_jpeg	*jpeg;
	struct buf	 room;		/* for the pixels; grows to the largest picture met */
	uint32_t	 pixels;
};

int
img_codec_new(struct img_codec **k, uint32_t pixels)
{
	int e;

	if ((*k = calloc(1, sizeof(**k))) == NULL)
		return err_nomem();
	(*k)->pixels = pixels;
	if ((e = img_jpeg_new(&(*k)->jpeg)) < 0) {
		free(*k);
		*k = NULL;
	}
	return e;
}

void
img_codec_free(struct img_codec *k)
{
	if (k == NULL)
		return;
	img_jpeg_free(k->jpeg);
	buf_free(&k->room);
	free(k);
}

int
img_decode(struct img_codec *k, const uint8_t *data, size_t n, uint32_t c, struct img *out)
{
	static const uint8_t png[8] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
	static const uint8_t jpeg[3] = { 0xff, 0xd8, 0xff };

	assert(c == 0 || c == 1 || c == 3);
	if (n > IMG_BYTES)
		return err_fail(ERR_LIMIT, "%zu bytes are too many for a picture", n);
	if (n >= sizeof(jpeg) && memcmp(data, jpeg, sizeof(jpeg)) == 0)
		return img_jpeg_decode(k->jpeg, data, n, c, k->pixels, &k->room, out);
	if (n >= sizeof(png) && memcmp(data, png, sizeof(png)) == 0)
		return img_png_decode(data, n, c, k->pixels, &k->room, out);
	return err_fail(ERR_NOTSUP, "neither JPEG nor PNG");
}

int
img_encode_png(const struct img *in, struct buf *out)
{
	return img_png_encode(in, out);
}

int
img_encode_jpeg(struct img_codec *k, const struct img *in, int quality, struct buf *out)
{
	return img_jpeg_encode(k->jpeg, in, quality, out);
}
