/* kept_test - a worker's memory has the figures before two steps, the answers of sums, and what the log has. */
#include "tap.h"

#include "base/err.h"
#include "train/kept.h"

static void
test_nothing(void)
{
	struct kept none = { 0 };
	struct kept_place p = { .loss = 1 };
	double v = 1;
	uint64_t step;

	kept_begin(&none, 3, &p);
	kept_put_sum(&none, 3, 1, &v, 1);
	kept_put_batches(&none, 3, 4, (uint32_t[]){ 1 }, 1);
	kept_warn(&none, KEPT_UNSAVED);
	kept_part(&none);
	ok(!kept_began(&none, &step) && !kept_find(&none, 3, &p) && !kept_find_sum(&none, 3, 1, &v, 1) &&
	    !kept_newest(&none, &step, &p) && !kept_find_batches(&none, 3, &step, (uint32_t[]){ 0 }, 1) &&
	    !kept_warned(&none, KEPT_UNSAVED) && !kept_parting(&none),
	    "without a memory nothing is kept");
	ok(!kept_began(NULL, &step) && kept_tell(NULL, 3, 1) && kept_tell(&none, 3, 1) && kept_tell(&none, 3, 1),
	    "without a memory the log has every event");
	ok(kept_since(&none, 7) > 6, "without a memory the process starts now");
}

static void
test_place(void)
{
	struct memory m = { .fd = -1 };
	struct kept k, next;
	struct kept_place p = { .loss = 5, .best_epoch = 2 };
	uint64_t step = 0;

	is(kept_reserve(&m, 0), 0, "room in a memory is reserved");
	is(kept_open(&k, &m, 9, 0), 0, "a first worker opens the memory");
	ok(!kept_began(&k, &step), "a first worker has joined no job");
	kept_begin(&k, 4, &p);
	p.loss = 6;
	kept_put(&k, 5, &p);
	p.loss = 7;
	kept_put(&k, 5, &p);
	is(kept_open(&next, &m, 8, 0), ERR_ARG, "the worker of another run is refused: %s", err_line());
	is(kept_open(&next, &m, 9, 0), 0, "the successor of a worker opens the memory");
	ok(kept_began(&next, &step) && step == 4, "the successor knows the step of the first");
	ok(kept_find(&next, 4, &p) && p.loss < 5.5 && p.best_epoch == 2, "the figures before the step");
	ok(kept_find(&next, 5, &p) && p.loss < 6.5, "the figures after the step, as they were stored first");
	kept_put(&next, 6, &p);
	ok(!kept_find(&next, 4, &p) && kept_find(&next, 5, &p) && kept_find(&next, 6, &p),
	    "the figures before the newest two steps stay");
	p.loss = 9;
	kept_put(&next, 12, &p);
	ok(!kept_find(&next, 5, &p) && kept_find(&next, 6, &p) && kept_find(&next, 12, &p),
	    "the figures before the newest two steps stay, although both are even");
	ok(kept_newest(&k, &step, &p) && step == 12 && p.loss > 8.5, "the newest figures are found");
	ok(!kept_warned(&next, KEPT_UNSAVED | KEPT_LEFT_OUT), "all checkpoints were written, and no record left out");
	kept_warn(&next, KEPT_LEFT_OUT);
	ok(kept_warned(&k, KEPT_LEFT_OUT) && !kept_warned(&k, KEPT_UNSAVED), "a record was left out");
	kept_warn(&next, KEPT_UNSAVED);
	ok(kept_warned(&k, KEPT_UNSAVED) && kept_warned(&k, KEPT_LEFT_OUT),
	    "a checkpoint that could not be written is noted beside a record left out");
	ok(!kept_parting(&next), "work is left");
	kept_part(&next);
	ok(kept_parting(&k), "nothing is left but goodbyes");
	memory_close(&m);
}

