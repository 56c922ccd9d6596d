/* traffic - bytes and packets received and sent: counters and sums. */
#include "watch/traffic.h"

#define WRAP	(UINT64_C(1) << 32)

static uint64_t
subtract_counter(uint64_t before, uint64_t now)
{
	if (before == TRAFFIC_NONE || now == TRAFFIC_NONE)
		return TRAFFIC_NONE;
	if (now >= before)
		return now - before;
	return before < WRAP && now + WRAP - before < WRAP / 2 ? now + WRAP - before : now;
}

struct traffic
traffic_since(const struct traffic *before, const struct traffic *now)
{
	struct traffic t;

	for (int i = 0; i < TRAFFIC_WAYS; i++) {
		t.bytes[i] = subtract_counter(before->bytes[i], now->bytes[i]);
		t.packets[i] = subtract_counter(before->packets[i], now->packets[i]);
		t.wire[i] = subtract_counter(before->wire[i], now->wire[i]);
	}
	return t;
}

static void
add_counter(uint64_t *sum, uint64_t v)
{
	*sum = *sum == TRAFFIC_NONE || v == TRAFFIC_NONE ? TRAFFIC_NONE : *sum + v;
}

void
traffic_add(struct traffic *sum, const struct traffic *t)
{
	for (int i = 0; i < TRAFFIC_WAYS; i++) {
		add_counter(&sum->bytes[i], t->bytes[i]);
		add_counter(&sum->packets[i], t->packets[i]);
		add_counter(&sum->wire[i], t->wire[i]);
	}
}

void
traffic_clear(struct traffic *t)
{
	uint64_t *const counts[] = { t->bytes, t->packets, t->wire };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		for (int way = 0; way < TRAFFIC_WAYS; way++)
			counts[i][way] = counts[i][way] == TRAFFIC_NONE ? TRAFFIC_NONE : 0;
}

static void
update_extremes(double *most, double *least, uint64_t v, double seconds, bool first)
{
	double rate = (double)v / seconds;

	if (first || rate > *most)
		*most = rate;
	if (first || rate < *least)
		*least = rate;
}

void
traffic_add_period(struct traffic_sum *s, const struct traffic *t, double seconds, bool whole)
{
	traffic_add(&s->total, t);
	s->seconds += seconds;
	if (!whole || seconds <= 0)
		return;
	for (int i = 0; i < TRAFFIC_WAYS; i++) {
		update_extremes(&s->most_bytes[i], &s->least_bytes[i], t->bytes[i], seconds, s->periods == 0);
		update_extremes(&s->most_packets[i], &s->least_packets[i], t->packets[i], seconds, s->periods == 0);
	}
	s->periods++;
}
