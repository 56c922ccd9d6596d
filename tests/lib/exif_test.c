/* exif_test - orientations in both byte orders, in their places in JPEG, PNG and WebP, and bytes that make no sense. */
#include "image/exif.h"
#include "image/img.h"
#include "photo.h"
#include "tap.h"

/* "II", 42, one directory of two entries, the second the orientation. */
static const uint8_t little[] = { 'I', 'I', '*', 0, 8, 0, 0, 0, 2, 0,
	0x0f, 1, 2, 0, 1, 0, 0, 0, 'x', 0, 0, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0 };
static const uint8_t big[] = { 'M', 'M', 0, '*', 0, 0, 0, 8, 0, 2,
	1, 0x0f, 0, 2, 0, 0, 0, 1, 'x', 0, 0, 0, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 8, 0, 0 };

static void
test_read(void)
{
	uint8_t p[6 + sizeof(little)] = "Exif\0";
	struct exif x;

	x = exif_read(little, sizeof(little));
	ok(x.turn == 6 && x.at == 30, "little-endian");
	x = exif_read(big, sizeof(big));
	ok(x.turn == 8 && x.at == 30, "big-endian");
	memcpy(p + 6, big, sizeof(big));
	x = exif_read(p, sizeof(p));
	ok(x.turn == 8 && x.at == 36, "behind the word Exif");
	exif_set_upright(p, &x);
	x = exif_read(p, sizeof(p));
	ok(x.turn == 1 && x.at == 36, "set upright");
	memcpy(p + 6, little, sizeof(little));
	x = exif_read(p, sizeof(p));
	exif_set_upright(p, &x);
	is(exif_read(p, sizeof(p)).turn, 1, "in the other byte order");
}

static void
test_nonsense(void)
{
	uint8_t p[sizeof(little)];
	unsigned turned = 0;

	for (size_t n = 0; n < sizeof(little); n++) {
		uint8_t *cut = malloc(n + 1);

		memcpy(cut, little, n);
		turned += exif_read(cut, n).turn != 1;
		free(cut);
	}
	is(turned, 0, "what is cut short says nothing");
	for (unsigned v = 0; v < 256; v++) {
		memcpy(p, little, sizeof(p));
		p[30] = (uint8_t)v;
		turned += exif_read(p, sizeof(p)).turn != (v >= 1 && v <= 8 ? v : 1);
		memcpy(p, little, sizeof(p));
		p[4] = (uint8_t)v;
		turned += exif_read(p, sizeof(p)).turn > 8;
		p[7] = 0xff;
		turned += exif_read(p, sizeof(p)).turn != 1;
	}
	is(turned, 0, "nor do other numbers and places");
	memcpy(p, little, sizeof(p));
	p[24] = 4;
	is(exif_read(p, sizeof(p)).turn, 1, "nor another type");
}

static unsigned
turn_of(struct img_codec *k, const struct buf *b)
{
	struct img_head h = { 0 };

	return img_head(k, b->p, b->n, &h) == 0 ? h.turn : 0;
}

/* A chunk with a length in front: PNG's big-endian and with four bytes behind, WebP's little-endian. */
static void
test_places(void)
{
	struct img im = photo_new(3, 9, 11);
	struct buf b = { 0 }, chunk = { 0 };
	struct img_codec *k;
	uint8_t word[4] = { 0, 0, 0, sizeof(big) };

	img_codec_new(&k, IMG_PIXELS);
	photo_jpeg(&im, TJSAMP_420, 90, 0, &b);
	is(turn_of(k, &b), 1, "a JPEG without");
	photo_orient(&b, 5, 1);
	is(turn_of(k, &b), 5, "and with EXIF");
	b.n = 0;
	photo_png(&im, 2, 8, 0, &b);
	is(turn_of(k, &b), 1, "a PNG without");
	buf_put(&chunk, word, 4);
	buf_put(&chunk, "eXIf", 4);
	buf_put(&chunk, big, sizeof(big));
	buf_put(&chunk, word, 4);
	photo_insert(&b, 33, chunk.p, chunk.n);
	is(turn_of(k, &b), 8, "and with EXIF");
	b.n = chunk.n = 0;
	photo_webp(&im, 1, &b);
	is(turn_of(k, &b), 1, "a WebP without");
	buf_put(&b, "EXIF", 4);
	le_put32(word, sizeof(little));
	buf_put(&b, word, 4);
	buf_put(&b, little, sizeof(little));
	le_put32(b.p + 4, (uint32_t)b.n - 8);
	is(turn_of(k, &b), 6, "and with EXIF");
	img_codec_free(k);
	buf_free(&b);
	buf_free(&chunk);
	free((void *)(uintptr_t)im.p);
}

int
main(void)
{
	test_read();
	test_nonsense();
	test_places();
	return done();
}
