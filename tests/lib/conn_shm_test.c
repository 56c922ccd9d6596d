/*
 * conn_shm_test - two processes of a host agree on shared memory or go on without; what one of them writes there, and its
 * end, cannot harm the other.
 */
#include "tap.h"

#include "ends_count.h"
#include "wire/conn_in.h"
#include "wire/path/shm_in.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <sys/wait.h>

#define RING (1u << 20)

static size_t ring = RING;	/* of the memory that meet_over_shm() agrees on */
static const uint8_t key[CONN_KEY] = "one key for the whole of a job.";

static void
meet_over_shm(struct ends *e, const uint8_t *k, bool a, bool b)
{
	ends_meet(e, k, k);
	if (a)
		conn_use_shm(e->a, 0);
	if (b)
		conn_use_shm(e->b, ring);
}

static void
test_choice(const uint8_t *k)
{
	static const char *const whom[] = { "neither", "the caller", "the called", "both" };
	uint64_t received[2], sent[2];
	struct ends e;

	for (int i = 0; i < 4; i++) {
		meet_over_shm(&e, k, i & 1, i & 2);
		next_a = next_b = bad = 0;
		send_number(e.a, 0, 100000);
		send_number(e.b, 0, 100000);
		ok(ends_run(&e, took_one) && bad == 0, "if %s would use shared memory, messages are exchanged", whom[i]);
		is(e.a->shm != NULL && e.b->shm != NULL, i == 3, "two ends use shared memory if both would");
		is(e.a->shm != NULL || e.b->shm != NULL, i == 3, "two ends use no shared memory unless both would");
		ok(e.a->shm_next == NULL && e.b->shm_next == NULL && e.a->shm_listener < 0, "nothing else is left");
		conn_byte_counts(e.a, &received[0], &sent[0]);
		conn_byte_counts(e.b, &received[1], &sent[1]);
		ok(received[0] == sent[1] && received[1] == sent[0] && sent[0] > 100000 && sent[0] < 102000,
		    "both ends count the same bytes: %d and %d", (int)sent[0], (int)received[0]);
		ends_close(&e);
	}
}

/* Both ends after a message each. */
static void
open_ends(struct ends *e, const uint8_t *k, bool shm)
{
	meet_over_shm(e, k, shm, shm);
	next_a = next_b = bad = 0;
	send_number(e->a, 0, 10);
	send_number(e->b, 0, 10);
	if (!ends_run(e, took_one) || (e->b->shm != NULL) != shm)
		printf("Bail out! no connection\n"), exit(1);
}

static void
open_shm(struct ends *e)
{
	open_ends(e, NULL, true);
}

static void
test_endings(void)
{
	struct ends e;

	open_shm(&e);
	send_number(e.a, 1, 700000);
	send_number(e.a, 2, 1000);
	conn_close(e.a);
	e.a = NULL;
	for (double start = clk_s(); e.eb == 0 && clk_s() - start < PATIENCE_S;) {
		ends_step(e.b, &e.eb, e.lb);
		take_numbers(e.b, &next_b);
	}
	ok(next_b == 3 && bad == 0, "the bytes before the end are read");
	ok(e.eb == ERR_PEER && strstr(e.lb, ": closed the connection") != NULL, "the end is reported after them: %s", e.lb);
	ends_close(&e);

	open_shm(&e);
	send_number(e.a, 1, 2 * RING);
	conn_close(e.a);
	e.a = NULL;
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_PEER, "an end inside a message is an error");
	ok(strstr(e.lb, "in the middle of a message") != NULL, "the error names the unfinished message: %s", e.lb);
	ends_close(&e);

	open_shm(&e);
	close(e.a->shm->sock);
	e.a->shm->sock = open("/dev/null", O_RDWR | O_CLOEXEC);
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_PEER, "the end of the memory's socket alone is the peer's: %s", e.lb);
	ends_close(&e);

	open_shm(&e);
	ok(send(e.a->fd, "more", 4, MSG_NOSIGNAL) == 4 && ends_run(&e, ends_over_b) && e.eb == ERR_FORMAT,
	    "bytes beside the memory end the connection: %s", e.lb);
	ends_close(&e);
}

static bool
b_stuck(struct ends *e)
{
	return e->b->in.n >= CONN_WAITING && e->b->out.n > CONN_AHEAD;
}

