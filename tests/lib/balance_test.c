/* balance_test - batches by the times of the workers, and from the log of another run. */
#include "tap.h"

#include "base/err.h"
#include "base/io.h"
#include "base/rng.h"
#include "train/balance.h"

#include <stdlib.h>
#include <unistd.h>

#define MANY 20u

static const char *
join_batches(const uint32_t *batch, uint32_t n)
{
	static struct buf b;

	b.n = 0;
	return balance_put(&b, batch, n) == 0 && buf_terminate(&b) == 0 ? (char *)b.p : NULL;
}

static void
test_divide(void)
{
	const uint64_t alike[] = { 5, 5, 5 }, slow[] = { 1000000, 1000000, 4000000 }, other[] = { 400, 100, 100 };
	const uint64_t hardly[] = { 100, 104, 100 }, longest[] = { BALANCE_SAMPLE, 1 };
	const uint32_t most[] = { 128, 128, 128 }, large[] = { 131072, 131072 };
	uint32_t batch[] = { 64, 64, 64 }, two[] = { 65536, 65536 };

	ok(!balance_divide(alike, most, 3, batch), "batches of workers that are alike stay");
	ok(!balance_divide(hardly, most, 3, batch), "batches stay if a step is hardly shorter with others");
	ok(balance_divide(slow, most, 3, batch), "batches change if a worker is four times slower");
	is_str(join_batches(batch, 3), "85:86:21", "the slow worker has a quarter of the samples of another");
	ok(!balance_divide(slow, most, 3, batch), "batches by the times of the workers stay");
	ok(balance_divide(other, most, 3, batch), "batches change if another worker is the slow one");
	is_str(join_batches(batch, 3), "21:85:86", "the samples move to the workers that are faster now");
	ok(balance_divide(longest, large, 2, two), "the times of two workers may be as different as times can be");
	is_str(join_batches(two, 2), "1:131071", "each worker has a sample");
	ok(!balance_divide(longest, large, 2, two), "batches stay if a worker is slow with one sample");
}

static void
test_bounds(void)
{
	const uint64_t ns[] = { 1, 100, 100, 100 };
	const uint32_t most[] = { 32, 32, 32, 32 };
	uint32_t batch[] = { 16, 16, 16, 16 };

	ok(balance_divide(ns, most, 4, batch), "batches change if a worker is a hundred times faster");
	is_str(join_batches(batch, 4), "32:10:11:11", "no worker has more samples than it has memory for");
}

static uint64_t
find_slowest(const uint64_t *ns, const uint32_t *batch, uint32_t n)
{
	uint64_t time = 0;

	for (uint32_t i = 0; i < n; i++)
		time = batch[i] * ns[i] > time ? batch[i] * ns[i] : time;
	return time;
}

/* Whether one sample less for the slowest worker, and one more for any other, would be slower. */
static bool
is_best(const uint64_t *ns, const uint32_t *most, const uint32_t *batch, uint32_t n)
{
	uint64_t time = find_slowest(ns, batch, n);

	for (uint32_t i = 0; i < n; i++)
		if (batch[i] < most[i] && (batch[i] + 1) * ns[i] < time)
			for (uint32_t k = 0; k < n; k++)
				if (k != i && batch[k] > 1 && batch[k] * ns[k] == time)
					return false;
	return true;
}

static void
test_any(void)
{
	struct rng rng = rng_start(1, 2, 3);
	uint32_t sums = 0, bounds = 0, ordered = 0, best = 0, changed = 0;

	for (int round = 0; round < 2000; round++) {
		uint32_t n = 1 + (uint32_t)rng_below(&rng, MANY), batch[MANY], most[MANY];
		uint64_t ns[MANY], sum = 0, first, worst;
		bool good = true, order = true;

		for (uint32_t i = 0; i < n; i++) {
			batch[i] = 1 + (uint32_t)rng_below(&rng, 300);
			most[i] = BALANCE_TIMES * batch[i];
			ns[i] = 1 + rng_below(&rng, 1u << rng_below(&rng, 24));
			sum += batch[i];
		}
		first = find_slowest(ns, batch, n);
		if (!balance_divide(ns, most, n, batch))
			continue;
		changed++;
		worst = find_slowest(ns, batch, n);
		for (uint32_t i = 0; i < n; i++) {
			sum -= batch[i];
			good &= batch[i] > 0 && batch[i] <= most[i];
			/* A faster worker has no fewer samples, but for one that was too many, unless it has no memory. */
			for (uint32_t k = 0; k < n; k++)
				order &= ns[i] >= ns[k] || batch[i] + 1 >= batch[k] || batch[i] == most[i];
		}
		sums += sum == 0;
		bounds += good;
		ordered += order;
		best += is_best(ns, most, batch, n) && worst * 20 <= first * 19;
	}
	ok(changed > 1000, "most batches at random change: %u of 2000", changed);
	is(sums, changed, "the sum of the batches stays");
	is(bounds, changed, "each worker has a sample, and none more than it has memory for");
	is(ordered, changed, "a faster worker has no fewer samples than a slower one");
	is(best, changed, "a step is shorter, and no other batches would make it shorter");
}

