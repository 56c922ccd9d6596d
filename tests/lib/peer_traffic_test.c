/* peer_traffic_test - messages by kind: what stands before the first gradient, and what after. */
#include "wire/peer_traffic.h"
#include "tap.h"

int
main(void)
{
	static const struct {
		struct msg m;
		bool aux;
		enum peer_traffic_class c;
	} each[] = {
		{ { .type = MSG_HELLO, .len = 10 }, false, PEER_TRAFFIC_START },
		{ { .type = MSG_INIT, .len = 1000 }, false, PEER_TRAFFIC_START },
		{ { .type = MSG_WEIGHTS, .len = 1000 }, true, PEER_TRAFFIC_START },
		{ { .type = MSG_PUSH, .len = 400 }, false, PEER_TRAFFIC_GRADIENTS },
		{ { .type = MSG_PUSH, .len = 40 }, true, PEER_TRAFFIC_AUX },
		{ { .type = MSG_WEIGHTS, .len = 300 }, false, PEER_TRAFFIC_WEIGHTS },
		{ { .type = MSG_WEIGHTS, .len = 30 }, true, PEER_TRAFFIC_AUX },
		{ { .type = MSG_SUM, .len = 24 }, false, PEER_TRAFFIC_FIGURES },
		{ { .type = MSG_TOTAL, .len = 24 }, true, PEER_TRAFFIC_FIGURES },
		{ { .type = MSG_PULL, .flags = MSG_STATE_OF }, false, PEER_TRAFFIC_STATE },
		{ { .type = MSG_STATE, .flags = MSG_STATE_OF, .len = 77 }, false, PEER_TRAFFIC_STATE },
		{ { .type = MSG_INIT, .flags = MSG_STATE_OF, .len = 77 }, false, PEER_TRAFFIC_STATE },
		{ { .type = MSG_BYE }, false, PEER_TRAFFIC_CONTROL },
	};
	struct peer_traffic t = { .begun = false }, before;

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		enum peer_traffic_way way = i % 2 == 0 ? PEER_TRAFFIC_RECEIVED : PEER_TRAFFIC_SENT;
		struct peer_traffic d;

		before = t;
		peer_traffic_count(&t, way, &each[i].m, each[i].aux, CODEC_TOPK);
		d = peer_traffic_since(&before, &t);
		ok(d.payload[way][each[i].c] == each[i].m.len && d.messages[way][each[i].c] == 1, "%s is of %s",
		    msg_name(each[i].m.type), peer_traffic_name(each[i].c));
		is(d.coded[way][CODEC_TOPK], each[i].c == PEER_TRAFFIC_GRADIENTS || each[i].c == PEER_TRAFFIC_WEIGHTS ?
		    each[i].m.len : 0, "only gradients and weights of the steps count for a codec");
		is(peer_traffic_steps(&d, PEER_TRAFFIC_RECEIVED) +
		       peer_traffic_steps(&d, PEER_TRAFFIC_SENT),
		   each[i].c == PEER_TRAFFIC_START ? 0 : each[i].m.len + MSG_HEAD,
		   "a message counts with its header, except at the start");
	}
	ok(t.begun, "a gradient ends the start");
	return done();
}
