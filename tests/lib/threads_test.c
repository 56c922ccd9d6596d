/* threads_test - slots come back in order with all of their parts done once; a crew can be dropped at any time. */
#include "base/threads.h"
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
	struct threads *c;
	uint32_t parts[SLOTS];
	unsigned given = 0, taken = 0, right = 0;

	is(threads_new(&c, threads, SLOTS, work, &threads), 0, "%u threads", threads);
	while (taken < 300) {
		int64_t slot;

		while (given < 300 && (slot = threads_next_slot(c)) >= 0) {
			parts[slot] = given * 5 % 64;	/* none at times */
			for (uint32_t i = 0; i < 64; i++)
				count[slot][i] = 0;
			threads_submit(c, parts[slot]);
			given++;
		}
		while (taken % 3 == 0 && (slot = threads_peek(c)) < 0)
			sched_yield();
		right -= taken % 3 == 0 && slot != taken % SLOTS;
		slot = threads_wait(c);
		right += slot == taken % SLOTS;
		for (uint32_t i = 0; i < 64; i++)
			right -= count[slot][i] != (i < parts[slot]);
		taken++;
	}
	is(right, 300, "%u threads: slots in order, each part done once", threads);
	is(threads_wait(c), -1, "%u threads: nothing is left", threads);
	is(threads_peek(c), -1, "%u threads: ... to look at", threads);
	is(unknown, 0, "%u threads: workers are numbered", threads);
	threads_free(c);
}

static void
test_drop(void)
{
	unsigned threads = 4, was;
	struct threads *c;
	int i = 0;

	threads_new(&c, threads, SLOTS, work, &threads);
	for (; i < 200; i++) {
		while (threads_next_slot(c) >= 0)
			threads_submit(c, 40);
		if (i % 3 == 0)
			threads_wait(c);
		threads_cancel(c);
		was = all;
		if (threads_wait(c) != -1 || threads_next_slot(c) < 0 || all != was)
			break;
	}
	is(i, 200, "dropped, it is empty and idle, and can be filled anew");
	while (threads_next_slot(c) >= 0)
		threads_submit(c, 64);
	threads_free(c);
	ok(1, "freed while there is work");
	threads_free(NULL);
	ok(threads_count() >= 1, "a choice of threads");
}

static unsigned left;		/* slots still to come */
static unsigned drained, stop_at;

static uint32_t
fill(void *ctx, uint32_t slot)
{
	(void)ctx;
	for (uint32_t i = 0; i < 64; i++)
		count[slot][i] = 0;
	return left > 0 ? left-- % 64 + 1 : 0;
}

static int
drain(void *ctx, uint32_t slot)
{
	(void)ctx;
	if (slot != drained % SLOTS || count[slot][0] != 1)
		return -2;
	return ++drained == stop_at ? -1 : 0;
}

static void
test_run(void)
{
	unsigned threads = 3, was = all, sum = 0;
	struct threads *c;

	threads_new(&c, threads, SLOTS, work, &threads);
	left = 200;
	for (unsigned i = 1; i <= left; i++)
		sum += i % 64 + 1;
	is(threads_run(c, fill, drain), 0, "a run of 200 slots");
	is(drained, 200, "... all of them drained, in order");
	is(all - was, sum, "... with all of their parts");
	is(threads_run(c, fill, drain), 0, "a run of none");
	threads_free(c);

	threads_new(&c, threads, SLOTS, work, &threads);
	left = 200;
	drained = 0;
	stop_at = 7;
	is(threads_run(c, fill, drain), -1, "who drains may end the run");
	is(drained, 7, "... and is asked no more");
	threads_free(c);
}

int
main(void)
{
	test_order(1);
	test_order(2);
	test_order(8);
	test_drop();
	test_run();
	return done();
}
