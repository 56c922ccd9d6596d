/* conn_test - messages arrive whole and in order; each way in which a connection can end has its own error. */
#include "base/rng.h"
#include "tap.h"
#include "wire/path/shm.h"
#include "wire/tls.h"
#include "wire/path/ucx.h"

#include "ends.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>

static const uint8_t key[CONN_KEY] = "one key for the whole of a job.";
static const uint8_t other[CONN_KEY] = "one key for the whole of a job!";

static bool with_shm, with_ucx;	/* what the ends of meet_ends() use */

static void
meet_ends(struct ends *e, const uint8_t *k)
{
	ends_meet(e, k, k);
	if (with_shm) {
		conn_use_shm(e->a, 0);
		conn_use_shm(e->b, SHM_RING_MOST);
	} else if (with_ucx) {
		conn_use_ucx(e->a);
		conn_use_ucx(e->b);
	}
}

/* A payload that can be told from every other. */
static void
paint(uint8_t *p, uint32_t n, uint64_t step)
{
	struct rng r = rng_start(step, n, 0);

	for (uint32_t i = 0; i < n; i += 4096)
		p[i] = (uint8_t)rng_u64(&r);
	if (n > 0)
		p[n - 1] = (uint8_t)rng_u64(&r);
}

static bool
painted(const struct msg *m)
{
	const uint8_t *p = m->payload;
	struct rng r = rng_start(m->step, m->len, 0);
	uint8_t last, v;

	if (m->len == 0)
		return p == NULL;
	last = p[m->len - 1];
	for (uint32_t i = 0; i < m->len; i += 4096)
		if ((v = (uint8_t)rng_u64(&r)) != p[i] && i != m->len - 1)
			return false;
	return last == (uint8_t)rng_u64(&r) && (uintptr_t)p % 8 == 0;
}

static void
send_one(struct conn *c, uint64_t step, uint32_t n)
{
	static uint8_t payload[MSG_MOST];

	paint(payload, n, step);
	if (conn_send(c, &(struct msg){ .type = MSG_PUSH, .step = step, .len = n, .payload = payload }) < 0)
		printf("# %s\n", err_line());
}

static uint64_t got_a, got_b, bad;	/* messages taken by each end, and those that were wrong */

static void
take_all(struct conn *c, uint64_t *got)
{
	struct msg m;

	while (conn_next(c, &m) == 1) {
		bad += m.step != (*got)++ || m.type != MSG_PUSH || !painted(&m);
	}
}

static uint64_t wanted;

static bool
taken(struct ends *e)
{
	take_all(e->a, &got_a);
	take_all(e->b, &got_b);
	return got_a >= wanted && got_b >= wanted;
}

/* What UCX has taken leaves the queue when the peer's side has it. */
static bool
sent_all(struct ends *e)
{
	return conn_queued(e->a) + conn_queued(e->b) == 0;
}

static const uint32_t sizes[] = { 0, 1, 7, 8, 39, 40, 41, 100, 4095, 16344, 16384, 16385, 65536, 262104, 262105, 1u << 20,
    3000001, MSG_MOST, 0, 5 };

#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))

static void
test_messages(const uint8_t *k)
{
	struct ends e;
	struct msg m;

	meet_ends(&e, k);
	ok(!conn_open(e.a) && !conn_open(e.b), "nothing is open before both have run");
	is_str(conn_peer(e.a), e.where, "the dialled end knows whom it called");
	ok(strncmp(conn_peer(e.b), "127.0.0.1:", 10) == 0, "the other end knows who came: %s", conn_peer(e.b));
	is(conn_events(e.b), k != NULL ? POLLIN : POLLIN | POLLOUT, "the called end waits for the first bytes");
	is(conn_next(e.b, &m), 0, "a new connection has no message");
	got_a = got_b = bad = 0;
	wanted = NSIZES;
	for (size_t i = 0; i < NSIZES; i++)
		send_one(e.a, i, sizes[i]);
	ok(conn_queued(e.a) > MSG_MOST, "what is sent before the handshake is queued");
	ok(ends_run(&e, ends_open), "both ends are open");
	for (size_t i = 0; i < NSIZES; i++)
		send_one(e.b, i, sizes[i]);
	ok(ends_run(&e, taken), "messages of every size cross both ways at once");
	is(bad, 0, "each message is whole, in order and aligned");
	ok(ends_run(&e, sent_all), "nothing is left in the queues");
	is(conn_events(e.a), POLLIN, "an idle end waits for input alone");
	ok(conn_age_s(e.a) > 0 && conn_age_s(e.a) < 60, "the age of a connection is counted from the call");
	ends_close(&e);
	conn_close(NULL);
}

