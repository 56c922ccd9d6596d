/*
 * fuzz_dataset - a reader of records, the sender that serves it, and messages between them that are changed or forged: no
 * crash, no more memory than announced; and what arrives unchanged, over any number of connections, is the names of the
 * classes and the records.
 *
 * Each pair of bytes is a turn: what happens, and to which record or message.  A forged message is followed by
 *
 *	u8 type | u8 flags | u8 step | u8 slice | u8 samples | u8 bytes | bytes
 */
#include "fuzz/mutate.h"
#include "base/err.h"
#include "dataset/dataset_reader.h"
#include "dataset/dataset_sender.h"
#include "record/classes.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS	12
#define BROKEN	5	/* cannot be read */
#define LONG	7	/* is sent in parts */
#define CLAIMS	8
#define MOST	4000	/* turns by which all claims are answered */

enum turn {
	WANT, CLAIM, TAKE, ASK, ANSWER, READ, FORGET, LOSE, CHANGE_ASK, CHANGE_ANSWER, FORGE_ASK, FORGE_ANSWER,
	TURN_TYPES
};

struct end {
	struct dataset_reader *reader;
	struct dataset_sender *sender;
	struct dataset_reader_item *claim[CLAIMS];
	uint64_t number[CLAIMS];
	struct buf names;	/* CLASSES of the connection so far */
	bool	 named;		/* all of them were received */
	bool	 honest;
};

static size_t
length(uint64_t i)
{
	return i == LONG ? DATASET_MSG_PART + 1000 : (size_t)(i * 37 % 200);
}

static int
read_record(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n)
{
	(void)r;
	if (i >= RECORDS)
		abort();
	if (i == BROKEN)
		return err_fail(ERR_FORMAT, "record %d is broken", BROKEN);
	room->n = 0;
	if (buf_room(room, length(i) + 1) < 0)
		return ERR_NOMEM;
	memset(room->p, (int)(i + 1), length(i));
	room->n = length(i);
	*data = room->p;
	*n = room->n;
	return 0;
}

static const struct recs records = { .count = RECORDS, .path = "r", .id = 7, .read = read_record };

static const struct buf names = { .p = (uint8_t *)"ant\nbee\nwater ox\n", .n = 17 };

/* A new connection: the sender begins anew, and the reader repeats what was not answered. */
static void
connect_again(struct end *e)
{
	dataset_sender_free(e->sender);
	if ((e->sender = dataset_sender_new(&records, records.id, &names)) == NULL ||
	    dataset_sender_take(e->sender, &(struct msg){ .type = MSG_OPEN }) < 0)
		abort();
	dataset_reader_lost(e->reader);
	e->names.n = 0;
	e->named = false;
}

/* Names that are accepted can be listed. */
static int
receive_names(struct end *e, const struct msg *m)
{
	struct names l = { 0 };
	int r = dataset_msg_classes(m, &e->names);

	if (r > 0 && classes_parse(&l, &e->names) < 0)
		abort();
	if (r > 0 && e->honest && (e->names.n != names.n || memcmp(e->names.p, names.p, names.n) != 0))
		abort();
	names_free(&l);
	if (r > 0)
		e->names.n = 0;
	e->named |= r > 0;
	return r < 0 ? r : 0;
}

/* Changes one thing of a message that was valid.  Returns its payload, in memory of exactly its size. */
static uint8_t *
change(struct msg *m, uint8_t what)
{
	uint8_t *copy;

	switch (what % 7) {
	case 0: m->type = (uint16_t)(1 + what / 7 % (MSG_TYPES - 1)); break;
	case 1: m->flags ^= (uint16_t)(1u << what / 7 % 8); break;
	case 2: m->step ^= 1u << what / 7 % 32; break;
	case 3: m->slice ^= 1u << what / 7 % 32; break;
	case 4: m->samples ^= 1u << what / 7 % 32; break;
	case 5: m->len -= what / 7u < m->len ? what / 7u : m->len; break;
	default: break;
	}
	if ((copy = malloc(m->len > 0 ? m->len : 1)) == NULL)
		abort();
	if (m->len > 0)
		memcpy(copy, m->payload, m->len);
	if (m->len > 0 && what % 7 == 6)
		copy[what % m->len] ^= what;
	m->payload = copy;
	return copy;
}

static void
give_ask(struct end *e, const struct msg *m)
{
	if (dataset_sender_take(e->sender, m) == 0)
		return;
	if (e->honest)
		abort();
	connect_again(e);
}

static int
receive(struct end *e, const struct msg *m)
{
	uint64_t count, id;
	bool claimed;

	switch (m->type) {
	case MSG_CLASSES: return receive_names(e, m);
	case MSG_HOLDS: return e->named || !e->honest ? dataset_msg_holds(m, &count, &id) : ERR_FORMAT;
	case MSG_RECORD: return dataset_reader_receive(e->reader, m, &claimed);
	default: return ERR_FORMAT;
	}
}

static void
give_answer(struct end *e, const struct msg *m)
{
	if (receive(e, m) == 0)
		return;
	if (e->honest)
		abort();
	connect_again(e);
}

static void
take_claim(struct end *e, unsigned k)
{
	struct buf room = { 0 };
	int r;

	if (e->claim[k] == NULL || (r = dataset_reader_take(e->reader, e->claim[k], &room)) == 0)
		return;
	if (e->honest && (r < 0) != (e->number[k] == BROKEN))
		abort();
	if (e->honest && r > 0 && room.n != length(e->number[k]))
		abort();
	for (size_t i = 0; e->honest && r > 0 && i < room.n; i++)
		if (room.p[i] != e->number[k] + 1)
			abort();
	e->claim[k] = NULL;
	buf_free(&room);
}

