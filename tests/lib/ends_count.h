/*
 * ends_count - messages with numbers that count up, for tests of what lies below the messages: none is lost, changed or
 * out of order.
 */
#ifndef TESTS_ENDS_COUNT_H
#define TESTS_ENDS_COUNT_H

#include "ends.h"

#include <string.h>

static inline void
send_number(struct conn *c, uint64_t n, uint32_t len)
{
	static uint8_t payload[3 << 20];

	memset(payload, (int)n, len);
	if (conn_send(c, &(struct msg){ .type = MSG_PUSH, .step = n, .len = len, .payload = payload }) < 0)
		printf("# %s\n", err_line());
}

/* The next number that each end is to take, and how many messages were others. */
static uint64_t next_a, next_b, bad;

static inline void
take_numbers(struct conn *c, uint64_t *next)
{
	struct msg m;

	while (conn_next(c, &m) == 1)
		bad += m.type != MSG_PUSH || m.step != (*next)++ ||
		    (m.len > 0 && (*(const uint8_t *)m.payload != (uint8_t)m.step ||
		    memcmp(m.payload, (const uint8_t *)m.payload + 1, m.len - 1) != 0));
}

static inline bool
took_one(struct ends *e)
{
	take_numbers(e->a, &next_a);
	take_numbers(e->b, &next_b);
	return next_a > 0 && next_b > 0;
}

#endif
