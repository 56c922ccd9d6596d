/* toll_test - messages by kind: what stands before the first gradient, and what after. */
#include "wire/toll.h"
#include "tap.h"

int
main(void)
{
	static const struct {
		struct msg m;
		bool aux;
		enum toll_class c;
	} each[] = {
		{ { .type = MSG_HELLO, .len = 10 }, false, TOLL_START },
		{ { .type = MSG_INIT, .len = 1000 }, false, TOLL_START },
		{ { .type = MSG_WEIGHTS, .len = 1000 }, true, TOLL_START },
		{ { .type = MSG_PUSH, .len = 400 }, false, TOLL_GRADIENTS },
		{ { .type = MSG_PUSH, .len = 40 }, true, TOLL_AUX },
		{ { .type = MSG_WEIGHTS, .len = 300 }, false, TOLL_WEIGHTS },
		{ { .type = MSG_WEIGHTS, .len = 30 }, true, TOLL_AUX },
		{ { .type = MSG_SUM, .len = 24 }, false, TOLL_FIGURES },
		{ { .type = MSG_TOTAL, .len = 24 }, true, TOLL_FIGURES },
		{ { .type = MSG_PULL, .flags = MSG_STATE_OF }, false, TOLL_STATE },
		{ { .type = MSG_STATE, .flags = MSG_STATE_OF, .len = 77 }, false, TOLL_STATE },
		{ { .type = MSG_INIT, .flags = MSG_STATE_OF, .len = 77 }, false, TOLL_STATE },
		{ { .type = MSG_BYE }, false, TOLL_CONTROL },
	};
	struct toll t = { .begun = false }, before;

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		enum toll_way way = i % 2 == 0 ? TOLL_IN : TOLL_OUT;
		struct toll d;

		before = t;
		toll_count(&t, way, &each[i].m, each[i].aux);
		d = toll_since(&before, &t);
		ok(d.payload[way][each[i].c] == each[i].m.len && d.messages[way][each[i].c] == 1, "%s is of %s",
		    msg_name(each[i].m.type), toll_name(each[i].c));
		is(toll_steps(&d, TOLL_IN) + toll_steps(&d, TOLL_OUT), each[i].c == TOLL_START ? 0 : each[i].m.len + MSG_HEAD,
		    "... with its head, but for the start's");
	}
	ok(t.begun, "a gradient ends the start");
	return done();
}
