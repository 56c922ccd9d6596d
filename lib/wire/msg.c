/* msg - a message between the processes of a job, as bytes. */
#include "wire/msg.h"
#include "base/buf.h"

#include <ctype.h>

/* Offsets of the fields in the header. */
enum { AT_LEN = 0, AT_TYPE = 4, AT_FLAGS = 6, AT_INCARNATION = 8, AT_STEP = 16, AT_WORKER = 24, AT_SLICE = 28,
    AT_SAMPLES = 32, AT_RATE = 36, AT_END = 40 };

_Static_assert(AT_END == MSG_HEAD, "the header has MSG_HEAD bytes");

static const char *const names[MSG_TYPES] = {
	[MSG_HELLO] = "HELLO", [MSG_WELCOME] = "WELCOME", [MSG_REFUSE] = "REFUSE", [MSG_INIT] = "INIT",
	[MSG_PUSH] = "PUSH", [MSG_WEIGHTS] = "WEIGHTS", [MSG_SUM] = "SUM", [MSG_TOTAL] = "TOTAL",
	[MSG_PULL] = "PULL", [MSG_STATE] = "STATE", [MSG_STOP] = "STOP", [MSG_BYE] = "BYE",
	[MSG_OPEN] = "OPEN", [MSG_HOLDS] = "HOLDS", [MSG_ASK] = "ASK", [MSG_RECORD] = "RECORD",
	[MSG_NORMS] = "NORMS", [MSG_EPOCH] = "EPOCH", [MSG_PING] = "PING", [MSG_WAIT] = "WAIT",
	[MSG_SHM] = "SHM", [MSG_DEAL] = "DEAL", [MSG_UCX] = "UCX",
	[MSG_SET] = "SET", [MSG_CLASSES] = "CLASSES",
};

void
msg_head(const struct msg *m, uint8_t head[MSG_HEAD])
{
	le_put32(head + AT_LEN, m->len);
	le_put16(head + AT_TYPE, m->type);
	le_put16(head + AT_FLAGS, m->flags);
	le_put64(head + AT_INCARNATION, m->incarnation);
	le_put64(head + AT_STEP, m->step);
	le_put32(head + AT_WORKER, m->worker);
	le_put32(head + AT_SLICE, m->slice);
	le_put32(head + AT_SAMPLES, m->samples);
	le_putf32(head + AT_RATE, m->rate);
}

void
msg_lend(uint8_t head[MSG_HEAD + MSG_OFFSET], uint64_t at)
{
	le_put16(head + AT_FLAGS, (uint16_t)(le_get16(head + AT_FLAGS) | MSG_LENT));
	le_put64(head + MSG_HEAD, at);
}

int
msg_parse(struct msg *m, const uint8_t head[MSG_HEAD])
{
	*m = (struct msg){
		.len = le_get32(head + AT_LEN),
		.type = le_get16(head + AT_TYPE),
		.flags = le_get16(head + AT_FLAGS),
		.incarnation = le_get64(head + AT_INCARNATION),
		.step = le_get64(head + AT_STEP),
		.worker = le_get32(head + AT_WORKER),
		.slice = le_get32(head + AT_SLICE),
		.samples = le_get32(head + AT_SAMPLES),
		.rate = le_getf32(head + AT_RATE),
	};
	if (m->type == 0 || m->type >= MSG_TYPES)
		return err_fail(ERR_FORMAT, "a message of unknown type %u", m->type);
	if (m->len > MSG_MOST)
		return err_fail(ERR_LIMIT, "%s of %u bytes, over the limit of %u", msg_name(m->type), m->len, MSG_MOST);
	return 0;
}

const char *
msg_name(unsigned type)
{
	return type < MSG_TYPES && names[type] != NULL ? names[type] : "unknown";
}

void
msg_reason(const struct msg *m, char text[ERR_LINE])
{
	const unsigned char *p = m->payload;
	size_t n = 0;

	for (uint32_t i = 0; i < m->len && n < ERR_LINE - 1; i++)
		if (isprint(p[i]))
			text[n++] = (char)p[i];
	text[n] = 0;
}
