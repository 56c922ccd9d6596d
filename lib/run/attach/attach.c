/* attach - the socket at which launchers find the agent of a detached job again. */
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
#define BACKLOG	 8	/* connections that wait to be accepted */

/* The first byte of an abstract name is zero. */
static int
make_attach_addr(const char *name, struct sockaddr_un *a, socklen_t *n)
{
	int k = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "tally/%s", name);

	a->sun_family = AF_UNIX;
	a->sun_path[0] = 0;
	if (*name == 0 || strlen(name) >= ATTACH_NAME)
		return err_fail(ERR_ARG, "'%.80s' is not a name for an agent", name);
	*n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)k);
	return 0;
}

/* Checks that the peer has this process's user id, and returns its process id. */
static int
check_peer_user(int fd, pid_t *pid)
{
	struct ucred c;
	socklen_t n = sizeof(c);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) < 0)
		return err_sys("the peer's user id");
	*pid = c.pid;
	return c.uid == geteuid() ? 0 : err_fail(ERR_AUTH, "the agent's socket: the peer is another user, %u", c.uid);
}

int
attach_connect(const char *name, int *fd, pid_t *pid)
{
	const struct timeval most = { .tv_sec = ATTACH_CONNECT_S };
	struct sockaddr_un a;
	socklen_t n;
	int e = make_attach_addr(name, &a, &n);

	if (e < 0)
		return e;
	if ((*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
		return err_sys("socket");
	/* Limits connect(2), which blocks while the backlog is full. */
	setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	if (connect(*fd, (struct sockaddr *)&a, n) == 0)
		e = check_peer_user(*fd, pid);
	else if (errno == ECONNREFUSED)
		e = err_fail(ERR_PEER, "no agent has this name on this host");
	else if (errno == EAGAIN)
		e = err_fail(ERR_AGAIN, "the agent does not accept connections");
	else
		e = err_sys("the agent's socket");
	if (e < 0) {
		close(*fd);
		*fd = -1;
	}
	return e;
}

static int
stop_previous_agent(const char *name)
{
	pid_t pid;
	int fd, e = attach_connect(name, &fd, &pid);

	if (e == ERR_PEER)
		return 0;
	if (e < 0)
		return e;
	if (pid > 0)
		kill(pid, SIGTERM);
	close(fd);
	return 0;
}

/* Listens under a name as soon as it is free; `stop` asks an agent that has it to end. */
static int
listen_when_free(const char *name, bool stop, int *fd)
{
	const double until = clk_s() + ATTACH_STOP_S;
	struct sockaddr_un a;
	bool stopped = !stop;
	socklen_t n;
	int e = make_attach_addr(name, &a, &n);

	if (e < 0)
		return e;
	if ((*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
		return err_sys("socket");
	while (e == 0 && bind(*fd, (struct sockaddr *)&a, n) < 0) {
		if (errno != EADDRINUSE)
			e = err_sys("the agent's socket");
		else if (clk_s() > until)
			e = err_fail(ERR_AGAIN, "the agent of an earlier attempt does not end");
		else if (!stopped)
			e = stop_previous_agent(name);
		stopped = true;
		poll(NULL, 0, ROUND_MS);
	}
	if (e == 0 && listen(*fd, BACKLOG) < 0)
		e = err_sys("listen");
	if (e < 0) {
		close(*fd);
		*fd = -1;
	}
	return e;
}

int
attach_listen(const char *name, int *fd)
{
	return listen_when_free(name, true, fd);
}

int
attach_hold(const char *name, int *fd)
{
	return listen_when_free(name, false, fd);
}

int
attach_accept(int listener, int *fd)
{
	pid_t pid;
	int e;

	if ((*fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0)
		return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ?
		    err_fail(ERR_AGAIN, "no connection") : err_sys("accept");
	if ((e = check_peer_user(*fd, &pid)) < 0)
		close(*fd);
	return e;
}

/* One direction of attach_relay: bytes that were read, of which `at` are written. */
struct relay {
	int	 from, to;
	size_t	 n, at;
	bool	 end;		/* `from` is at its end */
	char	 p[65536];
};

static struct pollfd
poll_relay(const struct relay *w)
{
	if (w->at < w->n)
		return (struct pollfd){ .fd = w->to, .events = POLLOUT };
	return (struct pollfd){ .fd = w->end ? -1 : w->from, .events = POLLIN };
}

static bool
is_transient(void)
{
	return errno == EAGAIN || errno == EINTR;
}

static int
relay_bytes(struct relay *w)
{
	ssize_t r;

	if (w->at == w->n && !w->end) {
		r = read(w->from, w->p, sizeof(w->p));
		if (r < 0 && is_transient())
			return 0;
		w->end = r <= 0;
		w->n = r > 0 ? (size_t)r : 0;
		w->at = 0;
	}
	if (w->at == w->n)
		return 0;
	if ((r = write(w->to, w->p + w->at, w->n - w->at)) < 0 && !is_transient())
		return err_fail(ERR_PEER, "the other side is gone");
	w->at += r > 0 ? (size_t)r : 0;
	if (w->at == w->n)
		explicit_bzero(w->p, w->n);	/* a job's key may have passed */
	return 0;
}

int
attach_relay(int in, int out, int fd)
{
	struct relay to = { .from = in, .to = fd }, back = { .from = fd, .to = out };
	bool shut = false;
	int e = 0;

	for (int i = 0; i < 3; i++) {
		int f = (const int[]){ in, out, fd }[i];

		fcntl(f, F_SETFL, fcntl(f, F_GETFL) | O_NONBLOCK);
	}
	while (e == 0 && !(back.end && back.at == back.n)) {
		struct pollfd p[2] = { poll_relay(&to), poll_relay(&back) };

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return err_sys("poll");
		if (p[0].revents != 0)
			e = relay_bytes(&to);
		if (e == 0 && p[1].revents != 0)
			e = relay_bytes(&back);
		if (to.end && to.at == to.n && !shut) {
			shut = true;
			shutdown(fd, SHUT_WR);
		}
	}
	return e;
}
