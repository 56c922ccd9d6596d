/* aug_test - crops lie inside, are uniform, and depend on seed, epoch and id alone; mirroring leaves the mean. */
#include "base/err.h"
#include "batch/aug.h"
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
		near(y[i], 800, 120, "row %d is as frequent as the others", i);
	near(x[0], 2000, 150, "columns are uniform");
	near(mirrored, 2000, 150, "half of the images are mirrored");
	near(differ, 3800, 100, "epochs have different crops");
	is(apart, 4000, "without random crops the crop is central, and mirroring is drawn alike");
	a.h = 13;
	is(aug_choose(&a, 0, 0, &pic, &c), ERR_ITEM, "an image that is too low is refused");
	a.h = 12;
	a.w = 11;
	is(aug_choose(&a, 0, 0, &pic, &c), ERR_ITEM, "an image that is too narrow is refused");
	is_str(err_line(), "its 10x12 pixels are fewer than the 11x12 of a sample", "the error has both sizes");
}

/* Applies a plan to im; the plan is completed as aug_choose() does. */
static void
apply(const struct aug *a, struct aug_plan plan, const struct img *im, float *x)
{
	struct aug_room *room;

	plan.h = a->h;
	plan.w = a->w;
	plan.contrast = 1;
	aug_room_new(&room);
	is(aug_apply(a, &plan, room, im, x), 0, "aug_apply() makes a sample");
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
	ok(x[0] == (14 - 1) * 2 && x[1] == (17 - 2) * 2, "red is reduced by the mean and scaled");
	ok(x[2] == (15 - 10) * 2 && x[3] == (18 - 20) * 2, "green is reduced by the mean and scaled");
	ok(x[4] == (16 - 100) * 2 && x[5] == (19 - 200) * 2, "blue is reduced by the mean and scaled");
	apply(&a, (struct aug_plan){ .y = 1, .x = 1, .mirror = true }, &im, x);
	ok(x[1] == (14 - 1) * 2 && x[0] == (17 - 2) * 2, "mirroring moves the mean with its pixel");
	a.mean = NULL;
	apply(&a, (struct aug_plan){ .y = 0, .x = 0, .mirror = true }, &im, x);
	ok(x[0] == 8 && x[1] == 2 && x[4] == 12 && x[5] == 6, "a mirrored sample without a mean");
}

/* Rows of any width, by whole and partial registers, against a plain loop. */
static void
test_widths(void)
{
	enum { MOST = 2500 };
	static uint8_t p[3 * MOST];
	static float mean[3 * MOST], x[3 * MOST];
	uint32_t widths[] = { 1, 2, 15, 16, 17, 28, 31, 32, 33, 100, 224, 1023, 1024, 1025, 1030, 2048, MOST };
	int right = 1;

	for (int i = 0; i < 3 * MOST; i++) {
		p[i] = (uint8_t)(i * 37 + i / 256);
		mean[i] = (float)(i % 91) / 4;
	}
	for (unsigned i = 0; i < 8 * sizeof(widths) / sizeof(*widths); i++) {
		uint32_t w = widths[i / 8], c = i & 1 ? 3 : 1;
		struct aug a = { .c = c, .h = 1, .w = w, .mean = i & 2 ? mean : NULL, .scale = 0.5f };
		struct img im = { p, c, 1, w };
		bool mirror = i & 4;

		apply(&a, (struct aug_plan){ .mirror = mirror }, &im, x);
		for (uint32_t k = 0; k < c * w; k++) {
			uint32_t from = mirror ? w - 1 - k % w : k % w, ch = k / w;

			right &= x[k] == ((float)p[from * c + ch] - (i & 2 ? mean[ch * w + from] : 0)) * 0.5f;
		}
	}
	ok(right, "rows of any width equal a plain loop");
}

/* Crops of random area and aspect lie inside and have the requested size. */
static void
test_parts(void)
{
	const struct aug a = { .c = 3, .h = 20, .w = 20, .resized_crop = true, .area = { 0.25f, 0.75f },
		.aspect = { 0.5f, 2 }, .seed = 3 };
	const struct img large = { NULL, 3, 110, 110 };
	double area = 0, tall = 0;
	struct aug_plan p, q;
	int inside = 1, right = 1;

	for (uint64_t id = 0; id < 4000; id++) {
		double ratio;

		aug_choose(&a, 0, id, &large, &p);
		inside &= p.y >= 0 && p.x >= 0 && p.y + p.h <= 110 && p.x + p.w <= 110;
		area += p.h * p.w / 12100.0 / 4000;
		ratio = (double)p.w / p.h;
		right &= ratio > 0.48 && ratio < 2.08 && p.h * p.w > 0.24 * 12100 && p.h * p.w < 0.76 * 12100;
		tall += ratio < 1;
	}
	ok(inside, "resized crops lie inside");
	ok(right, "resized crops keep the bounds of area and aspect");
	near(area, 0.49, 0.02, "resized crops have half of the area on average, as few of the largest fit");
	near(tall / 4000, 0.5, 0.06, "resized crops are as often tall as wide");
	aug_choose(&a, 0, 7, &(struct img){ NULL, 3, 10, 1000 }, &q);
	ok(q.h == 10 && q.w == 10 && q.y == 0 && q.x == 495, "if no crop fits, the centre is used");
}