static void
test_small(const uint8_t *k)
{
	struct ends e;

	meet_ends(&e, k);
	got_a = got_b = bad = 0;
	wanted = 200000;
	for (uint64_t i = 0; i < wanted; i++) {
		send_one(e.a, i, (uint32_t)(i % 24));
		send_one(e.b, i, (uint32_t)(i % 24));
	}
	ok(ends_run(&e, taken) && bad == 0, "%d small messages each way", (int)wanted);
	ends_close(&e);
}

static size_t pieces, harm;	/* bytes relayed; the byte at this place is damaged, when not 0 */

static void
relay(int from, int to, struct rng *r)
{
	uint8_t b[3000];
	ssize_t n = recv(from, b, 1 + rng_below(r, rng_below(r, 4) == 0 ? sizeof(b) : 40), MSG_DONTWAIT);

	if (n <= 0)
		return;
	if (harm > 0 && pieces < harm && pieces + (size_t)n >= harm)
		b[harm - pieces - 1] ^= 1;
	pieces += (size_t)n;
	send(to, b, (size_t)n, MSG_NOSIGNAL);
}

/* Both ends through a relay that cuts the stream anywhere; 0 or the first error of either end. */
static int
run_relayed(uint64_t seed)
{
	struct rng r = rng_start(seed, 0, 0);
	char outer[ADDR_TEXT];
	int listener = ends_listen(outer), middle = -1, e = 0, ours[2];
	struct ends x = { 0 };
	double start = clk_s();

	got_a = got_b = bad = pieces = 0;
	wanted = 12;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ours) < 0 || conn_dial(outer, key, CONN_WORKER, &x.a) < 0 ||
	    conn_take(ours[0], key, CONN_WORKER, &x.b) < 0 || (middle = ends_accept(listener)) < 0)
		return ERR_SYS;
	for (size_t i = 0; i < wanted; i++) {
		send_one(x.a, i, sizes[i]);
		send_one(x.b, i, sizes[i]);
	}
	while (!taken(&x) && e == 0 && clk_s() - start < PATIENCE_S) {
		if ((e = conn_run(x.a)) == 0)
			e = conn_run(x.b);
		relay(middle, ours[1], &r);
		relay(ours[1], middle, &r);
	}
	close(listener);
	close(middle);
	close(ours[1]);
	ends_close(&x);
	return e;
}

static void
test_relayed(void)
{
	int e;

	harm = 0;
	e = run_relayed(1);
	ok(e == 0 && got_a == wanted && got_b == wanted && bad == 0, "a stream cut into small pieces is put together");
	harm = pieces / 2;
	is(run_relayed(1), ERR_PEER, "a damaged byte ends the connection");
	ok(bad == 0 && got_a + got_b < 2 * wanted, "nothing damaged is handed on: %s", err_line());
}

static bool
one_waits(struct ends *e)
{
	return conn_queued(e->a) == 0;
}

