/* fuzz_transcode - hostile pictures packed with any options: what comes out decodes, is as asked for, and stays when packed again. */
#include "image/transcode.h"

#include <stdlib.h>

#define PIXELS	(1u << 14)
#define HEAD	4u		/* bytes that say the options */

static struct transcode_opt
options(const uint8_t *p)
{
	static const enum resize_inter inter[] = { RESIZE_NEAREST, RESIZE_BILINEAR, RESIZE_CUBIC, RESIZE_AREA, RESIZE_LANCZOS,
		RESIZE_AUTO };

	return (struct transcode_opt){
		.resize = p[0] % 4 == 0 ? 0 : p[0],
		.crop = p[1] & 1,
		.pass = (p[1] & 0xfe) == 0xfe,
		.color = p[1] / 2 % 3,
		.encoding = p[1] / 8 % 3,
		.inter = inter[p[2] % 6],
		.quality = p[3] % 101,
		.pixels = PIXELS,
	};
}

static void
judge(struct transcode *k, const struct transcode_opt *o, const uint8_t *p, size_t n, int kept)
{
	struct img_codec *codec;
	const uint8_t *again;
	struct img_head head;
	struct img pic;
	size_t m;

	if (img_codec_new(PIXELS, &codec) < 0)
		abort();
	if (img_head(codec, p, n, &head) < 0 || img_decode(codec, p, n, 0, &pic) < 0)
		abort();
	if (!o->pass && (head.orientation != 1 || head.odd || head.format > IMG_PNG))
		abort();
	if ((o->color == TRANSCODE_GREY && pic.c != 1) || (o->color == TRANSCODE_COLOR && pic.c != 3))
		abort();
	if ((o->encoding == TRANSCODE_JPEG && head.format != IMG_JPEG) || (o->encoding == TRANSCODE_PNG && head.format != IMG_PNG))
		abort();
	if ((o->crop && pic.h != pic.w) || (o->resize > 0 && (pic.h < pic.w ? pic.h : pic.w) != o->resize))
		abort();
	/* The result's bytes are lent by the converter. */
	if (!kept) {
		uint8_t *copy = malloc(n);

		if (copy == NULL)
			abort();
		memcpy(copy, p, n);
		if (transcode_encoded(k, copy, n, &again, &m) < 0 || again != copy || m != n)
			abort();
		free(copy);
	}
	img_codec_free(codec);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t size)
{
	struct transcode_opt o;
	const uint8_t *out;
	struct transcode *k;
	size_t n;

	if (size < HEAD)
		return 0;
	o = options(p);
	if (transcode_new(&o, &k) < 0)
		return 0;
	if (transcode_encoded(k, p + HEAD, size - HEAD, &out, &n) == 0)
		judge(k, &o, out, n, out == p + HEAD);
	transcode_free(k);
	return 0;
}