/* A server takes no messages of a worker that takes none, and a worker that is killed then takes none for ever. */
static void
test_full_ends(const uint8_t *k, bool shm)
{
	struct ends e;

	open_ends(&e, k, shm);
	for (uint64_t i = 1; i < 12; i++) {
		send_number(e.a, i, 100000);
		send_number(e.b, i, 3 << 20);
	}
	for (double start = clk_s(); !b_stuck(&e) && clk_s() - start < PATIENCE_S;) {
		ends_step(e.a, &e.ea, e.la);
		ends_step(e.b, &e.eb, e.lb);
	}
	ok(b_stuck(&e) && !conn_room(e.b), "%s: an end has messages waiting in both directions", shm ? "memory" : "socket");
	conn_close(e.a);
	e.a = NULL;
	for (double start = clk_s(); !conn_room(e.b) && clk_s() - start < PATIENCE_S;)
		ends_step(e.b, &e.eb, e.lb);
	ok(conn_room(e.b), "nothing waits to be sent after the peer's end");
	for (double start = clk_s(); e.eb == 0 && clk_s() - start < PATIENCE_S;) {
		ends_step(e.b, &e.eb, e.lb);
		take_numbers(e.b, &next_b);
	}
	ok(e.eb == ERR_PEER && bad == 0, "the end is reported after the messages: %s", e.lb);
	ends_close(&e);
}

/* Gives the memory to children, which it is kept from otherwise. */
static void
share_memory(struct conn *c)
{
	madvise(c->shm->memory, SHM_HEAD + 2 * c->shm->ring, MADV_DOFORK);
}

/* A child of a worker decodes images from anywhere. */
static void
test_child(void)
{
	struct ends e;
	int status;
	pid_t pid;

	if (getenv("EMULATOR") != NULL && *getenv("EMULATOR") != 0) {
		skip("a child does not have the memory", "emulators of processors ignore MADV_DONTFORK");
		return;
	}
	open_shm(&e);
	if ((pid = fork()) == 0)
		_exit(mincore(e.a->shm->memory, 4096, &(uint8_t){ 0 }) < 0 && errno == ENOMEM ? 0 : 1);
	ok(waitpid(pid, &status, 0) == pid && status == 0, "a child does not have the memory");
	ends_close(&e);
}

static void
test_killed(void)
{
	struct ends e;
	int status;
	pid_t pid;

	open_shm(&e);
	share_memory(e.a);
	if ((pid = fork()) == 0) {
		send_number(e.a, 1, 500000);
		send_number(e.a, 2, 3 << 20);
		raise(SIGKILL);
	}
	close(e.a->fd);
	close(e.a->shm->sock);
	e.a->fd = e.a->shm->sock = open("/dev/null", O_RDWR | O_CLOEXEC);
	waitpid(pid, &status, 0);
	for (double start = clk_s(); e.eb == 0 && clk_s() - start < PATIENCE_S;) {
		ends_step(e.b, &e.eb, e.lb);
		take_numbers(e.b, &next_b);
	}
	ok(WIFSIGNALED(status) && next_b == 2 && bad == 0, "the messages of a killed process are read");
	is(e.eb, ERR_PEER, "the end of a killed process is noticed: %s", e.lb);
	e.a->shm->sock = -1;
	ends_close(&e);
}

/* What a process that holds the key may store where the other looks. */
static void
test_garbage(void)
{
	const uint64_t now = 10 + MSG_HEAD;	/* bytes that each end has written and read */
	/* A peer that says it has read less than it did harms only itself. */
	const struct { uint64_t count; bool written, read; } fits[] = {
		{ now, true, true }, { 0, false, true }, { now - 1, false, true }, { now + RING + 1, false, false },
		{ now + 1, true, false }, { 1ull << 63, false, false },
	};
	struct shm_ring *r;
	struct ends e;

	for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++) {
		open_shm(&e);
		r = e.a->shm->out;
		r->written = r->bytes_at = r->room_at = fits[i].count;
		for (int k = 0; k < 3; k++)
			ends_step(e.b, &e.eb, e.lb);
		is(e.eb, fits[i].written ? 0 : ERR_FORMAT, "a count of %llu bytes written: %s",
		    (unsigned long long)fits[i].count, e.eb < 0 ? e.lb : "is possible");
		ends_close(&e);

		open_shm(&e);
		r = e.a->shm->in;
		r->read = r->bytes_at = r->room_at = fits[i].count;
		send_number(e.b, 1, 3 << 20);
		ends_step(e.b, &e.eb, e.lb);
		is(e.eb, fits[i].read ? 0 : ERR_FORMAT, "a count of %llu bytes read: %s",
		    (unsigned long long)fits[i].count, e.eb < 0 ? e.lb : "is possible");
		ends_close(&e);
	}
	open_shm(&e);
	memset(e.a->shm->out_bytes, 0xff, RING);
	e.a->shm->out->written = now + RING;
	send(e.a->shm->sock, "", 1, MSG_NOSIGNAL);
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_FORMAT, "a ring of bytes that are no messages: %s", e.lb);
	ends_close(&e);
}

