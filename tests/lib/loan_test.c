/*
 * loan_test - memory that a process lends to another of its host: messages give its place alone, and what a process that
 * holds the key may lend or refer to cannot harm the other.
 */
#include "tap.h"

#include "ends.h"
#include "wire/conn_in.h"
#include "wire/path/loan.h"
#include "wire/path/shm_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define RING	(1u << 20)
#define COUNT	(100u << 10)		/* floats of the memory */
#define PART	(64u << 10)		/* bytes of a payload */

static struct msg got;			/* of b, or type 0 */

static bool
took_one(struct ends *e)
{
	struct msg m;

	while (e->b != NULL && conn_next(e->b, &m) == 1)
		got = m;
	return got.type != 0 || e->eb != 0;
}

/* A connection through shared memory, after a message; `most` is what b borrows. */
static void
open_ends(struct ends *e, bool shm, size_t most)
{
	ends_meet(e, NULL, NULL);
	if (shm) {
		conn_use_shm(e->a, 0);
		conn_use_shm(e->b, RING);
	}
	conn_borrow(e->b, most);
	got.type = 0;
	if (conn_send(e->a, &(struct msg){ .type = MSG_EPOCH }) < 0 || !ends_run(e, took_one) || (e->b->shm != NULL) != shm)
		printf("Bail out! no connection\n"), exit(1);
	got.type = 0;
}

static void
send_part(struct ends *e, const void *p, bool lasting)
{
	got.type = 0;
	if (conn_send(e->a, &(struct msg){ .type = MSG_PUSH, .len = PART, .payload = p, .lasting = lasting }) < 0)
		printf("# %s\n", err_line());
	ends_run(e, took_one);
}

static void
test_memory(void)
{
	struct loan l, m;
	int status, fd;
	pid_t pid;

	is(loan_make(COUNT * sizeof(float), &l), 0, "a memory is made");
	ok(l.size == COUNT * sizeof(float) && ((float *)l.p)[COUNT - 1] == 0, "a new memory has zeros");
	ok(mmap(NULL, l.size, PROT_READ | PROT_WRITE, MAP_SHARED, l.fd, 0) == MAP_FAILED,
	    "the descriptor of a loan cannot be mapped for writing");
	ok(loan_has(&l, l.p, l.size) && loan_has(&l, (char *)l.p + 8, l.size - 8), "loan_has() accepts ranges of the memory");
	ok(!loan_has(&l, (char *)l.p + 8, l.size) && !loan_has(&l, (char *)l.p - 8, 8) && !loan_has(&l, l.p, SIZE_MAX) &&
	    !loan_has(&(struct loan){ .p = NULL }, NULL, 0), "loan_has() refuses all other ranges");
	is(loan_take(fcntl(l.fd, F_DUPFD_CLOEXEC, 0), l.size - 1, &m), ERR_LIMIT, "a loan that is too large is refused: %s", err_line());
	is(loan_take(fcntl(l.fd, F_DUPFD_CLOEXEC, 0), l.size, &m), 0, "another process maps the loan");
	((float *)l.p)[7] = 3;
	ok(((const float *)m.p)[7] == 3, "the borrower sees what the owner writes");
	if (getenv("EMULATOR") != NULL && *getenv("EMULATOR") != 0) {
		skip("a child does not have the memory", "emulators of processors ignore MADV_DONTFORK");
	} else {
		if ((pid = fork()) == 0)
			_exit(mincore(l.p, 4096, &(uint8_t){ 0 }) < 0 && mincore(m.p, 4096, &(uint8_t){ 0 }) < 0 &&
			    errno == ENOMEM ? 0 : 1);
		ok(waitpid(pid, &status, 0) == pid && status == 0, "a child does not have the memory");
	}
	loan_free(&m);
	loan_free(&l);

	fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ok(ftruncate(fd, 4096) == 0 && loan_open(fd) < 0, "a memory without seals is not lent");
	is(loan_take(fcntl(fd, F_DUPFD_CLOEXEC, 0), 4096, &m), ERR_FORMAT, "a memory without seals is not taken: %s", err_line());
	close(fd);
	fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
	is(loan_take(fd, 4096, &m), ERR_FORMAT, "an empty memory is not taken: %s", err_line());
	is(loan_take(open("/dev/zero", O_RDONLY | O_CLOEXEC), 4096, &m), ERR_FORMAT, "a device is not taken: %s", err_line());
}

