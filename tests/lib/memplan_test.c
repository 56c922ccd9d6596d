/* memplan_test - buffers that are alive in the same steps do not overlap, and the block is no larger than their sum. */
#include "tap.h"

#include "base/rng.h"
#include "engine/memplan.h"

#include <stdbool.h>

#define MOST	120
#define STEPS	40

static bool
alive(const struct memplan_buf *b, uint32_t step)
{
	return b->first <= step && step <= b->last;
}

/* Whether a and b share a byte while both are alive. */
static bool
clash(const struct memplan_buf *a, const struct memplan_buf *b)
{
	bool together = a->first <= b->last && b->first <= a->last && a->first <= a->last && b->first <= b->last;

	return together && a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

/* The most bytes that are alive in one step, and the bytes of all buffers. */
static void
bounds(const struct memplan_buf *buf, uint32_t n, size_t *peak, size_t *sum)
{
	*peak = *sum = 0;
	for (uint32_t i = 0; i < n; i++)
		*sum += buf[i].bytes;
	for (uint32_t s = 0; s < STEPS; s++) {
		size_t now = 0;

		for (uint32_t i = 0; i < n; i++)
			now += alive(&buf[i], s) ? buf[i].bytes : 0;
		*peak = now > *peak ? now : *peak;
	}
}

static uint32_t
chance(struct memplan_buf *buf, uint64_t seed)
{
	struct rng r = rng_start(seed, 0, 0);
	uint32_t n = (uint32_t)rng_below(&r, MOST + 1);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = (uint32_t)rng_below(&r, STEPS);

		buf[i] = (struct memplan_buf){ .bytes = rng_below(&r, 5000), .first = first,
			.last = first + (uint32_t)rng_below(&r, STEPS - first), .at = SIZE_MAX };
	}
	return n;
}

static void
random_cases(void)
{
	struct memplan_buf buf[MOST], again[MOST];
	uint32_t clashes = 0, off = 0, outside = 0, changed = 0;

	for (uint64_t seed = 0; seed < 2000; seed++) {
		uint32_t n = chance(buf, seed);
		size_t all, same, peak, sum;

		chance(again, seed);
		if (memplan_place(buf, n, &all) != 0 || memplan_place(again, n, &same) != 0)
			clashes++;
		bounds(buf, n, &peak, &sum);
		outside += all < peak || all > sum;
		changed += all != same || (n > 0 && memcmp(buf, again, n * sizeof(*buf)) != 0);
		for (uint32_t i = 0; i < n; i++) {
			off += buf[i].at % MEMPLAN_LINE != 0 || buf[i].bytes % MEMPLAN_LINE != 0 || buf[i].at + buf[i].bytes > all;
			for (uint32_t k = 0; k < i; k++)
				clashes += clash(&buf[i], &buf[k]);
		}
	}
	is(clashes, 0, "no two buffers that are alive together share a byte");
	is(off, 0, "each buffer is aligned and ends within the block");
	is(outside, 0, "the block is at least the peak and at most the sum");
	is(changed, 0, "the same buffers get the same offsets");
}

int
main(void)
{
	struct memplan_buf chain[] = { { 1000, 0, 1, 1 }, { 500, 1, 2, 1 }, { 900, 2, 3, 1 }, { 5000, UINT32_MAX, 0, 1 } };
	size_t all = 1;

	random_cases();
	is(memplan_place(chain, 4, &all), 0, "memplan_place places a chain of three and a buffer that is never alive");
	is(all, 1024 + 512, "the chain takes its largest pair, and the other buffer nothing");
	ok(chain[0].at == 0 && chain[2].at == 0 && chain[1].at == 1024, "the last buffer has the place of the first");
	is(memplan_place(chain, 0, &all), 0, "memplan_place accepts no buffers");
	is(all, 0, "no buffers take no bytes");
	return done();
}
