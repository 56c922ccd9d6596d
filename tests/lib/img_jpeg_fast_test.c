/* img_jpeg_fast_test - pixels and planes equal turbojpeg's to the last bit; damaged images fail. */
#include "base/err.h"
#include "base/rng.h"
#include "image/img.h"
#include "image/jpeg/img_jpeg.h"
#include "image/jpeg/img_jpeg_fast.h"
#include "tap.h"

#include <stdlib.h>
#include <turbojpeg.h>

#define SIDE	150u		/* pixels, at most */

static uint8_t pixels[SIDE * SIDE * 3], want[SIDE * SIDE * 3], got[SIDE * SIDE * 3];
static struct img_codec *codec;
static bool fast;		/* built in */

/* Fills pixels with slopes and noise of amplitude `rough`. */
static void
paint(struct rng *r, uint32_t h, uint32_t w, uint32_t rough)
{
	for (uint32_t y = 0; y < h; y++)
		for (uint32_t x = 0; x < w * 3; x++)
			pixels[y * w * 3 + x] = (uint8_t)((y * (x % 3 + 1) + x / 3 * 2 + rng_below(r, rough)) & 255);
}

/* Uses a new handle, because one that encoded a progressive image keeps Huffman tables that may lack codes. */
static unsigned long
encode(uint32_t h, uint32_t w, int sampling, int quality, int flags, unsigned char **jpeg)
{
	tjhandle tj = tjInitCompress();
	unsigned long n = 0;

	*jpeg = NULL;
	if (tjCompress2(tj, pixels, (int)w, 0, (int)h, TJPF_RGB, jpeg, &n, sampling, quality, flags) < 0) {
		printf("Bail out! %s\n", tjGetErrorStr2(tj));
		exit(1);
	}
	tjDestroy(tj);
	return n;
}

static bool
part_is(const unsigned char *jpeg, unsigned long n, uint32_t h, uint32_t w, const struct img_region *q, uint32_t c)
{
	bool same = img_decode_region(codec, jpeg, n, h, w, q, c, got) == 0;

	for (uint32_t y = 0; y < q->h; y++)
		same &= memcmp(got + (size_t)y * q->w * c, want + ((q->y + y) * w + q->x) * c, (size_t)q->w * c) == 0;
	return same;
}

static void
random_part(struct rng *r, uint32_t h, uint32_t w, struct img_region *q)
{
	q->h = 1 + (uint32_t)rng_below(r, h);
	q->w = 1 + (uint32_t)rng_below(r, w);
	q->y = (uint32_t)rng_below(r, h - q->h + 1);
	q->x = (uint32_t)rng_below(r, w - q->w + 1);
}

static void
test_same(const char *name, int sampling)
{
	tjhandle in = tjInitDecompress();
	struct rng r = rng_start(5, (uint64_t)sampling, 0);
	bool whole = true, parts = true;

	for (int i = 0; i < 60; i++) {
		uint32_t h = 1 + (uint32_t)rng_below(&r, SIDE), w = 1 + (uint32_t)rng_below(&r, SIDE), c = i % 3 == 0 ? 1 : 3;
		struct img_region q;
		unsigned char *jpeg;
		unsigned long n;
		struct img pic;

		paint(&r, h, w, i % 4 == 0 ? 255 : 20);
		n = encode(h, w, sampling, 1 + (int)rng_below(&r, 100), i % 5 == 0 ? TJFLAG_PROGRESSIVE : 0, &jpeg);
		tjDecompress2(in, jpeg, n, want, (int)w, 0, (int)h, c == 1 ? TJPF_GRAY : TJPF_RGB, 0);
		whole &= img_decode(codec, jpeg, n, c, &pic) == 0 && pic.h == h && pic.w == w &&
		    memcmp(pic.p, want, (size_t)h * w * c) == 0;
		for (int k = 0; k < 10; k++) {
			random_part(&r, h, w, &q);
			parts &= part_is(jpeg, n, h, w, &q, c);
		}
		tjFree(jpeg);
	}
	ok(whole, "%s: pixels equal turbojpeg's", name);
	ok(parts, "%s: pixels of any region equal turbojpeg's", name);
	tjDestroy(in);
}