static void
test_messages(void)
{
	static float other[PART / sizeof(float)];
	uint64_t received, sent, seen;
	struct loan l;
	struct ends e;
	float *w;

	if (loan_make(COUNT * sizeof(float), &l) < 0)
		printf("Bail out! no memory\n"), exit(1);
	w = (float *)l.p + 100;
	w[0] = 1;
	open_ends(&e, true, l.size);
	conn_lend(e.a, &l);
	conn_byte_counts(e.a, &received, &seen);
	send_part(&e, w, true);
	ok(got.type == MSG_PUSH && got.len == PART && got.lasting && *(const float *)got.payload == 1, "a payload is lent");
	w[0] = 2;
	ok(*(const float *)got.payload == 2 && got.payload != w, "the other reads it where it is");
	ok(e.a->shm->written < 1000, "the ring has its place alone: %d bytes", (int)e.a->shm->written);
	conn_byte_counts(e.a, &received, &sent);
	ok(sent - seen == PART + MSG_HEAD + MSG_OFFSET, "the bytes of a lent payload are counted: %d", (int)(sent - seen));
	conn_byte_counts(e.b, &received, &seen);
	is(received, sent, "both ends count the bytes of a lent payload");
	send_part(&e, w + 1000, true);
	ok(got.lasting && (const float *)got.payload == (const float *)e.b->shm->theirs.p + 1100, "a second payload is read where it is");
	send_part(&e, w, false);
	w[0] = 3;
	ok(!got.lasting && *(const float *)got.payload == 2, "a payload that does not last is copied");
	send_part(&e, other, true);
	ok(!got.lasting && got.len == PART, "a payload outside the lent memory is copied");
	ends_close(&e);

	open_ends(&e, false, l.size);
	conn_lend(e.a, &l);
	send_part(&e, w, true);
	ok(!got.lasting && *(const float *)got.payload == 3, "over the socket all are copied");
	ends_close(&e);
	loan_free(&l);
}

/* Sends a header and an offset as a process could that holds the key. */
static void
send_place(struct ends *e, uint16_t type, uint32_t len, uint64_t at)
{
	const struct msg m = { .type = type, .len = len };
	uint8_t head[MSG_HEAD + MSG_OFFSET];
	struct queue q = { 0 };

	msg_head(&m, head);
	msg_lend(head, at);
	got.type = 0;
	if (e->a->shm == NULL) {
		send(e->a->fd, head, sizeof(head), MSG_NOSIGNAL);
	} else if (queue_room(&q, sizeof(head)) == 0) {
		queue_put(&q, head, sizeof(head));
		shm_send(e->a->shm, &q);
	}
	queue_free(&q);
	ends_run(e, took_one);
}

static void
test_strange_places(void)
{
	const size_t size = COUNT * sizeof(float);
	const struct { const char *what; bool shm, lend; size_t most; uint16_t type; uint64_t at; int e; } place[] = {
		{ "the last bytes", true, true, size, MSG_WEIGHTS, size - PART, 0 },
		{ "bytes beyond the end", true, true, size, MSG_WEIGHTS, size - PART + 4, ERR_FORMAT },
		{ "an offset that wraps", true, true, size, MSG_PUSH, (uint64_t)0 - 4, ERR_FORMAT },
		{ "an offset that is no float's", true, true, size, MSG_PUSH, 2, ERR_FORMAT },
		{ "a sum, by which a process decides", true, true, size, MSG_SUM, 0, ERR_FORMAT },
		{ "a message about memory", true, true, size, MSG_SHM, 0, ERR_FORMAT },
		{ "a memory that was not lent", true, false, size, MSG_PUSH, 0, ERR_FORMAT },
		{ "a memory over the limit", true, true, size - 4, MSG_PUSH, 0, ERR_LIMIT },
		{ "a place, without shared memory", false, false, size, MSG_PUSH, 0, ERR_FORMAT },
	};
	struct loan l;
	struct ends e;

	for (size_t i = 0; i < sizeof(place) / sizeof(place[0]); i++) {
		if (loan_make(size, &l) < 0)
			printf("Bail out! no memory\n"), exit(1);
		open_ends(&e, place[i].shm, place[i].most);
		if (place[i].lend)
			shm_lend(e.a->shm, l.fd);
		send_place(&e, place[i].type, PART, place[i].at);
		is(e.eb, place[i].e, "%s: %s", place[i].what, e.eb < 0 ? e.lb : "is read");
		ends_close(&e);
		loan_free(&l);
	}
}

static int
count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* A peer may send any number of descriptors. */
static void
test_descriptors(void)
{
	int before, fd[2];
	struct loan l;
	struct ends e;

	if (loan_make(COUNT * sizeof(float), &l) < 0)
		printf("Bail out! no memory\n"), exit(1);
	open_ends(&e, true, l.size);
	before = count_descriptors();
	for (int i = 0; i < 40; i++)
		shm_lend(e.a->shm, l.fd);
	send_place(&e, MSG_PUSH, PART, 0);
	ok(e.eb == 0 && got.lasting, "the first of many memories is taken");
	for (int i = 0; i < 40; i++)
		shm_lend(e.a->shm, l.fd);
	send_place(&e, MSG_PUSH, PART, 4);
	ok(e.eb == 0 && got.lasting, "later ones are not");
	is(count_descriptors(), before, "no descriptor stays open");

	ok(pipe2(fd, O_CLOEXEC) == 0, "a pipe");
	ends_close(&e);
	open_ends(&e, true, l.size);
	shm_lend(e.a->shm, fd[0]);
	send_place(&e, MSG_PUSH, PART, 0);
	is(e.eb, ERR_FORMAT, "a pipe in place of a memory: %s", e.lb);
	ends_close(&e);
	close(fd[0]);
	close(fd[1]);
	loan_free(&l);
}

int
main(void)
{
	test_memory();
	test_messages();
	test_strange_places();
	test_descriptors();
	return done();
}
