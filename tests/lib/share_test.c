/* share_test - threads take each item of a loop once, their own parts first. */
#include "engine/share.h"

#include "tap.h"

#include <omp.h>
#include <string.h>

#define MOST	1000

/* How often each item of a loop was taken by `threads` threads. */
static size_t
count_wrong(size_t items, int threads, bool last_first)
{
	unsigned char seen[MOST + 1] = { 0 };
	struct share s;
	size_t wrong = 0;

	omp_set_num_threads(threads);
	s = share_start(items);
	s.last_first = last_first;
	#pragma omp parallel
	SHARE_EACH(&s, i) {
		#pragma omp atomic
		seen[i]++;
	}
	for (size_t i = 0; i <= MOST; i++)
		wrong += seen[i] != (i < items);
	return wrong;
}

static void
check_each(void)
{
	static const size_t items[] = { 0, 1, 2, 7, 31, 33, 64, 999, MOST };
	static const int threads[] = { 1, 2, 3, 7, SHARE_PARTS, SHARE_PARTS + 1, 2 * SHARE_PARTS + 3 };
	size_t wrong = 0;

	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++)
		for (size_t t = 0; t < sizeof(threads) / sizeof(*threads); t++)
			wrong += count_wrong(items[i], threads[t], false) + count_wrong(items[i], threads[t], true);
	is(wrong, 0, "any number of threads takes each item once");
}

/* One thread is that of part `thread` of two, and takes all of 100 items, in chunks of 3. */
static void
check_order(size_t thread, bool last_first, size_t first, size_t middle, size_t last, const char *name)
{
	struct share s;
	struct share_run r = { .part = thread, .parts_left = 2 };
	size_t seen[101] = { 0 }, n = 0;

	omp_set_num_threads(2);
	s = share_start(100);
	s.last_first = last_first;
	while (share_take(&s, &r))
		for (size_t i = r.first; i < r.end; i++)
			seen[n < 100 ? n++ : 100] = i;
	ok(n == 100 && seen[0] == first && seen[50] == middle && seen[99] == last, "%s", name);
}

int
main(void)
{
	check_each();
	check_order(0, false, 0, 50, 99, "the first thread takes the first part, then the second");
	check_order(1, false, 50, 0, 49, "the second thread takes the second part, then the first");
	check_order(1, true, 97, 47, 1, "a thread takes the last chunk of each part first");
	return done();
}
