/* img_bmp_test - every kind of BMP is decoded to the pixels that were written; damaged ones are refused. */
#include "base/err.h"
#include "image/img.h"
#include "tap.h"

#include <stdlib.h>

#define H	5u
#define W	11u
#define COLOURS	16u

/* One file to be made.  head: bytes of its header; flags of the rest are off by default. */
struct kind {
	const char	*name;
	uint32_t	 head, bits, compression;
	bool		 down;
	uint32_t	 mask[3];
};

static struct img_codec *k;

static void
put_le(struct buf *b, uint32_t v, size_t n)
{
	uint8_t p[4];

	le_put32(p, v);
	buf_put(b, p, n);
}

/* The colour of an index, and the index of a pixel: rows differ, and runs of one index take turns with single ones. */
static uint32_t
colour_of(uint32_t i, uint32_t channel)
{
	return channel == 0 ? 255 - i * 17 : channel == 1 ? i * 17 : i * i;
}

static uint32_t
index_at(const struct kind *kind, uint32_t y, uint32_t x)
{
	return ((y * 3 + x / 4 * 5 + (x % 4 == 3)) % COLOURS) & (kind->bits < 4 ? (1u << kind->bits) - 1 : COLOURS - 1);
}

/* A channel in the bits of a mask, and what is read from it. */
static uint32_t
masked(uint32_t v, uint32_t mask)
{
	uint32_t most = mask >> __builtin_ctz(mask);

	return v * (uint64_t)most / 255 << __builtin_ctz(mask);
}

static uint8_t
wanted(const struct kind *kind, uint32_t y, uint32_t x, uint32_t channel)
{
	uint32_t v = colour_of(index_at(kind, y, x), channel), mask = kind->mask[channel];

	if (mask == 0)
		return (uint8_t)v;
	return (uint8_t)((double)(masked(v, mask) >> __builtin_ctz(mask)) * 255 / (mask >> __builtin_ctz(mask)) + 0.5);
}

static void
put_head(struct buf *b, const struct kind *kind, uint32_t h, uint32_t w)
{
	bool old = kind->head == 12, masks = kind->compression == 3 || kind->compression == 6;
	uint32_t colours = kind->bits <= 8 ? 1u << kind->bits : 0, step = old ? 3 : 4;

	colours = colours > COLOURS ? COLOURS : colours;
	buf_put(b, "BM\0\0\0\0\0\0\0\0", 10);
	put_le(b, 14 + kind->head + colours * step + (masks && kind->head == 40 ? 12 : 0), 4);
	put_le(b, kind->head, 4);
	put_le(b, w, old ? 2 : 4);
	put_le(b, kind->down ? -h : h, old ? 2 : 4);
	put_le(b, 1, 2);
	put_le(b, kind->bits, 2);
	if (!old) {
		put_le(b, kind->compression, 4);
		for (int i = 0; i < 3; i++)
			put_le(b, 0, 4);
		put_le(b, colours, 4);
		put_le(b, 0, 4);
		for (int i = 0; masks && i < 3; i++)
			put_le(b, kind->mask[i], 4);
	}
	while (b->n < 14 + kind->head)
		put_le(b, 0, 1);
	for (uint32_t i = 0; i < colours; i++)
		for (uint32_t c = 0; c < step; c++)
			put_le(b, c < 3 ? colour_of(i, 2 - c) : 0, 1);
}

static void
put_plain_row(struct buf *b, const struct kind *kind, uint32_t y)
{
	uint32_t bits = 0, n = 0;
	size_t start = b->n;

	for (uint32_t x = 0; x < W; x++)
		if (kind->bits > 8) {
			uint32_t v = 0;

			for (uint32_t c = 0; c < 3; c++)
				v |= kind->mask[c] != 0 ? masked(colour_of(index_at(kind, y, x), c), kind->mask[c])
				    : colour_of(index_at(kind, y, x), c) << (16 - 8 * c);
			put_le(b, v, kind->bits / 8);
		} else {
			bits = bits << kind->bits | index_at(kind, y, x);
			n += kind->bits;
			if (n % 8 == 0 || x == W - 1) {
				put_le(b, bits << (8 - n % 8) % 8, 1);
				bits = 0;
			}
		}
	while ((b->n - start) % 4 != 0)
		put_le(b, 0, 1);
}

