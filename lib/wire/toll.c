/* toll - what a process sent to and got from one peer, by the kind of message. */
#include "wire/toll.h"

static enum toll_class
class_of(const struct msg *m, bool aux)
{
	if ((m->flags & MSG_STATE_OF) != 0 && m->type != MSG_WELCOME)
		return TOLL_STATE;
	switch (m->type) {
	case MSG_PUSH:		return aux ? TOLL_AUX : TOLL_GRADIENTS;
	case MSG_WEIGHTS:	return aux ? TOLL_AUX : TOLL_WEIGHTS;
	case MSG_SUM:
	case MSG_TOTAL:		return TOLL_FIGURES;
	case MSG_STATE:		return TOLL_STATE;
	default:		return TOLL_CONTROL;
	}
}

void
toll_count(struct toll *t, enum toll_way way, const struct msg *m, bool aux)
{
	enum toll_class c;

	t->begun |= m->type == MSG_PUSH;
	c = t->begun ? class_of(m, aux) : TOLL_START;
	t->payload[way][c] += m->len;
	t->messages[way][c]++;
}

struct toll
toll_since(const struct toll *before, const struct toll *t)
{
	struct toll d = { .begun = t->begun };

	for (int w = 0; w < TOLL_WAYS; w++) {
		for (int c = 0; c < TOLL_CLASS_COUNT; c++) {
			d.payload[w][c] = t->payload[w][c] - before->payload[w][c];
			d.messages[w][c] = t->messages[w][c] - before->messages[w][c];
		}
		d.wire[w] = t->wire[w] - before->wire[w];
	}
	return d;
}

uint64_t
toll_steps(const struct toll *t, enum toll_way way)
{
	uint64_t n = 0;

	for (int c = TOLL_START + 1; c < TOLL_CLASS_COUNT; c++)
		n += t->payload[way][c] + t->messages[way][c] * MSG_HEAD;
	return n;
}

const char *
toll_name(enum toll_class c)
{
	static const char *const names[] = {
#define NAME(name, text) [name] = text,
		TOLL_CLASSES(NAME)
#undef NAME
	};

	return names[c];
}
