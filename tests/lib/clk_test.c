/* clk_test - the monotonic clock. */
#include "base/clk.h"

#include "tap.h"

#include <time.h>

int
main(void)
{
	uint64_t a = clk_ns(), b;
	double s = clk_s();
	int back = 0;

	for (int i = 0; i < 1000; i++) {
		b = clk_ns();
		back += b < a;
		a = b;
	}
	is(back, 0, "clk_ns never goes back");
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	ok(clk_ns() - a >= 20000000, "clk_ns counts nanoseconds");
	ok(clk_s() - s >= 0.02 && clk_s() - s < 60, "clk_s counts seconds");
	ok(!clk_stopped(clk_s() - 0.5) && clk_stopped(clk_s() - 1.5), "a wait that ends over a second late was a pause");
	return done();
}