/* Reads a log with these lines for two workers of 16. */
static int
read_log(const char *lines, struct balance_schedule *s)
{
	static const uint32_t first[] = { 16, 16 };
	char path[] = "/tmp/balance_test.XXXXXX";
	int fd = mkstemp(path), e = fd >= 0 ? io_write(fd, lines, strlen(lines)) : ERR_SYS;

	if (e == 0)
		e = balance_read(path, first, 2, s);
	close(fd);
	unlink(path);
	return e;
}

static void
test_log(void)
{
	struct balance_schedule s;
	struct buf b = { 0 };

	is(balance_put_change(&b, (const uint32_t[]){ 12, 20 }, 2, 7), 0, "the text of a change is written");
	is_str((char *)b.p, "batches 12:20 from step 8 on", "the text has the batches and the number of the first step");
	buf_free(&b);
	is(read_log("# tally\ntime_s\thost\n# batches 16:16 from step 1 on\n1\th\n# batches 12:20 from step 8 on\n"
	    "# batches 30:2 from step 20 on\n# batches 16:16 from step 11 on\n# batches 1:31 from step 40 on\n", &s), 0,
	    "the changes of a log are read");
	is(s.n, 5, "each line is a change");
	is_str(join_batches(balance_at(&s, 0), 2), "16:16", "a run starts with the first line");
	is_str(join_batches(balance_at(&s, 6), 2), "16:16", "batches stay up to the step of a change");
	is_str(join_batches(balance_at(&s, 7), 2), "12:20", "batches change at the step of a change");
	is_str(join_batches(balance_at(&s, 30), 2), "16:16", "the later line counts if a run was resumed");
	is_str(join_batches(balance_at(&s, 9), 2), "12:20", "the earlier line counts before that");
	is_str(join_batches(balance_at(&s, 1000), 2), "1:31", "batches stay after the last change");
	balance_free(&s);
	is(read_log("# batches 12:20 from step 8 on\n", &s), 0, "a log may begin late");
	ok(balance_at(&s, 3) == NULL, "batches before its first change are those of the start");
	balance_free(&s);
}

static void
test_bad(void)
{
	static const char *const bad[][2] = {
		{ "1\th\n", "has no line" },
		{ "# batches 16:16 from step 1", "line 1: is not complete" },
		{ "# batches 16:16", "is not complete" },
		{ "x\n# batches 16:16 from step x on", "line 2: 'x'" },
		{ "# batches 16:16 from step 0 on", "0 is not in" },
		{ "# batches 32 from step 1 on", "has 1 batches for 2 workers" },
		{ "# batches 8:8:16 from step 1 on", "for more than 2 workers" },
		{ "# batches 0:32 from step 1 on", "0 is not in" },
		{ "# batches 33:1 from step 1 on", "33 is not in" },
		{ "# batches 16:15 from step 1 on", "has 31 samples a step, and --batch 32" },
	};
	struct balance_schedule s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int e = read_log(bad[i][0], &s);

		ok(e < 0 && s.n == 0 && strstr(err_line(), bad[i][1]) != NULL, "'%.40s' is refused: %s", bad[i][0],
		    err_line());
	}
	is(balance_read("/nonexistent/log", (const uint32_t[]){ 1, 1 }, 2, &s), ERR_SYS, "a log that is missing: %s",
	    err_line());
}

int
main(void)
{
	test_divide();
	test_bounds();
	test_any();
	test_log();
	test_bad();
	return done();
}
