/* dataset_reader_test - what is asked for ahead fits the memory given, what is waited for comes first, and answers are looked at. */
#include "tap.h"

#include "base/err.h"
#include "dataset/dataset_reader.h"

#include <string.h>

#define LENGTH	1000u

/* Answers the record that was asked for with LENGTH bytes. */
static int
answer(struct dataset_reader *a, uint64_t i)
{
	uint8_t bytes[LENGTH];
	bool claimed;

	memset(bytes, (int)i, sizeof(bytes));
	return dataset_reader_receive(a, &(struct msg){ .type = MSG_RECORD, .step = i, .samples = LENGTH, .len = LENGTH,
	    .payload = bytes }, &claimed);
}

/* How many records the next request asks for; *first is the first one. */
static uint32_t
asks(struct dataset_reader *a, uint64_t *first)
{
	struct msg m;
	uint32_t n;

	if (!dataset_reader_next(a, &m))
		return 0;
	if (m.type != MSG_ASK || dataset_msg_ask(&m, UINT64_MAX, &n) < 0)
		return UINT32_MAX;
	*first = dataset_msg_asked(&m, 0);
	return n;
}

/* Answers all that is asked for. */
static void
answer_all(struct dataset_reader *a)
{
	uint64_t asked[DATASET_MSG_ASKED];
	struct msg m;

	while (dataset_reader_next(a, &m)) {
		uint32_t n = m.len / 8;

		for (uint32_t k = 0; k < n; k++)
			asked[k] = dataset_msg_asked(&m, k);
		for (uint32_t k = 0; k < n; k++)
			answer(a, asked[k]);
	}
}

static void
test_memory(void)
{
	struct dataset_reader *a = dataset_reader_new(200000);
	struct dataset_reader_item *it;
	struct buf room = { 0 };
	uint64_t first = 0;
	uint32_t n;

	for (uint64_t i = 0; i < 300; i++)
		dataset_reader_want(a, i);
	n = asks(a, &first);
	is(n, 3, "before a length is known few are asked for");
	is(first, 0, "... in the order in which they are wanted");
	for (uint64_t i = 0; i < 3; i++)
		is(answer(a, i), 0, "record %u comes", (unsigned)i);
	n = asks(a, &first);
	ok(n > 190 && n <= 197, "then as many as fit (%u)", n);
	is(asks(a, &first), 0, "... and no more");
	it = dataset_reader_claim(a, 250);
	is(asks(a, &first), 1, "but what is waited for");
	is(first, 250, "... which goes before the others");
	ok(dataset_reader_take(a, it, &room) == 0, "it has not come yet");
	it = dataset_reader_claim(a, 1);
	is(dataset_reader_take(a, it, &room), 1, "what is here is given at once");
	ok(room.n == LENGTH && room.p[0] == 1, "... as it came");
	is(asks(a, &first), 0, "one is read, and one more is on the way already");
	dataset_reader_forget(a);
	for (uint64_t i = 3; i < 3 + n; i++)
		answer(a, i);
	ok(dataset_reader_waits(a), "what is forgotten leaves what is waited for");
	is(answer(a, 250), 0, "... which comes");
	ok(!dataset_reader_waits(a), "... and is the last");
	for (uint64_t i = 0; i < 300; i++)
		dataset_reader_want(a, i);
	ok(asks(a, &first) > 190, "the memory of what was forgotten is free again");
	buf_free(&room);
	dataset_reader_free(a);
}

