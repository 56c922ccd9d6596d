/* conn_place_test - payloads arrive where the caller wants them; an end with a key and one without refuse each other. */
#include "tap.h"

#include "ends.h"

static const uint8_t key[CONN_KEY] = "one key for the whole of a job.";

static uint64_t bad, wanted;	/* messages that were wrong; how many are sent */

/* A payload that can be told from every other. */
static void
send_painted(struct conn *c, uint64_t step, uint32_t n)
{
	static uint8_t payload[3 << 20];

	for (uint32_t i = 0; i < n; i++)
		payload[i] = (uint8_t)(i * 7 + i / 251 + step);
	if (conn_send(c, &(struct msg){ .type = MSG_PUSH, .step = step, .len = n, .payload = payload }) < 0)
		printf("# %s\n", err_line());
}

static bool
is_painted(const struct msg *m)
{
	const uint8_t *p = m->payload;
	uint32_t good = 0;

	for (uint32_t i = 0; i < m->len; i++)
		good += p[i] == (uint8_t)(i * 7 + i / 251 + m->step);
	return good == m->len;
}

static uint8_t room[4][3 << 20];	/* for the payloads of test_places() */
static unsigned asked;

static uint64_t placed;	/* messages taken */

/* A place for every other message.  It is asked for when all messages before are taken. */
static void *
find_room(void *arg, const struct msg *m)
{
	bad += m->payload != NULL || arg != room || placed != m->step;
	asked++;
	return m->step % 2 == 0 ? room[m->step / 2] : NULL;
}

static bool
all_placed(struct ends *e)
{
	struct msg m;

	while (conn_next(e->b, &m) == 1) {
		bool there = m.step % 2 == 0 && m.len > 1000;

		bad += !is_painted(&m) || there != (m.payload == room[m.step / 2]);
		placed++;
	}
	return placed >= wanted;
}

static void
test_places(const uint8_t *k)
{
	struct ends e;

	ends_meet(&e, k, k);
	conn_set_place(e.b, find_room, room);
	placed = bad = asked = 0;
	wanted = 8;
	for (uint64_t i = 0; i < wanted; i++)
		send_painted(e.a, i, i % 3 != 1 ? (uint32_t)sizeof(room[0]) - 4 * (uint32_t)i : 1000);
	ok(ends_run(&e, all_placed) && bad == 0, "long payloads are received in the place that the caller has for them");
	ok(asked >= 5, "each long message asked for a place");
	ends_close(&e);
}

static void
test_kinds(void)
{
	struct ends e;

	ends_meet(&e, NULL, key);
	ok(ends_run(&e, ends_over), "one end without a key: both ends notice");
	ok(e.ea == ERR_PEER && strstr(e.la, "may need the key") != NULL, "the caller without a key: %s", e.la);
	ok(e.eb == ERR_AUTH && strstr(e.lb, "has no key") != NULL, "the called with a key: %s", e.lb);
	ends_close(&e);

	ends_meet(&e, key, NULL);
	ok(ends_run(&e, ends_over), "one end with a key: both ends notice");
	ok(e.eb == ERR_AUTH && strstr(e.lb, "has a key, and this job is --plain") != NULL, "the called without a key: %s",
	    e.lb);
	ok(e.ea < 0, "the caller with a key: %s", e.la);
	ends_close(&e);
}

int
main(void)
{
	test_places(key);
	test_places(NULL);
	test_kinds();
	return done();
}
