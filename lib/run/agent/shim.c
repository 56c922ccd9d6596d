/* shim - the parent of one process of a job, which ends all that the process started. */
#include "run/agent/shim.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"
#include "base/secret.h"
#include "run/attach/attach.h"
#include "run/family.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_ALL SIGUSR2	/* stands for SIGKILL, which the shim could not catch */
#define HELLO	 0x53484d33u	/* the first number of struct shim_hello; another layout has another */
#define RELEASE	 'r'
#define PAUSE_MS 500		/* time between attempts to accept while descriptors or memory are exhausted */

struct shim {
	struct shim_opt	 opt;
	int		 agent;		/* the connection; -1: the agent has ended */
	int		 signals;
	double		 orphan_at;	/* when the agent ended */
	pid_t		 command;
	struct shim_end	 end;
	uint64_t	 passed;
	bool		 ended;		/* the command has */
	bool		 killing;	/* all are to be killed */
	bool		 over;		/* all have ended */
	bool		 released;
};

/* The first message to an adopting agent.  Both run on one host. */
struct shim_hello {
	uint32_t	 mark, has;	/* has: bit i says that descriptor i is passed with it */
	pid_t		 shim, command;
	uint64_t	 passed;
	struct shim_page page;
	char		 key[JOB_KEY + 1];
};

static int
compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Closes all descriptors but the standard ones and the shim's own. */
static void
close_others(const struct shim *s)
{
	int keep[SHIM_FDS + 2] = { s->agent, s->signals }, next = STDERR_FILENO + 1;

	memcpy(keep + 2, s->opt.fd, sizeof(s->opt.fd));
	qsort(keep, SHIM_FDS + 2, sizeof(keep[0]), compare_fds);
	for (int i = 0; i < SHIM_FDS + 2; i++) {
		if (keep[i] < next)
			continue;
		if (keep[i] > next)
			io_close_range((unsigned)next, (unsigned)keep[i] - 1);
		next = keep[i] + 1;
	}
	io_close_range((unsigned)next, UINT_MAX);
}

/* Releases the shim before this one, and waits until it has ended, and all below it. */
static int
replace_shim(int before)
{
	const struct timeval most = { .tv_sec = ATTACH_STOP_S };
	const char what = RELEASE;
	char rest[sizeof(struct shim_end)];
	ssize_t r;

	setsockopt(before, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	send(before, &what, 1, MSG_NOSIGNAL);
	while ((r = recv(before, rest, sizeof(rest), 0)) > 0)
		continue;
	if (r < 0 && errno == EAGAIN)
		return err_fail(ERR_AGAIN, "the shim before does not end");
	close(before);
	return 0;
}

struct shim *
shim_begin(const struct shim_opt *opt, int agent)
{
	struct shim *s = calloc(1, sizeof(*s));
	sigset_t all;

	if (s == NULL) {
		(void)err_sys("shim");
		return NULL;
	}
	*s = (struct shim){ .opt = *opt, .agent = agent, .passed = opt->passed };
	secret_keep((void *)(uintptr_t)opt->key, strlen(opt->key) + 1);
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "tally-shim");
	family_adopt();
	if (((s->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK)) < 0 && err_sys("signalfd") < 0) ||
	    (opt->before >= 0 && replace_shim(opt->before) < 0)) {
		free(s);
		return NULL;
	}
	return s;
}

/* Reaps all children that have ended.  Returns false if none is left. */
static bool
reap_children(struct shim *s)
{
	pid_t pid;
	int how;

	while ((pid = waitpid(-1, &how, WNOHANG)) > 0)
		if (pid == s->command) {
			s->ended = true;
			s->end.status = how;
		}
	return pid == 0;
}

static void
send_end(const struct shim *s)
{
	if (s->agent >= 0)
		send(s->agent, &s->end, sizeof(s->end), MSG_NOSIGNAL);
}

/* Ends what is left of the command's processes when it is time to, and reports that all have ended. */
static void
watch_family(struct shim *s)
{
	struct rusage used;
	bool left = reap_children(s);

	if (s->killing && !s->ended) {
		kill(s->command, SIGKILL);
		s->ended = waitpid(s->command, &s->end.status, 0) == s->command;
	}
	if (s->ended && (s->killing || (s->passed & 1ull << SIGTERM) == 0)) {
		family_kill(NULL, 0);
		left = false;
	}
	if (left || s->over)
		return;
	s->over = true;
	getrusage(RUSAGE_CHILDREN, &used);
	s->end.peak_kib = used.ru_maxrss < UINT32_MAX ? (uint32_t)used.ru_maxrss : UINT32_MAX;
	send_end(s);
}

static void
lose_agent(struct shim *s)
{
	close(s->agent);
	s->agent = -1;
	s->orphan_at = clk_s();
	if (s->opt.fd[SHIM_ATTACH] < 0)
		s->killing = s->released = true;
}

static void
read_agent(struct shim *s)
{
	char what = 0;
	ssize_t r = recv(s->agent, &what, 1, MSG_DONTWAIT);

	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (r == 1 && what == RELEASE)
		s->killing = s->released = true;
	else
		lose_agent(s);
}

