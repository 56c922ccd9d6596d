/* shm - bytes between two processes of one host, through memory that both have mapped. */
#include "wire/path/shm_in.h"
#include "base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define PART	(64u << 10)	/* bytes after which the other side is signalled, so that both copy at the same time */
#define LEAST	(4 * PART)	/* most bytes that a reader waits for at once */
#define SIGNALS	64	/* reads that take all signals of a full socket */

enum { OF_CALLER, OF_PEER };	/* what epoll reports */

void
shm_free(struct shm *s)
{
	if (s == NULL)
		return;
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->sock >= 0)
		close(s->sock);
	if (s->passed >= 0)
		close(s->passed);
	loan_free(&s->theirs);
	if (s->memory != NULL)
		munmap(s->memory, SHM_HEAD + 2 * s->ring);
	free(s);
}

int
shm_watch(struct shm *s, int fd)
{
	struct epoll_event caller = { .events = EPOLLIN, .data.u32 = OF_CALLER };
	struct epoll_event peer = { .events = EPOLLIN, .data.u32 = OF_PEER };

	if ((s->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &caller) < 0 ||
	    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->sock, &peer) < 0)
		return err_sys("epoll");
	return 0;
}

int
shm_fd(const struct shm *s)
{
	return s->epoll;
}

bool
shm_signalled(const struct shm *s)
{
	return s->signalled;
}

bool
shm_closed(const struct shm *s)
{
	return s->closed;
}

/* Takes signals, and with them a descriptor: the first one.  Returns false if there are none. */
static bool
take_signals(struct shm *s)
{
	uint8_t signals[256];
	int fd;
	ssize_t r = shm_receive(s->sock, signals, sizeof(signals), &fd);

	s->closed |= r == 0 || (r < 0 && r != ERR_AGAIN);
	if (fd >= 0 && s->passed < 0 && s->theirs.p == NULL)
		s->passed = fd;
	else if (fd >= 0)
		close(fd);
	return r > 0;
}

void
shm_look(struct shm *s)
{
	struct epoll_event ev[2];
	int n = epoll_wait(s->epoll, ev, 2, 0);

	s->signalled = false;
	for (int i = 0; i < n; i++) {
		if (ev[i].data.u32 == OF_CALLER)
			s->signalled = true;
		else if ((ev[i].events & ~(uint32_t)EPOLLOUT) != 0)
			take_signals(s);
	}
}

/* The socket has room for a signal as good as always, so that the descriptor is readable at once. */
void
shm_want(struct shm *s, bool at_once)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = OF_PEER };

	at_once = at_once && !s->waits;
	if (at_once == s->at_once)
		return;
	if (at_once)
		ev.events |= EPOLLOUT;
	if (epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->sock, &ev) == 0)
		s->at_once = at_once;
}

void
shm_allow(struct shm *s, size_t bytes)
{
	s->allow = bytes;
}

/*
 * Makes a count known to the peer, and signals if it waits for it.  The peer stores what it waits for and then reads
 * the count, so that one of the two sees the other's store.
 */