static void
test_turns(void)
{
	const struct aug a = { .c = 3, .h = 8, .w = 8, .alt_mirror = true };
	unsigned first = 0, turned = 1;
	struct aug_plan p[3];

	for (uint64_t id = 0; id < 2000; id++) {
		for (uint64_t epoch = 0; epoch < 3; epoch++)
			aug_choose(&a, epoch, id, &pic, &p[epoch]);
		first += p[0].mirror;
		turned &= p[0].mirror != p[1].mirror && p[0].mirror == p[2].mirror;
	}
	near(first, 1000, 100, "half of the images are mirrored in the first epoch");
	ok(turned, "each image is mirrored in every other epoch");
}

/* Factors spread evenly over their range; PCA noise has the covariance of AlexNet's: the sum of axis * axis' * value^2. */
static void
test_colours(void)
{
	const struct aug a = { .c = 3, .h = 8, .w = 8, .brightness = 0.4f, .contrast = 0.4f, .saturation = 0.2f,
		.hsl = { 10, 20, 30 }, .pca = 0.1f, .rand_contrast = 0.5f, .rand_illumination = 20 };
	static const double axis[3][3] = { { -0.5675, 0.7192, 0.4009 }, { -0.5808, -0.0045, -0.8140 },
		{ -0.5836, -0.6948, 0.4203 } }, value[3] = { 55.46, 4.794, 1.148 };
	double rr = 0, rg = 0, want_rr = 0, want_rg = 0, factor = 0, square = 0, orders[3] = { 0 };
	enum { N = 20000 };
	struct aug_plan p;
	int within = 1;

	for (uint64_t id = 0; id < N; id++) {
		aug_choose(&a, 0, id, &pic, &p);
		rr += (double)p.rgb[0] * (double)p.rgb[0] / N;
		rg += (double)p.rgb[0] * (double)p.rgb[1] / N;
		factor += (double)p.factor[0] / N;
		square += pow((double)p.factor[0] - 1, 2) / N;
		orders[p.order[0]]++;
		within &= fabsf(p.factor[2] - 1) <= 0.2001f && fabsf(p.hsl[0]) <= 10 && fabsf(p.hsl[2]) <= 30 &&
		    fabsf(p.contrast - 1) <= 0.5001f && fabsf(p.illumination) <= 20;
		within &= p.order[0] + p.order[1] + p.order[2] == 3 && p.order[0] != p.order[1];
	}
	for (int i = 0; i < 3; i++) {
		want_rr += axis[0][i] * axis[0][i] * value[i] * value[i] * 0.01;
		want_rg += axis[0][i] * axis[1][i] * value[i] * value[i] * 0.01;
		near(orders[i] / N, 1.0 / 3, 0.02, "augmentation %d is the first as often as the others", i);
	}
	ok(within, "all factors are within their ranges");
	near(factor, 1, 0.01, "the mean of the factors is 1");
	near(square, 0.16 / 3, 0.003, "the factors are uniform");
	near(rr, want_rr, want_rr * 0.05, "PCA noise has the variance of red");
	near(rg, want_rg, want_rg * 0.05, "PCA noise has the covariance of red and green");
}

static void
test_plain(void)
{
	const struct aug a = { .c = 3, .h = 8, .w = 8, .resize = 9, .pad = 1, .rand_crop = true, .rand_mirror = true,
		.turn = { -9, 9 }, .shear = { -1, 1 }, .brightness = 1, .hsl = { 9, 9, 9 }, .pca = 1, .cutout = 3,
		.rand_contrast = 1, .rand_illumination = 9, .scale_by = { 1, 2 } };
	struct aug plain = aug_plain(&a);
	struct aug_plan p, q;

	aug_choose(&plain, 0, 1, &pic, &p);
	aug_choose(&plain, 1, 2, &pic, &q);
	p.cut_y = q.cut_y = p.cut_x = q.cut_x = 0;	/* of a square of no side */
	memcpy(q.order, p.order, sizeof(p.order));	/* the order of disabled augmentations */
	for (int i = 0; i < 3; i++) {	/* zeros of either sign are alike */
		p.rgb[i] += 0;
		q.rgb[i] += 0;
		p.hsl[i] += 0;
		q.hsl[i] += 0;
	}
	p.illumination += 0;
	q.illumination += 0;
	ok(plain.cutout == 0 && memcmp(&p, &q, sizeof(p)) == 0, "validation: no augmentation is random");
	ok(p.resized_h == 10 && p.resized_w == 9 && p.y == 1 && p.x == 0,
	    "validation: the image is resized, and the crop is central");
	ok(p.factor[0] == 1 && p.contrast == 1 && p.illumination == 0 && p.rgb[0] == 0 && !p.mirror,
	    "validation: nothing else is changed");
}

int
main(void)
{
	test_widths();
	test_parts();
	test_turns();
	test_colours();
	test_plain();
	test_choice();
	test_pixels();
	return done();
}