static void
test_answers(void)
{
	static const uint8_t bytes[8];
	struct dataset_reader *a = dataset_reader_new(1 << 20);
	struct dataset_reader_item *it = dataset_reader_claim(a, 7);
	struct msg m = { .type = MSG_RECORD, .step = 7, .samples = 8, .len = 4, .payload = bytes }, bad;
	struct buf room = { 0 };
	bool claimed;
	uint64_t first;

	is(dataset_reader_receive(a, &m, &claimed), ERR_FORMAT, "what was not asked for is refused");
	asks(a, &first);
	bad = m;
	bad.step = 8;
	is(dataset_reader_receive(a, &bad, &claimed), ERR_FORMAT, "another record is refused");
	bad = m;
	bad.slice = 4;
	is(dataset_reader_receive(a, &bad, &claimed), ERR_FORMAT, "so is its end before its beginning");
	bad = m;
	bad.len = 9;
	is(dataset_reader_receive(a, &bad, &claimed), ERR_FORMAT, "... more bytes than it has");
	bad = m;
	bad.len = 0;
	is(dataset_reader_receive(a, &bad, &claimed), ERR_FORMAT, "... a part of none");
	bad = m;
	bad.samples = DATASET_MSG_LONGEST + 1;
	is(dataset_reader_receive(a, &bad, &claimed), ERR_LIMIT, "... one that is too long");
	is(dataset_reader_receive(a, &m, &claimed), 0, "its beginning is taken");
	ok(!claimed && dataset_reader_take(a, it, &room) == 0, "... but not given");
	dataset_reader_lost(a);
	is(asks(a, &first), 1, "when the connection breaks it is asked for again");
	is(dataset_reader_receive(a, &m, &claimed), 0, "... from its beginning");
	m.slice = 4;
	is(dataset_reader_receive(a, &m, &claimed), 0, "its end is taken");
	ok(claimed && dataset_reader_take(a, it, &room) == 1 && room.n == 8, "... and it is given");

	it = dataset_reader_claim(a, 9);
	asks(a, &first);
	m = (struct msg){ .type = MSG_RECORD, .flags = MSG_EMPTY, .step = 9, .len = 5, .payload = "a\nb c" };
	is(dataset_reader_receive(a, &m, &claimed), 0, "one that cannot be read comes as that");
	is(dataset_reader_take(a, it, &room), ERR_FORMAT, "... and is given as that");
	is_str(err_line(), "ab c", "... with the reason, of what can be printed");
	buf_free(&room);
	dataset_reader_free(a);
}

/* Many are wanted; those that are waited for never queue behind those that have no room. */
static void
test_full(void)
{
	struct dataset_reader *a = dataset_reader_new(2 * LENGTH);
	struct dataset_reader_item *it;
	struct buf room = { 0 };
	uint64_t first;

	it = dataset_reader_claim(a, 0);
	asks(a, &first);
	answer(a, 0);
	dataset_reader_take(a, it, &room);
	for (uint64_t i = 1; i <= 10; i++)
		dataset_reader_want(a, i);
	is(asks(a, &first), 1, "of ten that are wanted one has room");
	it = dataset_reader_claim(a, 5);
	is(asks(a, &first), 1, "one that is waited for is asked for all the same");
	dataset_reader_lost(a);
	is(asks(a, &first), 1, "when the connection breaks one has room again");
	is(first, 5, "... that one");
	answer(a, 5);
	is(dataset_reader_take(a, it, &room), 1, "... and it comes");
	buf_free(&room);
	dataset_reader_free(a);
}

/* Who wants records and does not read them does not lose what reading ahead gives. */
static void
test_skipped(void)
{
	struct dataset_reader *a = dataset_reader_new(50 * (LENGTH + 1));
	struct buf room = { 0 };
	unsigned waited = 0;

	for (uint64_t i = 0; i < 400; i++)
		dataset_reader_want(a, i);
	for (uint64_t i = 0; i < 400; i++) {
		struct dataset_reader_item *it;

		if (i % 8 != 0)
			continue;	/* seven of eight are never read */
		it = dataset_reader_claim(a, i);
		if (dataset_reader_take(a, it, &room) != 1) {
			waited++;
			answer_all(a);
			is(dataset_reader_take(a, it, &room), 1, "record %u after waiting for it", (unsigned)i);
		}
	}
	ok(waited < 20, "of 50 that are read %u are waited for", waited);
	buf_free(&room);
	dataset_reader_free(a);
}

int
main(void)
{
	test_memory();
	test_skipped();
	test_answers();
	test_full();
	return done();
}
