/*
 * fuzz_recs - any messages to both sides of the records' protocol: no crash, no record that was not whole, bounded requests.
 *
 * A message, or a deed of the reader, is
 *
 *	u8 what | u8 flags | u8 step | u8 slice | u8 samples | u8 length | payload[length]
 *
 * what: 0 the reader wants record `step`, 1 waits for it, 2 forgets, 3 loses its connection, 4 sends what it asks for to the
 * holder, 5 takes the holder's next message, 6 takes what it waits for; else a message to the side that `what` names by
 * its lowest bit.  Of an ASK the payload's bytes are the numbers' lowest.
 */
#include "base/err.h"
#include "made.h"
#include "dataset/dataset_reader.h"
#include "dataset/dataset_sender.h"

#include <stdlib.h>
#include <string.h>

#define COUNT	40
#define WAITING	8

struct sides {
	struct made	 made;
	struct dataset_reader	*ask;
	struct dataset_sender	*give;
	bool		 foreign;	/* the reader has heard what the holder did not say */
	struct buf	 names;		/* CLASSES so far */
	struct dataset_reader_item *item[WAITING];
	uint64_t	 number[WAITING];
};

static const struct buf names = { .p = (uint8_t *)"ant\nbee\n", .n = 8 };

static void
claim(struct sides *s, uint64_t i)
{
	for (int k = 0; k < WAITING; k++)
		if (s->item[k] == NULL) {
			s->number[k] = i;
			s->item[k] = dataset_reader_claim(s->ask, i);
			return;
		}
}

static void
take(struct sides *s)
{
	struct buf room = { 0 };

	for (int k = 0; k < WAITING; k++) {
		int e;

		if (s->item[k] == NULL || (e = dataset_reader_take(s->ask, s->item[k], &room)) == 0)
			continue;
		if (e == 1 && !s->foreign && !made_is(s->number[k], room.p, room.n, 0))
			abort();
		s->item[k] = NULL;
	}
	buf_free(&room);
}

static void
come(struct sides *s, const struct msg *m)
{
	uint64_t count, id;
	bool claimed;

	if (m->type == MSG_HOLDS) {
		(void)dataset_msg_holds(m, &count, &id);
	} else if (m->type == MSG_CLASSES) {
		if (dataset_msg_classes(m, &s->names) != 0)
			s->names.n = 0;
	} else if (dataset_reader_receive(s->ask, m, &claimed) < 0) {
		dataset_reader_lost(s->ask);
	}
}

static void
foreign(struct sides *s, uint8_t what, const uint8_t *p)
{
	static const uint16_t types[] = { MSG_OPEN, MSG_HOLDS, MSG_ASK, MSG_RECORD, MSG_CLASSES };
	uint8_t numbers[256 * 8] = { 0 };
	struct msg m = { .type = types[(what >> 1) % 5], .flags = p[0] & 7, .step = p[1], .slice = p[2],
	    .samples = p[3], .len = p[4], .payload = p + 5 };

	if (m.type == MSG_ASK) {
		for (uint32_t k = 0; k < m.len; k++)
			numbers[8 * k] = p[5 + k];
		m.len *= 8;
		m.payload = numbers;
	}
	if ((what & 1) == 0) {
		s->foreign = true;
		come(s, &m);
	} else if (dataset_sender_take(s->give, &m) < 0) {
		dataset_sender_free(s->give);
		s->give = dataset_sender_new(&s->made.recs, 1, &names);
		dataset_reader_lost(s->ask);
	}
}

static void
deed(struct sides *s, uint8_t what, const uint8_t *p)
{
	struct msg m;

	switch (what) {
	case 0:	dataset_reader_want(s->ask, p[1] % COUNT); break;
	case 1:	claim(s, p[1] % COUNT); break;
	case 2:	dataset_reader_forget(s->ask); break;
	case 3:
		dataset_reader_lost(s->ask);
		dataset_sender_free(s->give);
		s->give = dataset_sender_new(&s->made.recs, 1, &names);
		break;
	case 4:
		while (dataset_reader_next(s->ask, &m))
			if (dataset_sender_take(s->give, &m) < 0)
				break;
		break;
	case 5:
		if (dataset_sender_next(s->give, &m) > 0)
			come(s, &m);
		else if (dataset_sender_begin_read(s->give))
			dataset_sender_read(s->give);
		break;
	case 6:	take(s); break;
	default: foreign(s, what, p); break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct sides s = { .made = made_recs(COUNT) };

	s.ask = dataset_reader_new(5000);
	s.give = dataset_sender_new(&s.made.recs, 1, &names);
	if (s.ask == NULL || s.give == NULL)
		abort();
	dataset_sender_take(s.give, &(struct msg){ .type = MSG_OPEN });
	for (; n >= 6 && n - 6 >= p[5]; n -= 6 + p[5], p += 6 + p[5])
		deed(&s, p[0], p + 1);
	dataset_reader_free(s.ask);
	dataset_sender_free(s.give);
	buf_free(&s.names);
	return 0;
}
