/* dataset_reader_test - reading ahead is bounded, records that a thread waits for come first,
    and answers are checked. */
#include "tap.h"

#include "base/err.h"
#include "dataset/dataset_reader.h"

#include <string.h>

#define LENGTH	1000u

/* Answers a request for a record with LENGTH bytes. */
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

/* Answers all requests. */
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
	is(n, 3, "few records are requested before a length is known");
	is(first, 0, "records are requested in the order of reading");
	for (uint64_t i = 0; i < 3; i++)
		is(answer(a, i), 0, "record %u is accepted", (unsigned)i);
	n = asks(a, &first);
	ok(n > 190 && n <= 197, "as many records are requested as fit (%u)", n);
	is(asks(a, &first), 0, "no more records are requested than fit");
	it = dataset_reader_claim(a, 250);
	is(asks(a, &first), 1, "a record that a thread waits for is requested although it does not fit");
	is(first, 250, "the record that a thread waits for is requested first");
	ok(dataset_reader_take(a, it, &room) == 0, "a record without an answer is not there");
	it = dataset_reader_claim(a, 1);
	is(dataset_reader_take(a, it, &room), 1, "a record that is there is returned at once");
	ok(room.n == LENGTH && room.p[0] == 1, "a record is returned as it was sent");
	is(asks(a, &first), 0, "no request follows while one is unanswered");
	dataset_reader_forget(a);
	for (uint64_t i = 3; i < 3 + n; i++)
		answer(a, i);
	ok(dataset_reader_waits(a), "dataset_reader_forget() keeps records that a thread waits for");
	is(answer(a, 250), 0, "the record that a thread waits for is accepted");
	ok(!dataset_reader_waits(a), "no other record is waited for");
	for (uint64_t i = 0; i < 300; i++)
		dataset_reader_want(a, i);
	ok(asks(a, &first) > 190, "forgotten records free their memory");
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

	is(dataset_reader_receive(a, &m, &claimed), ERR_FORMAT, "an answer without a request is refused");
	asks(a, &first);
	bad = m;
	bad.step = 8;
	is(dataset_reader_receive(a, &bad, &claimed), ERR_FORMAT, "an answer with another record is refused");
	bad = m;
	bad.slice = 4;
	is(dataset_reader_receive(a, &bad, &claimed), ERR_FORMAT,
	    "the end of a record before its beginning is refused");
	bad = m;
	bad.len = 9;
	is(dataset_reader_receive(a, &bad, &claimed), ERR_FORMAT, "more bytes than the record has are refused");
	bad = m;
	bad.len = 0;
	is(dataset_reader_receive(a, &bad, &claimed), ERR_FORMAT, "a part of an empty record is refused");
	bad = m;
	bad.samples = DATASET_MSG_LONGEST + 1;
	is(dataset_reader_receive(a, &bad, &claimed), ERR_LIMIT, "a record that is too long is refused");
	is(dataset_reader_receive(a, &m, &claimed), 0, "the beginning of a record is accepted");
	ok(!claimed && dataset_reader_take(a, it, &room) == 0, "a record is not returned before its end");
	dataset_reader_lost(a);
	is(asks(a, &first), 1, "a reconnection requests the record again");
	is(dataset_reader_receive(a, &m, &claimed), 0, "the record is sent from its beginning again");
	m.slice = 4;
	is(dataset_reader_receive(a, &m, &claimed), 0, "the end of a record is accepted");
	ok(claimed && dataset_reader_take(a, it, &room) == 1 && room.n == 8, "a complete record is returned");

	it = dataset_reader_claim(a, 9);
	asks(a, &first);
	m = (struct msg){ .type = MSG_RECORD, .flags = MSG_EMPTY, .step = 9, .len = 5, .payload = "a\nb c" };
	is(dataset_reader_receive(a, &m, &claimed), 0, "an unreadable record is accepted as an error");
	is(dataset_reader_take(a, it, &room), ERR_FORMAT, "an unreadable record is returned as an error");
	is_str(err_line(), "ab c", "the error has the printable characters of the reason");
	buf_free(&room);
	dataset_reader_free(a);
}

/* A record that a thread waits for does not queue after records that have no room. */
static void
test_full(void)
{
	struct dataset_reader *a = dataset_reader_new(2 * LENGTH);
	struct dataset_reader_item *it, *next;
	struct buf room = { 0 };
	uint64_t first;

	it = dataset_reader_claim(a, 0);
	asks(a, &first);
	answer(a, 0);
	dataset_reader_take(a, it, &room);
	for (uint64_t i = 1; i <= 10; i++)
		dataset_reader_want(a, i);
	is(asks(a, &first), 1, "one of ten wanted records has room");
	it = dataset_reader_claim(a, 5);
	is(asks(a, &first), 1, "a record that a thread waits for needs no room");
	next = dataset_reader_claim(a, 6);
	dataset_reader_lost(a);
	is(asks(a, &first), 2, "a reconnection requests all records that threads wait for, and others as they have room");
	is(first, 5, "the record that a thread waits for is requested first");
	answer(a, 5);
	answer(a, 6);
	is(dataset_reader_take(a, it, &room), 1, "the record that a thread waits for arrives");
	is(dataset_reader_take(a, next, &room), 1, "a record that was not requested before the connection broke arrives too");
	buf_free(&room);
	dataset_reader_free(a);
}

/* Records that are wanted but not read do not stop reading ahead. */
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
			is(dataset_reader_take(a, it, &room), 1, "record %u is read after a wait", (unsigned)i);
		}
	}
	ok(waited < 20, "%u of 50 reads wait", waited);
	buf_free(&room);
	dataset_reader_free(a);
}

/* Records that are much longer than those before take no more than twice the memory. */
static void
test_longer(void)
{
	static const uint8_t bytes[50 * LENGTH];
	const size_t memory = 100 * LENGTH;
	struct dataset_reader *a = dataset_reader_new(memory);
	struct dataset_reader_item *it = dataset_reader_claim(a, 0);
	struct msg m = { .type = MSG_RECORD, .samples = sizeof(bytes), .len = sizeof(bytes), .payload = bytes };
	struct buf room = { 0 };
	uint64_t first;
	uint32_t n, kept = 0;
	bool claimed;

	asks(a, &first);
	answer(a, 0);
	dataset_reader_take(a, it, &room);
	for (uint64_t i = 1; i < 200; i++)
		dataset_reader_want(a, i);
	n = asks(a, &first);
	ok(n > 90, "many records of the first one's length are requested (%u)", n);
	it = dataset_reader_claim(a, n);
	for (m.step = 1; m.step <= n; m.step++)
		is(dataset_reader_receive(a, &m, &claimed), 0, "a longer record is accepted");
	ok(claimed && dataset_reader_take(a, it, &room) == 1 && room.n == sizeof(bytes), "the claimed one is whole");
	while (kept < 2 * memory / sizeof(bytes) && dataset_reader_take(a, dataset_reader_claim(a, kept + 1), &room) == 1)
		kept++;
	is(kept, 2 * memory / sizeof(bytes), "as many of the others are kept as fit twice the memory");
	asks(a, &first);
	is(first, kept + 1, "the first one that was dropped is requested again first");
	ok(dataset_reader_take(a, dataset_reader_claim(a, kept + 1), &room) == 0, "the dropped record was not kept");
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
	test_longer();
	return done();
}