/* Connects to the socket of an offer as anybody can, and sends n bytes with a descriptor, twice, or without. */
static int
call_offer(const uint8_t offer[SHM_OFFER], const void *p, size_t n, int passed)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char room[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct iovec v = { .iov_base = (void *)(uintptr_t)p, .iov_len = n };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), at = snprintf(a.sun_path + 1, 8, "tally-");

	for (unsigned i = 0; i < SHM_NAME; i++, at += 2)
		snprintf(a.sun_path + 1 + at, 3, "%02x", offer[i]);
	if (connect(fd, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)at)) < 0) {
		close(fd);
		return -1;
	}
	if (passed >= 0) {
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ .cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), (int[]){ passed, passed }, 2 * sizeof(int));
	} else {
		m.msg_control = NULL;
		m.msg_controllen = 0;
	}
	if (n > 0)
		sendmsg(fd, &m, 0);
	return fd;
}

static int
make_file(off_t size, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, size) < 0 || (seals != 0 && fcntl(fd, F_ADD_SEALS, seals) < 0))
		printf("Bail out! no memfd\n"), exit(1);
	return fd;
}

static void
test_impostors(void)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	const off_t size = SHM_HEAD + 2 * RING;
	const struct { off_t size; int seals; const char *what; } file[] = {
		{ size, 0, "a memory without seals" }, { size, F_SEAL_SHRINK, "a memory that can grow" },
		{ size - 4096, seals, "a memory that is too short" }, { size, seals | F_SEAL_WRITE, "a memory to read alone" },
	};
	uint8_t offer[SHM_OFFER], wrong[SHM_TOKEN] = { 0 };
	struct shm *a = NULL, *b = NULL;
	int listener, fd, sock[16];

	for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++) {
		is(shm_listen(offer, &listener), 0, "an offer is made");
		fd = make_file(file[i].size, file[i].seals);
		sock[0] = call_offer(offer, offer + SHM_NAME, SHM_TOKEN, fd);
		ok(shm_answer(listener, offer, &a) < 0, "%s is refused: %s", file[i].what, err_line());
		close(fd);
		close(sock[0]);
		close(listener);
	}

	is(shm_listen(offer, &listener), 0, "an offer is made");
	fd = make_file(size, seals);
	sock[0] = call_offer(offer, NULL, 0, -1);
	sock[1] = call_offer(offer, wrong, sizeof(wrong), fd);
	sock[2] = call_offer(offer, offer + SHM_NAME, SHM_TOKEN, -1);
	sock[3] = call_offer(offer, offer + SHM_NAME, SHM_TOKEN - 1, fd);
	ok(shm_call(offer, RING, &b) == 0 && shm_answer(listener, offer, &a) == 0, "the peer is found after four impostors: %s",
	    err_line());
	b->out->written = 77;
	is(a->in->written, 77, "both ends have the same memory");
	ok(a->ring == RING && b->ring == RING, "the memory has rings of the requested size");
	shm_free(a);
	shm_free(b);
	for (int i = 0; i < 4; i++)
		close(sock[i]);
	close(listener);

	is(shm_listen(offer, &listener), 0, "an offer is made");
	for (int i = 0; i < 16; i++)
		sock[i] = call_offer(offer, NULL, 0, -1);
	is(shm_call(offer, RING, &b), ERR_SYS, "nobody waits for a socket that is full of impostors: %s", err_line());
	is(shm_answer(listener, offer, &a), ERR_AUTH, "no impostor is taken for the peer: %s", err_line());
	for (int i = 0; i < 16; i++)
		if (sock[i] >= 0)
			close(sock[i]);
	close(listener);
	close(fd);
	is(shm_call(offer, RING, &b), ERR_SYS, "an offer without a socket, as of another host: %s", err_line());
}