static void
tell_peer(const struct shm *s, _Atomic uint64_t *count, uint64_t now, const _Atomic uint64_t *awaited, uint64_t *told)
{
	uint64_t at;

	atomic_store(count, now);
	at = atomic_load(awaited);
	if (at == 0 || at == *told || (int64_t)(now - at) < 0)
		return;
	*told = at;
	/* If the socket is full, there are signals that the peer has not taken. */
	(void)!send(s->sock, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Sets *n to the bytes between two counts, of which the peer's may be anything. */
static int
count_bytes(const struct shm *s, uint64_t written, uint64_t read, size_t *n)
{
	if (written - read > s->ring)
		return err_fail(ERR_FORMAT, "wrote invalid counts to the shared memory");
	*n = (size_t)(written - read);
	return 0;
}

/* Bytes that a copy at this count may have, of n. */
static size_t
limit_part(const struct shm *s, uint64_t count, size_t n)
{
	size_t most = s->ring - count % s->ring;

	most = most < PART ? most : PART;
	return n < most ? n : most;
}

/* Sets *there to the bytes that can be read.  If there are none, the peer signals when there are `least`. */
static int
await_bytes(struct shm *s, size_t least, size_t *there)
{
	int e = count_bytes(s, atomic_load(&s->in->written), s->read, there);

	s->waits = false;
	if (e < 0 || *there > 0)
		return e;
	least = least < LEAST ? least : LEAST;
	atomic_store(&s->in->bytes_at, s->read + (least < s->ring / 2 ? least : s->ring / 2));
	e = count_bytes(s, atomic_load(&s->in->written), s->read, there);
	s->waits = *there == 0;
	return e;
}

int
shm_read(struct shm *s, void *p, size_t n, size_t least, size_t *got)
{
	size_t there, k;

	*got = 0;
	ERR_TRY(await_bytes(s, least, &there));
	n = n < there ? n : there;
	n = n < s->allow ? n : s->allow;
	for (; *got < n; *got += k) {
		k = limit_part(s, s->read, n - *got);
		memcpy((uint8_t *)p + *got, s->in_bytes + s->read % s->ring, k);
		s->read += k;
		tell_peer(s, &s->in->read, s->read, &s->in->room_at, &s->room_told);
	}
	s->allow -= n;
	return 0;
}

bool
shm_empty(const struct shm *s)
{
	return s->waits;
}

/* Sets *room to the bytes that can be written.  If there are none, the peer signals when half of the ring is free. */
static int
await_room(struct shm *s, size_t *room)
{
	size_t used = 0;
	int e = count_bytes(s, s->written, atomic_load(&s->out->read), &used);

	if (e == 0 && used == s->ring) {
		atomic_store(&s->out->room_at, s->written - s->ring / 2);
		e = count_bytes(s, s->written, atomic_load(&s->out->read), &used);
	}
	*room = s->ring - used;
	return e;
}

int
shm_send(struct shm *s, struct queue *q)
{
	size_t room = 0, untold = 0, k;
	const uint8_t *p;
	int e = 0;

	while (q->n > 0) {
		if (room == 0 && ((e = await_room(s, &room)) < 0 || room == 0))
			break;
		k = queue_front(q, &p);
		k = limit_part(s, s->written, k < room ? k : room);
		memcpy(s->out_bytes + s->written % s->ring, p, k);
		queue_drop(q, k);
		s->written += k;
		room -= k;
		untold += k;
		if (untold < PART && q->n > 0 && room > 0)
			continue;
		tell_peer(s, &s->out->written, s->written, &s->out->bytes_at, &s->bytes_told);
		untold = 0;
	}
	return e;
}

int
shm_lend(struct shm *s, int fd)
{
	return shm_pass(s->sock, "", 1, fd);
}

/* The descriptor was sent before the message that refers to its memory, behind signals that are not taken yet. */
int
shm_borrowed(struct shm *s, size_t most, uint64_t at, size_t n, const void **p)
{
	int e;

	for (unsigned i = 0; s->theirs.p == NULL && s->passed < 0 && i < SIGNALS && take_signals(s); i++)
		continue;
	if (s->passed >= 0) {
		e = loan_take(s->passed, most, &s->theirs);
		s->passed = -1;
		if (e < 0)
			return e;
	}
	if (s->theirs.p == NULL || at % sizeof(float) != 0 || at > s->theirs.size || n > s->theirs.size - at)
		return err_fail(ERR_FORMAT, "refers to memory that it does not lend");
	*p = (const uint8_t *)s->theirs.p + at;
	return 0;
}

void
shm_byte_counts(const struct shm *s, uint64_t *received, uint64_t *sent)
{
	*received = s->read;
	*sent = s->written;
}
