/* img_webp - decodes WebP, of animations the first frame.  For img. */
#include "image/img_formats.h"
#include "base/err.h"
#include "image/exif.h"

#include <webp/decode.h>
#include <webp/demux.h>

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

/* Where the pixels of a frame are in the file and on the canvas, which is the image. */
struct frame {
	const uint8_t	*p;
	size_t		 n;
	uint32_t	 x, y, h, w;
	bool		 lossless;
};

/* Finds the first frame of an animation on a canvas of [h,w]. */
static int
find_first_frame(const uint8_t *data, size_t n, uint32_t h, uint32_t w, struct frame *frame)
{
	WebPDemuxer *d = WebPDemux(&(WebPData){ data, n });
	WebPBitstreamFeatures f = { 0 };
	WebPIterator at;
	bool sound = false;

	if (d != NULL && WebPDemuxGetFrame(d, 1, &at)) {
		sound = WebPGetFeatures(at.fragment.bytes, at.fragment.size, &f) == VP8_STATUS_OK &&
		    f.width == at.width && f.height == at.height && at.x_offset >= 0 && at.y_offset >= 0 &&
		    (uint64_t)at.x_offset + (uint64_t)at.width <= w && (uint64_t)at.y_offset + (uint64_t)at.height <= h;
		*frame = (struct frame){ .p = at.fragment.bytes, .n = at.fragment.size, .x = (uint32_t)at.x_offset,
		    .y = (uint32_t)at.y_offset, .h = (uint32_t)at.height, .w = (uint32_t)at.width,
		    .lossless = f.format == LOSSLESS };
		WebPDemuxReleaseIterator(&at);
	}
	WebPDemuxDelete(d);
	return sound ? 0 : err_fail(ERR_FORMAT, "WebP: an animation without a sound first frame");
}

static int
read_head_and_frame(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head, struct frame *frame)
{
	WebPBitstreamFeatures f;
	VP8StatusCode status;
	int e = 0;

	if ((status = WebPGetFeatures(data, n, &f)) != VP8_STATUS_OK)
		return fail_webp(status);
	if (f.width <= 0 || f.height <= 0)
		return err_fail(ERR_FORMAT, "WebP: no size in its header");
	if ((uint64_t)f.width * (uint64_t)f.height > pixels)
		return err_fail(ERR_PIXELS, "WebP: %dx%d is more than %u pixels", f.width, f.height, pixels);
	*frame = (struct frame){ .p = data, .n = n, .h = (uint32_t)f.height, .w = (uint32_t)f.width,
	    .lossless = f.format == LOSSLESS };
	*head = (struct img_head){ .format = IMG_WEBP, .c = 3, .h = frame->h, .w = frame->w,
	    .orientation = find_orientation(data, n) };
	if (f.has_animation)
		e = find_first_frame(data, n, head->h, head->w, frame);
	head->lossless = frame->lossless;
	return e;
}

int
img_webp_head(const uint8_t *data, size_t n, uint32_t pixels, struct img_head *head)
{
	struct frame frame;

	return read_head_and_frame(data, n, pixels, head, &frame);
}

int
img_webp_decode(const uint8_t *data, size_t n, uint32_t c, uint32_t pixels, struct buf *room, struct img *out)
{
	WebPDecoderConfig config;
	struct img_head head;
	struct frame frame;
	VP8StatusCode status;
	size_t area, from;

	ERR_TRY(read_head_and_frame(data, n, pixels, &head, &frame));
	area = (size_t)head.h * head.w;
	room->n = 0;
	ERR_TRY(buf_room(room, area * 3));
	if (!WebPInitDecoderConfig(&config))
		return err_fail(ERR_NOTSUP, "WebP: libwebp has another version than the build");
	if (frame.h < head.h || frame.w < head.w)
		memset(room->p, 0, area * 3);
	from = ((size_t)frame.y * head.w + frame.x) * 3;
	config.output.colorspace = MODE_RGB;
	config.output.is_external_memory = 1;
	config.output.u.RGBA.rgba = room->p + from;
	config.output.u.RGBA.stride = (int)head.w * 3;
	config.output.u.RGBA.size = area * 3 - from;
	if ((status = WebPDecode(frame.p, frame.n, &config)) != VP8_STATUS_OK)
		return fail_webp(status);
	*out = (struct img){ .p = room->p, .c = c == 1 ? 1 : 3, .h = head.h, .w = head.w };
	if (c == 1)
		img_convert_channels(room->p, 3, area, 1, room->p);
	return 0;
}
