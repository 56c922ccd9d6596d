/* msg_test - the head of a message survives the way to bytes and back; what is none is refused. */
#include "base/err.h"
#include "base/rng.h"
#include "tap.h"
#include "wire/msg.h"

static int
same(const struct msg *a, const struct msg *b)
{
	return a->type == b->type && a->flags == b->flags && a->incarnation == b->incarnation && a->step == b->step &&
	    a->worker == b->worker && a->slice == b->slice && a->samples == b->samples && a->len == b->len &&
	    memcmp(&a->rate, &b->rate, sizeof(a->rate)) == 0;
}

static void
test_round(void)
{
	struct rng r = rng_start(1, 2, 3);
	uint8_t head[MSG_HEAD];
	unsigned kept = 0;
	struct msg back;

	for (unsigned i = 0; i < 1000; i++) {
		struct msg m = { .type = (uint16_t)(1 + rng_below(&r, MSG_TYPES - 1)), .flags = (uint16_t)rng_u64(&r),
		    .incarnation = rng_u64(&r), .step = rng_u64(&r), .worker = (uint32_t)rng_u64(&r),
		    .slice = (uint32_t)rng_u64(&r), .samples = (uint32_t)rng_u64(&r), .rate = rng_normal(&r),
		    .len = (uint32_t)rng_below(&r, MSG_MOST + 1), .payload = head };

		msg_head(&m, head);
		kept += msg_parse(&back, head) == 0 && same(&m, &back) && back.payload == NULL;
	}
	is(kept, 1000, "every field comes back, the payload is not invented");
}

static void
test_refused(void)
{
	uint8_t head[MSG_HEAD];
	char line[64];
	struct msg m;

	msg_head(&(struct msg){ .type = MSG_PUSH, .len = MSG_MOST }, head);
	is(msg_parse(&m, head), 0, "the longest payload is accepted");
	msg_head(&(struct msg){ .type = MSG_PUSH, .len = MSG_MOST + 1 }, head);
	is(msg_parse(&m, head), ERR_LIMIT, "a payload of one byte more is refused");
	is_str(err_line(), "PUSH of 16777217 bytes, over the limit of 16777216", "the line of a long payload has its size");
	msg_head(&(struct msg){ .type = 0 }, head);
	is(msg_parse(&m, head), ERR_FORMAT, "type 0 is refused");
	msg_head(&(struct msg){ .type = MSG_TYPES }, head);
	is(msg_parse(&m, head), ERR_FORMAT, "the type after the last is refused");
	snprintf(line, sizeof(line), "a message of unknown type %d", MSG_TYPES);
	is_str(err_line(), line, "the line has the unknown type");
}

int
main(void)
{
	test_round();
	test_refused();
	is_str(msg_name(MSG_HELLO), "HELLO", "types have names");
	is_str(msg_name(MSG_UCX), "UCX", "the last type has a name");
	is_str(msg_name(MSG_TYPES), "unknown", "a type beyond the last has no name");
	is_str(msg_name(0), "unknown", "type 0 has no name");
	return done();
}