/* Decoding any region of a truncated or changed image fails exactly if the check of the whole image does. */
static void
test_broken(void)
{
	struct rng r = rng_start(6, 0, 0);
	const struct img_region top = { 0, 0, 8, 8 };
	int cut = 0, agree = 0, broken = 0;
	unsigned char *jpeg;
	unsigned long n;
	struct img pic;

	paint(&r, 100, 120, 60);
	n = encode(100, 120, TJSAMP_420, 90, 0, &jpeg);
	for (unsigned long at = n - 100; at < n; at++)
		cut += img_decode(codec, jpeg, at, 3, &pic) == ERR_FORMAT &&
		    img_decode_region(codec, jpeg, at, 100, 120, &top, 3, got) == ERR_FORMAT;
	is(cut, 100, "a truncated JPEG fails for every region");
	for (int i = 0; i < 300; i++) {
		unsigned long at = 640 + (unsigned long)rng_below(&r, n - 640);
		uint8_t was = jpeg[at];
		int e;

		jpeg[at] = (uint8_t)rng_below(&r, 256);
		e = img_check(codec, jpeg, n);
		agree += (img_decode(codec, jpeg, n, 3, &pic) == 0) == (e == 0) &&
		    (img_decode_region(codec, jpeg, n, 100, 120, &top, 3, got) == 0) == (e == 0);
		broken += e != 0;
		jpeg[at] = was;
	}
	is(agree, 300, "a region fails on changed codes exactly if a check of the whole does");
	ok(broken > 0 && broken < 300, "a check finds %d of the changed codes", broken);
	is(img_decode_region(codec, jpeg, n, 101, 120, &top, 3, got), ERR_FORMAT,
	    "a region of an image of another size fails");
	tjFree(jpeg);
}

/* Finds the frame's header, in which component i has its sampling factors at 11 + 3 i; NULL if there is none. */
static unsigned char *
frame(unsigned char *jpeg, unsigned long n)
{
	for (unsigned char *p = jpeg; p + 20 < jpeg + n; p++)
		if (p[0] == 0xff && p[1] == 0xc0)
			return p;
	return NULL;
}

/* The sampling factors of a grey image have no effect: its blocks are in row order anyway. */
static void
test_factors(void)
{
	struct resize_plane plane[3], plain[3];
	struct buf room = { 0 }, first = { 0 };
	struct rng r = rng_start(7, 0, 0);
	unsigned shrink[3] = { 1, 1, 1 };
	struct img_jpeg_head head;
	struct img_jpeg *j;
	unsigned char *jpeg;
	unsigned long n;
	bool same = img_jpeg_new(&j) == 0;

	paint(&r, 61, 70, 60);
	n = encode(61, 70, TJSAMP_GRAY, 90, 0, &jpeg);
	same &= img_jpeg_head(j, jpeg, n, IMG_PIXELS, &head) == 0 &&
	    img_jpeg_planes(j, jpeg, n, &head, shrink, &first, plain) == 0;
	for (unsigned v = 1; v <= 4 && same; v++) {
		frame(jpeg, n)[11] = (unsigned char)(v << 4 | (5 - v));
		same &= img_jpeg_head(j, jpeg, n, IMG_PIXELS, &head) == 0 &&
		    img_jpeg_planes(j, jpeg, n, &head, shrink, &room, plane) == 0;
		for (uint32_t y = 0; y < 61 && same; y++)
			same &= memcmp(plane->p + y * plane->stride, plain->p + y * plain->stride, 70) == 0;
	}
	ok(same, "a grey JPEG decodes to its plane, whatever its sampling factors");
	tjFree(jpeg);
	buf_free(&room);
	buf_free(&first);
	img_jpeg_free(j);
}

static bool
plane_is(const struct resize_plane *plane, const uint8_t *p, uint32_t h, uint32_t w)
{
	bool same = plane->h == h && plane->w == w;

	for (uint32_t y = 0; y < h && same; y++)
		same = memcmp(plane->p + y * plane->stride, p + (size_t)y * SIDE * 2, w) == 0;
	return same;
}

/* Decodes plane i by turbojpeg, with the whole image shrunk by k. */
static bool
is_turbojpegs(tjhandle in, const unsigned char *jpeg, unsigned long n, const struct img_jpeg_head *head, int sampling,
    int i, unsigned k, const struct resize_plane *plane)
{
	static uint8_t room[3][SIDE * SIDE * 2];
	unsigned char *p[3] = { room[0], room[1], room[2] };
	int h = ((int)head->h + (int)k - 1) / (int)k, w = ((int)head->w + (int)k - 1) / (int)k;
	int stride[3] = { SIDE * 2, SIDE * 2, SIDE * 2 };

	/* Only turbojpeg extends luma to whole chroma samples. */
	return tjDecompressToYUVPlanes(in, jpeg, n, p, w, stride, h, 0) == 0 &&
	    plane_is(plane, p[i], (uint32_t)(i > 0 ? tjPlaneHeight(i, h, sampling) : h),
	    (uint32_t)(i > 0 ? tjPlaneWidth(i, w, sampling) : w));
}

