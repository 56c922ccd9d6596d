/* coded - files of formats that only other programs write, and their pixels beside ours. */
#ifndef TESTS_CODED_H
#define TESTS_CODED_H

#include "base/err.h"
#include "image/img.h"
#include "pics.h"
#include "tap.h"

#include <math.h>

#define CODED_H	44u
#define CODED_W	62u

static struct img_codec *codec;

/* Writes DIR/a.png, a smooth image of c channels, and lends its pixels. */
static const uint8_t *
coded_png(uint32_t c)
{
	static uint8_t p[CODED_H * CODED_W * 3];
	struct buf png = { 0 };
	int fd;

	for (uint32_t i = 0; i < CODED_H * CODED_W * c; i++) {
		double x = i / c % CODED_W, y = i / c / CODED_W;

		p[i] = (uint8_t)(128 + 100 * sin(x / 17 + i % c) * cos(y / 11 - i % c));
	}
	img_encode_png(&(struct img){ p, c, CODED_H, CODED_W }, &png);
	if ((fd = open(pics_path("a.png"), O_WRONLY | O_CREAT | O_TRUNC, 0600)) < 0 || io_write(fd, png.p, png.n) < 0)
		ok(0, "the source is written");
	close(fd);
	buf_free(&png);
	return p;
}

/* Runs a command in the folder of the files, and reads the file that it wrote.  Returns whether it did. */
static bool
coded_make(const char *command, const char *file, struct buf *b)
{
	char text[512];

	snprintf(text, sizeof(text), "cd '%s' && rm -f '%s' && %s >/dev/null 2>&1", pics_dir, file, command);
	b->n = 0;
	return system(text) == 0 && io_slurp(pics_path(file), 1u << 20, b) == 0;
}

/* Whether the library that reads the file, or its decoder, is not installed. */
static bool
coded_not_read(const struct buf *b)
{
	struct img_head head;

	return img_head(codec, b->p, b->n, &head) == ERR_NOTSUP;
}

/* The peak signal-to-noise ratio of n bytes, in dB; 99 if they are equal. */
static double
coded_psnr(const uint8_t *a, const uint8_t *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sum > 0 ? 10 * log10(255.0 * 255.0 * (double)n / sum) : 99;
}

/* Checks header and pixels, at least `least` dB from want [CODED_H,CODED_W,c], and refusals of less and damaged bytes. */
static void
coded_check(const char *name, const struct buf *b, enum img_format format, uint32_t c, const uint8_t *want, double least)
{
	struct img_head head = { 0 };
	struct img out = { 0 };
	struct img_codec *small;
	int bad = 0;

	ok(img_head(codec, b->p, b->n, &head) == 0 && head.format == format && head.c == c && head.h == CODED_H &&
	    head.w == CODED_W && head.orientation == 1 && !head.odd, "%s: the header is read: %s", name, err_line());
	is(img_decode(codec, b->p, b->n, 0, &out), 0, "%s is decoded: %s", name, err_line());
	ok(out.p != NULL && out.c == c && out.h == CODED_H && out.w == CODED_W &&
	    coded_psnr(out.p, want, CODED_H * CODED_W * c) >= least, "%s: the pixels are at least %.0f dB near", name, least);
	ok(img_decode(codec, b->p, b->n, 4 - c, &out) == 0 && out.c == 4 - c, "%s: the other number of channels", name);
	is(img_check(codec, b->p, b->n), 0, "%s is sound", name);
	for (size_t n = 16; n < b->n - 8; n += 50) {
		uint8_t *copy = malloc(n);

		memcpy(copy, b->p, n);
		bad += img_decode(codec, copy, n, 0, &out) == 0 || *err_line() == 0;
		free(copy);
	}
	is(bad, 0, "%s is refused if it is truncated", name);
	img_codec_new(CODED_H * CODED_W - 1, &small);
	is(img_head(small, b->p, b->n, &head), ERR_PIXELS, "%s with more pixels than the limit is refused", name);
	img_codec_free(small);
}

#endif
