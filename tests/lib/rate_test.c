/* rate_test - rows of netstat-logging(1) become rates over time. */
#include "log/rate.h"

#include "tap.h"

#define ROW(time, interface, event, seconds, rx, tx) \
	time "\t2026-11-21T19:10:00.123Z\thost\t" interface "\t" event "\t" seconds "\t" rx "\t" tx "\t3\t4\t\t\n"

#define LONG_HOST	"a-host-with-a-name-of-50-bytes.cluster.example.org"

static int
add(struct rate_list *l, const char *line)
{
	int e = rate_add_line(l, line);

	if (e < 0)
		ok(0, "rate_add_line() accepts: %s", line);
	return e;
}

int
main(void)
{
	struct rate_list l = { 0 };

	is(add(&l, ROW("0.5", "eth0", "period", "0.500", "1000000", "250000")), 1, "the row of a period is read");
	is(add(&l, ROW("0.5", "lo", "period", "0.500", "0", "0")), 1, "the row of another interface is read");
	is(add(&l, ROW("1.5", "eth0", "period", "1.000", "125000", "0")), 1, "a further row is read");
	is(add(&l, ROW("1.5", "eth0", "end", "1.500", "1125000", "250000")), 0, "the last row is not a period");
	is(add(&l, ROW("2.5", "eth0", "period", "0.000", "125000", "0")), 0, "a period without length is ignored");
	is(add(&l, ROW("nan", "eth0", "period", "1.000", "125000", "0")), 0, "a NaN time is ignored");
	is(add(&l, "1\th\tworker\t0\tepoch\t0\t\t\t\t\t\t\t\t\t"), 0, "the row of a training log is not a period");
	is(l.n, 2, "each interface has a series");
	is_str(l.series[0].name, "host eth0", "host and interface name a series");
	is(l.series[0].n, 2, "a series has its periods");
	near(l.series[0].point[0].rx, 16, 1e-9, "received bytes become Mbit/s");
	near(l.series[0].point[0].tx, 4, 1e-9, "sent bytes become Mbit/s");
	near(l.series[0].point[1].rx, 1, 1e-9, "a rate is over the length of its period");
	near(l.series[0].point[1].time_s, 1.5, 1e-9, "a point has the time of its row");
	add(&l, ROW("0.5", "eth0", "period", "0.500", "1", "2"));
	is(l.n, 3, "a log that starts again has another series");
	is(add(&l, "0.5\t2026-11-21T19:10:00.123Z\t" LONG_HOST "\ta-command-of-more-than-20-bytes\tperiod\t1\t1\t2\n"), 1,
	    "the row of a host and a command with long names is read");
	is_str(l.n == 4 ? l.series[3].name : "", LONG_HOST " a-command-of-more-than-20-bytes", "both names name the series");
	rate_free(&l);
	is(l.n, 0, "rate_free() leaves an empty list");
	return done();
}
