/* frame_test - typed frames in a byte stream. */
#include "tap.h"

#include "base/err.h"
#include "base/frame.h"

#include <stdlib.h>

static const char mark[] = "\001mark\n";

/* Feeds the bytes in fragments of fragment bytes.  Returns whether all frames arrive in order with their contents. */
static int
read_fragments(const struct buf *b, size_t fragment, uint32_t want)
{
	struct frame_reader in = { .max = 1000 };
	struct frame f;
	uint32_t seen = 0;
	int e = 0, correct = 1;

	for (size_t at = 0; at < b->n && e >= 0; at += fragment) {
		size_t n = b->n - at < fragment ? b->n - at : fragment;

		frame_feed(&in, b->p + at, n);
		while ((e = frame_next(&in, &f)) > 0) {
			correct &= f.type == seen && f.len == seen * 37 % 1000;
			for (uint32_t i = 0; i < f.len; i++)
				correct &= f.p[i] == (uint8_t)(seen + i);
			seen++;
		}
		correct &= in.b.n <= FRAME_HEAD + 1000 + fragment;
	}
	frame_free(&in);
	return correct && e == 0 && seen == want;
}

static void
test_fragments(void)
{
	static const size_t fragment[] = { 1, 2, 7, 8, 9, 100, 4096, 1 << 20 };
	struct buf b = { 0 };
	uint8_t p[1000];

	for (uint32_t t = 0; t < 100; t++) {
		uint32_t n = t * 37 % 1000;

		for (uint32_t i = 0; i < n; i++)
			p[i] = (uint8_t)(t + i);
		frame_put(&b, t, p, n);
	}
	for (size_t i = 0; i < sizeof(fragment) / sizeof(fragment[0]); i++)
		ok(read_fragments(&b, fragment[i], 100), "frames arrive complete from fragments of %zu bytes", fragment[i]);
	buf_free(&b);
}

static void
test_limit(void)
{
	static const uint8_t head[] = { 0xe9, 3, 0, 0, 7, 0, 0, 0 };	/* 1001 bytes */
	struct frame_reader in = { .max = 1000 };
	struct frame f;

	frame_feed(&in, head, 7);
	is(frame_next(&in, &f), 0, "frame_next waits for the rest of a header");
	frame_feed(&in, head + 7, 1);
	is(frame_next(&in, &f), ERR_LIMIT, "frame_next refuses a payload above the limit by its header");
	is_str(err_line(), "a frame of 1001 bytes is longer than 1000", "the error states both sizes");
	ok(in.b.cap < 1000, "a refused frame allocates no memory");
	frame_free(&in);
}

/* Cuts the stream at every byte: the mark after the noise and the frame after the mark are found each time. */
static void
test_sync(const char *noise)
{
	struct buf b = { 0 };
	int correct = 1;

	buf_put(&b, noise, strlen(noise));
	buf_put(&b, mark, sizeof(mark) - 1);
	frame_put(&b, 5, "x", 1);
	for (size_t cut = 0; cut <= b.n; cut++) {
		struct frame_reader in = { .max = 10 };
		struct frame f = { 0 };
		bool found;

		frame_feed(&in, b.p, cut);
		found = frame_sync(&in, mark, sizeof(mark) - 1);
		correct &= found == (cut >= strlen(noise) + sizeof(mark) - 1);
		frame_feed(&in, b.p + cut, b.n - cut);
		correct &= found || frame_sync(&in, mark, sizeof(mark) - 1);
		correct &= frame_next(&in, &f) == 1 && f.type == 5 && in.skipped == strlen(noise);
		frame_free(&in);
	}
	ok(correct, "frame_sync finds the mark after '%.10s', cut anywhere", noise[0] == 1 ? "(half a mark)" : noise);
	buf_free(&b);
}

int
main(void)
{
	struct frame_reader in = { .max = 10 };
	struct frame f;

	test_fragments();
	test_limit();
	test_sync("");
	test_sync("Welcome to host b!\nYou have mail.\n");
	test_sync("\001mar\001mark\001");
	ok(!frame_sync(&in, mark, sizeof(mark) - 1) && frame_next(&in, &f) == 0, "an empty reader has neither mark nor frame");
	return done();
}