static void
move_ask(struct end *e, bool changed, uint8_t what)
{
	struct msg m;
	uint8_t *copy = NULL;

	if (!dataset_reader_next(e->reader, &m))
		return;
	if (changed) {
		e->honest = false;
		copy = change(&m, what);
	}
	give_ask(e, &m);
	free(copy);
}

static void
move_answer(struct end *e, bool changed, uint8_t what)
{
	struct msg m;
	uint8_t *copy = NULL;

	if (dataset_sender_next(e->sender, &m) <= 0)
		return;
	if (changed) {
		e->honest = false;
		copy = change(&m, what);
	}
	give_answer(e, &m);
	free(copy);
}

static size_t
forge(struct end *e, bool ask, const uint8_t *p, size_t n)
{
	struct msg m;

	if (n < 6 || n - 6 < p[5])
		return n;
	m = (struct msg){ .type = p[0] >= 128 ? (uint16_t)(1 + p[0] % (MSG_TYPES - 1)) : ask ? MSG_ASK :
	    p[0] % 2 == 0 ? MSG_RECORD : MSG_CLASSES, .flags = p[1], .step = p[2], .slice = p[3], .samples = p[4],
	    .len = p[5], .payload = p + 6 };
	e->honest = false;
	(ask ? give_ask : give_answer)(e, &m);
	return 6 + m.len;
}

static void
turn(struct end *e, enum turn t, uint8_t what)
{
	const unsigned k = what % CLAIMS;

	switch (t) {
	case WANT:
		dataset_reader_want(e->reader, what % RECORDS);
		return;
	case CLAIM:
		if (e->claim[k] != NULL)
			return;
		e->number[k] = what % RECORDS;
		e->claim[k] = dataset_reader_claim(e->reader, e->number[k]);
		return;
	case TAKE: take_claim(e, k); return;
	case ASK: case CHANGE_ASK: move_ask(e, t == CHANGE_ASK, what); return;
	case ANSWER: case CHANGE_ANSWER: move_answer(e, t == CHANGE_ANSWER, what); return;
	case READ:
		if (dataset_sender_begin_read(e->sender))
			dataset_sender_read(e->sender);
		return;
	case FORGET: dataset_reader_forget(e->reader); return;
	case LOSE: connect_again(e); return;
	default: return;
	}
}

/* A turn of two bytes, or one with the message that it forges. */
static size_t
find_turn(const uint8_t *p, size_t n)
{
	size_t size = n < 2 || p[0] % TURN_TYPES < FORGE_ASK ? 2 : n < 8 ? n : 8u + p[7];

	return size < n ? size : n;
}

/* Turns a forged answer into one with lines of names of two letters. */
static void
make_names(struct rng *r, uint8_t *p, size_t bytes)
{
	p[0] = 1;
	p[4] = (uint8_t)(bytes + (rng_below(r, 4) ? 0 : 1));
	for (size_t i = 0; i < bytes; i++)
		p[6 + i] = i % 3 == 2 ? '\n' : (uint8_t)('a' + rng_below(r, 26));
}

/*
 * A forged request has numbers of 8 bytes; a forged answer is a part of a record or of names, or the reason why there is
 * no record.
 */
static size_t
make_turn(struct rng *r, uint8_t *p, size_t room)
{
	const enum turn turn = (enum turn)rng_below(r, TURN_TYPES);
	const size_t bytes = turn == FORGE_ASK ? 8 * rng_below(r, 4) : length(rng_below(r, RECORDS - BROKEN));
	const size_t n = turn < FORGE_ASK ? 2 : 8 + bytes;

	if (room < n || bytes > 255)
		return 0;
	memset(p, 0, n);
	p[0] = (uint8_t)turn;
	p[1] = (uint8_t)rng_u64(r);
	if (turn < FORGE_ASK)
		return n;
	p[3] = rng_below(r, 4) ? 0 : MSG_EMPTY;
	p[4] = (uint8_t)rng_below(r, RECORDS);
	p[5] = rng_below(r, 4) ? 0 : (uint8_t)bytes;
	p[6] = (uint8_t)length(p[4] % BROKEN);
	p[7] = (uint8_t)bytes;
	for (size_t i = 8; i < n; i += 8)
		p[i] = (uint8_t)rng_below(r, RECORDS);
	if (turn == FORGE_ANSWER && rng_below(r, 3) == 0)
		make_names(r, p + 2, bytes);
	return n;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *p, size_t n, size_t room, unsigned seed)
{
	static const struct mutate_format turns = { .head = 1, .part = find_turn, .make = make_turn };

	return mutate_parts(&turns, p, n, room, seed);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct end e = { .honest = true };
	bool waits = true;

	if (n < 1 || (e.reader = dataset_reader_new((size_t)p[0] << 8)) == NULL)
		return 0;
	connect_again(&e);
	p++;
	n--;
	while (n >= 2) {
		const enum turn t = p[0] % TURN_TYPES;
		const uint8_t what = p[1];

		p += 2;
		n -= 2;
		if (t == FORGE_ASK || t == FORGE_ANSWER) {
			const size_t used = forge(&e, t == FORGE_ASK, p, n);

			p += used;
			n -= used;
		} else {
			turn(&e, t, what);
		}
	}
	for (unsigned i = 0; i < MOST && e.honest && waits; i++) {
		waits = false;
		turn(&e, (enum turn[]){ ASK, READ, ANSWER }[i % 3], 0);
		for (unsigned k = 0; k < CLAIMS; k++) {
			take_claim(&e, k);
			waits |= e.claim[k] != NULL;
		}
	}
	if (e.honest && waits)
		abort();
	dataset_sender_free(e.sender);
	dataset_reader_free(e.reader);
	buf_free(&e.names);
	return 0;
}
