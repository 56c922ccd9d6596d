/* attach - where the agent of a detached job is found again on its host: a socket that only its own user gets through. */
#include "run/attach/attach.h"

#include "base/clk.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ROUND_MS 20
#define WAITING	 8	/* who may stand before the door */

/* Its first byte is zero, which makes the name an abstract one. */
static int
address(const char *name, struct sockaddr_un *a, socklen_t *n)
{
	int k = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "tally/%s", name);

	a->sun_family = AF_UNIX;
	a->sun_path[0] = 0;
	if (*name == 0 || strlen(name) >= ATTACH_NAME)
		return err_fail(ERR_ARG, "'%.80s' is no name of an agent", name);
	*n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)k);
	return 0;
}

/* Who is at the other end, when that is the same user. */
static int
known(int fd, pid_t *pid)
{
	struct ucred c;
	socklen_t n = sizeof(c);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) < 0)
		return err_sys("the other side's user");
	*pid = c.pid;
	return c.uid == geteuid() ? 0 : err_fail(ERR_AUTH, "another user, %u, is at the other end of the agent's socket", c.uid);
}

static int
enter(const char *name, int *fd, pid_t *pid)
{
	const struct timeval most = { .tv_sec = ATTACH_ENTER_S };
	struct sockaddr_un a;
	socklen_t n;
	int e = address(name, &a, &n);

	if (e < 0)
		return e;
	if ((*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
		return err_sys("socket");
	/* That of connect(2), where as many stand before the door as may. */
	setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	if (connect(*fd, (struct sockaddr *)&a, n) == 0)
		e = known(*fd, pid);
	else if (errno == ECONNREFUSED)
		e = err_fail(ERR_PEER, "no agent has this name here");
	else if (errno == EAGAIN)
		e = err_fail(ERR_AGAIN, "the agent lets nobody in");
	else
		e = err_sys("the agent's socket");
	if (e < 0) {
		close(*fd);
		*fd = -1;
	}
	return e;
}

int
attach_enter(const char *name, int *fd)
{
	pid_t pid;

	return enter(name, fd, &pid);
}

static int
evict(const char *name)
{
	pid_t pid;
	int fd, e = enter(name, &fd, &pid);

	if (e == ERR_PEER)
		return 0;
	if (e < 0)
		return e;
	if (pid > 0)
		kill(pid, SIGTERM);
	close(fd);
	return 0;
}

int
attach_open(const char *name, int *fd)
{
	const double until = clk_s() + ATTACH_EVICT_S;
	struct sockaddr_un a;
	bool told = false;
	socklen_t n;
	int e = address(name, &a, &n);

	if (e < 0)
		return e;
	if ((*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
		return err_sys("socket");
	while (e == 0 && bind(*fd, (struct sockaddr *)&a, n) < 0) {
		if (errno != EADDRINUSE)
			e = err_sys("the agent's socket");
		else if (clk_s() > until)
			e = err_fail(ERR_AGAIN, "the agent of an attempt before does not end");
		else if (!told)
			e = evict(name);
		told = true;
		poll(NULL, 0, ROUND_MS);
	}
	if (e == 0 && listen(*fd, WAITING) < 0)
		e = err_sys("listen");
	if (e < 0) {
		close(*fd);
		*fd = -1;
	}
	return e;
}

int
attach_accept(int door, int *fd)
{
	pid_t pid;
	int e;

	if ((*fd = accept4(door, NULL, NULL, SOCK_CLOEXEC)) < 0)
		return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ? err_fail(ERR_AGAIN, "nobody comes in") :
		    err_sys("accept");
	if ((e = known(*fd, &pid)) < 0)
		close(*fd);
	return e;
}

/* One way through: a piece that was read, of which up to `at` is written. */
struct way {
	int	 from, to;
	size_t	 n, at;
	bool	 end;		/* of `from` */
	char	 p[65536];
};

static struct pollfd
wish(const struct way *w)
{
	if (w->at < w->n)
		return (struct pollfd){ .fd = w->to, .events = POLLOUT };
	return (struct pollfd){ .fd = w->end ? -1 : w->from, .events = POLLIN };
}

static bool
later(void)
{
	return errno == EAGAIN || errno == EINTR;
}

static int
move(struct way *w)
{
	ssize_t r;

	if (w->at == w->n && !w->end) {
		r = read(w->from, w->p, sizeof(w->p));
		if (r < 0 && later())
			return 0;
		w->end = r <= 0;
		w->n = r > 0 ? (size_t)r : 0;
		w->at = 0;
	}
	if (w->at == w->n)
		return 0;
	if ((r = write(w->to, w->p + w->at, w->n - w->at)) < 0 && !later())
		return err_fail(ERR_PEER, "the other side is gone");
	w->at += r > 0 ? (size_t)r : 0;
	return 0;
}

int
attach_pass(int in, int out, int fd)
{
	struct way to = { .from = in, .to = fd }, back = { .from = fd, .to = out };
	bool told = false;
	int e = 0;

	for (int i = 0; i < 3; i++) {
		int f = (const int[]){ in, out, fd }[i];

		fcntl(f, F_SETFL, fcntl(f, F_GETFL) | O_NONBLOCK);
	}
	while (e == 0 && !(back.end && back.at == back.n)) {
		struct pollfd p[2] = { wish(&to), wish(&back) };

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return err_sys("poll");
		if (p[0].revents != 0)
			e = move(&to);
		if (e == 0 && p[1].revents != 0)
			e = move(&back);
		if (to.end && to.at == to.n && !told) {
			told = true;
			shutdown(fd, SHUT_WR);
		}
	}
	return e;
}
