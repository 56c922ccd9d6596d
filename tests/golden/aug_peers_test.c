/* aug_peers_test - each augmentation of an image, compared with the results of MXNet, OpenCV and Pillow. */
#include "aug_peers.h"
#include "batch/aug.h"
#include "tap.h"

#include <stdlib.h>

#define H 24
#define W 20
#define CROP .c = 3, .h = 10, .w = 12

static uint8_t picture[H * W * 3];
static const struct img pic = { picture, 3, H, W };
static struct aug_room *room;

static void
draw(void)
{
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++)
			for (int c = 0; c < 3; c++)
				picture[(y * W + x) * 3 + c] = (uint8_t)(10 + 5 * x + 4 * y + 20 * c +
				    8 * ((x / 3 + y / 4 + c) & 1));
}

static float x[3 * 28 * 24];

static const struct aug_plan *
chosen(const struct aug *a)
{
	static struct aug_plan plan;

	is(aug_choose(a, 0, 0, &pic, &plan), 0, "aug_choose() chooses a plan");
	return &plan;
}

/* At most 2 % of the values differ by more than `often`, and none differs by more than `most`. */
static void
same(const struct aug *a, const struct aug_plan *plan, const uint8_t *want, size_t n, double often, double most,
    const char *what)
{
	size_t differ = 0;
	double worst = 0;

	is(aug_apply(a, plan, room, &pic, x), 0, "%s: aug_apply() exits with 0", what);
	for (size_t i = 0; i < n; i++) {
		double d = fabs((double)x[i] - want[i]);

		differ += d > often;
		worst = d > worst ? d : worst;
	}
	ok(differ * 50 <= n && worst <= most, "%s", what);
	if (differ > 0)
		printf("# %zu of %zu differ by more than %g, by %g at most\n", differ, n, often, worst);
}

#define SAME(a, plan, name, often, most, what) same(a, plan, peers_##name, sizeof(peers_##name), often, most, what)

static void
test_geometry(void)
{
	struct aug a = { CROP, .resize = 30 };
	struct aug_plan plan;

	SAME(&a, chosen(&a), resize, 1, 1, "MXNet's resize, enlarging");
	a = (struct aug){ .c = 3, .h = H, .w = W, .angle = { 30 }, .angles = 1, .fill = 200 };
	SAME(&a, chosen(&a), rotate, 3, 8, "MXNet's rotate");
	a = (struct aug){ .c = 3, .h = H, .w = W, .turn = { 30, 30 }, .fill = 200 };
	SAME(&a, chosen(&a), rotate, 3, 8, "rotation by a random angle");
	a = (struct aug){ .c = 3, .h = H, .w = W, .shear = { 0.3f, 0.3f }, .fill = 200 };
	SAME(&a, chosen(&a), shear, 3, 8, "MXNet's shear, by OpenCV");
	a = (struct aug){ .c = 3, .h = H, .w = W, .aspect = { 1.5f, 1.5f }, .fill = 7 };
	SAME(&a, chosen(&a), aspect, 3, 8, "MXNet's aspect ratio");
	a = (struct aug){ CROP, .scale_by = { 1.3f, 1.3f } };
	SAME(&a, chosen(&a), scale, 2, 4, "MXNet's random scale");
	a.side = (struct aug_range){ 26, 28 };
	SAME(&a, chosen(&a), size, 2, 4, "MXNet's bounds of an image's size");
	a = (struct aug){ .c = 3, .h = 28, .w = 24, .pad = 3, .fill = 100 };
	SAME(&a, chosen(&a), pad, 0, 0, "MXNet's pad");
	a = (struct aug){ .c = 3, .h = 28, .w = 24, .pad = 3, .pad_reflect = true };
	SAME(&a, chosen(&a), reflect, 0, 0, "OpenCV's reflected border");
	a = (struct aug){ .c = 3, .h = 16, .w = 16, .crop_size = { 9, 9 } };
	SAME(&a, chosen(&a), crop_size, 1, 1, "MXNet's crop of another size, enlarged");
	a = (struct aug){ .c = 3, .h = 12, .w = 10, .resize = 10 };
	SAME(&a, chosen(&a), shrink, 1, 1, "Pillow's bilinear, shrinking");
	a = (struct aug){ CROP, .resized_crop = true };
	plan = *chosen(&a);
	plan.y = 2;
	plan.x = 3;
	plan.h = 19;
	plan.w = 14;
	SAME(&a, &plan, resized_crop, 1, 1, "Pillow's resized crop");
}

