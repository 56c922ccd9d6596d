/* orient_test - the eight orientations pixel by pixel, and rectangles mapped back. */
#include "image/orient.h"
#include "tap.h"

#include <stdlib.h>

/* The image "abc/def", 3 by 2, as each orientation shows it. */
static void
test_pixels(void)
{
	static const char *const want[] = { "", "abcdef", "cbafed", "fedcba", "defabc", "adbecf", "daebfc", "fcebda", "cfbead" };

	for (unsigned turn = 1; turn <= 8; turn++) {
		char out[13] = "";

		orient_pixels(turn, (const uint8_t *)"abcdef", 2, 3, 1, 3, (uint8_t *)out, orient_swaps(turn) ? 2 : 3);
		is_str(out, want[turn], "orient_pixels makes orientation %u upright", turn);
		orient_pixels(turn, (const uint8_t *)"aAbBcC..dDeEfF", 2, 3, 2, 8, (uint8_t *)out, orient_swaps(turn) ? 4 : 6);
		for (int i = 0; i < 6; i++)
			if (out[i * 2] != want[turn][i] || out[i * 2 + 1] != want[turn][i] - 'a' + 'A') {
				ok(0,
				    "orient_pixels moves pixels of two bytes with a stride: %s", out);
				break;
			}
	}
}

/* A rectangle of the upright image equals the turned rectangle that orient_back() gives. */
static void
test_rectangles(void)
{
	enum { H = 7, W = 9 };
	uint8_t p[H * W], all[H * W], part[H * W], one[4 * 2];

	for (int i = 0; i < H * W; i++)
		p[i] = (uint8_t)i;
	for (unsigned turn = 1; turn <= 8; turn++) {
		uint32_t th = orient_swaps(turn) ? W : H, tw = orient_swaps(turn) ? H : W, far = 0;
		struct orient_rect r = { .y = th - 5, .x = 1, .h = 4, .w = 2 }, back = orient_back(turn, r, H, W);

		orient_pixels(turn, p, H, W, 1, W, all, tw);
		for (uint32_t y = 0; y < back.h; y++)
			memcpy(part + y * back.w, p + (back.y + y) * W + back.x, back.w);
		orient_pixels(turn, part, back.h, back.w, 1, back.w, one, 2);
		for (uint32_t y = 0; y < 4; y++)
			far += memcmp(one + y * 2, all + (r.y + y) * tw + r.x, 2) != 0;
		is(far, 0, "orient_back finds the rectangle of orientation %u", turn);
	}
}

int
main(void)
{
	test_pixels();
	test_rectangles();
	return done();
}
