/* exif_test - orientations in both byte orders, in JPEG, PNG and WebP, and invalid EXIF. */
#include "image/exif.h"
#include "image/img.h"
#include "photo.h"
#include "tap.h"

#include <libdeflate.h>

/* EXIF with one directory of two entries, of which the second is the orientation. */
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
	ok(x.orientation == 6 && x.at == 30, "exif_read reads little-endian EXIF");
	x = exif_read(big, sizeof(big));
	ok(x.orientation == 8 && x.at == 30, "exif_read reads big-endian EXIF");
	memcpy(p + 6, big, sizeof(big));
	x = exif_read(p, sizeof(p));
	ok(x.orientation == 8 && x.at == 36, "exif_read accepts the prefix Exif");
	exif_set_upright(p, &x);
	x = exif_read(p, sizeof(p));
	ok(x.orientation == 1 && x.at == 36, "exif_set_upright sets the orientation to 1");
	memcpy(p + 6, little, sizeof(little));
	x = exif_read(p, sizeof(p));
	exif_set_upright(p, &x);
	is(exif_read(p, sizeof(p)).orientation, 1,
	    "exif_set_upright works in the other byte order");
}

static void
test_nonsense(void)
{
	uint8_t p[sizeof(little)];
	unsigned turned = 0;

	for (size_t n = 0; n < sizeof(little); n++) {
		uint8_t *cut = malloc(n + 1);

		memcpy(cut, little, n);
		turned += exif_read(cut, n).orientation != 1;
		free(cut);
	}
	is(turned, 0, "truncated EXIF gives orientation 1");
	for (unsigned v = 0; v < 256; v++) {
		memcpy(p, little, sizeof(p));
		p[30] = (uint8_t)v;
		turned += exif_read(p, sizeof(p)).orientation != (v >= 1 && v <= 8 ? v : 1);
		memcpy(p, little, sizeof(p));
		p[4] = (uint8_t)v;
		turned += exif_read(p, sizeof(p)).orientation > 8;
		p[7] = 0xff;
		turned += exif_read(p, sizeof(p)).orientation != 1;
	}
	is(turned, 0, "invalid values and offsets give orientation 1");
	memcpy(p, little, sizeof(p));
	p[24] = 4;
	is(exif_read(p, sizeof(p)).orientation, 1, "an entry of another type gives orientation 1");
}

static unsigned
turn_of(struct img_codec *k, const struct buf *b)
{
	struct img_head h = { 0 };

	return img_head(k, b->p, b->n, &h) == 0 ? h.orientation : 0;
}

/* Inserts a chunk after the first of a PNG, with a wrong checksum. */
static void
put_chunk(struct buf *b, const char *type, const void *p, size_t n)
{
	uint8_t word[4] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n };
	struct buf chunk = { 0 };

	buf_put(&chunk, word, 4);
	buf_put(&chunk, type, 4);
	buf_put(&chunk, p, n);
	buf_put(&chunk, word, 4);
	photo_insert(b, 33, chunk.p, chunk.n);
	buf_free(&chunk);
}

static void
test_places(void)
{
	struct img im = photo_new(3, 9, 11);
	struct buf b = { 0 };
	struct img_codec *k;
	uint8_t word[4];

	img_codec_new(IMG_PIXELS, &k);
	photo_jpeg(&im, TJSAMP_420, 90, 0, &b);
	is(turn_of(k, &b), 1, "a JPEG without EXIF has orientation 1");
	photo_orient(&b, 5, 1);
	is(turn_of(k, &b), 5, "img_head reads EXIF of a JPEG");
	b.n = 0;
	photo_png(&im, 2, 8, 0, &b);
	is(turn_of(k, &b), 1, "a PNG without EXIF has orientation 1");
	put_chunk(&b, "eXIf", big, sizeof(big));
	is(turn_of(k, &b), 8, "img_head reads EXIF of a PNG");
	b.n = 0;
	photo_webp(&im, 1, &b);
	is(turn_of(k, &b), 1, "a WebP without EXIF has orientation 1");
	buf_put(&b, "EXIF", 4);
	le_put32(word, sizeof(little));
	buf_put(&b, word, 4);
	buf_put(&b, little, sizeof(little));
	le_put32(b.p + 4, (uint32_t)b.n - 8);
	is(turn_of(k, &b), 6, "img_head reads EXIF of a WebP");
	img_codec_free(k);
	buf_free(&b);
	free((void *)(uintptr_t)im.p);
}

