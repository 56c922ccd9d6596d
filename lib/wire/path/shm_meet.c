/* shm_meet - how two processes come to share a memory: serves shm. */
#include "wire/path/shm_in.h"
#include "base/err.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <openssl/crypto.h>

#define CALLS	8	/* most callers that may wait: one of them is the peer */
#define SEALS	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

union passed {
	struct cmsghdr	 head;
	char		 room[CMSG_SPACE(sizeof(int))];
};

/* The abstract address of an offer. */
static socklen_t
make_address(const uint8_t offer[SHM_OFFER], struct sockaddr_un *a)
{
	int n;

	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "tally-");
	for (unsigned i = 0; i < SHM_NAME; i++)
		n += snprintf(a->sun_path + 1 + n, sizeof(a->sun_path) - 1 - (size_t)n, "%02x", offer[i]);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int
shm_listen(uint8_t offer[SHM_OFFER], int *fd)
{
	struct sockaddr_un a;
	socklen_t n;
	int e;

	ERR_TRY(io_random(offer, SHM_OFFER));
	n = make_address(offer, &a);
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (*fd >= 0 && bind(*fd, (struct sockaddr *)&a, n) == 0 && listen(*fd, CALLS) == 0)
		return 0;
	e = err_sys("a socket for shared memory");
	if (*fd >= 0)
		close(*fd);
	return e;
}

static int
check_user(int sock)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return err_sys("SO_PEERCRED");
	return peer.uid == geteuid() ? 0 : err_fail(ERR_AUTH, "another user's process");
}

/* A struct for a socket that it owns. */
static struct shm *
new_shm(int sock)
{
	struct shm *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		close(sock);
		return NULL;
	}
	s->sock = sock;
	s->epoll = s->passed = -1;
	return s;
}

/* The end that connected writes to the first ring.  A child has no part in it: some decode images from anywhere. */
static int
map_rings(struct shm *s, int fd, size_t ring, unsigned out)
{
	void *p = mmap(NULL, SHM_HEAD + 2 * ring, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return err_sys("mmap");
	s->memory = p;
	s->ring = ring;
	s->out = &s->memory->ring[out];
	s->out_bytes = (uint8_t *)p + SHM_HEAD + out * ring;
	s->in = &s->memory->ring[!out];
	s->in_bytes = (uint8_t *)p + SHM_HEAD + !out * ring;
	return madvise(p, SHM_HEAD + 2 * ring, MADV_DONTFORK) == 0 ? 0 : err_sys("madvise");
}

/* Pages are allocated here, so that a lack of memory is an error and not SIGBUS later. */
static int
make_memory(struct shm *s, size_t most, int *fd)
{
	size_t ring = SHM_RING_LEAST;
	int e;

	while (ring < SHM_RING_MOST && 2 * ring <= most)
		ring *= 2;
	if ((*fd = memfd_create("tally", MFD_CLOEXEC | MFD_ALLOW_SEALING)) < 0)
		return err_sys("memfd_create");
	if ((e = posix_fallocate(*fd, 0, (off_t)(SHM_HEAD + 2 * ring))) != 0) {
		errno = e;
		return err_sys("%zu bytes of shared memory", SHM_HEAD + 2 * ring);
	}
	if (fcntl(*fd, F_ADD_SEALS, SEALS) < 0)
		return err_sys("seal");
	return map_rings(s, *fd, ring, 1);
}

int
shm_pass(int sock, const void *p, size_t n, int fd)
{
	struct iovec v = { .iov_base = (void *)(uintptr_t)p, .iov_len = n };
	union passed c = { .head = { .cmsg_len = CMSG_LEN(sizeof(fd)), .cmsg_level = SOL_SOCKET,
	    .cmsg_type = SCM_RIGHTS } };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c) };

	memcpy(CMSG_DATA(&c.head), &fd, sizeof(fd));
	return sendmsg(sock, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)n ? 0 : err_sys("sendmsg");
}

