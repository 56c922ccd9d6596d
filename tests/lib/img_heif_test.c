/* img_heif_test - HEIC and AVIF of heif-enc and avifenc are decoded with libheif. */
#include "coded.h"

#include <stdlib.h>

int
main(void)
{
	static const struct { const char *name, *command, *file, *suffix; uint32_t c; } kinds[] = {
		{ "HEIC", "heif-enc -q 95 -o a.heic a.png", "a.heic", "heic", 3 },
		{ "HEIC of a grey image", "heif-enc -q 95 -o g.heic a.png", "g.heic", "heic", 1 },
		{ "AVIF", "heif-enc -A -q 95 -o a.avif a.png", "a.avif", "avif", 3 },
		{ "AVIF of avifenc", "avifenc --min 0 --max 5 a.png b.avif", "b.avif", "avif", 3 },
	};
	uint8_t colours[CODED_H * CODED_W * 3];
	struct buf b = { 0 };

	img_codec_new(IMG_PIXELS, &codec);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		img_convert_channels(coded_png(kinds[i].c), kinds[i].c, CODED_H * CODED_W, 3, colours);
		if (!coded_make(kinds[i].command, kinds[i].file, &b)) {
			skip(kinds[i].name, "no program here that writes it");
			continue;
		}
		if (coded_not_read(&b)) {
			skip(kinds[i].name, err_line());
			continue;
		}
		is_str(img_suffix(b.p, b.n), kinds[i].suffix, "%s: the suffix is known", kinds[i].name);
		coded_check(kinds[i].name, &b, IMG_HEIF, 3, colours, 36);
	}
	coded_png(3);
	if (coded_make("avifenc --irot 1 a.png t.avif", "t.avif", &b) && !coded_not_read(&b)) {
		struct img_head head;

		ok(img_head(codec, b.p, b.n, &head) == 0 && head.h == CODED_W && head.w == CODED_H && head.orientation == 1,
		    "a file that says it is turned has the size of the turned image");
	} else {
		skip("a file that says it is turned", "no avifenc or no libheif for AVIF here");
	}
	buf_free(&b);
	img_codec_free(codec);
	pics_clean();
	return done();
}
