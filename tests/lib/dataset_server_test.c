/* dataset_server_test - records over loopback: many readers, slow and malformed ones, a slow disk, strangers, a lost server. */
#include "lib/crowd.h"
#include "made.h"
#include "tap.h"

#include "base/clk.h"
#include "base/rng.h"
#include "record/recid.h"
#include "dataset/dataset_msg.h"
#include "dataset/dataset_client.h"
#include "dataset/dataset_server.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define COUNT	400
#define READERS	8
#define READS	1000
#define STUCK	11		/* a record on a disk that does not answer */
#define STUCK_READS 8u		/* a server has so many threads that read */
#define CROWD	((int)DATASET_SERVER_STRANGERS + 5)

static const uint8_t key[CONN_KEY] = { 1, 2, 3 }, other[CONN_KEY] = { 3, 2, 1 };
static const struct buf no_names;

static int stuck[2];		/* pipe: a reading of that record ends for each byte in it */
static atomic_uint stuck_reads;

struct holder {
	pthread_t	 thread;
	struct made	 made;
	struct dataset_server_opt o;
	struct dataset_server_sums sums;
	char		 where[ADDR_TEXT], said[400];
	int		 told[2], err;
};

static void
listening(void *arg, const char *where)
{
	struct holder *h = arg;

	snprintf(h->where, sizeof(h->where), "%s", where);
	(void)!write(h->told[1], "!", 1);
}

static void
said(void *arg, const char *line)
{
	struct holder *h = arg;

	snprintf(h->said, sizeof(h->said), "%s", line);
	if (strncmp(line, "waiting", 7) == 0)
		(void)!write(stuck[1], "1234567890", STUCK_READS + 2);
}

static void *
hold(void *arg)
{
	struct holder *h = arg;

	h->err = dataset_server_run(&h->o, &h->sums);
	(void)!write(h->told[1], "!", 1);
	return NULL;
}

typedef int read_fn(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n);

static void
start_with(struct holder *h, const char *at, uint8_t salt, read_fn *fn)
{
	char c;

	*h = (struct holder){ .made = made_recs(COUNT) };
	h->made.salt = salt;
	h->made.recs.read = fn;
	h->o = (struct dataset_server_opt){ .listen = at, .recs = &h->made.recs, .classes = &no_names, .key = key,
	    .stop_fd = eventfd(0, EFD_CLOEXEC), .listening = listening, .say = said, .arg = h };
	(void)!pipe(h->told);
	pthread_create(&h->thread, NULL, hold, h);
	(void)!read(h->told[0], &c, 1);
}

static void
start(struct holder *h, const char *at, uint8_t salt)
{
	start_with(h, at, salt, made_read);
}

static void
stop(struct holder *h)
{
	uint64_t one = 1;

	(void)!write(h->o.stop_fd, &one, sizeof(one));
	pthread_join(h->thread, NULL);
	close(h->o.stop_fd);
	close(h->told[0]);
	close(h->told[1]);
}

static int
open_at(const char *at, struct recs **r)
{
	return dataset_client_open(&(struct dataset_client_opt){ .addr = at, .key = key, .timeout_s = 20, .memory = 400000 }, r);
}

struct reader {
	pthread_t	 thread;
	const struct recs *recs;
	uint64_t	 seed;
	unsigned	 right;
};

static bool
read_right(const struct recs *r, uint64_t i, struct buf *room, uint8_t salt)
{
	const uint8_t *data;
	size_t n;
	int e = r->read(r, i, room, &data, &n);

	return made_fails(i) ? e == ERR_FORMAT : e == 0 && made_is(i, data, n, salt);
}

static void *
read_many(void *arg)
{
	struct reader *t = arg;
	struct rng want = rng_start(t->seed, 0, 0), get = want;
	struct buf room = { 0 };

	for (int i = 0; i < READS; i++) {
		if (t->seed % 2 == 0)
			t->recs->want(t->recs, rng_below(&want, COUNT));
		if (i >= 20 || t->seed % 2 == 1)
			t->right += read_right(t->recs, rng_below(&get, COUNT), &room, 0);
	}
	buf_free(&room);
	return NULL;
}