static void
test_endings(void)
{
	struct linger now = { .l_onoff = 1 };
	char where[ADDR_TEXT];
	struct ends e;
	struct msg m;

	ends_meet(&e, key, key);
	ends_run(&e, ends_open);
	send_one(e.a, 7, 1000);
	ends_run(&e, one_waits);
	conn_close(e.a);
	e.a = NULL;
	for (double start = clk_s(); conn_next(e.b, &m) == 0 && conn_run(e.b) == 0 && clk_s() - start < PATIENCE_S;)
		;
	ok(m.step == 7 && painted(&m), "the last message before the end is given");
	ok(ends_run(&e, ends_over_b), "the connection ends after its last message");
	is(e.eb, ERR_PEER, "a peer that closes is reported as lost");
	ok(strstr(e.lb, "127.0.0.1:") == e.lb && strstr(e.lb, ": closed the connection") != NULL,
	    "the line says that the peer closed the connection: %s", e.lb);
	is(conn_run(e.b), ERR_PEER, "conn_run() fails again after the end");
	is(conn_send(e.b, &(struct msg){ .type = MSG_BYE }), 0, "a message to a closed connection is dropped");
	ok(!conn_open(e.b) && conn_queued(e.b) == 0 && conn_next(e.b, &m) == 0, "a closed connection is not open and has no messages");
	ends_close(&e);

	ends_meet(&e, key, key);
	ends_run(&e, ends_open);
	shutdown(conn_fd(e.a), SHUT_WR);
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_PEER, "a stream without a goodbye ends with an error");
	ok(strstr(e.lb, "without close_notify") != NULL, "the error names the missing goodbye: %s", e.lb);
	ends_close(&e);

	ends_meet(&e, key, key);
	ends_run(&e, ends_open);
	send_one(e.a, 1, MSG_MOST);
	conn_run(e.a);
	conn_close(e.a);
	e.a = NULL;
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_PEER, "an end inside a message is an error");
	ok(strstr(e.lb, "in the middle of a message") != NULL, "the error names the unfinished message: %s", e.lb);
	ends_close(&e);

	ends_meet(&e, key, key);
	ends_run(&e, ends_open);
	conn_reached(e.a, where);
	is_str(where, e.where, "conn_reached() writes the address of the other end");
	setsockopt(conn_fd(e.a), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	shutdown(conn_fd(e.a), SHUT_RD);
	close(dup2(open("/dev/null", O_RDONLY), conn_fd(e.a)));	/* the socket is reset, and no goodbye said */
	for (int i = 0; i < 3; i++)
		send_one(e.b, (uint64_t)i, 1 << 20);
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_PEER, "a reset, met while writing, raises no signal");
	ok(strstr(e.lb, "reset") != NULL || strstr(e.lb, "ipe") != NULL, "the reset is reported: %s", e.lb);
	conn_reached(e.b, where);
	is_str(where, e.where, "conn_reached() leaves the address as it was after a reset");
	ends_close(&e);
}

static void
test_strangers(void)
{
	char nobody[ADDR_TEXT], byte;
	struct ends e;
	struct msg m;
	int fd;

	ends_meet(&e, other, key);
	ok(ends_run(&e, ends_over), "another key: both ends notice");
	ok(e.ea == ERR_AUTH && e.eb == ERR_AUTH, "both ends report that the keys differ");
	ok(strncmp(e.la, e.where, strlen(e.where)) == 0 && strstr(e.la, "refused this job's key"), "the caller: %s", e.la);
	ok(strstr(e.lb, "holds the key of another job") != NULL, "the called: %s", e.lb);
	ok(conn_next(e.a, &m) == 0 && conn_next(e.b, &m) == 0, "nothing came through");
	ends_close(&e);

	fd = ends_stranger(&e, key);
	is(ends_step(e.b, &e.eb, e.lb), 1, "a silent stranger is not an error");
	ok(e.eb == 0 && !conn_open(e.b) && conn_age_s(e.b) >= 0, "a silent stranger is waited for, not open, and has an age");
	ok(send(fd, "GET / HTTP/1.0\r\n\r\n", 18, 0) == 18 && ends_run(&e, ends_over_b) && e.eb == ERR_AUTH,
	    "a stranger with another protocol: %s", e.lb);
	ends_close(&e);
	while (recv(fd, &byte, 1, 0) > 0)
		;
	close(fd);

	fd = ends_stranger(&e, key);
	close(fd);
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_PEER, "a stranger who leaves: %s", e.lb);
	ends_close(&e);

	fd = ends_listen(nobody);
	close(fd);
	is(conn_dial(nobody, key, CONN_WORKER, &e.a), 0, "an address without a listener is dialled");
	ok(ends_run(&e, ends_over_a) && e.ea == ERR_PEER && strstr(e.la, "cannot be reached") != NULL,
	    "the error says that the address cannot be reached: %s", e.la);
	ends_close(&e);
	is(conn_dial("nowhere", key, CONN_WORKER, &e.a), ERR_FORMAT, "text that is not an address is refused");
}