/* The texts in which EXIF was written before PNG had a chunk for it: compressed (zTXt) or plain (tEXt). */
static void
put_text(struct buf *b, const char *key, const char *text, bool packed)
{
	struct libdeflate_compressor *z = libdeflate_alloc_compressor(6);
	struct buf data = { 0 };

	buf_put(&data, key, strlen(key) + 1);
	if (packed) {
		buf_put(&data, "", 1);
		buf_room(&data, strlen(text) + 64);
		data.n += libdeflate_zlib_compress(z, text, strlen(text), data.p + data.n, data.cap - data.n);
	} else {
		buf_put(&data, text, strlen(text));
	}
	put_chunk(b, packed ? "zTXt" : "tEXt", data.p, data.n);
	libdeflate_free_compressor(z);
	buf_free(&data);
}

/* The head "\nexif\n    28\n", and the bytes as hexadecimal digits in lines. */
static void
write_out(struct buf *t, const char *name, size_t line)
{
	t->n = 0;
	buf_put_fmt(t, "\n%s\n%8zu\n", name, 6 + sizeof(big));
	for (size_t i = 0; i < 6 + sizeof(big); i++)
		buf_put_fmt(t, (i + 1) % line == 0 ? "%02x\n" : i % 2 > 0 ? "%02X" : "%02x", i < 6 ? (uint8_t)"Exif\0\0"[i] : big[i - 6]);
	buf_terminate(t);
}

static void
test_texts(void)
{
	struct img im = photo_new(3, 9, 11);
	struct buf b = { 0 }, plain = { 0 }, t = { 0 };
	struct img_codec *k;
	unsigned odd = 0;
	char *text;

	img_codec_new(IMG_PIXELS, &k);
	photo_png(&im, 2, 8, 0, &plain);
	for (int packed = 0; packed < 2; packed++)
		for (size_t line = 1; line < 40; line += 35) {
			b.n = 0;
			buf_put(&b, plain.p, plain.n);
			write_out(&t, line == 1 ? "exif" : "app1", line);
			put_text(&b, packed ? "Raw profile type APP1" : "Raw profile type exif", (char *)t.p, packed);
			is(turn_of(k, &b), 8,
			    "img_head reads EXIF in a %s text, %zu bytes a line", packed ? "packed" : "plain", line);
		}
	put_chunk(&b, "eXIf", little, sizeof(little));
	is(turn_of(k, &b), 6, "the eXIf chunk counts before a text");
	for (size_t cut = 0; cut < t.n; cut++) {
		unsigned turn;

		b.n = 0;
		buf_put(&b, plain.p, plain.n);
		text = strndup((char *)t.p, cut);
		put_text(&b, "Raw profile type exif", text, cut % 2 > 0);
		free(text);
		turn = turn_of(k, &b);
		odd += turn != 1 && turn != 8;
	}
	is(odd, 0, "a text cut anywhere gives the same orientation or 1");
	b.n = 0;
	buf_put(&b, plain.p, plain.n);
	put_text(&b, "Raw profile type xmp", (char *)t.p, true);
	is(turn_of(k, &b), 1, "a text with another key is not EXIF");
	b.n = 0;
	buf_put(&b, plain.p, plain.n);
	text = malloc(1 << 19);
	memset(text, '0', 1 << 19);
	text[(1 << 19) - 1] = 0;
	memcpy(text, t.p, t.n);
	put_text(&b, "Raw profile type exif", text, true);
	is(turn_of(k, &b), 1, "a text that inflates to more than a segment is ignored");
	put_chunk(&b, "zTXt", "Raw profile type exif\0\0no zlib", 31);
	is(turn_of(k, &b), 1, "a damaged text is ignored");
	free(text);
	img_codec_free(k);
	buf_free(&b);
	buf_free(&plain);
	buf_free(&t);
	free((void *)(uintptr_t)im.p);
}

int
main(void)
{
	test_read();
	test_nonsense();
	test_places();
	test_texts();
	return done();
}