/* Several threads of one connection, and several connections. */
static void
test_many(void)
{
	struct reader t[READERS];
	struct recs *r[READERS / 2];
	unsigned right = 0;
	struct holder h;

	start(&h, "127.0.0.1:0", 0);
	for (int i = 0; i < READERS / 2; i++)
		is(open_at(h.where, &r[i]), 0, "reader %d is accepted", i);
	is(r[0]->count, COUNT, "the server gives the number of records");
	for (int i = 0; i < READERS; i++) {
		t[i] = (struct reader){ .recs = r[i / 2], .seed = (uint64_t)i };
		pthread_create(&t[i].thread, NULL, read_many, &t[i]);
	}
	for (int i = 0; i < READERS; i++) {
		pthread_join(t[i].thread, NULL);
		right += t[i].right;
	}
	is(right, READERS * READS - READERS / 2 * 20, "every record has the bytes of the file");
	for (int i = 0; i < READERS / 2; i++)
		r[i]->close(r[i]);
	stop(&h);
	is(h.err, ERR_STOP, "the server is stopped");
	is(h.sums.readers, READERS / 2, "the server has counted its readers");
	ok(h.made.wants >= h.sums.records, "the server passes on what readers will want");
}

static void
test_id(void)
{
	struct made a = made_recs(COUNT), b = made_recs(COUNT), c = made_recs(COUNT - 1);
	uint64_t of_a, of_b, of_c, afar;
	struct holder h;
	struct recs *r;

	b.salt = 1;
	recid_of(&a.recs, &of_a);
	recid_of(&b.recs, &of_b);
	recid_of(&c.recs, &of_c);
	ok(of_a != of_b && of_a != of_c, "other records have another id");
	ok(a.reads <= RECID_LOOKS, "the id needs few records");
	start(&h, "127.0.0.1:0", 0);
	open_at(h.where, &r);
	is(r->id, of_a, "the server gives the id");
	r->id = 0;
	is(recid_of(r, &afar), 0, "the id can be computed over the network");
	is(afar, of_a, "the id over the network is the same");
	r->close(r);
	stop(&h);
}

/* Of many silent connections the oldest are closed, and a reader with the key is served. */
static void
crowd(struct holder *h)
{
	double begun = clk_s();
	int fd[CROWD], gone = 0;
	struct buf room = { 0 };
	struct recs *r;

	for (int i = 0; i < CROWD; i++)
		addr_dial(h->where, &fd[i]);
	is(open_at(h->where, &r), 0, "a reader is accepted among many strangers");
	ok(read_right(r, 1, &room, 0), "a reader that is accepted reads");
	for (int i = 0; i < 5; i++) {
		struct pollfd p = { .fd = fd[i], .events = POLLIN };

		gone += poll(&p, 1, 20000) == 1 && read(fd[i], &(char){ 0 }, 1) <= 0;
	}
	ok(gone == 5 && clk_s() - begun < DATASET_SERVER_OPEN_S - 1,
	    "the oldest strangers are disconnected before their time");
	for (int i = 0; i < CROWD; i++)
		close(fd[i]);
	r->close(r);
	buf_free(&room);
}

static void
test_strangers(void)
{
	struct dataset_client_opt o = { .key = other, .timeout_s = 20 };
	struct holder h;
	struct recs *r;

	start(&h, "127.0.0.1:0", 0);
	o.addr = h.where;
	is(dataset_client_open(&o, &r), ERR_AUTH, "a reader with another key is refused");
	ok(strstr(err_line(), h.where) != NULL, "the error names the address: %s", err_line());
	crowd(&h);
	ok(crowd_lets_in(h.where, key, CONN_READER, CROWD), "a reader that is slow to answer is not closed for others of its address");
	stop(&h);
	is(h.sums.strangers, 1 + 2 * CROWD, "the server counts strangers");
	is(h.made.reads, RECID_LOOKS + 1, "no record is read for strangers");
	o = (struct dataset_client_opt){ .addr = "nowhere", .key = key };
	is(dataset_client_open(&o, &r), ERR_FORMAT, "a malformed address is refused");
}

/* A client by hand: sends messages and returns the answer. */
static uint16_t
answer(const char *where, const struct msg *said_, unsigned n, char *why, size_t size)
{
	struct conn *c;
	struct msg m = { 0 };
	int e = conn_dial(where, key, CONN_READER, &c);

	for (unsigned i = 0; e == 0 && i < n; i++)
		e = conn_send(c, &said_[i]);
	for (double start = clk_s(); e == 0 && m.type != MSG_REFUSE && clk_s() - start < 20;) {
		struct pollfd p = { .fd = conn_fd(c), .events = conn_events(c) };

		poll(&p, 1, 1000);
		if ((e = conn_run(c)) == 0)
			while (m.type != MSG_REFUSE && conn_next(c, &m))
				;
	}
	snprintf(why, size, "%.*s", m.type == MSG_REFUSE ? (int)m.len : 0, m.type == MSG_REFUSE ? (const char *)m.payload : "");
	conn_close(c);
	return m.type;
}