/* Each plane equals that of the image shrunk as a whole. */
static void
test_shrunk(const char *name, int sampling)
{
	struct rng r = rng_start(9, (uint64_t)sampling, 0);
	tjhandle in = tjInitDecompress();
	struct buf room = { 0 };
	bool same = true, told = true;
	struct img_jpeg *j;

	if (img_jpeg_new(&j) < 0)
		abort();
	for (int i = 0; i < 90; i++) {
		uint32_t h = 1 + (uint32_t)rng_below(&r, SIDE), w = 1 + (uint32_t)rng_below(&r, SIDE);
		unsigned luma = (unsigned)rng_below(&r, 4), chroma = luma + (unsigned)rng_below(&r, 4 - luma);
		unsigned shrink[3] = { 1u << luma, 1u << chroma, 1u << chroma };
		bool odd = i % 9 == 0;
		struct resize_plane plane[3];
		struct img_jpeg_head head;
		unsigned char *jpeg;
		unsigned long n;

		paint(&r, h, w, i % 4 == 0 ? 255 : 20);
		n = encode(h, w, sampling, 1 + (int)rng_below(&r, 100), odd ? TJFLAG_PROGRESSIVE : 0, &jpeg);
		same &= img_jpeg_head(j, jpeg, n, IMG_PIXELS, &head) == 0 &&
		    img_jpeg_planes(j, jpeg, n, &head, shrink, &room, plane) == 0;
		told &= shrink[0] == 1u << luma && shrink[1] == 1u << (odd || !fast ? luma : chroma) && shrink[2] == shrink[1];
		for (int k = 0; k < (int)head.c; k++)
			same &= is_turbojpegs(in, jpeg, n, &head, sampling, k, shrink[k], &plane[k]);
		tjFree(jpeg);
	}
	ok(same, "%s: planes shrunk independently equal turbojpeg's", name);
	ok(told, "%s: the fallback shrinks all planes alike and sets shrink", name);
	img_jpeg_free(j);
	buf_free(&room);
	tjDestroy(in);
}

/* Removes the segment of the first table with this marker.  Returns the bytes that remain. */
static unsigned long
without(unsigned char *jpeg, unsigned long n, uint8_t marker)
{
	for (unsigned char *p = jpeg; p + 4 < jpeg + n; p++)
		if (p[0] == 0xff && p[1] == marker) {
			unsigned long length = 2 + ((unsigned long)p[2] << 8 | p[3]);

			memmove(p, p + length, n - (unsigned long)(p - jpeg) - length);
			return n - length;
		}
	return n;
}

/* An image without tables does not use those of the previous image: it has the standard ones, or is damaged. */
static void
test_tables(void)
{
	static unsigned char poor[SIDE * SIDE * 4], blank[SIDE * SIDE * 4];
	struct rng r = rng_start(8, 0, 0);
	unsigned long n, m, left;
	unsigned char *jpeg, *other;
	bool same = true, broken = true;
	struct img pic;

	paint(&r, 60, 70, 60);
	n = encode(60, 70, TJSAMP_420, 90, 0, &jpeg);
	memcpy(poor, jpeg, n);
	memcpy(blank, jpeg, n);
	for (m = n, left = 0; left != m;) {
		left = m;
		m = without(poor, m, 0xc4);
	}
	left = without(blank, n, 0xdb);
	img_decode(codec, jpeg, n, 3, &pic);
	memcpy(want, pic.p, 60 * 70 * 3);
	tjFree(jpeg);
	paint(&r, 60, 70, 200);
	n = encode(60, 70, TJSAMP_420, 40, TJFLAG_PROGRESSIVE, &other);
	for (int i = 0; i < 2; i++) {
		same &= img_decode(codec, other, n, 3, &pic) == 0 && img_check(codec, poor, m) == 0 &&
		    img_decode(codec, poor, m, 3, &pic) == 0 && memcmp(pic.p, want, 60 * 70 * 3) == 0;
		broken &= img_check(codec, blank, left) == ERR_FORMAT && img_decode(codec, blank, left, 3, &pic) == ERR_FORMAT;
	}
	ok(same, "a JPEG without Huffman tables uses the standard ones, not the previous image's");
	ok(broken, "a JPEG without quantization tables fails, whatever came before");
	tjFree(other);
}

int
main(void)
{
	struct img_jpeg_fast *f = NULL;

	fast = img_jpeg_fast_new(&f) == 0 && f != NULL;
	img_jpeg_fast_free(f);
	img_codec_new(IMG_PIXELS, &codec);
	test_same("4:4:4", TJSAMP_444);
	test_same("4:2:2", TJSAMP_422);
	test_same("4:2:0", TJSAMP_420);
	test_same("4:4:0", TJSAMP_440);
	test_same("grey", TJSAMP_GRAY);
	test_shrunk("4:4:4", TJSAMP_444);
	test_shrunk("4:2:2", TJSAMP_422);
	test_shrunk("4:2:0", TJSAMP_420);
	test_shrunk("4:4:0", TJSAMP_440);
	test_shrunk("grey", TJSAMP_GRAY);
	test_broken();
	test_factors();
	test_tables();
	img_codec_free(codec);
	return done();
}