/* A process that holds the key but sends what is no message of ours. */
static struct tls *
rogue(struct ends *e, int *fd, const void *bytes, size_t n)
{
	struct tls *t;
	size_t put = 0;

	*fd = ends_stranger(e, key);
	tls_new(*fd, false, key, CONN_WORKER, &t);
	for (double start = clk_s(); tls_shake(t) == 0 && clk_s() - start < PATIENCE_S;)
		ends_step(e->b, &e->eb, e->lb);
	for (size_t at = 0; at < n && tls_write(t, (const uint8_t *)bytes + at, n - at, &put) == 0; at += put)
		tls_flush(t);
	tls_flush(t);
	return t;
}

static void
rogue_end(struct ends *e, struct tls *t, int fd)
{
	tls_free(t);
	close(fd);
	ends_close(e);
}

static void
test_foreign(void)
{
	uint8_t bytes[3 * MSG_HEAD];
	struct ends e;
	struct tls *t;
	struct msg m;
	size_t before;
	int fd;

	msg_head(&(struct msg){ .type = MSG_STOP, .step = 9 }, bytes);
	msg_head(&(struct msg){ .type = 77 }, bytes + MSG_HEAD);
	t = rogue(&e, &fd, bytes, 2 * MSG_HEAD);
	for (double start = clk_s(); conn_next(e.b, &m) == 0 && clk_s() - start < PATIENCE_S;)
		ends_step(e.b, &e.eb, e.lb);
	ok(e.eb == 0 && m.type == MSG_STOP && m.step == 9, "the good message before a bad one is given");
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_FORMAT, "the bad one ends the connection: %s", e.lb);
	rogue_end(&e, t, fd);

	msg_head(&(struct msg){ .type = MSG_PUSH, .len = MSG_MOST + 1 }, bytes);
	t = rogue(&e, &fd, bytes, MSG_HEAD);
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_LIMIT, "a length over the limit is met at the head: %s", e.lb);
	rogue_end(&e, t, fd);

	msg_head(&(struct msg){ .type = MSG_PUSH, .len = MSG_MOST }, bytes);
	memset(bytes + MSG_HEAD, 0, 2 * MSG_HEAD);
	t = rogue(&e, &fd, NULL, 0);
	ends_step(e.b, &e.eb, e.lb);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	tls_write(t, bytes, sizeof(bytes), &(size_t){ 0 });
	tls_flush(t);
	ends_step(e.b, &e.eb, e.lb);
	ends_step(e.b, &e.eb, e.lb);
	ok(e.eb == 0 && mallinfo2().uordblks + mallinfo2().hblkhd < before + (1 << 20), "a length alone takes no memory");
	rogue_end(&e, t, fd);
}

static bool
b_full(struct ends *e)
{
	return (conn_events(e->b) & POLLIN) == 0;
}

