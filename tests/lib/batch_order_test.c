/* batch_order_test - each record once an epoch, in random order,
    for any number of records; a window keeps them near. */
#include "base/clk.h"
#include "batch/batch_order.h"
#include "tap.h"

#include <stdlib.h>

/* Reads n places in parts; returns whether each record came once. */
static int
once(struct batch_order *o, uint64_t n, uint64_t *record)
{
	uint8_t *seen = calloc(n, 1);
	int all = 1;

	for (uint64_t at = 0; at < n;) {
		uint32_t count = (uint32_t)(n - at < 1000 ? n - at : 1000);

		batch_order_take(o, at, count, record + at);
		at += count;
	}
	for (uint64_t i = 0; i < n; i++)
		all &= record[i] < n && seen[record[i]]++ == 0;
	free(seen);
	return all;
}

/* The correlation of place and record, and the part of neighbours that stay neighbours. */
static void
chance(const uint64_t *record, uint64_t n, const char *what)
{
	double sum = 0, mean = (double)(n - 1) / 2, var = ((double)n * (double)n - 1) / 12;
	uint64_t together = 0;

	for (uint64_t i = 0; i < n; i++) {
		sum += ((double)i - mean) * ((double)record[i] - mean) / var / (double)n;
		together += i > 0 && (record[i] == record[i - 1] + 1);
	}
	near(sum, 0, 4 / sqrt((double)n), "%s: places and records do not correlate", what);
	ok(together < 12, "%s: few neighbours stay neighbours", what);
}

static void
test_size(uint64_t n, const char *what)
{
	uint64_t *a = calloc(n, sizeof(*a)), *b = calloc(n, sizeof(*b)), differ = 0, some[7];
	struct batch_order *o;

	is(batch_order_new(n, true, 0, &o), 0, "%s: an order is made", what);
	batch_order_start(o, 5, 1);
	ok(once(o, n, a), "%s: the order has each record once", what);
	if (n > 1000)
		chance(a, n, what);
	batch_order_take(o, n / 2, n > 14 ? 7 : 0, some);
	ok(n <= 14 || memcmp(some, a + n / 2, sizeof(some)) == 0, "%s: a second query gives the same order", what);
	batch_order_start(o, 5, 2);
	once(o, n, b);
	for (uint64_t i = 0; i < n; i++)
		differ += a[i] != b[i];
	ok(n < 5 || differ > n / 2, "%s: epochs have different orders", what);
	batch_order_free(o);
	free(a);
	free(b);
}

static void
test_window(void)
{
	enum { N = 20000, W = 100 };
	static uint64_t record[N], some[50];
	struct batch_order *o;
	uint64_t ahead = 0, late = 0;
	double wait = 0;

	is(batch_order_new(N, true, W, &o), 0, "a window: an order is made");
	batch_order_start(o, 1, 0);
	ok(once(o, N, record), "a window: the order has each record once");
	for (uint64_t i = 0; i < N; i++) {
		ahead = record[i] > i && record[i] - i > ahead ? record[i] - i : ahead;
		late += record[i] + 8 * W < i;
		wait += record[i] < i ? (double)(i - record[i]) / N : 0;
	}
	ok(ahead < W, "a window: no record comes before its turn by more than the window");
	ok(late < 20, "a window: few records come much later");
	ok(wait > W / 10, "a window: records are shuffled");
	batch_order_take(o, 300, 50, some);
	ok(memcmp(some, record + 300, sizeof(some)) == 0, "a window: a query may go back");
	batch_order_take(o, 9000, 50, some);
	ok(memcmp(some, record + 9000, sizeof(some)) == 0, "a window: a query may go forward");
	batch_order_free(o);
}

/* A hundred million records: no memory, and any place at once. */
static void
test_huge(void)
{
	enum { N = 100000000, SOME = 100000 };
	static uint64_t record[SOME];
	double began = clk_s(), sum = 0;
	struct batch_order *o;
	int inside = 1;

	is(batch_order_new(N, true, 0, &o), 0, "a hundred million: an order is made");
	batch_order_start(o, 1, 7);
	batch_order_take(o, N - SOME, SOME, record);
	for (uint32_t i = 0; i < SOME; i++) {
		inside &= record[i] < N;
		sum += (double)record[i] / SOME;
	}
	ok(inside, "a hundred million: records are within the file");
	near(sum / N, 0.5, 0.005, "a hundred million: records come from the whole file");
	printf("# %.0f ns a record\n", (clk_s() - began) / SOME * 1e9);
	batch_order_free(o);
}

int
main(void)
{
	struct batch_order *o;
	uint64_t record[10], i;

	batch_order_new(10, false, 0, &o);
	batch_order_start(o, 1, 1);
	batch_order_take(o, 2, 8, record);
	for (i = 0; i < 8 && record[i] == i + 2;)
		i++;
	is(i, 8, "without shuffling records have the file's order");
	batch_order_free(o);
	batch_order_free(NULL);
	test_size(1, "one record");
	test_size(7, "seven records");
	test_size(50001, "50,001");
	test_size((1u << 24) + 1, "more records than the order keeps in memory");
	test_window();
	test_huge();
	return done();
}
