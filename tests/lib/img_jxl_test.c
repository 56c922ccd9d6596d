/* img_jxl_test - JPEG XL of cjxl is decoded with libjxl. */
#include "coded.h"

#include <stdlib.h>

/* Writes a.jpg beside a.png. */
static void
write_jpeg(const uint8_t *p)
{
	struct buf jpeg = { 0 };
	int fd = open(pics_path("a.jpg"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	img_encode_jpeg(codec, &(struct img){ p, 3, CODED_H, CODED_W }, 95, true, &jpeg);
	if (fd < 0 || io_write(fd, jpeg.p, jpeg.n) < 0)
		ok(0, "a JPEG is written");
	close(fd);
	buf_free(&jpeg);
}

int
main(void)
{
	static const struct { const char *name, *command; uint32_t c; double least; bool lossless; } kinds[] = {
		{ "JPEG XL without loss", "cjxl -d 0 a.png a.jxl", 3, 99, true },
		{ "grey JPEG XL without loss", "cjxl -d 0 a.png a.jxl", 1, 99, true },
		{ "JPEG XL in a container", "cjxl --container=1 -d 0 a.png a.jxl", 3, 99, true },
		{ "JPEG XL with loss", "cjxl -d 1 a.png a.jxl", 3, 36, false },
		{ "JPEG XL of a JPEG", "cjxl a.jpg a.jxl", 3, 36, false },
	};
	struct buf b = { 0 };

	img_codec_new(IMG_PIXELS, &codec);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const uint8_t *p = coded_png(kinds[i].c);
		struct img_head head;

		if (kinds[i].c == 3)
			write_jpeg(p);
		if (!coded_make(kinds[i].command, "a.jxl", &b)) {
			skip(kinds[i].name, "no cjxl here");
			continue;
		}
		if (coded_not_read(&b)) {
			skip(kinds[i].name, err_line());
			continue;
		}
		is_str(img_suffix(b.p, b.n), "jxl", "%s: the suffix is known", kinds[i].name);
		ok(img_head(codec, b.p, b.n, &head) == 0 && head.lossless == kinds[i].lossless,
		    "%s: whether it had loss is known", kinds[i].name);
		coded_check(kinds[i].name, &b, IMG_JXL, kinds[i].c, p, kinds[i].least);
	}
	buf_free(&b);
	img_codec_free(codec);
	pics_clean();
	return done();
}
