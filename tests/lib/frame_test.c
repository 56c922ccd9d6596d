/* frame_test - does frame keep its header's word? */
#include "tap.h"

#include "base/err.h"
#include "base/frame.h"

#include <stdlib.h>

static const char mark[] = "\001mark\n";

/* Feeds the bytes in pieces of `piece`; counts frames, checks each against its type. */
static int
in_pieces(const struct buf *b, size_t piece, uint32_t want)
{
	struct frame_reader in = { .max = 1000 };
	struct frame f;
	uint32_t seen = 0;
	int e = 0, good = 1;

	for (size_t at = 0; at < b->n && e >= 0; at += piece) {
		size_t n = b->n - at < piece ? b->n - at : piece;

		frame_feed(&in, b->p + at, n);
		while ((e = frame_next(&in, &f)) > 0) {
			good &= f.type == seen && f.len == seen * 37 % 1000;
			for (uint32_t i = 0; i < f.len; i++)
				good &= f.p[i] == (uint8_t)(seen + i);
			seen++;
		}
		good &= in.b.n <= FRAME_HEAD + 1000 + piece;
	}
	frame_free(&in);
	return good && e == 0 && seen == want;
}

static void
test_pieces(void)
{
	static const size_t piece[] = { 1, 2, 7, 8, 9, 100, 4096, 1 << 20 };
	struct buf b = { 0 };
	uint8_t p[1000];

	for (uint32_t t = 0; t < 100; t++) {
		uint32_t n = t * 37 % 1000;

		for (uint32_t i = 0; i < n; i++)
			p[i] = (uint8_t)(t + i);
		frame_put(&b, t, p, n);
	}
	for (size_t i = 0; i < sizeof(piece) / sizeof(piece[0]); i++)
		ok(in_pieces(&b, piece[i], 100), "frames come whole out of pieces of %zu bytes", piece[i]);
	buf_free(&b);
}

static void
test_bound(void)
{
	static const uint8_t head[] = { 0xe9, 3, 0, 0, 7, 0, 0, 0 };	/* 1001 bytes */
	struct frame_reader in = { .max = 1000 };
	struct frame f;

	frame_feed(&in, head, 7);
	is(frame_next(&in, &f), 0, "a part of a head is not a frame");
	frame_feed(&in, head + 7, 1);
	is(frame_next(&in, &f), ERR_LIMIT, "a frame over the bound is refused by its head");
	is_str(err_line(), "a frame of 1001 bytes is longer than 1000", "and named");
	ok(in.b.cap < 1000, "no memory was taken for it");
	frame_free(&in);
}

/* The noise before the mark, cut at every place: the frame behind it is found each time. */
static void
test_sync(const char *noise)
{
	struct buf b = { 0 };
	int good = 1;

	buf_put(&b, noise, strlen(noise));
	buf_put(&b, mark, sizeof(mark) - 1);
	frame_put(&b, 5, "x", 1);
	for (size_t cut = 0; cut <= b.n; cut++) {
		struct frame_reader in = { .max = 10 };
		struct frame f = { 0 };
		bool found;

		frame_feed(&in, b.p, cut);
		found = frame_sync(&in, mark, sizeof(mark) - 1);
		good &= found == (cut >= strlen(noise) + sizeof(mark) - 1);
		frame_feed(&in, b.p + cut, b.n - cut);
		good &= found || frame_sync(&in, mark, sizeof(mark) - 1);
		good &= frame_next(&in, &f) == 1 && f.type == 5 && in.skipped == strlen(noise);
		frame_free(&in);
	}
	ok(good, "the mark is found behind '%.10s', cut anywhere", noise[0] == 1 ? "(half a mark)" : noise);
	buf_free(&b);
}

int
main(void)
{
	struct frame_reader in = { .max = 10 };
	struct frame f;

	test_pieces();
	test_bound();
	test_sync("");
	test_sync("Welcome to host b!\nYou have mail.\n");
	test_sync("\001mar\001mark\001");
	ok(!frame_sync(&in, mark, sizeof(mark) - 1) && frame_next(&in, &f) == 0, "nothing in, nothing out");
	return done();
}
