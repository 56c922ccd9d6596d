/* img_webp - decodes WebP.  For img. */
#include "image/img_webp.h"
#include "base/err.h"
#include "image/exif.h"

#include <webp/decode.h>

#define RIFF_HEAD	12u	/* RIFF, size, WEBP */
#define CHUNK_HEAD	8u	/* four letters, u32 size */
#define LOSSLESS	2	/* libwebp's number of the lossless format */

static int
fail_webp(VP8StatusCode e)
{
	static const char *const text[] = {
		[VP8_STATUS_INVALID_PARAM] = "invalid parameter", [VP8_STATUS_BITSTREAM_ERROR] = "damaged",
		[VP8_STATUS_UNSUPPORTED_FEATURE] = "a feature that libwebp does not support",
		[VP8_STATUS_SUSPENDED] = "ends early", [VP8_STATUS_USER_ABORT] = "aborted",
		[VP8_STATUS_NOT_ENOUGH_DATA] = "ends early",
	};

	if (e == VP8_STATUS_OUT_OF_MEMORY)
		return err_nomem();
	return err_fail(ERR_FORMAT, "WebP: %s", text[e]);
}

/* Chunks are padded to an even number of bytes. */
static unsigned
find_orientation(const uint8_t *p, size_t n)
{
	for (size_t at = RIFF_HEAD; at + CHUNK_HEAD <= n;) {
		uint32_t size = le_get32(p + at + 4);

		if (size > n - at - CHUNK_HEAD)
			break;
		if (memcmp(p + at, "EXIF", 4) == 0)
			return exif_read(p + at + CHUNK_HEAD, size).orientation;
		at += CHUNK_HEAD + (size_t)size + (size & 1);
	}
	return 1;
}

int
img_webp_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	WebPBitstreamFeatures f;
	VP8StatusCode e;

	if ((e = WebPGetFeatures(data, n, &f)) != VP8_STATUS_OK)
		return fail_webp(e);
	if (f.has_animation)
		return err_fail(ERR_NOTSUP, "WebP: animated");
	if (f.width <= 0 || f.height <= 0)
		return err_fail(ERR_FORMAT, "WebP: no size in its header");
	if ((uint64_t)f.width * (uint64_t)f.height > pixels)
		return err_fail(ERR_LIMIT, "WebP: %dx%d is more than %u pixels", f.width, f.height, pixels);
	*head = (struct img_head){ .format = IMG_WEBP, .c = 3, .h = (uint32_t)f.height, .w = (uint32_t)f.width,
	    .orientation = find_orientation(data, n), .lossless = f.format == LOSSLESS };
	return 0;
}

int
img_webp_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out)
{
	WebPDecoderConfig config;
	struct img_head head;
	VP8StatusCode status;
	size_t area;
	int e;

	if ((e = img_webp_head(data, n, pixels, &head)) < 0)
		return e;
	area = (size_t)head.h * head.w;
	room->n = 0;
	if ((e = buf_room(room, area * 3)) < 0)
		return e;
	if (!WebPInitDecoderConfig(&config))
		return err_fail(ERR_NOTSUP, "WebP: libwebp has another version than the build");
	config.output.colorspace = MODE_RGB;
	config.output.is_external_memory = 1;
	config.output.u.RGBA.rgba = room->p;
	config.output.u.RGBA.stride = (int)head.w * 3;
	config.output.u.RGBA.size = area * 3;
	if ((status = WebPDecode(data, n, &config)) != VP8_STATUS_OK)
		return fail_webp(status);
	*out = (struct img){ .p = room->p, .c = c == 1 ? 1 : 3, .h = head.h, .w = head.w };
	if (c == 1)
		img_convert_channels(room->p, 3, area, 1, room->p);
	return 0;
}
