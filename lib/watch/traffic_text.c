/* traffic_text - traffic as log rows, JSON and the summary of a run. */
#include "base/err.h"
#include "log/amount.h"
#include "watch/traffic.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define RULE	"--------------------------------------+------------------\n"
#define WIDTH	15	/* columns of a number with its unit */

/* The counts of a row in column order. */
static const struct { const char *name; size_t at; } counts[] = {
	{ "rx_bytes", offsetof(struct traffic, bytes[TRAFFIC_RX]) },
	{ "tx_bytes", offsetof(struct traffic, bytes[TRAFFIC_TX]) },
	{ "rx_packets", offsetof(struct traffic, packets[TRAFFIC_RX]) },
	{ "tx_packets", offsetof(struct traffic, packets[TRAFFIC_TX]) },
	{ "rx_wire_bytes", offsetof(struct traffic, wire[TRAFFIC_RX]) },
	{ "tx_wire_bytes", offsetof(struct traffic, wire[TRAFFIC_TX]) },
};
#define COUNTS	(sizeof(counts) / sizeof(*counts))

static uint64_t
get_traffic_count(const struct traffic_row *r, size_t i)
{
	return *(const uint64_t *)(const void *)((const char *)&r->traffic + counts[i].at);
}

int
traffic_head(struct buf *out)
{
	ERR_TRY(buf_put_fmt(out, "time_s\tclock\thost\tinterface\tevent\tseconds"));
	for (size_t i = 0; i < COUNTS; i++)
		ERR_TRY(buf_put_fmt(out, "\t%s", counts[i].name));
	return buf_put(out, "\n", 1);
}

/* Formats a date as RFC 3339 does, with milliseconds. */
static void
format_date(uint64_t date_ns, char text[48])
{
	time_t s = (time_t)(date_ns / 1000000000);
	struct tm tm;
	size_t n;

	gmtime_r(&s, &tm);
	n = strftime(text, 32, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, 48 - n, ".%03uZ", (unsigned)(date_ns / 1000000 % 1000));
}

int
traffic_put(const struct traffic_row *r, struct buf *out)
{
	char clock[48];

	format_date(r->date_ns, clock);
	ERR_TRY(buf_put_fmt(out, "%.3f\t%s\t%s\t%s\t%s\t%.3f", r->time_s, clock, r->host, r->interface, r->event,
	    r->seconds));
	for (size_t i = 0; i < COUNTS; i++)
		ERR_TRY(get_traffic_count(r, i) == TRAFFIC_NONE ? buf_put(out, "\t", 1) : buf_put_fmt(out, "\t%" PRIu64,
		    get_traffic_count(r, i)));
	return buf_put(out, "\n", 1);
}

/* A byte that JSON would need to escape becomes '?'. */
static int
put_json_name(struct buf *out, const char *key, const char *name)
{
	ERR_TRY(buf_put_fmt(out, ",\"%s\":\"", key));
	for (; *name != 0; name++)
		ERR_TRY(buf_put(out, (unsigned char)*name < ' ' || *name == '"' || *name == '\\' ||
		    (unsigned char)*name > 126 ? "?" : name, 1));
	return buf_put(out, "\"", 1);
}

int
traffic_json(const struct traffic_row *r, struct buf *out)
{
	char clock[48];

	format_date(r->date_ns, clock);
	ERR_TRY(buf_put_fmt(out, "{\"time_s\":%.3f", r->time_s));
	ERR_TRY(put_json_name(out, "clock", clock));
	ERR_TRY(put_json_name(out, "host", r->host));
	ERR_TRY(put_json_name(out, "interface", r->interface));
	ERR_TRY(put_json_name(out, "event", r->event));
	ERR_TRY(buf_put_fmt(out, ",\"seconds\":%.3f", r->seconds));
	for (size_t i = 0; i < COUNTS; i++)
		if (get_traffic_count(r, i) != TRAFFIC_NONE)
			ERR_TRY(buf_put_fmt(out, ",\"%s\":%" PRIu64, counts[i].name, get_traffic_count(r, i)));
	return buf_put(out, "}\n", 2);
}

