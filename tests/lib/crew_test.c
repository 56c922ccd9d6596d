/* crew_test - slots come back in order with all of their parts done once; a crew can be dropped at any time. */
#include "base/crew.h"
#include "tap.h"

#include <sched.h>
#include <stdatomic.h>

#define SLOTS 5

static atomic_uint count[SLOTS][64];
static atomic_uint all;
static atomic_uint unknown;	/* parts done by a worker that there is not */

static void
work(void *ctx, unsigned worker, uint32_t slot, uint32_t part)
{
	unsigned spin = (slot * 7 + part * 13) % 50;

	for (volatile unsigned i = 0; i < spin * 20; i++)
		;
	if (worker >= *(unsigned *)ctx)
		unknown++;
	count[slot][part]++;
	all++;
}

static void
test_order(unsigned threads)
{
	struct crew *c;
	uint32_t parts[SLOTS];
	unsigned given = 0, taken = 0, right = 0;

	is(crew_new(&c, threads, SLOTS, work, &threads), 0, "%u threads", threads);
	while (taken < 300) {
		int64_t slot;

		while (given < 300 && (slot = crew_free_slot(c)) >= 0) {
			parts[slot] = given * 5 % 64;	/* none at times */
			for (uint32_t i = 0; i < 64; i++)
				count[slot][i] = 0;
			crew_give(c, parts[slot]);
			given++;
		}
		while (taken % 3 == 0 && (slot = crew_peek(c)) < 0)
			sched_yield();
		right -= taken % 3 == 0 && slot != taken % SLOTS;
		slot = crew_take(c);
		right += slot == taken % SLOTS;
		for (uint32_t i = 0; i < 64; i++)
			right -= count[slot][i] != (i < parts[slot]);
		taken++;
	}
	is(right, 300, "%u threads: slots in order, each part done once", threads);
	is(crew_take(c), -1, "%u threads: nothing is left", threads);
	is(crew_peek(c), -1, "%u threads: ... to look at", threads);
	is(unknown, 0, "%u threads: workers are numbered", threads);
	crew_free(c);
}

static void
test_drop(void)
{
	unsigned threads = 4, was;
	struct crew *c;

	crew_new(&c, threads, SLOTS, work, &threads);
	for (int i = 0; i < 200; i++) {
		while (crew_free_slot(c) >= 0)
			crew_give(c, 40);
		if (i % 3 == 0)
			crew_take(c);
		crew_drop(c);
		was = all;
		if (crew_take(c) != -1 || crew_free_slot(c) < 0 || all != was)
			break;
		if (i == 199)
			ok(1, "dropped, it is empty and idle, and can be filled anew");
	}
	while (crew_free_slot(c) >= 0)
		crew_give(c, 64);
	crew_free(c);
	was = all;
	ok(all == was, "freed while there is work");
	crew_free(NULL);
	ok(crew_threads() >= 1, "a choice of threads");
}

int
main(void)
{
	test_order(1);
	test_order(2);
	test_order(8);
	test_drop();
	return done();
}
