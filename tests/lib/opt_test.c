/* opt_test - the update rules against plain arithmetic, and their bits against how a range is cut. */
#include "base/rng.h"
#include "net/opt.h"
#include "tap.h"

#define COUNT 1003

static float w[COUNT], m[COUNT], g[COUNT], w2[COUNT], m2[COUNT];

static void
fill(void)
{
	struct rng r = rng_start(3, 0, 0);

	for (int i = 0; i < COUNT; i++) {
		w[i] = w2[i] = rng_normal(&r);
		m[i] = m2[i] = rng_normal(&r);
		g[i] = 100 * rng_normal(&r);
	}
}

static void
values(void)
{
	const struct opt_hyper h = { .lr = 0.1f, .momentum = 0.9f, .wd = 0.01f };
	float x = 2, mom = 0.5f, grad = 30;

	opt_sgd(&x, &mom, &grad, 1, 10, &h);
	near(mom, 0.9 * 0.5 - 0.1 * (3 + 0.01 * 2), 1e-6, "m = momentum m - lr (g/n + wd w)");
	near(x, 2 + 0.148, 1e-6, "w = w + m");
	x = 5;
	grad = 8;
	opt_fold(&x, &grad, 1, 4, 0.9f);
	near(x, 0.9 * 5 + 0.1 * 2, 1e-6, "fold: w = momentum w + (1 - momentum) g/n");
}

static void
clipped(void)
{
	const struct opt_hyper h = { .lr = 1, .clip = 0.5f };
	float x[4] = { 0 }, mom[4] = { 0 };
	const float grad[4] = { 8, -8, 1, NAN };

	opt_sgd(x, mom, grad, 4, 4, &h);
	near(x[0], -0.5, 0, "clip cuts from above");
	near(x[1], 0.5, 0, "and from below");
	near(x[2], -0.25, 0, "leaves what is between");
	ok(isnan(x[3]), "and does not hide a NaN");
}

/* Every start and length near the vector widths. */
static void
cuts(float clip)
{
	const struct opt_hyper h = { .lr = 0.05f, .momentum = 0.9f, .wd = 1e-4f, .clip = clip };
	size_t len;

	fill();
	opt_sgd(w, m, g, COUNT, 96, &h);
	for (size_t at = 0, i = 0; at < COUNT; at += len, i++) {
		len = i * 7 % 41 + 1;
		len = len > COUNT - at ? COUNT - at : len;
		opt_sgd(w2 + at, m2 + at, g + at, len, 96, &h);
	}
	ok(memcmp(w, w2, sizeof(w)) == 0 && memcmp(m, m2, sizeof(m)) == 0, "however cut, the same bits (clip %g)", (double)clip);
}

/* The header's formula, each operation rounded to a float of its own. */
static void
rounding(void)
{
	const struct opt_hyper h = { .lr = 0.05f, .momentum = 0.9f, .wd = 1e-4f };
	int same = 0;

	fill();
	opt_sgd(w, m, g, COUNT, 96, &h);
	for (int i = 0; i < COUNT; i++) {
		volatile float d = g[i] * (float)(1 / 96.0), decay = h.wd * w2[i], sum = d + decay, pull = h.lr * sum,
		    keep = h.momentum * m2[i], mom = keep - pull, out = w2[i] + mom;

		same += out == w[i] && mom == m[i];
	}
	is(same, COUNT, "no multiply and add is fused");
}

static void
folds(void)
{
	size_t half = 500;

	fill();
	opt_fold(w, g, COUNT, 3, 0.9f);
	opt_fold(w2, g, half, 3, 0.9f);
	opt_fold(w2 + half, g + half, COUNT - half, 3, 0.9f);
	ok(memcmp(w, w2, sizeof(w)) == 0, "fold: however cut, the same bits");
}

int
main(void)
{
	values();
	clipped();
	cuts(0);
	cuts(0.7f);
	rounding();
	folds();
	return done();
}