/* Formats "2.73 TiB", "970.90 Mbit/s" or "256 bit/s", right-aligned in WIDTH. */
static void
format_with_unit(double v, double base, const char *const units[7], char text[32])
{
	double one = 1;
	int i = 0;

	while (i < 6 && v >= one * 1000) {
		one *= base;
		i++;
	}
	snprintf(text, 32, "%*.*f %s", WIDTH - 1 - (int)strlen(units[i]), i > 0 ? 2 : 0, v / one, units[i]);
}

static int
put_bytes(struct buf *out, const uint64_t v[TRAFFIC_WAYS])
{
	char rx[32], tx[32];

	format_with_unit((double)v[TRAFFIC_RX], 1024, amount_units, rx);
	format_with_unit((double)v[TRAFFIC_TX], 1024, amount_units, tx);
	return buf_put_fmt(out, "  bytes              %s  | %s\n" RULE, rx, tx);
}

/* vnstat truncates bits per second. */
static int
put_rates(struct buf *out, const char *name, const double v[TRAFFIC_WAYS])
{
	static const char *const units[] = { "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "Pbit/s", "Ebit/s" };
	char rx[32], tx[32];

	format_with_unit((double)(uint64_t)(v[TRAFFIC_RX] * 8), 1000, units, rx);
	format_with_unit((double)(uint64_t)(v[TRAFFIC_TX] * 8), 1000, units, tx);
	return buf_put_fmt(out, "%13s        %s  | %s\n", name, rx, tx);
}

static int
put_packets(struct buf *out, const char *name, const double v[TRAFFIC_WAYS], bool counted)
{
	return counted ? buf_put_fmt(out, "%13s          %9" PRIu64 " p/s  |   %9" PRIu64 " p/s\n", name,
	    (uint64_t)v[TRAFFIC_RX], (uint64_t)v[TRAFFIC_TX]) :
	    buf_put_fmt(out, "%13s          %9s p/s  |   %9s p/s\n", name, "--", "--");
}

static int
put_all_packets(struct buf *out, const struct traffic_sum *s, const double average[TRAFFIC_WAYS])
{
	const uint64_t *n = s->total.packets;
	bool counted = n[TRAFFIC_RX] != TRAFFIC_NONE;

	if (counted)
		ERR_TRY(buf_put_fmt(out, "  packets               %12" PRIu64 "  |    %12" PRIu64 "\n" RULE,
		    n[TRAFFIC_RX], n[TRAFFIC_TX]));
	else
		ERR_TRY(buf_put_fmt(out, "  packets               %12s  |    %12s\n" RULE, "--", "--"));
	ERR_TRY(put_packets(out, "max", s->most_packets, counted));
	ERR_TRY(put_packets(out, "average", average, counted));
	ERR_TRY(put_packets(out, "min", s->least_packets, counted));
	return buf_put_fmt(out, RULE);
}

int
traffic_summary(const struct traffic_sum *s, const char *name, struct buf *out)
{
	double seconds = s->seconds > 0 ? s->seconds : 1, bytes[TRAFFIC_WAYS], packets[TRAFFIC_WAYS];
	struct traffic_sum all = *s;

	for (int i = 0; i < TRAFFIC_WAYS; i++) {
		bytes[i] = (double)s->total.bytes[i] / seconds;
		packets[i] = (double)s->total.packets[i] / seconds;
		if (s->periods == 0) {		/* the run ended before its first period */
			all.most_bytes[i] = all.least_bytes[i] = bytes[i];
			all.most_packets[i] = all.least_packets[i] = packets[i];
		}
	}
	ERR_TRY(buf_put_fmt(out, "\n %s  /  traffic statistics\n\n%48s\n" RULE, name, "rx         |       tx"));
	ERR_TRY(put_bytes(out, s->total.bytes));
	ERR_TRY(put_rates(out, "max", all.most_bytes));
	ERR_TRY(put_rates(out, "average", bytes));
	ERR_TRY(put_rates(out, "min", all.least_bytes));
	ERR_TRY(buf_put_fmt(out, RULE));
	ERR_TRY(put_all_packets(out, &all, packets));
	return s->seconds <= 60 ? buf_put_fmt(out, "  time             %9.0f seconds\n\n", s->seconds) :
	    buf_put_fmt(out, "  time               %7.2f minutes\n\n", s->seconds / 60);
}
