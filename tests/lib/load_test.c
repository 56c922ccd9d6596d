/* load_test - the load of a process that computes, of one that waits, and of the host. */
#include "watch/load.h"

#include "base/clk.h"
#include "tap.h"

#include <poll.h>

int
main(void)
{
	struct load a = load_now(), b, c;
	volatile double x = 1;
	double process, host;

	do {
		for (int i = 0; i < 100000; i++)
			x = x * 1.0000001 + 1e-9;
		b = load_now();
	} while (b.cpu_s - a.cpu_s < 0.2);
	process = load_process(&a, &b);
	host = load_host(&a, &b);
	ok(process > 0 && process <= 1.1, "one thread keeps at most one processor busy: %.2f", process);
	near(process * (b.at - a.at), b.cpu_s - a.cpu_s, 1e-9, "the load times the time is the CPU time");
	ok(host > 0 && host <= 1, "the load of the host is between 0 and 1: %.2f", host);
	poll(NULL, 0, 100);
	c = load_now();
	ok(load_process(&b, &c) < 0.5, "a process that waits has a low load: %.2f", load_process(&b, &c));
	near(load_process(&c, &c), 0, 0, "the load over no time is 0");
	ok(load_host(&c, &c) < 0, "the load of the host over no time is unknown");
	ok(load_host(&(struct load){ .all = 0 }, &c) < 0, "the load of the host is unknown without its counters");
	return done();
}
