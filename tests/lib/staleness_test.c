/* staleness_test - how many updates gradients were behind: sums and bins. */
#include "ps/staleness.h"
#include "tap.h"

int
main(void)
{
	static const uint32_t behind[] = { 3, 0, 31, 32, 63, 64, 1000, UINT32_MAX, 3 };
	const size_t n = sizeof(behind) / sizeof(*behind);
	struct staleness s = { .n = 0 };
	uint32_t from, to, next = 0, wrong = 0;
	uint64_t sum = 0, in = 0;

	for (size_t i = 0; i < n; i++) {
		staleness_add(&s, behind[i]);
		sum += behind[i];
	}
	ok(s.n == n && s.sum == sum && s.least == 0 && s.most == UINT32_MAX, "sum, least and most are those of the gradients");
	for (uint32_t b = 0; b < STALENESS_BINS; b++) {
		uint64_t want = 0;

		staleness_bin(b, &from, &to);
		for (size_t i = 0; i < n; i++)
			want += behind[i] >= from && behind[i] <= to;
		wrong += from != next || to < from || s.bin[b] != want;
		next = to + 1;
		in += s.bin[b];
	}
	is(wrong, 0, "each bin counts the gradients within its bounds, and begins where the one before ends");
	ok(to == UINT32_MAX && in == n, "the bins cover all numbers");
	staleness_bin(31, &from, &to);
	ok(from == 31 && to == 31, "small numbers have bins of their own");
	return done();
}
