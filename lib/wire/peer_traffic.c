/* peer_traffic - bytes and messages that a process sent to and received from one peer, by kind of message. */
#include "wire/peer_traffic.h"

static enum peer_traffic_class
classify_msg(const struct msg *m, bool aux)
{
	if ((m->flags & MSG_STATE_OF) != 0 && m->type != MSG_WELCOME)
		return PEER_TRAFFIC_STATE;
	switch (m->type) {
	case MSG_PUSH:		return aux ? PEER_TRAFFIC_AUX : PEER_TRAFFIC_GRADIENTS;
	case MSG_WEIGHTS:	return aux ? PEER_TRAFFIC_AUX : PEER_TRAFFIC_WEIGHTS;
	case MSG_SUM:
	case MSG_TOTAL:		return PEER_TRAFFIC_FIGURES;
	case MSG_STATE:		return PEER_TRAFFIC_STATE;
	default:		return PEER_TRAFFIC_CONTROL;
	}
}

void
peer_traffic_count(struct peer_traffic *t, enum peer_traffic_way way, const struct msg *m, bool aux,
    enum codec_kind codec)
{
	enum peer_traffic_class c;

	t->begun |= m->type == MSG_PUSH;
	c = t->begun ? classify_msg(m, aux) : PEER_TRAFFIC_START;
	t->payload[way][c] += m->len;
	t->messages[way][c]++;
	if (c == PEER_TRAFFIC_GRADIENTS || c == PEER_TRAFFIC_WEIGHTS)
		t->coded[way][codec] += m->len;
}

struct peer_traffic
peer_traffic_since(const struct peer_traffic *before, const struct peer_traffic *t)
{
	struct peer_traffic d = { .begun = t->begun };

	for (int w = 0; w < PEER_TRAFFIC_WAYS; w++) {
		for (int c = 0; c < PEER_TRAFFIC_CLASS_COUNT; c++) {
			d.payload[w][c] = t->payload[w][c] - before->payload[w][c];
			d.messages[w][c] = t->messages[w][c] - before->messages[w][c];
		}
		for (int c = 0; c < CODECS; c++)
			d.coded[w][c] = t->coded[w][c] - before->coded[w][c];
		d.wire[w] = t->wire[w] - before->wire[w];
	}
	return d;
}

uint64_t
peer_traffic_steps(const struct peer_traffic *t, enum peer_traffic_way way)
{
	uint64_t n = 0;

	for (int c = PEER_TRAFFIC_START + 1; c < PEER_TRAFFIC_CLASS_COUNT; c++)
		n += t->payload[way][c] + t->messages[way][c] * MSG_HEAD;
	return n;
}

const char *
peer_traffic_name(enum peer_traffic_class c)
{
	static const char *const names[] = {
#define NAME(name, text) [name] = text,
		PEER_TRAFFIC_CLASSES(NAME)
#undef NAME
	};

	return names[c];
}
