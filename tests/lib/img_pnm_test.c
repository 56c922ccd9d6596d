/* img_pnm_test - every kind of PNM is decoded to the pixels that were written; damaged ones are refused. */
#include "base/err.h"
#include "image/img.h"
#include "tap.h"

#include <stdlib.h>

#define H	3u
#define W	11u

static struct img_codec *k;

static uint8_t
sample(uint32_t i)
{
	return (uint8_t)(i * 37);
}

/* Appends n samples of 0 to 255 as that kind writes them. */
static void
put_samples(struct buf *b, char kind, uint32_t most, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = sample(i) * most / 255;
		bool black = sample(i) < 128;

		if (kind == '1')
			buf_put_fmt(b, "%d%s", black, i % 5 == 4 ? "\n" : "");
		else if (kind == '4' && i % W % 8 == 0)
			buf_put(b, &(uint8_t){ black << 7 }, 1);
		else if (kind == '4')
			b->p[b->n - 1] |= (uint8_t)(black << (7 - i % W % 8));
		else if (kind < '4')
			buf_put_fmt(b, "%u\n", v);
		else if (most > 255)
			buf_put(b, (uint8_t[]){ (uint8_t)(v >> 8), (uint8_t)v }, 2);
		else
			buf_put(b, &(uint8_t){ (uint8_t)v }, 1);
	}
}

static void
test_kind(char kind, uint32_t most)
{
	bool bitmap = kind == '1' || kind == '4', text = kind < '4';
	uint32_t c = kind == '3' || kind == '6' ? 3 : 1, n = H * W * c;
	size_t wrong = 0, fails = 0;
	struct img_head head = { 0 };
	struct img out = { 0 };
	struct buf b = { 0 };
	char name[32];

	snprintf(name, sizeof(name), "P%c up to %u", kind, most);
	buf_put_fmt(&b, "P%c\n# a comment with 12 34\n%u# another\n %u", kind, W, H);
	buf_put_fmt(&b, bitmap ? "\n" : "\t%u\n", most);
	put_samples(&b, kind, most, n);
	ok(img_head(k, b.p, b.n, &head) == 0 && head.format == IMG_PNM && head.c == c && head.h == H && head.w == W &&
	    head.lossless && head.odd == (most > 255), "%s: the header is read: %s", name, err_line());
	ok(img_decode(k, b.p, b.n, 0, &out) == 0 && out.c == c && out.h == H && out.w == W, "%s is decoded: %s", name,
	    err_line());
	for (uint32_t i = 0; out.p != NULL && i < n; i++)
		wrong += out.p[i] != (bitmap ? (sample(i) < 128 ? 0 : 255)
		    : (uint32_t)((double)(sample(i) * most / 255) * 255 / most + 0.5));
	is(wrong, 0, "%s has the pixels that were written", name);
	ok(img_decode(k, b.p, b.n, 4 - c, &out) == 0 && out.c == 4 - c && (c == 3 || out.p[n * 3 - 1] == out.p[n * 3 - 3]),
	    "%s is decoded to the other number of channels", name);
	is_str(img_suffix(b.p, b.n), bitmap ? "pbm" : c == 1 ? "pgm" : "ppm", "%s: the suffix is known", name);
	for (size_t i = 0; i < b.n - (text ? 6 : 0); i++) {
		uint8_t *copy = malloc(i + 1);

		memcpy(copy, b.p, i);
		fails += img_decode(k, copy, i, 0, &out) < 0 && *err_line() != 0;
		free(copy);
	}
	is(fails, b.n - (text ? 6 : 0), "%s is refused if it is truncated", name);
	buf_free(&b);
}

static void
test_refusals(void)
{
	static const struct { const char *text; int e; const char *why; } bad[] = {
		{ "P6 60000 60000 255 ", ERR_PIXELS, "60000x60000" },
		{ "P6 0 3 255 ", ERR_FORMAT, "no size" },
		{ "P6 99999999999 3 255 ", ERR_FORMAT, "no size" },
		{ "P5 -3 3 255 ", ERR_FORMAT, "no size" },
		{ "P5 1 1 0 x", ERR_FORMAT, "largest sample" },
		{ "P5 1 1 65536 x", ERR_FORMAT, "largest sample" },
		{ "P5 1 1 9 x", ERR_FORMAT, "a sample of 120, above the 9" },
		{ "P2 2 1 255 1 x", ERR_FORMAT, "not a number" },
		{ "P1 2 1 12", ERR_FORMAT, "not a number" },
		{ "P4 9 1", ERR_FORMAT, "ends early" },
		{ "P4 9 1\nx", ERR_FORMAT, "ends early" },
		{ "P3 9 1 255 1 2 3", ERR_FORMAT, "ends early" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct img out;

		is(img_decode(k, (const uint8_t *)bad[i].text, strlen(bad[i].text), 0, &out), bad[i].e, "'%s' is refused",
		    bad[i].text);
		ok(strstr(err_line(), bad[i].why) != NULL, "the message says why: %s", err_line());
	}
}

int
main(void)
{
	static const uint32_t mosts[] = { 1, 15, 255, 1023, 65535 };

	img_codec_new(IMG_PIXELS, &k);
	test_kind('1', 1);
	test_kind('4', 1);
	for (size_t i = 0; i < sizeof(mosts) / sizeof(*mosts); i++)
		for (const char *kind = "2356"; *kind != 0; kind++)
			test_kind(*kind, mosts[i]);
	test_refusals();
	img_codec_free(k);
	return done();
}
