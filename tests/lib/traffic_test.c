/* traffic_test - counters that grow, wrap and restart; rows, JSON, and a summary as vnstat prints it. */
#include "watch/traffic.h"
#include "tap.h"

static const struct traffic none = { .wire = { TRAFFIC_NONE, TRAFFIC_NONE } };

static uint64_t
grown(uint64_t before, uint64_t now)
{
	struct traffic a = none, b = none;

	a.bytes[TRAFFIC_TX] = before;
	b.bytes[TRAFFIC_TX] = now;
	return traffic_since(&a, &b).bytes[TRAFFIC_TX];
}

static void
counters(void)
{
	struct traffic t = none, sum = none;

	is(grown(10, 30), 20, "a counter grows");
	is(grown(UINT32_MAX - 9, 10), 20, "a counter of 32 bits wraps");
	is(grown(UINT64_C(1) << 40, 10), 10, "a lower counter above 32 bits has restarted");
	is(grown(UINT64_C(1) << 30, 10), 10, "a lower counter of 32 bits far from its end has restarted");
	is(traffic_since(&none, &none).wire[TRAFFIC_RX], TRAFFIC_NONE, "a count of TRAFFIC_NONE has no difference");
	t.bytes[TRAFFIC_RX] = 5;
	traffic_add(&sum, &t);
	traffic_add(&sum, &t);
	is(sum.bytes[TRAFFIC_RX], 10, "counts are added");
	is(sum.wire[TRAFFIC_TX], TRAFFIC_NONE, "a sum with TRAFFIC_NONE is TRAFFIC_NONE");
}

static void
lines(void)
{
	struct traffic_row r = {
		.time_s = 1.5, .date_ns = UINT64_C(1700000000123456789), .host = "h", .interface = "eth0", .event = "period",
		.seconds = 0.5, .traffic = { { 1000, 20 }, { 3, 4 }, { TRAFFIC_NONE, TRAFFIC_NONE } },
	};
	struct buf out = { 0 };

	ok(traffic_head(&out) == 0 && traffic_put(&r, &out) == 0 && traffic_json(&r, &out) == 0 && buf_terminate(&out) == 0,
	    "head, row and JSON are written");
	is_str((char *)out.p,
	    "time_s\tclock\thost\tinterface\tevent\tseconds\trx_bytes\ttx_bytes\trx_packets\ttx_packets\trx_wire_bytes\ttx_wire_bytes\n"
	    "1.500\t2023-11-14T22:13:20.123Z\th\teth0\tperiod\t0.500\t1000\t20\t3\t4\t\t\n"
	    "{\"time_s\":1.500,\"clock\":\"2023-11-14T22:13:20.123Z\",\"host\":\"h\",\"interface\":\"eth0\",\"event\":\"period\","
	    "\"seconds\":0.500,\"rx_bytes\":1000,\"tx_bytes\":20,\"rx_packets\":3,\"tx_packets\":4}\n",
	    "head, row and JSON have these bytes");
	out.n = 0;
	r.host = "a\"b\\\n";
	ok(traffic_json(&r, &out) == 0 && buf_terminate(&out) == 0 && strstr((char *)out.p, "\"host\":\"a?b??\"") != NULL,
	    "a name with quotes and control characters does not break JSON");
	buf_free(&out);
}

/* A period of one second. */
static void
second(struct traffic_sum *s, uint64_t rx, uint64_t tx, uint64_t rx_packets, uint64_t tx_packets)
{
	traffic_add_period(s, &(struct traffic){ { rx, tx }, { rx_packets, tx_packets }, { TRAFFIC_NONE, TRAFFIC_NONE } }, 1, true);
}

static void
summary(void)
{
	struct traffic_sum s = { .total = none };
	struct buf out = { 0 };

	second(&s, 121362500, 32, 113616, 1);
	second(&s, 0, 125, 0, 2);
	traffic_add_period(&s, &(struct traffic){ { 1000, 0 }, { 1, 0 }, { TRAFFIC_NONE, TRAFFIC_NONE } }, 0.5, false);
	ok(traffic_summary(&s, "eth0", &out) == 0 && buf_terminate(&out) == 0, "a summary is written");
	is_str((char *)out.p,
	    "\n eth0  /  traffic statistics\n\n"
	    "                           rx         |       tx\n"
	    "--------------------------------------+------------------\n"
	    "  bytes                   115.74 MiB  |           157 B\n"
	    "--------------------------------------+------------------\n"
	    "          max          970.90 Mbit/s  |     1.00 kbit/s\n"
	    "      average          388.36 Mbit/s  |       502 bit/s\n"
	    "          min                0 bit/s  |       256 bit/s\n"
	    "--------------------------------------+------------------\n"
	    "  packets                     113617  |               3\n"
	    "--------------------------------------+------------------\n"
	    "          max             113616 p/s  |           2 p/s\n"
	    "      average              45446 p/s  |           1 p/s\n"
	    "          min                  0 p/s  |           1 p/s\n"
	    "--------------------------------------+------------------\n"
	    "  time                     2 seconds\n\n", "a summary has the layout of vnstat -l");
	out.n = 0;
	s.seconds = 761.53 * 60;
	s.total.bytes[TRAFFIC_RX] = (uint64_t)(2.73 * 1099511627776.0);
	s.total.packets[TRAFFIC_TX] = s.total.packets[TRAFFIC_RX] = TRAFFIC_NONE;
	ok(traffic_summary(&s, "x", &out) == 0 && buf_terminate(&out) == 0, "the summary of a long run is written");
	ok(strstr((char *)out.p, "\n  bytes                     2.73 TiB  | ") != NULL, "many bytes have a large unit");
	ok(strstr((char *)out.p, "\n  time                761.53 minutes\n") != NULL, "a long time is in minutes");
	ok(strstr((char *)out.p, "\n  packets                         --  |              --\n") != NULL, "unknown packets are --");
	buf_free(&out);
}

int
main(void)
{
	counters();
	lines();
	summary();
	return done();
}