static void
test_nonsense(void)
{
	static uint8_t numbers[8 * (DATASET_MSG_ASKED + 1)];
	const struct msg open = { .type = MSG_OPEN }, ask = { .type = MSG_ASK, .len = 8, .payload = numbers };
	const struct msg far = { .type = MSG_ASK, .len = 8, .payload = "\x90\1\0\0\0\0\0" };
	const struct msg most = { .type = MSG_ASK, .len = 8 * DATASET_MSG_ASKED, .payload = numbers };
	char why[200];
	struct holder h;

	start(&h, "127.0.0.1:0", 0);
	is(answer(h.where, (struct msg[]){ { .type = MSG_HELLO, .len = 3, .payload = "job" } }, 1, why, sizeof(why)),
	    MSG_REFUSE, "a worker's hello is refused");
	is_str(why, "HELLO out of place: this is a dataset server", "the refusal of a worker's hello has its reason");
	is(answer(h.where, &ask, 1, why, sizeof(why)), MSG_REFUSE, "a request before the hello is refused");
	is(answer(h.where, (struct msg[]){ open, far }, 2, why, sizeof(why)), MSG_REFUSE,
	    "a request beyond the last record is refused");
	is_str(why, "ASK for record 400 of 400", "the refusal beyond the last record has its reason");
	is(answer(h.where, (struct msg[]){ open, most, ask }, 3, why, sizeof(why)), MSG_REFUSE,
	    "a request for too many records is refused");
	stop(&h);
}

/* A reader that requests all and reads nothing costs little and delays no other. */
static void
test_slow(void)
{
	static uint8_t numbers[8 * DATASET_MSG_ASKED];
	struct buf room = { 0 };
	unsigned right = 0;
	struct holder h;
	struct recs *r;
	struct conn *c;

	for (uint32_t i = 0; i < DATASET_MSG_ASKED; i++)
		le_put64(numbers + 8 * i, 357);		/* the longest, of 657,000 bytes */
	start(&h, "127.0.0.1:0", 0);
	conn_dial(h.where, key, CONN_READER, &c);
	conn_send(c, &(struct msg){ .type = MSG_OPEN });
	conn_send(c, &(struct msg){ .type = MSG_ASK, .len = sizeof(numbers), .payload = numbers });
	for (double begun = clk_s(); clk_s() - begun < 20 && (!conn_open(c) || conn_queued(c) > 0);) {
		struct pollfd p = { .fd = conn_fd(c), .events = POLLOUT | (conn_open(c) ? 0 : POLLIN) };

		poll(&p, 1, 100);
		conn_run(c);
	}
	open_at(h.where, &r);
	for (uint64_t i = 0; i < COUNT; i++)
		right += read_right(r, i, &room, 0);
	is(right, COUNT, "a reader that reads nothing does not delay another");
	r->close(r);
	conn_close(c);
	stop(&h);
	/* Its socket's buffers and DATASET_SERVER_AHEAD hold a few, of some 2.7 GB that it asked for. */
	ok(h.made.reads < COUNT + RECID_LOOKS + 40,
	    "a reader that reads nothing costs %u reads", h.made.reads - COUNT - RECID_LOOKS);
	buf_free(&room);
}

static int
read_stuck(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n)
{
	char c;

	if (i == STUCK) {
		atomic_fetch_add(&stuck_reads, 1);
		(void)!read(stuck[0], &c, 1);
	}
	return made_read(r, i, room, data, n);
}

static void *
read_that(void *arg)
{
	struct reader *t = arg;
	struct buf room = { 0 };

	t->right = read_right(t->recs, STUCK, &room, 0);
	buf_free(&room);
	return NULL;
}

/* Connects a reader that asks for that record, and waits for an answer and for so many reads of it to start. */
static struct conn *
ask_stuck(const char *where, unsigned reads)
{
	struct conn *c;
	struct msg m;

	is(conn_dial(where, key, CONN_READER, &c), 0, "a reader connects that will leave");
	conn_send(c, &(struct msg){ .type = MSG_OPEN });
	conn_send(c, &(struct msg){ .type = MSG_ASK, .len = 8, .payload = "\13\0\0\0\0\0\0" });
	for (bool answered = false; !answered || atomic_load(&stuck_reads) < reads; answered |= conn_next(c, &m)) {
		struct pollfd p = { .fd = conn_fd(c), .events = conn_events(c) };

		poll(&p, 1, 10);
		if (conn_run(c) < 0)
			break;
	}
	return c;
}

