/* aug_test - crops lie inside, come evenly, and depend on seed, epoch and id alone; mirroring leaves the mean. */
#include "base/err.h"
#include "data/aug.h"
#include "tap.h"

static const struct img pic = { NULL, 3, 12, 10 };

static void
test_choice(void)
{
	struct aug a = { .c = 3, .h = 8, .w = 9, .seed = 5, .rand_crop = true, .rand_mirror = true, .scale = 1 };
	struct aug_plan c, d;
	unsigned y[5] = { 0 }, x[2] = { 0 }, mirrored = 0, differ = 0, inside = 1, apart = 0;

	for (uint64_t id = 0; id < 4000; id++) {
		aug_choose(&a, 1, id, &pic, &c);
		aug_choose(&a, 1, id, &pic, &d);
		inside &= c.y <= 4 && c.x <= 1 && c.y == d.y && c.x == d.x && c.mirror == d.mirror;
		y[c.y]++;
		x[c.x]++;
		mirrored += c.mirror;
		aug_choose(&a, 2, id, &pic, &d);
		differ += c.y != d.y || c.x != d.x || c.mirror != d.mirror;
		a.rand_crop = false;
		aug_choose(&a, 1, id, &pic, &d);
		a.rand_crop = true;
		apart += c.mirror == d.mirror && d.y == 2 && d.x == 0;
	}
	ok(inside, "crops lie inside, and are the same when drawn again");
	for (int i = 0; i < 5; i++)
		near(y[i], 800, 120, "row %d comes as often as the others", i);
	near(x[0], 2000, 150, "columns, too");
	near(mirrored, 2000, 150, "half are mirrored");
	near(differ, 3800, 100, "epochs differ");
	is(apart, 4000, "without random crops the centre; mirroring is drawn the same");
	a.h = 13;
	is(aug_choose(&a, 0, 0, &pic, &c), ERR_ITEM, "a picture that is too low");
	a.h = 12;
	a.w = 11;
	is(aug_choose(&a, 0, 0, &pic, &c), ERR_ITEM, "a picture that is too narrow");
	is_str(err_line(), "its 10x12 pixels are fewer than the 11x12 of a sample", "the line");
}

/* x of a plan for im; a plan is completed as aug_choose() would. */
static void
apply(const struct aug *a, struct aug_plan plan, const struct img *im, float *x)
{
	struct aug_room *room;

	plan.h = a->h;
	plan.w = a->w;
	plan.contrast = 1;
	aug_room_new(&room);
	is(aug_apply(a, &plan, room, im, x), 0, "a sample");
	aug_room_free(room);
}

static void
test_pixels(void)
{
	static const uint8_t p[2 * 3 * 3] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19 };
	static const float mean[3 * 1 * 2] = { 1, 2, 10, 20, 100, 200 };
	const struct img im = { p, 3, 2, 3 };
	struct aug a = { .c = 3, .h = 1, .w = 2, .mean = mean, .scale = 2 };
	float x[6];

	apply(&a, (struct aug_plan){ .y = 1, .x = 1 }, &im, x);
	ok(x[0] == (14 - 1) * 2 && x[1] == (17 - 2) * 2, "red, less the mean, scaled");
	ok(x[2] == (15 - 10) * 2 && x[3] == (18 - 20) * 2, "green");
	ok(x[4] == (16 - 100) * 2 && x[5] == (19 - 200) * 2, "blue");
	apply(&a, (struct aug_plan){ .y = 1, .x = 1, .mirror = true }, &im, x);
	ok(x[1] == (14 - 1) * 2 && x[0] == (17 - 2) * 2, "mirrored, the mean with its pixel");
	a.mean = NULL;
	apply(&a, (struct aug_plan){ .y = 0, .x = 0, .mirror = true }, &im, x);
	ok(x[0] == 8 && x[1] == 2 && x[4] == 12 && x[5] == 6, "without a mean");
}

int
main(void)
{
	test_choice();
	test_pixels();
	return done();
}