/* A plan for one augmentation alone; i is the first one. */
static struct aug_plan
colour(const struct aug *a, int i, float by)
{
	struct aug_plan plan = *chosen(a);

	plan.factor[i] = by;
	return plan;
}

static void
test_colour(void)
{
	struct aug a = { CROP, .brightness = 1 };
	struct aug_plan plan = colour(&a, 0, 1.6f);

	SAME(&a, &plan, brightness, 1, 1, "Pillow's brightness");
	a = (struct aug){ CROP, .contrast = 1 };
	plan = colour(&a, 1, 0.4f);
	SAME(&a, &plan, contrast, 1, 1, "Pillow's contrast");
	a = (struct aug){ CROP, .saturation = 1 };
	plan = colour(&a, 2, 2.5f);
	SAME(&a, &plan, saturation, 2, 2, "Pillow's saturation");
	a = (struct aug){ CROP, .hsl = { 1, 1, 1 } };
	plan = *chosen(&a);
	plan.hsl[0] = 20;
	plan.hsl[1] = -60;
	plan.hsl[2] = 25;
	SAME(&a, &plan, hsl, 3, 6, "OpenCV's hue, saturation and lightness");
}

static void
test_normal(void)
{
	struct aug a = { .c = 3, .h = 4, .w = 6, .mean_of = { 50, 60, 70 }, .std_of = { 2, 3, 4 }, .scale = 0.5f,
		.mirror = true };
	struct aug_plan plan;
	double worst = 0;

	is(aug_apply(&a, chosen(&a), room, &pic, x), 0, "normalization exits with 0");
	for (size_t i = 0; i < sizeof(peers_normal) / sizeof(*peers_normal); i++)
		worst = fmax(worst, fabs((double)x[i] - (double)peers_normal[i]));
	near(worst, 0, 1e-5, "normalization of a mirrored image is MXNet's");
	a = (struct aug){ CROP, .mean_of = { 50, 60, 70 }, .rand_contrast = 0.5f, .rand_illumination = 20 };
	plan = *chosen(&a);
	plan.contrast = PEERS_CONTRAST;
	plan.illumination = PEERS_ILLUMINATION;
	is(aug_apply(&a, &plan, room, &pic, x), 0, "contrast and illumination exit with 0");
	worst = 0;
	for (int i = 0; i < 3 * 4 * 6; i++) {
		int c = i / 24, y = i / 6 % 4, at = (c * 10 + y) * 12 + i % 6;

		worst = fmax(worst, fabs((double)x[at] - (double)peers_lit[i]));
	}
	near(worst, 0, 1e-3, "contrast and illumination are MXNet's");
	a = (struct aug){ CROP, .cutout = 5 };
	plan = *chosen(&a);
	plan.cut_y = 2;
	plan.cut_x = 7;
	is(aug_apply(&a, &plan, room, &pic, x), 0, "a cut-out exits with 0");
	worst = 0;
	for (int i = 0; i < 360; i++)
		worst = fmax(worst, fabs((double)x[i] - peers_cut[i]));
	is(worst, 0, "a cut-out is Pillow's");
}

int
main(void)
{
	draw();
	if (aug_room_new(&room) < 0)
		return 1;
	test_geometry();
	test_colour();
	test_normal();
	aug_room_free(room);
	return done();
}
