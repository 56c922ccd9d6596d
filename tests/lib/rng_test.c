/* rng_test - random numbers that are the same on every machine, and uniform. */
#include "base/rng.h"

#include "tap.h"

#include <stdlib.h>

static void
golden(void)
{
	/* SplitMix64 from state 1234567, as Vigna's splitmix64.c prints it (prng.di.unimi.it). */
	static const uint64_t want[] = { 6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
		4593380528125082431u, 16408922859458223821u };
	struct rng r = { 1234567 };
	int same = 1;

	for (int i = 0; i < 5; i++)
		same &= rng_u64(&r) == want[i];
	ok(same, "rng_u64 gives the numbers of SplitMix64");
}

static void
streams(void)
{
	struct rng a = rng_start(1, 2, 3), b = rng_start(1, 2, 3);
	struct rng others[] = { rng_start(2, 1, 3), rng_start(1, 3, 2), rng_start(1, 2, 4), rng_start(0, 2, 3), rng_start(1, 2, 0) };
	int same = 1;

	for (int i = 0; i < 100; i++)
		same &= rng_u64(&a) == rng_u64(&b);
	ok(same, "equal starts give equal streams");
	same = 0;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		same |= others[i].s == rng_start(1, 2, 3).s;
	ok(!same, "seed, epoch and index, and their order, change the stream");
}

static void
even(void)
{
	struct rng r = rng_start(7, 0, 0);
	int bin[7] = { 0 }, worst = 0, out = 0;
	double sum = 0, square = 0, half = 0;

	for (int i = 0; i < 70000; i++)
		bin[rng_below(&r, 7)]++;
	for (int i = 0; i < 7; i++)
		worst = abs(bin[i] - 10000) > worst ? abs(bin[i] - 10000) : worst;
	ok(worst < 500, "rng_below(7) is uniform: off by at most %d of 10000", worst);
	is(rng_below(&r, 1), 0, "rng_below(1) is 0");
	for (int i = 0; i < 100000; i++) {
		float f = rng_f32(&r), z = rng_normal(&r);

		out += f < 0 || f >= 1;
		half += (double)f;
		sum += (double)z;
		square += (double)z * (double)z;
	}
	is(out, 0, "rng_f32 is in [0, 1)");
	near(half / 100000, 0.5, 0.01, "rng_f32 is uniform");
	near(sum / 100000, 0, 0.02, "rng_normal has mean 0");
	near(square / 100000, 1, 0.03, "rng_normal has variance 1");
}

static void
shuffled(void)
{
	struct rng r = rng_start(1, 0, 0);
	uint32_t p[1000], first[4] = { 0 };
	int seen[1000] = { 0 }, moved = 0, once = 1;

	for (uint32_t i = 0; i < 1000; i++)
		p[i] = i;
	rng_shuffle_u32(&r, p, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		seen[p[i]]++;
		moved += p[i] != i;
	}
	for (int i = 0; i < 1000; i++)
		once &= seen[i] == 1;
	ok(once, "rng_shuffle_u32 keeps each number once");
	ok(moved > 950, "rng_shuffle_u32 moves most numbers");
	for (int i = 0; i < 40000; i++) {
		uint32_t q[4] = { 0, 1, 2, 3 };

		rng_shuffle_u32(&r, q, 4);
		first[q[0]]++;
	}
	ok(first[0] > 9500 && first[1] > 9500 && first[2] > 9500 && first[3] > 9500, "rng_shuffle_u32 is uniform");
	rng_shuffle_u32(&r, p, 0);
}

int
main(void)
{
	golden();
	streams();
	even();
	shuffled();
	return done();
}