int
shm_call(const uint8_t offer[SHM_OFFER], size_t ring, struct shm **out)
{
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), fd = -1, e;
	struct sockaddr_un a;
	socklen_t n = make_address(offer, &a);
	struct shm *s;

	if (sock < 0)
		return err_sys("socket");
	if ((s = new_shm(sock)) == NULL)
		return err_nomem();
	if (connect(sock, (struct sockaddr *)&a, n) < 0)
		e = err_sys("connect");
	else if ((e = check_user(sock)) == 0 && (e = make_memory(s, ring, &fd)) == 0)
		e = shm_pass(sock, offer + SHM_NAME, SHM_TOKEN, fd);
	if (fd >= 0)
		close(fd);
	if (e < 0)
		shm_free(s);
	else
		*out = s;
	return e;
}

ssize_t
shm_receive(int sock, void *p, size_t n, int *fd)
{
	struct iovec v = { .iov_base = p, .iov_len = n };
	union passed c = { 0 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c,
		.msg_controllen = CMSG_LEN(sizeof(*fd)) };
	ssize_t r = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (r >= 0 && CMSG_FIRSTHDR(&m) != NULL && c.head.cmsg_level == SOL_SOCKET && c.head.cmsg_type == SCM_RIGHTS &&
	    c.head.cmsg_len == CMSG_LEN(sizeof(*fd)))
		memcpy(fd, CMSG_DATA(&c.head), sizeof(*fd));
	if (r < 0)
		return errno == EAGAIN || errno == EINTR ? ERR_AGAIN : err_sys("recvmsg");
	if ((m.msg_flags & MSG_CTRUNC) == 0)
		return r;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return err_fail(ERR_FORMAT, "several descriptors in one message");
}

/* Receives a memory with the token.  A descriptor that came without it is closed. */
static int
receive_memory(int sock, const uint8_t *token, int *fd)
{
	uint8_t got[SHM_TOKEN];

	if (shm_receive(sock, got, sizeof(got), fd) == (ssize_t)sizeof(got) && *fd >= 0 &&
	    CRYPTO_memcmp(got, token, sizeof(got)) == 0)
		return 0;
	if (*fd >= 0)
		close(*fd);
	return err_fail(ERR_AUTH, "no memory with the token");
}

/* Returns the size of the rings, or 0.  The peer may have kept the descriptor, but nobody can change a sealed size. */
static size_t
find_ring_size(int fd)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	size_t ring = SHM_RING_MOST;

	if (fstat(fd, &st) < 0 || seals < 0 || (seals & SEALS) != SEALS)
		return 0;
	while (ring >= SHM_RING_LEAST && st.st_size != (off_t)(SHM_HEAD + 2 * ring))
		ring /= 2;
	return ring >= SHM_RING_LEAST ? ring : 0;
}

static int
take_memory(struct shm *s, const uint8_t *token)
{
	size_t ring;
	int fd, e;

	ERR_TRY(check_user(s->sock));
	ERR_TRY(receive_memory(s->sock, token, &fd));
	if ((ring = find_ring_size(fd)) > 0)
		e = map_rings(s, fd, ring, 0);
	else
		e = err_fail(ERR_AUTH, "no sealed memory of two rings");
	close(fd);
	return e;
}

int
shm_answer(int fd, const uint8_t offer[SHM_OFFER], struct shm **out)
{
	int e = ERR_AUTH;

	/* Any process of the host can see the name and connect, before the peer. */
	for (unsigned i = 0; i <= CALLS; i++) {
		int sock = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct shm *s;

		if (sock < 0)
			return err_sys("accept");
		if ((s = new_shm(sock)) == NULL)
			return err_nomem();
		if ((e = take_memory(s, offer + SHM_NAME)) == 0) {
			*out = s;
			return 0;
		}
		shm_free(s);
	}
	return e;
}