/* Passes all that an agent needs. */
static int
send_hello(const struct shim *s)
{
	struct shim_hello h = { .mark = HELLO, .shim = getpid(), .command = s->command,
	    .passed = s->passed, .page = s->opt.page };
	union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(s->opt.fd))]; } control = { 0 };
	struct iovec text = { &h, sizeof(h) };
	struct msghdr m = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control };
	int fd[SHIM_FDS], n = 0;

	snprintf(h.key, sizeof(h.key), "%s", s->opt.key);
	for (int i = 0; i < SHIM_FDS; i++)
		if (s->opt.fd[i] >= 0) {
			h.has |= 1u << i;
			fd[n++] = s->opt.fd[i];
		}
	m.msg_controllen = CMSG_SPACE((size_t)n * sizeof(fd[0]));
	*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ .cmsg_len = CMSG_LEN((size_t)n * sizeof(fd[0])),
	    .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fd, (size_t)n * sizeof(fd[0]));
	n = sendmsg(s->agent, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(h) ? 0 : -1;
	explicit_bzero(&h, sizeof(h));
	return n;
}

static void
accept_agent(struct shim *s)
{
	int e = attach_accept(s->opt.fd[SHIM_ATTACH], &s->agent);

	/* The waiting connection makes poll return at once, again and again.  Signals end the pause. */
	if (e == ERR_SYS)
		poll(&(struct pollfd){ .fd = s->signals, .events = POLLIN }, 1, PAUSE_MS);
	if (e < 0) {
		s->agent = -1;
		return;
	}
	if (send_hello(s) < 0)
		read_agent(s);	/* it may have released the shim at once */
	else if (s->over)
		send_end(s);
}

static void
read_signals(struct shim *s)
{
	struct signalfd_siginfo si;

	while (read(s->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			continue;
		s->killing |= si.ssi_signo == KILL_ALL;
		if (s->killing)
			continue;
		s->passed |= si.ssi_signo < 64 ? 1ull << si.ssi_signo : 0;
		family_signal((int)si.ssi_signo);
	}
}

static void
wait_for_event(struct shim *s)
{
	double left = s->agent < 0 ? s->orphan_at + s->opt.hold_s - clk_s() : 0;
	struct pollfd fd[2] = { { .fd = s->signals, .events = POLLIN },
		{ .fd = s->agent >= 0 ? s->agent : s->opt.fd[SHIM_ATTACH], .events = POLLIN } };

	poll(fd, 2, s->agent >= 0 ? -1 : left <= 0 ? 0 : left < 1e6 ? (int)(left * 1e3) + 1 : (int)1e9);
	read_signals(s);
	if (fd[1].revents != 0 && s->agent >= 0)
		read_agent(s);
	else if (fd[1].revents != 0)
		accept_agent(s);
	else if (s->agent < 0 && left <= 0)
		s->killing = s->released = true;
}

_Noreturn void
shim_supervise(struct shim *s, pid_t command)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	s->command = command;
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		dup2(null, i);
	close_others(s);
	for (;;) {
		watch_family(s);
		if (s->over && s->released)
			_exit(0);
		wait_for_event(s);
	}
}

void
shim_signal(pid_t shim, int signo)
{
	if (shim <= 0)
		return;
	kill(shim, signo == SIGKILL ? KILL_ALL : signo);
	if (signo == SIGKILL)
		kill(shim, SIGCONT);	/* in case it is stopped */
}

int
shim_read_end(int fd, struct shim_end *end)
{
	ssize_t r = recv(fd, end, sizeof(*end), MSG_DONTWAIT);

	if (r < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return r == (ssize_t)sizeof(*end) ? 1 : err_fail(ERR_PEER, "the shim was killed");
}

void
shim_release(int fd)
{
	const char what = RELEASE;

	send(fd, &what, 1, MSG_NOSIGNAL);
	close(fd);
}

/* Reads the first message.  Returns 0, or an error; then the descriptors that were passed are closed. */
static int
read_hello(int fd, struct shim_orphan *o)
{
	const struct timeval most = { .tv_sec = SHIM_ADOPT_S };
	struct shim_hello h = { 0 };
	union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(o->fd))]; } control = { 0 };
	struct iovec text = { &h, sizeof(h) };
	struct msghdr m = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control) };
	int got[SHIM_FDS], n = 0, used = 0;
	const struct cmsghdr *c;
	ssize_t r;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	r = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	if ((c = r > 0 ? CMSG_FIRSTHDR(&m) : NULL) != NULL && c->cmsg_type == SCM_RIGHTS) {
		n = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(got[0]));
		memcpy(got, CMSG_DATA(c), (size_t)n * sizeof(got[0]));
	}
	for (int i = 0; i < SHIM_FDS; i++)
		o->fd[i] = (h.has & 1u << i) != 0 && used < n ? got[used++] : -1;
	if (r == (ssize_t)sizeof(h) && h.mark == HELLO && used == n && o->fd[SHIM_OUT] >= 0 && o->fd[SHIM_ERR] >= 0) {
		o->shim = h.shim;
		o->command = h.command;
		o->passed = h.passed;
		o->page = h.page;
		memcpy(o->key, h.key, sizeof(o->key));
		explicit_bzero(h.key, sizeof(h.key));
		return 0;
	}
	for (int i = 0; i < n; i++)
		close(got[i]);
	if (r < 0 && errno == EAGAIN)
		return err_fail(ERR_AGAIN, "the process has an agent that does not end");
	return r <= 0 ? err_fail(ERR_PEER, "the shim has ended") :
	    err_fail(ERR_FORMAT, "the shim is of another version");
}

int
shim_adopt(const char *name, int *fd, struct shim_orphan *o)
{
	pid_t listener;	/* who made the socket: an agent that has ended */
	int e = attach_connect(name, fd, &listener);

	if (e < 0)
		return e;
	if ((e = read_hello(*fd, o)) < 0) {
		close(*fd);
		*fd = -1;
	}
	return e;
}