/* A disk that does not answer delays who reads from it: no other, and no reader that left meanwhile.  The end reports it. */
static void
test_stuck_disk(void)
{
	struct reader t = { 0 };
	struct buf room = { 0 };
	unsigned right = 0;
	struct holder h;
	struct conn *c[STUCK_READS + 1];
	struct recs *r[2];

	(void)!pipe(stuck);
	start_with(&h, "127.0.0.1:0", 0, read_stuck);
	open_at(h.where, &r[0]);
	open_at(h.where, &r[1]);
	conn_close(ask_stuck(h.where, 1));
	t.recs = r[0];
	pthread_create(&t.thread, NULL, read_that, &t);
	for (uint64_t i = 0; i < COUNT; i++)
		right += i == STUCK || read_right(r[1], i, &room, 0);
	is(right, COUNT, "a disk that does not answer one reader does not delay another");
	(void)!write(stuck[1], "12", 2);
	pthread_join(t.thread, NULL);
	is(t.right, 1, "the reader that waited has its record");
	r[0]->close(r[0]);
	r[1]->close(r[1]);
	for (unsigned i = 0; i <= STUCK_READS; i++)
		c[i] = ask_stuck(h.where, 2 + (i < STUCK_READS ? i + 1 : i));
	stop(&h);
	is_str(h.said, "waiting for a read of made, which does not end", "the end says what it waits for");
	is(h.err, ERR_STOP, "the server ends when the reads do, although readers left");
	is(atomic_load(&stuck_reads), 2 + STUCK_READS, "reads that have not started do not start");
	for (unsigned i = 0; i <= STUCK_READS; i++)
		conn_close(c[i]);
	buf_free(&room);
	close(stuck[0]);
	close(stuck[1]);
}

struct waits {
	struct holder	*holder;
	char		 whom[ADDR_TEXT];
	int		 told;		/* eventfd */
	uint8_t		 salt;		/* of the restarted server */
};

static void
waiting(void *arg, const char *whom)
{
	struct waits *w = arg;
	uint64_t one = 1;

	snprintf(w->whom, sizeof(w->whom), "%s", whom);
	(void)!write(w->told, &one, sizeof(one));
}

/* Once the reader has reported that it waits. */
static void *
come_back(void *arg)
{
	struct waits *w = arg;
	char at[ADDR_TEXT];
	uint64_t n;

	(void)!read(w->told, &n, sizeof(n));
	snprintf(at, sizeof(at), "%s", w->holder->where);
	start(w->holder, at, w->salt);
	return NULL;
}

static void
test_dies(void)
{
	struct holder h;
	struct waits w = { .holder = &h, .told = eventfd(0, EFD_CLOEXEC) };
	struct dataset_client_opt o = { .addr = h.where, .key = key, .timeout_s = 20, .waiting = waiting, .arg = &w };
	struct buf room = { 0 };
	unsigned right = 0;
	struct recs *r;
	pthread_t t;

	start(&h, "127.0.0.1:0", 0);
	is(dataset_client_open(&o, &r), 0, "a reader connects");
	for (uint64_t i = 0; i < COUNT; i++) {
		if (i == 100) {
			stop(&h);
			pthread_create(&t, NULL, come_back, &w);
		}
		right += read_right(r, i, &room, 0);
	}
	pthread_join(t, NULL);
	is(right, COUNT, "a reader continues after its server has died and restarted");
	ok(strstr(w.whom, "the records of 127.0.0.1:") == w.whom, "the reader reports for whom it waited: %s", w.whom);
	r->close(r);

	w.salt = 9;
	is(dataset_client_open(&o, &r), 0, "another reader connects");
	stop(&h);
	pthread_create(&t, NULL, come_back, &w);
	ok(!read_right(r, 1, &room, 0) && strstr(err_line(), "other records") != NULL,
	    "a reader refuses a restarted server with other records: %s",
	    err_line());
	pthread_join(t, NULL);
	r->close(r);

	o.timeout_s = 0.5;
	is(dataset_client_open(&o, &r), 0, "a reader with little patience connects");
	stop(&h);
	r->want(r, 5);
	is(r->read(r, 6, &room, &(const uint8_t *){ NULL }, &(size_t){ 0 }), ERR_PEER,
	    "a reader without patience fails");
	ok(strstr(err_line(), h.where) != NULL, "the error names the server: %s", err_line());
	is(r->read(r, 7, &room, &(const uint8_t *){ NULL }, &(size_t){ 0 }), ERR_PEER, "the reader keeps failing");
	r->close(r);
	buf_free(&room);
	close(w.told);
}

int
main(void)
{
	test_many();
	test_id();
	test_strangers();
	test_nonsense();
	test_slow();
	test_stuck_disk();
	test_dies();
	return done();
}