/* The messages that agree on the memory, sent by a process that holds the key. */
static void
test_out_of_place(void)
{
	static const uint8_t none[SHM_OFFER];
	const struct { const char *what; bool use; struct msg first, second; int e; } order[] = {
		{ "an offer of nothing, to an end that would", true, { .type = MSG_SHM, .len = SHM_OFFER, .payload = none },
		    { .type = MSG_BYE }, 0 },
		{ "an offer to an end that would not", false, { .type = MSG_SHM, .len = SHM_OFFER, .payload = none },
		    { .type = MSG_BYE }, 0 },
		{ "a second offer", true, { .type = MSG_SHM, .len = SHM_OFFER, .payload = none },
		    { .type = MSG_SHM, .len = SHM_OFFER, .payload = none }, ERR_FORMAT },
		{ "an offer after a message", true, { .type = MSG_BYE }, { .type = MSG_SHM, .len = SHM_OFFER, .payload = none },
		    ERR_FORMAT },
		{ "an answer to no offer", true, { .type = MSG_SHM }, { .type = MSG_BYE }, ERR_FORMAT },
		{ "an offer that is too long", true, { .type = MSG_SHM, .len = SHM_OFFER + 1, .payload = key }, { .type = MSG_BYE },
		    ERR_FORMAT },
	};
	struct msg m = { 0 };
	struct ends e;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		uint8_t wire[2 * (MSG_HEAD + SHM_OFFER + 1)];
		size_t at = (size_t)snprintf((char *)wire, sizeof(wire), "tally/%u plain\n", MSG_VERSION);
		int fd = ends_stranger(&e, NULL);

		if (order[i].use)
			conn_use_shm(e.b, RING);
		send(fd, wire, at, 0);
		for (int k = 0; k < 2; k++) {
			const struct msg *s = k == 0 ? &order[i].first : &order[i].second;

			msg_head(s, wire);
			memset(wire + MSG_HEAD, 0, SHM_OFFER + 1);
			send(fd, wire, MSG_HEAD + s->len, 0);
		}
		for (double start = clk_s(); e.eb == 0 && conn_next(e.b, &m) == 0 && clk_s() - start < PATIENCE_S;)
			ends_step(e.b, &e.eb, e.lb);
		if (order[i].e != 0)
			ends_run(&e, ends_over_b);
		is(e.eb, order[i].e, "%s: %s", order[i].what, e.eb < 0 ? e.lb : "the socket is used");
		ok(order[i].e != 0 || m.type == MSG_BYE, "%s: what follows it is given", order[i].what);
		close(fd);
		ends_close(&e);
	}
}

enum { PUMPED = 200 };

/* One end of a process of its own, which waits for ever if a signal is lost; how many messages were good. */
static int
pump_messages(struct conn *c)
{
	uint64_t next = 0, sent = 0;
	int e = 0;

	bad = 0;
	for (;;) {
		struct pollfd p;

		for (; sent < PUMPED && conn_room(c); sent++)
			send_number(c, sent, (uint32_t)(sent * sent * 37 % 400000));
		if (e < 0 || (next == PUMPED && sent == PUMPED && conn_queued(c) == 0))
			break;
		p = (struct pollfd){ .fd = conn_fd(c), .events = conn_events(c) };
		poll(&p, 1, -1);
		if ((e = conn_run(c)) == 0)
			take_numbers(c, &next);
	}
	return e == 0 && bad == 0 ? (int)next : -1;
}

static void
test_processes(size_t most)
{
	struct ends e;
	int status;
	pid_t pid;

	ring = most;
	open_shm(&e);
	share_memory(e.a);
	if ((pid = fork()) == 0)
		_exit(pump_messages(e.a) == PUMPED ? 0 : 1);
	is(pump_messages(e.b), PUMPED, "rings of %zu bytes: two processes exchange messages, and no signal is lost", e.b->shm->ring);
	ok(waitpid(pid, &status, 0) == pid && status == 0, "the other process has received all messages");
	ends_close(&e);
}

/* A peer that has offered memory sends something else before it has answered. */
static void
test_too_early(void)
{
	uint8_t offer[SHM_OFFER], wire[64];
	size_t at = (size_t)snprintf((char *)wire, sizeof(wire), "tally/%u plain\n", MSG_VERSION);
	struct ends e;
	int listener, fd = ends_stranger(&e, NULL);

	conn_use_shm(e.b, RING);
	is(shm_listen(offer, &listener), 0, "an offer is made");
	send(fd, wire, at, 0);
	msg_head(&(struct msg){ .type = MSG_SHM, .len = SHM_OFFER }, wire);
	send(fd, wire, MSG_HEAD, 0);
	send(fd, offer, SHM_OFFER, 0);
	msg_head(&(struct msg){ .type = MSG_BYE }, wire);
	send(fd, wire, MSG_HEAD, 0);
	ok(ends_run(&e, ends_over_b) && e.eb == ERR_FORMAT, "a message before the memory is agreed: %s", e.lb);
	close(fd);
	close(listener);
	ends_close(&e);
}

int
main(void)
{
	test_choice(key);
	test_choice(NULL);
	test_endings();
	test_full_ends(NULL, true);
	test_full_ends(NULL, false);
	test_full_ends(key, false);
	test_killed();
	test_garbage();
	test_impostors();
	test_child();
	test_out_of_place();
	test_too_early();
	test_processes(0);
	test_processes(RING);
	test_processes(100 * RING);
	return done();
}
