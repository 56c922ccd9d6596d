/* threads_test - slots come back in order with each part done once; submitted slots can be cancelled at any time. */
#include "base/threads.h"
#include "tap.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

#define SLOTS 5

static atomic_uint count[SLOTS][64];
static atomic_uint all;
static atomic_uint unknown;	/* parts done with a worker number out of range */

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
	uint32_t parts[SLOTS], to_come;
	unsigned submitted = 0, collected = 0, right = 0;

	is(threads_new(threads, SLOTS, work, &threads, &c), 0, "threads_new starts %u threads", threads);
	while (collected < 300) {
		uint32_t slot;

		while (submitted < 300 && threads_next_slot(c, &slot)) {
			parts[slot] = submitted * 5 % 64;	/* sometimes none */
			for (uint32_t i = 0; i < 64; i++)
				count[slot][i] = 0;
			threads_submit(c, parts[slot]);
			submitted++;
		}
		while (collected % 3 == 0 && !threads_peek(c, &slot))
			sched_yield();
		right -= collected % 3 == 0 && slot != collected % SLOTS;
		right += threads_wait(c, &slot) && slot == collected % SLOTS;
		for (uint32_t i = 0; i < 64; i++)
			right -= count[slot][i] != (i < parts[slot]);
		collected++;
	}
	is(right, 300, "%u threads: slots come back in order with each part done once", threads);
	ok(!threads_wait(c, &to_come), "%u threads: threads_wait returns false when no slot is left", threads);
	ok(!threads_peek(c, &to_come), "%u threads: threads_peek returns false when no slot is left", threads);
	is(unknown, 0, "%u threads: worker numbers are in range", threads);
	threads_free(c);
}

static void
test_cancel(void)
{
	unsigned threads = 4, was;
	uint32_t slot;
	struct threads *c;
	int i = 0;

	threads_new(threads, SLOTS, work, &threads, &c);
	for (; i < 200; i++) {
		while (threads_next_slot(c, &slot))
			threads_submit(c, 40);
		if (i % 3 == 0)
			threads_wait(c, &slot);
		threads_cancel(c);
		was = all;
		if (threads_wait(c, &slot) || !threads_next_slot(c, &slot) || all != was)
			break;
	}
	is(i, 200, "threads_cancel leaves an empty, idle ring that can be filled again");
	while (threads_next_slot(c, &slot))
		threads_submit(c, 64);
	threads_free(c);
	ok(1, "threads_free returns while work is pending");
	threads_free(NULL);
}

/* A machine with so many processors, in place of this one.  Of every three the process may use the first. */
static size_t machine = 1;

int
sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	(void)pid;
	if (size * 8 < machine) {
		errno = EINVAL;
		return -1;
	}
	CPU_ZERO_S(size, set);
	for (size_t i = 0; i < machine; i += 3)
		CPU_SET_S(i, size, set);
	return 0;
}

static void
test_processors(void)
{
	static const struct { size_t machine; unsigned processors, threads; } row[] = { { 1, 1, 1 }, { 6, 2, 2 },
		{ 1024, 342, 8 }, { 1025, 342, 8 }, { 8193, 2731, 8 } };

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		machine = row[i].machine;
		is(threads_processors(), row[i].processors, "processors of a process on a machine with %zu", machine);
		is(threads_count(), row[i].threads, "threads by default on a machine with %zu processors", machine);
	}
	machine = SIZE_MAX;
	is(threads_processors(), 1, "a number of processors that cannot be found counts as 1");
}

static atomic_bool go;

static void
hold(void *ctx, unsigned worker, uint32_t slot, uint32_t part)
{
	(void)ctx, (void)worker, (void)slot, (void)part;
	while (!go)
		sched_yield();
}

static void
test_wait_within(void)
{
	uint32_t slot;
	struct threads *c;

	threads_new(1, 2, hold, NULL, &c);
	ok(threads_wait_within(c, 0), "threads_wait_within returns true when no slot is submitted");
	threads_next_slot(c, &slot);
	threads_submit(c, 1);
	ok(!threads_wait_within(c, 0.01), "threads_wait_within returns false for a slot that is not done in time");
	go = true;
	ok(threads_wait_within(c, 600), "threads_wait_within returns true for a slot that is done");
	ok(threads_wait(c, &slot) && slot == 0, "that slot stays the oldest");
	threads_free(c);
}

static unsigned to_come;		/* slots still to come */
static unsigned drained, stop_at;

static uint32_t
fill(void *ctx, uint32_t slot)
{
	(void)ctx;
	for (uint32_t i = 0; i < 64; i++)
		count[slot][i] = 0;
	return to_come > 0 ? to_come-- % 64 + 1 : 0;
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

	threads_new(threads, SLOTS, work, &threads, &c);
	to_come = 200;
	for (unsigned i = 1; i <= to_come; i++)
		sum += i % 64 + 1;
	is(threads_run(c, fill, drain), 0, "threads_run succeeds on 200 slots");
	is(drained, 200, "threads_run drains all slots in order");
	is(all - was, sum, "threads_run does every part");
	is(threads_run(c, fill, drain), 0, "threads_run succeeds without work");
	threads_free(c);

	threads_new(threads, SLOTS, work, &threads, &c);
	to_come = 200;
	drained = 0;
	stop_at = 7;
	is(threads_run(c, fill, drain), -1, "threads_run returns the error of drain");
	is(drained, 7, "threads_run stops at the first error of drain");
	threads_free(c);
}

int
main(void)
{
	test_order(1);
	test_order(2);
	test_order(8);
	test_cancel();
	test_wait_within();
	test_run();
	test_processors();
	return done();
}
