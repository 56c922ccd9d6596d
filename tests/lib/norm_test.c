/* norm_test - exact sums of squares: the same bits in any order and however cut, and the right root. */
#include "base/rng.h"
#include "net/optim/norm.h"
#include "tap.h"

#include <float.h>
#include <stdbool.h>

#define COUNT 200003

static float x[COUNT], y[COUNT];

static bool
same(const struct norm *a, const struct norm *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static double
root(const float *v, size_t n)
{
	struct norm s = { { 0 } };

	norm_add(&s, v, n);
	return norm_root(&s);
}

/* Floats of every size, the smallest included. */
static void
orders(void)
{
	struct norm all = { { 0 } }, back = { { 0 } }, cut = { { 0 } }, again;
	struct rng r = rng_start(1, 0, 0);
	uint8_t bytes[NORM_BYTES];
	size_t len;

	for (size_t i = 0; i < COUNT; i++) {
		uint32_t u = (uint32_t)rng_u64(&r);

		u = (u >> 23 & 255) == 255 ? 1 : u;
		memcpy(&x[i], &u, sizeof(u));
		y[COUNT - 1 - i] = x[i];
	}
	norm_add(&all, x, COUNT);
	norm_add(&back, y, COUNT);
	ok(same(&all, &back), "backwards: the same bits");
	for (size_t at = 0; at < COUNT; at += len) {
		struct norm part = { { 0 } };

		len = 1 + rng_below(&r, 999);
		len = len > COUNT - at ? COUNT - at : len;
		norm_add(&part, x + at, len);
		norm_add_sum(&cut, &part);
	}
	ok(same(&all, &cut), "a norm of joined parts has the same bits");
	norm_put(&all, bytes);
	norm_get(&again, bytes);
	ok(same(&all, &again), "a norm is the same after it was encoded");
}

static void
roots(void)
{
	static const float three[] = { 3, -4 }, small[] = { 0x1p-149f, 0 }, large[] = { FLT_MAX, FLT_MAX, FLT_MAX, FLT_MAX };
	struct rng r = rng_start(2, 0, 0);
	double sum = 0;

	near(root(three, 2), 5, 0, "3 and -4 make 5");
	near(root(three, 0), 0, 0, "nothing makes 0");
	near(root(small, 2), 0x1p-149, 0, "the smallest float");
	near(root(large, 4), 2 * (double)FLT_MAX, 0, "beyond the largest");
	for (size_t i = 0; i < COUNT; i++) {
		x[i] = rng_normal(&r);
		sum += (double)x[i] * (double)x[i];
	}
	near(root(x, COUNT), sqrt(sum), 1e-9, "a long one, against a plain sum");
	for (size_t i = 0; i < COUNT; i++)
		x[i] = -FLT_MAX;
	near(root(x, COUNT) / (double)FLT_MAX, sqrt(COUNT), 1e-9, "the largest float, very often");
	for (size_t i = 0; i < COUNT; i++)
		x[i] = 0x1.fffffep-30f;
	near(root(x, COUNT) * 0x1p29, sqrt(COUNT), 1e-4, "equal ones, very often");
}

static void
odd(void)
{
	const float inf[] = { 1, -INFINITY, 2 }, nan[] = { NAN }, one[] = { 1 };
	struct norm s = { { 0 } }, t = { { 0 } };

	ok(isnan(root(inf, 3)) && isnan(root(nan, 1)), "the root of an infinite or NaN norm is NaN");
	norm_add(&s, nan, 1);
	norm_add(&t, one, 1);
	for (int i = 0; i < 5000; i++)
		norm_add_sum(&t, &s);
	ok(isnan(norm_root(&t)), "a NaN among many parts gives NaN");
}

int
main(void)
{
	orders();
	roots();
	odd();
	return done();
}
