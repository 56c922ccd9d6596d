/* memplan_test - do buffers that are alive together stay apart, in no more memory than it takes? */
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

/* Do a and b share a byte while both are alive? */
static bool
clash(const struct memplan_buf *a, const struct memplan_buf *b)
{
	bool together = a->first <= b->last && b->first <= a->last && a->first <= a->last && b->first <= b->last;

	return together && a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

/* The most bytes that are alive in one step, and all of them. */
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
	is(clashes, 0, "of buffers alive together no two share a byte");
	is(off, 0, "each begins at a line and ends within the memory");
	is(outside, 0, "memory is at least what is alive at once, and at most all");
	is(changed, 0, "the same buffers get the same places");
}

int
main(void)
{
	/* Three of a chain: the last takes the room of the first. */
	struct memplan_buf chain[] = { { 1000, 0, 1, 1 }, { 500, 1, 2, 1 }, { 900, 2, 3, 1 } };
	size_t all = 1;

	random_cases();
	is(memplan_place(chain, 3, &all), 0, "a chain");
	is(all, 1024 + 512, "... takes its largest pair");
	ok(chain[0].at == 0 && chain[2].at == 0 && chain[1].at == 1024, "... the last where the first was");
	is(memplan_place(chain, 0, &all), 0, "no buffers");
	is(all, 0, "... take nothing");
	return done();
}
