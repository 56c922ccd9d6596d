/* deal_test - which worker computes which batch, before and after changes of their number. */
#include "tap.h"

#include "ps/deal.h"

/* The batches of a rank from `from` to `to`, as "0 2 4 ". */
static const char *
batches(const struct deal *d, uint32_t rank, uint64_t from, uint64_t to)
{
	static char text[256];
	uint32_t n;
	size_t at = 0;

	text[0] = 0;
	for (uint64_t k = deal_next(d, rank, from, &n); k < to; k = deal_next(d, rank, k + 1, &n))
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%llu ", (unsigned long long)k);
	return text;
}

static void
test_owners(void)
{
	struct deal d = { 0 };
	uint32_t n = 0;

	is(deal_next(&d, 0, 0, &n), DEAL_NONE, "without a change nobody has a batch");
	is(deal_workers(&d), 0, "without a change there are no workers");
	ok(deal_add(&d, 0, 2), "the first change is added");
	is_str(batches(&d, 0, 0, 8), "0 2 4 6 ", "worker 0 of 2");
	is_str(batches(&d, 1, 3, 8), "3 5 7 ", "worker 1 of 2, from batch 3 on");
	is(deal_next(&d, 2, 0, &n), DEAL_NONE, "worker 2 of 2 has no batch");
	is(deal_since(&d, 2), DEAL_NONE, "worker 2 of 2 has not joined");
	ok(deal_add(&d, 9, 3), "a later change is added");
	ok(!deal_add(&d, 9, 4) && !deal_add(&d, 5, 4) && !deal_add(&d, 20, 0), "one that is not later, or of no workers, is not");
	is_str(batches(&d, 0, 0, 16), "0 2 4 6 8 9 12 15 ", "worker 0 over the change");
	is_str(batches(&d, 1, 0, 16), "1 3 5 7 10 13 ", "worker 1 over the change");
	is_str(batches(&d, 2, 0, 16), "11 14 ", "worker 2 joins with the change");
	is(deal_since(&d, 2), 9, "worker 2 has batches since the change");
	is(deal_since(&d, 0), 0, "worker 0 has batches since the beginning");
	deal_next(&d, 0, 9, &n);
	is(n, 3, "the number of workers is that at the batch");
	deal_add(&d, 14, 1);
	deal_add(&d, 20, 3);
	is_str(batches(&d, 2, 0, 30), "11 20 23 26 29 ", "worker 2 leaves and joins again");
	is(deal_since(&d, 2), 20, "worker 2 has batches since it joined again");
}

static void
test_decisions(void)
{
	struct deal d = { 0 };
	uint32_t n;

	deal_add(&d, 0, 2);
	deal_decide(&d, 100, 3);
	is(d.change[1].from, 106, "a change is three batches of each worker ahead of what is done");
	deal_decide(&d, 101, 5);
	is(d.change[2].from, 118, "the next change is as far ahead of those who join with the one before");
	deal_decide(&d, 500, 1);
	is(d.change[3].from, 515, "the larger number of workers counts");
	for (uint32_t i = 0; i < 100; i++)
		deal_decide(&d, 1000, 2 + i % 2);
	is(d.n, DEAL_CHANGES, "the oldest changes are forgotten");
	ok(deal_next(&d, 0, 7, &n) < 10, "a worker that is as far behind has batches nevertheless");
}

int
main(void)
{
	test_owners();
	test_decisions();
	return done();
}