/* 96 MB in messages of one size, sent from where they are, while the other end takes none but sends. */
static void
test_bounded(const uint8_t *k, uint32_t size)
{
	const uint64_t many = (96u << 20) / size;
	uint8_t *all = malloc(many * size), *p = all;
	struct ends e;
	size_t kept;

	meet_ends(&e, k);
	for (uint64_t i = 0; i < many; i++, p += size) {
		paint(p, size, i);
		conn_send(e.a, &(struct msg){ .type = MSG_PUSH, .step = i, .len = size, .payload = p, .lasting = true });
	}
	ok(ends_run(&e, b_full), "an end whose messages of %u bytes are not taken stops reading", size);
	for (uint64_t i = 0; i < many; i++) {
		send_one(e.b, i, 100);
		ends_step(e.a, &e.ea, e.la);
		ends_step(e.b, &e.eb, e.lb);
	}
	kept = conn_queued(e.a);
	ok(kept > (with_ucx ? 78u : 56u) << 20, "the rest stays with the sender (%zu MB)", kept >> 20);
	got_a = got_b = bad = 0, wanted = many;
	ok(ends_run(&e, taken) && bad == 0, "all messages arrive once they are taken");
	ends_close(&e);
	free(all);
}

enum { PUMPED = 24, PUMP_SIZE = 2 << 20 };

static _Atomic unsigned ready;	/* ends in threads that have sent and received all */

/*
 * One end in a thread of its own: sends, takes, and says how many messages were good.  It goes on until the other one is
 * ready too, which UCX needs to know that all has arrived.
 */
static void *
pump(void *arg)
{
	static const uint8_t payload[PUMP_SIZE];
	struct conn *c = arg;
	uint64_t got = 0, sent = 0, good = 0;
	bool is_ready = false;
	struct msg m;
	int e = 0;

	while (e == 0 && ready < 2) {
		struct pollfd p = { .fd = conn_fd(c), .events = conn_events(c) };

		if (sent < PUMPED && conn_queued(c) < PUMP_SIZE) {
			e = conn_send(c, &(struct msg){ .type = MSG_WEIGHTS, .step = sent, .len = PUMP_SIZE, .payload = payload,
			    .lasting = sent % 2 == 0 });
			sent++;
		}
		poll(&p, 1, is_ready ? 1 : 1000);
		if (e == 0)
			e = conn_run(c);
		for (; conn_next(c, &m) == 1; got++)
			good += m.step == got && m.len == PUMP_SIZE && memcmp(m.payload, payload, PUMP_SIZE) == 0;
		if (!is_ready && got == PUMPED && sent == PUMPED && conn_queued(c) == 0) {
			is_ready = true;
			ready++;
		}
	}
	return (void *)(uintptr_t)good;
}

static void
test_threads(const uint8_t *k)
{
	void *good_a = NULL, *good_b;
	pthread_t thread;
	struct ends e;

	meet_ends(&e, k);
	ready = 0;
	if (pthread_create(&thread, NULL, pump, e.a) != 0)
		printf("Bail out! no thread\n"), exit(1);
	good_b = pump(e.b);
	pthread_join(thread, &good_a);
	ok((uintptr_t)good_a == PUMPED && (uintptr_t)good_b == PUMPED, "each end may have a thread of its own");
	ends_close(&e);
}

static void
test_transport(const uint8_t *k)
{
	test_messages(k);
	test_small(k);
	test_bounded(k, 1 << 20);
	test_bounded(k, 32 << 10);
	test_threads(k);
}

int
main(void)
{
	const uint8_t *const kinds[] = { key, NULL };

	for (int i = 0; i < 4; i++) {
		with_shm = i >= 2;
		printf("# %s, %s\n", i % 2 == 0 ? "with a key" : "plain", with_shm ? "shared memory" : "socket");
		test_transport(kinds[i % 2]);
	}
	with_shm = false;
	if ((with_ucx = ends_has_ucx())) {
		printf("# plain, UCX\n");
		test_transport(NULL);
	} else {
		skip("UCX carries messages", err_line());
	}
	with_ucx = false;
	test_relayed();
	test_endings();
	test_strangers();
	test_foreign();
	return done();
}