static void
test_sums(void)
{
	struct memory m = { .fd = -1 };
	struct kept k;
	double v[2] = { 3, 4 }, u[2] = { 0 };

	is(kept_open(&k, &m, 1, 0), 0, "a worker");
	kept_put_sum(&k, 10, 2, v, 2);
	ok(kept_find_sum(&k, 10, 2, u, 2) && u[1] > 3.5, "the answer of a sum is found");
	ok(!kept_find_sum(&k, 10, 3, u, 2), "another phase has no answer");
	ok(!kept_find_sum(&k, 11, 2, u, 2), "another step has no answer");
	kept_put_sum(&k, 11, 2, u, 2);
	ok(kept_find_sum(&k, 10, 2, u, 2) && kept_find_sum(&k, 11, 2, u, 2), "a phase keeps the answers of its last two steps");
	kept_put_sum(&k, 12, 2, u, 2);
	ok(!kept_find_sum(&k, 10, 2, u, 2) && kept_find_sum(&k, 11, 2, u, 2), "a phase keeps no earlier answers");
	memory_close(&m);
}

static void
test_batches(void)
{
	const uint32_t first[] = { 4, 4 }, second[] = { 3, 5 }, third[] = { 2, 6 }, other[] = { 1, 7 };
	struct memory m = { .fd = -1 };
	struct kept k;
	uint64_t next = 0;
	uint32_t b[2] = { 0 };

	is(kept_open(&k, &m, 1, 0), 0, "a worker");
	ok(!kept_find_batches(&k, 10, &next, b, 2), "there are no batches at first");
	kept_put_batches(&k, 10, 20, first, 2);
	kept_put_batches(&k, 20, 31, second, 2);
	ok(!kept_find_batches(&k, 9, &next, b, 2), "none before their first step");
	ok(kept_find_batches(&k, 19, &next, b, 2) && b[1] == 4 && next == 20, "the first batches before the second ones");
	ok(kept_find_batches(&k, 20, &next, b, 2) && b[1] == 5 && next == 31, "the second ones from their step on");
	kept_put_batches(&k, 31, 50, third, 2);
	kept_put_batches(&k, 31, 51, other, 2);
	ok(kept_find_batches(&k, 31, &next, b, 2) && b[1] == 6 && next == 50, "batches of a step stay as stored first");
	ok(kept_find_batches(&k, 30, &next, b, 2) && b[1] == 5, "the newest two batches stay");
	ok(!kept_find_batches(&k, 19, &next, b, 2), "earlier batches do not");
	memory_close(&m);
}

static void
test_log(void)
{
	struct memory m = { .fd = -1 };
	struct kept k, next;

	is(kept_open(&k, &m, 1, 0), 0, "a worker");
	ok(kept_since(&k, 7) < 7.5, "the worker starts");
	ok(kept_tell(&k, 3, 1) && kept_tell(&k, 4, 1) && kept_tell(&k, 4, 2) && kept_tell(&k, 4, 2),
	    "the first worker logs all events, also the same one twice");
	is(kept_open(&next, &m, 1, 0), 0, "the successor of that worker opens the memory");
	ok(kept_since(&next, 99) < 7.5, "the successor counts from the first start");
	is(kept_last_told(&next), 4, "the successor knows the step of the last row");
	ok(!kept_tell(&next, 3, 2) && !kept_tell(&next, 4, 1) && !kept_tell(&next, 4, 2), "a successor does not log what the log has");
	ok(kept_tell(&next, 4, 3) && kept_tell(&next, 5, 1), "a successor logs what follows");
	memory_close(&m);
}

static void
test_rest(void)
{
	struct memory m = { .fd = -1 };
	struct kept k, next;

	is(kept_open(&k, &m, 9, 0), 0, "a worker that leaves nothing else opens the memory");
	ok(k.rest == NULL, "a worker that leaves nothing else has no room for it");
	is(kept_open(&next, &m, 9, 100), ERR_FORMAT, "a successor that leaves more is refused: %s", err_line());
	memory_close(&m);
	m = (struct memory){ .fd = -1 };
	is(kept_open(&k, &m, 9, 100), 0, "a worker that leaves 100 bytes opens the memory");
	memset(k.rest, 7, 100);
	kept_put(&k, 5, &(struct kept_place){ .loss = 1 });
	is(kept_open(&next, &m, 9, 100), 0, "a successor that expects 100 bytes opens the memory");
	ok(((char *)next.rest)[0] == 7 && ((char *)next.rest)[99] == 7, "a successor has the 100 bytes");
	memory_close(&m);
}

int
main(void)
{
	test_rest();
	test_nothing();
	test_place();
	test_sums();
	test_batches();
	test_log();
	return done();
}
