/*
 * fuzz_shm - anything that a process may store in the memory that a connection uses: messages, an error, or silence.
 *
 * Bytes of the input are steps: what is stored, and how much of the rest is stored there.
 */
#include "base/buf.h"
#include "base/err.h"
#include "wire/conn.h"
#include "wire/path/shm_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STEPS	64	/* most steps of an input */
#define SENT	3000	/* bytes of a message of the connection's */

/* Reads what the connection has sent, so that its socket has room. */
static void
drain_socket(int fd)
{
	uint8_t bytes[256];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

/* Agrees on a memory as a worker does.  NULL if the system has none. */
static struct shm *
agree(struct conn *c, int fd)
{
	uint8_t offer[SHM_OFFER], head[MSG_HEAD];
	struct shm *s = NULL;
	char line[32];
	int listener, n = snprintf(line, sizeof(line), "tally/%u plain\n", MSG_VERSION);

	if (shm_listen(offer, &listener) < 0)
		return NULL;
	msg_head(&(struct msg){ .type = MSG_SHM, .len = SHM_OFFER }, head);
	if (send(fd, line, (size_t)n, 0) != n || send(fd, head, sizeof(head), 0) < 0 || send(fd, offer, sizeof(offer), 0) < 0)
		abort();
	for (int i = 0; i < 3; i++)
		conn_run(c);
	if (shm_answer(listener, offer, &s) == 0) {
		msg_head(&(struct msg){ .type = MSG_SHM }, head);
		if (send(fd, head, sizeof(head), 0) < 0)
			abort();
		conn_run(c);
	}
	close(listener);
	drain_socket(fd);
	return s;
}

/* Stores n bytes in the ring where the connection reads on, and counts them. */
static void
store_bytes(struct shm *s, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s->out_bytes[(s->written + i) % SHM_RING_LEAST] = p[i];
	s->written += n;
	atomic_store(&s->out->written, s->written);
}

static uint64_t
number(const uint8_t *p, size_t n)
{
	uint8_t b[8] = { 0 };

	memcpy(b, p, n < 8 ? n : 8);
	return le_get64(b);
}

/* Does a step with n bytes. */
static void
change(struct shm *s, struct conn *c, unsigned what, const uint8_t *p, size_t n)
{
	static const uint8_t payload[SENT];

	switch (what % 8) {
	case 0: case 1:	store_bytes(s, p, n); break;
	case 2:		atomic_store(&s->out->written, number(p, n)); break;
	case 3:		atomic_store(&s->out->written, s->written += number(p, n) % (2 * SHM_RING_LEAST)); break;
	case 4:		atomic_store(&s->in->read, number(p, n)); break;
	case 5:		atomic_store(&s->out->room_at, number(p, n)), atomic_store(&s->in->bytes_at, number(p, n)); break;
	case 6:		send(s->sock, p, n, MSG_DONTWAIT | MSG_NOSIGNAL); break;
	default:
		for (uint64_t i = number(p, n) % 500; i > 0; i--)
			if (conn_send(c, &(struct msg){ .type = MSG_WEIGHTS, .len = SENT, .payload = payload }) < 0)
				abort();
	}
}

static void
play(struct shm *s, struct conn *c, const uint8_t *p, size_t n)
{
	volatile uint8_t seen = 0;
	size_t at = 0, k;
	struct msg m;
	int e = 0;

	for (int steps = 0; e == 0 && steps < STEPS && n - at >= 2; steps++, at += k) {
		unsigned what = p[at];

		k = p[at + 1];
		at += 2;
		k = k < n - at ? k : n - at;
		change(s, c, what, p + at, k);
		e = conn_run(c);
		while (conn_next(c, &m) == 1)
			for (uint32_t i = 0; i < m.len; i++)
				seen = (uint8_t)(seen + ((const uint8_t *)m.payload)[i]);
	}
	if (e != 0 && e != ERR_FORMAT && e != ERR_LIMIT)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct shm *s;
	struct conn *c;
	int fd[2];

	if (n == 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) < 0)
		return 0;
	if (conn_take(fd[0], NULL, CONN_WORKER, &c) == 0) {
		conn_use_shm(c, 0);
		if ((s = agree(c, fd[1])) != NULL)
			play(s, c, p, n);
		shm_free(s);
		conn_close(c);
	}
	close(fd[1]);
	return 0;
}
