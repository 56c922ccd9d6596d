/* load_test - a process that computes is busy, one that sleeps is not, and the host is at least as busy as a process. */
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
	near(process * (b.at - a.at), b.cpu_s - a.cpu_s, 1e-9, "... its seconds are what it took");
	ok(host > 0 && host <= 1, "the host was busy: %.2f", host);
	poll(NULL, 0, 100);
	c = load_now();
	ok(load_process(&b, &c) < 0.5, "who waits is not: %.2f", load_process(&b, &c));
	near(load_process(&c, &c), 0, 0, "no time, no load");
	ok(load_host(&c, &c) < 0, "... and the host's is not known");
	ok(load_host(&(struct load){ .all = 0 }, &c) < 0, "... nor where nothing counts it");
	return done();
}