/* Three pixels as a run of one index, the next as a run of another; the last row as it is, after a jump back and forth. */
static void
put_run_row(struct buf *b, const struct kind *kind, uint32_t y)
{
	uint32_t twice = kind->bits == 4 ? 17 : 1;

	if (y == 0) {
		uint8_t p[12] = { 0 };

		put_le(b, 0, 1);
		put_le(b, W, 1);
		for (uint32_t x = 0; x < W; x++)
			p[kind->bits == 8 ? x : x / 2] |=
			    (uint8_t)(index_at(kind, y, x) << (kind->bits == 4 && x % 2 == 0 ? 4 : 0));
		buf_put(b, p, kind->bits == 8 ? 12 : 6);
	} else {
		for (uint32_t x = 0; x < W; x += x % 4 == 0 ? 3 : 1) {
			put_le(b, x % 4 == 0 ? 3 : 1, 1);
			put_le(b, index_at(kind, y, x) * twice, 1);
		}
	}
	put_le(b, 0, 1);
	put_le(b, y == 0 ? 1 : 0, 1);
}

static void
test_kind(const struct kind *kind)
{
	bool runs = kind->compression == 1 || kind->compression == 2;
	struct buf b = { 0 };
	struct img_head head = { 0 };
	struct img out = { 0 };
	size_t wrong = 0, fails = 0, least;

	put_head(&b, kind, H, W);
	for (uint32_t i = 0; i < H; i++)
		if (runs)
			put_run_row(&b, kind, H - 1 - i);
		else
			put_plain_row(&b, kind, kind->down ? i : H - 1 - i);
	ok(img_head(k, b.p, b.n, &head) == 0 && head.format == IMG_BMP && head.c == 3 && head.h == H && head.w == W &&
	    head.lossless, "%s: the header is read: %s", kind->name, err_line());
	ok(img_decode(k, b.p, b.n, 0, &out) == 0 && out.c == 3 && out.h == H && out.w == W, "%s is decoded: %s", kind->name,
	    err_line());
	for (uint32_t y = 0; out.p != NULL && y < H; y++)
		for (uint32_t x = 0; x < W; x++)
			for (uint32_t c = 0; c < 3; c++)
				wrong += out.p[(y * W + x) * 3 + c] != wanted(kind, y, x, c);
	is(wrong, 0, "%s has the pixels that were written", kind->name);
	ok(img_decode(k, b.p, b.n, 1, &out) == 0 && out.c == 1, "%s is decoded to grey", kind->name);
	/* The padding of the last row, or the mark of the end, may be missing. */
	least = b.n - (runs ? 2 : 3);
	for (size_t n = 0; n < least; n++) {
		uint8_t *copy = malloc(n + 1);

		memcpy(copy, b.p, n);
		fails += img_decode(k, copy, n, 0, &out) < 0 && *err_line() != 0;
		free(copy);
	}
	is(fails, least, "%s is refused if it is truncated", kind->name);
	buf_free(&b);
}

/* Where the pixels start: after header and palette if the file does not say it, and never within them. */
static void
test_layout(void)
{
	static const struct kind kinds[] = { { "", 40, 8, 0, false, { 0 } }, { "", 12, 4, 0, false, { 0 } },
		{ "", 40, 16, 3, false, { 0xf800, 0x7e0, 0x1f } } };
	uint8_t want[H * W * 3];
	struct img out;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		uint32_t head = kinds[i].head, end = 14 + head + (kinds[i].compression == 3 ? 12 : 0);
		struct buf b = { 0 };

		put_head(&b, &kinds[i], H, W);
		for (uint32_t y = 0; y < H; y++)
			put_plain_row(&b, &kinds[i], y);
		img_decode(k, b.p, b.n, 3, &out);
		memcpy(want, out.p, sizeof(want));
		le_put32(b.p + 10, 0);
		ok(img_decode(k, b.p, b.n, 3, &out) == 0 && memcmp(out.p, want, sizeof(want)) == 0,
		    "a header of %u bytes: without an offset the pixels follow the colours: %s", head, err_line());
		le_put32(b.p + 10, end - 1);
		is(img_decode(k, b.p, b.n, 3, &out), ERR_FORMAT, "pixels within the header are refused: %s", err_line());
		le_put32(b.p + 10, end);
		if (head != 12) {
			le_put32(b.p + 14, 124);
			b.n = 124;
			is(img_decode(k, b.p, b.n, 3, &out), ERR_FORMAT, "a header beyond the end is refused: %s", err_line());
		}
		buf_free(&b);
	}
}

/* Sizes from 1x1, where a row is mostly padding. */
static void
test_small(void)
{
	static const uint32_t kinds[] = { 1, 4, 8, 16, 24, 32 };
	size_t good = 0, all = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (uint32_t h = 1; h <= 3; h++)
			for (uint32_t w = 1; w <= 3; w++) {
				struct kind kind = { "", 40, kinds[i], 0, false, { 0 } };
				struct buf b = { 0 };
				struct img out;

				put_head(&b, &kind, h, w);
				for (uint32_t n = (w * kinds[i] + 31) / 32 * 4 * h; n > 0; n--)
					put_le(&b, 0xff, 1);
				good += img_decode(k, b.p, b.n, 0, &out) == 0 && out.h == h && out.w == w &&
				    out.p[0] == (kinds[i] > 4 && kinds[i] < 16 ? 0 : kinds[i] < 16 ? colour_of((1u << kinds[i]) - 1, 0) :
				    255);
				b.n = le_get32(b.p + 10);
				good += img_decode(k, b.p, b.n, 0, &out) == ERR_FORMAT;
				all += 2;
				buf_free(&b);
			}
	is(good, all, "the smallest BMP are decoded, and refused if they end after the header");
}

