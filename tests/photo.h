/* photo - smooth images with edges for tests, in all encodings of JPEG, PNG and WebP. */
#ifndef TESTS_PHOTO_H
#define TESTS_PHOTO_H

#include "base/buf.h"
#include "image/img.h"

#include <math.h>
#include <spng.h>
#include <stdint.h>
#include <stdlib.h>
#include <turbojpeg.h>
#include <webp/encode.h>

/* A photograph's sort of content; the upper left is brightest and reddest, which shows the orientation. */
__attribute__((unused)) static void
photo_fill(uint8_t *p, uint32_t c, uint32_t h, uint32_t w)
{
	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w; x++)
			for (uint32_t k = 0; k < c; k++) {
				double u = (double)x / w, v = (double)y / h;
				double s = 90 + 50 * sin(17 * u + k) * cos(13 * v - k) + 25 * sin(90 * u * v + 2 * k);

				s += (k == 0 ? 60 : 20) * (1 - u) * (1 - v) + ((uint32_t)(u * 7) + (uint32_t)(v * 5)) % 2 * 20;
				p[((size_t)y * w + x) * c + k] = (uint8_t)fmin(fmax(s, 0), 255);
			}
}

__attribute__((unused)) static struct img
photo_new(uint32_t c, uint32_t h, uint32_t w)
{
	uint8_t *p = malloc((size_t)c * h * w);

	photo_fill(p, c, h, w);
	return (struct img){ p, c, h, w };
}

__attribute__((unused)) static struct img
photo_copy(const struct img *in)
{
	size_t n = (size_t)in->c * in->h * in->w;
	struct img out = *in;
	uint8_t *p = malloc(n);

	memcpy(p, in->p, n);
	out.p = p;
	return out;
}

__attribute__((unused)) static void
photo_drop(const struct img *im)
{
	free((void *)(uintptr_t)im->p);
}

/* Appends it as JPEG; flags are turbojpeg's. */
__attribute__((unused)) static void
photo_jpeg(const struct img *in, int sampling, int quality, int flags, struct buf *out)
{
	tjhandle t = tjInitCompress();
	unsigned char *p = NULL;
	unsigned long n = 0;

	if (tjCompress2(t, in->p, (int)in->w, 0, (int)in->h, in->c == 1 ? TJPF_GRAY : in->c == 4 ? TJPF_CMYK : TJPF_RGB, &p, &n,
	    in->c == 1 ? TJSAMP_GRAY : sampling, quality, flags) < 0 || buf_put(out, p, n) < 0)
		abort();
	tjFree(p);
	tjDestroy(t);
}

/* Inserts bytes into an image. */
__attribute__((unused)) static void
photo_insert(struct buf *b, size_t at, const void *p, size_t n)
{
	if (buf_room(b, n) < 0)
		abort();
	memmove(b->p + at + n, b->p + at, b->n - at);
	memcpy(b->p + at, p, n);
	b->n += n;
}

/* Inserts an EXIF segment with the orientation after a JPEG's first two bytes. */
__attribute__((unused)) static void
photo_orient(struct buf *jpeg, unsigned turn, int big)
{
	static const uint8_t little[] = { 0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'I', 'I', '*', 0, 8, 0, 0, 0, 1, 0,
		0x12, 1, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	static const uint8_t bigs[] = { 0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'M', 'M', 0, '*', 0, 0, 0, 8, 0, 1,
		1, 0x12, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0 };
	uint8_t s[sizeof(little)];

	memcpy(s, big ? bigs : little, sizeof(s));
	s[big ? 29 : 28] = (uint8_t)turn;
	photo_insert(jpeg, 2, s, sizeof(s));
}

/* Appends it as PNG of any kind that libspng writes: 8 or 16 bits, both bytes of 16 alike. */
__attribute__((unused)) static void
photo_png(const struct img *in, unsigned type, unsigned depth, unsigned interlace, struct buf *out)
{
	spng_ctx *s = spng_ctx_new(SPNG_CTX_ENCODER);
	struct spng_ihdr h = { .width = in->w, .height = in->h, .bit_depth = (uint8_t)depth, .color_type = (uint8_t)type,
		.interlace_method = (uint8_t)interlace };
	size_t n = (size_t)in->h * in->w * in->c;
	uint8_t *wide = malloc(n * 2);
	void *png;
	int e;

	for (size_t i = 0; i < n; i++)
		wide[i * 2] = wide[i * 2 + 1] = in->p[i];
	spng_set_option(s, SPNG_ENCODE_TO_BUFFER, 1);
	if (spng_set_ihdr(s, &h) != 0 || spng_encode_image(s, depth == 16 ? wide : in->p, depth == 16 ? 2 * n : n,
	    SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE) != 0 || (png = spng_get_png_buffer(s, &n, &e)) == NULL ||
	    buf_put(out, png, n) < 0)
		abort();
	free(png);
	free(wide);
	spng_ctx_free(s);
}

__attribute__((unused)) static void
photo_webp(const struct img *in, int lossless, struct buf *out)
{
	int stride = (int)in->w * 3;
	uint8_t *p = NULL;
	size_t n = lossless ? WebPEncodeLosslessRGB(in->p, (int)in->w, (int)in->h, stride, &p)
	    : WebPEncodeRGB(in->p, (int)in->w, (int)in->h, stride, 95, &p);

	if (n == 0 || buf_put(out, p, n) < 0)
		abort();
	WebPFree(p);
}

/* The similarity (PSNR) of two images of the same size, in dB. */
__attribute__((unused)) static double
photo_psnr(const struct img *a, const struct img *b)
{
	size_t n = (size_t)a->h * a->w * a->c;
	double sum = 0;

	if (a->h != b->h || a->w != b->w || a->c != b->c)
		return 0;
	for (size_t i = 0; i < n; i++)
		sum += (a->p[i] - b->p[i]) * (a->p[i] - b->p[i]);
	return 10 * log10(255.0 * 255 * (double)n / fmax(sum, 1e-3));
}

#endif