static void
test_refusals(void)
{
	static const struct { struct kind kind; uint32_t h, w; int e; const char *why; } bad[] = {
		{ { "", 40, 24, 0, false, { 0 } }, 70000, 70000, ERR_PIXELS, "pixels" },
		{ { "", 40, 24, 0, false, { 0 } }, 0, 3, ERR_FORMAT, "no size" },
		{ { "", 40, 24, 0, false, { 0 } }, 3, 0x80000001, ERR_FORMAT, "no size" },
		{ { "", 40, 24, 4, false, { 0 } }, 3, 3, ERR_NOTSUP, "compression 4 with 24 bits" },
		{ { "", 40, 8, 2, false, { 0 } }, 3, 3, ERR_NOTSUP, "compression 2 with 8 bits" },
		{ { "", 40, 7, 0, false, { 0 } }, 3, 3, ERR_NOTSUP, "compression 0 with 7 bits" },
		{ { "", 16, 24, 0, false, { 0 } }, 3, 3, ERR_FORMAT, "header" },
		{ { "", 168, 8, 0, false, { 0 } }, 3, 3, ERR_FORMAT, "header" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct buf b = { 0 };
		struct img_head head;

		put_head(&b, &bad[i].kind, bad[i].h, bad[i].w);
		is(img_head(k, b.p, b.n, &head), bad[i].e, "a BMP of %ux%u and this kind is refused", bad[i].w, bad[i].h);
		ok(strstr(err_line(), bad[i].why) != NULL, "the message says why: %s", err_line());
		buf_free(&b);
	}
}

/* Runs beyond the edges set nothing there; pixels that are skipped have the first colour. */
static void
test_wild_runs(void)
{
	static const uint8_t runs[] = { 0, 2, 9, 1, 255, 5, 255, 6, 0, 2, 255, 255, 9, 9, 0, 1 };
	struct kind kind = { "", 40, 8, 1, false, { 0 } };
	struct buf b = { 0 };
	struct img out;

	put_head(&b, &kind, H, W);
	buf_put(&b, runs, sizeof(runs));
	is(img_decode(k, b.p, b.n, 0, &out), 0, "runs beyond the edges are accepted");
	is(out.p[0], colour_of(0, 0), "a pixel that no run sets has the first colour");
	is(out.p[((H - 2) * W + 9) * 3], colour_of(5, 0), "a run starts after the pixels that were skipped");
	is(out.p[((H - 2) * W + W) * 3], colour_of(0, 0), "a run ends at the edge");
	buf_free(&b);
}

int
main(void)
{
	static const struct kind kinds[] = {
		{ "1 bit", 40, 1, 0, false, { 0 } },
		{ "2 bits", 40, 2, 0, false, { 0 } },
		{ "4 bits", 40, 4, 0, false, { 0 } },
		{ "8 bits", 40, 8, 0, false, { 0 } },
		{ "8 bits of OS/2", 12, 8, 0, false, { 0 } },
		{ "1 bit of OS/2", 12, 1, 0, false, { 0 } },
		{ "24 bits of OS/2", 12, 24, 0, false, { 0 } },
		{ "16 bits", 40, 16, 0, false, { 0x7c00, 0x3e0, 0x1f } },
		{ "16 bits with masks", 40, 16, 3, false, { 0xf800, 0x7e0, 0x1f } },
		{ "16 bits from the top down", 108, 16, 3, true, { 0xf00, 0xf0, 0xf } },
		{ "24 bits", 40, 24, 0, false, { 0 } },
		{ "24 bits, the longest header, from the top down", 124, 24, 0, true, { 0 } },
		{ "32 bits", 40, 32, 0, false, { 0 } },
		{ "32 bits with masks", 56, 32, 3, false, { 0xff, 0xff00, 0xff0000 } },
		{ "32 bits with masks of 10 bits", 40, 32, 6, false, { 0x3ff00000, 0xffc00, 0x3ff } },
		{ "runs of 8 bits", 40, 8, 1, false, { 0 } },
		{ "runs of 4 bits", 40, 4, 2, false, { 0 } },
	};

	img_codec_new(IMG_PIXELS, &k);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		test_kind(&kinds[i]);
	test_layout();
	test_small();
	test_refusals();
	test_wild_runs();
	img_codec_free(k);
	return done();
}
