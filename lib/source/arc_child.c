/* arc_child - an archive read by a process of its own: serves arc. */
#include "source/arc_child.h"
#include "base/err.h"
#include "base/io.h"
#include "source/arc_local.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE	65536u		/* bytes of an answer */

struct answer {
	int32_t		code;
	uint32_t	packed, n;
};

struct arc_child {
	pid_t	 pid;		/* -1: dead */
	int	 sock;
	bool	 packed;
	char	 text[PIECE + 1];	/* a name, or a line */
};

/* The process's side. */
struct reader {
	int			 sock;
	struct arc_local		*here;
	struct answer		 head;
	uint8_t			 body[PIECE];	/* stands behind the head */
};

/* What is limited already is not let out again. */
static void
limit(int what, rlim_t soft, rlim_t hard)
{
	struct rlimit now;

	if (getrlimit(what, &now) < 0)
		return;
	hard = now.rlim_max < hard ? now.rlim_max : hard;
	setrlimit(what, &(struct rlimit){ soft < hard ? soft : hard, hard });
}

/* Memory that this process has mapped, in bytes, or 0. */
static uint64_t
mapped(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages;
	int n = f != NULL ? fscanf(f, "%lu", &pages) : 0;

	if (f != NULL)
		fclose(f);
	return n == 1 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Signals that may end the parent are left to it: the socket's end tells.  All others end this process at once. */
static void
withdraw(int sock, int fd)
{
	static const int from_outside[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	unsigned low = (unsigned)(sock < fd ? sock : fd), high = (unsigned)(sock < fd ? fd : sock);
	uint64_t now = mapped();
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(from_outside) / sizeof(*from_outside); i++)
		sigaddset(&blocked, from_outside[i]);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
	if (low > 0)
		close_range(0, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, UINT_MAX, 0);
	limit(RLIMIT_CORE, 0, 0);
	limit(RLIMIT_FSIZE, 0, 0);
	limit(RLIMIT_NOFILE, 0, 0);
	if (now > 0)
		limit(RLIMIT_AS, now + ARC_CHILD_MEMORY, now + ARC_CHILD_MEMORY);
}

/* Seconds from now on. */
static void
limit_cpu(void)
{
	struct rusage used;

	if (getrusage(RUSAGE_SELF, &used) == 0)
		limit(RLIMIT_CPU, (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + ARC_CHILD_CPU, RLIM_INFINITY);
}

/* What code says comes with n bytes of the body, or with the line of an error. */
static int
answer(struct reader *r, int code, size_t n)
{
	if (code < 0) {
		n = strlen(err_line());
		memcpy(r->body, err_line(), n < PIECE ? n : PIECE);
	}
	r->head = (struct answer){ .code = code, .packed = r->here != NULL && arc_local_is_packed(r->here),
	    .n = (uint32_t)(n < PIECE ? n : PIECE) };
	return io_write(r->sock, &r->head, sizeof(r->head) + r->head.n);
}

/* One request.  Returns 0, or another number when nobody asks any more. */
static int
serve(struct reader *r)
{
	const char *name;
	size_t got = 0;
	uint32_t n;
	int e;

	if (io_read(r->sock, &n, sizeof(n), &got) < 0 || got < sizeof(n))
		return 1;
	limit_cpu();
	if (n > 0)
		return e = arc_local_read(r->here, r->body, n < PIECE ? n : PIECE, &got), answer(r, e, got);
	if ((e = arc_local_next(r->here, &name)) > 0) {
		if ((got = strlen(name)) > PIECE)
			e = err_fail(ERR_ITEM, "a name of %zu bytes", got);
		else
			memcpy(r->body, name, got);
	}
	return answer(r, e, e > 0 ? got : 0);
}

static _Noreturn void
read_apart(int sock, const struct arc_local_opt *opt)
{
	struct reader *r = malloc(sizeof(*r));
	int e;

	if (r == NULL)
		_exit(1);
	withdraw(sock, opt->fd);
	limit_cpu();
	r->sock = sock;
	e = arc_local_open(&r->here, opt);
	if (answer(r, e, 0) == 0 && e == 0)
		while (serve(r) == 0)
			;
	_exit(0);
}

/* The process has died, or says what it never would. */
static int
dead(struct arc_child *a)
{
	int status = 0;

	/* One that has ended is not killed any more. */
	kill(a->pid, SIGKILL);
	while (waitpid(a->pid, &status, 0) < 0 && errno == EINTR)
		;
	a->pid = -1;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return err_fail(ERR_FORMAT, "libarchive took more than %u seconds for a piece of it", ARC_CHILD_CPU);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		return err_fail(ERR_FORMAT, "libarchive crashed on it: %s", strsignal(WTERMSIG(status)));
	if (WIFEXITED(status))
		return err_fail(ERR_FORMAT, "libarchive gave up on it");
	return err_fail(ERR_FORMAT, "the process that read it is gone");
}

/* The next answer, its bytes at p, at most `most`. */
static int
take(struct arc_child *a, void *p, uint32_t most, size_t *got)
{
	struct answer h;
	size_t n;

	*got = 0;
	if (io_read(a->sock, &h, sizeof(h), &n) < 0 || n < sizeof(h) || h.code > 1 || h.code <= ERR_LAST_ ||
	    h.n > (h.code < 0 ? PIECE : most))
		return dead(a);
	if (io_read(a->sock, h.code < 0 ? a->text : p, h.n, &n) < 0 || n < h.n)
		return dead(a);
	a->packed = h.packed != 0;
	if (h.code < 0) {
		a->text[n] = 0;
		return err_fail(h.code, "%s", a->text);
	}
	*got = n;
	return h.code;
}

/* Asks for n bytes, or the next member. */
static int
ask(struct arc_child *a, uint32_t n, void *p, uint32_t most, size_t *got)
{
	*got = 0;
	if (a->pid < 0)
		return err_fail(ERR_FORMAT, "the process that read it is gone");
	if (send(a->sock, &n, sizeof(n), MSG_NOSIGNAL) != (ssize_t)sizeof(n))
		return dead(a);
	return take(a, p, most, got);
}

int
arc_child_open(struct arc_child **out, int fd, const uint8_t *head, size_t n, enum arc_kind kind)
{
	struct arc_local_opt opt = { .fd = fd, .head = head, .n = n, .kind = kind, .all = true };
	struct arc_child *a = malloc(sizeof(*a));
	int sock[2], e;
	size_t got;

	*out = NULL;
	if (a == NULL)
		return err_nomem();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) < 0) {
		e = err_sys("socketpair");
		free(a);
		return e;
	}
	a->sock = sock[0];
	a->packed = false;
	if ((a->pid = fork()) == 0)
		read_apart(sock[1], &opt);
	e = a->pid < 0 ? err_sys("fork") : 0;
	close(sock[1]);
	if (e < 0 || (e = take(a, NULL, 0, &got)) < 0) {
		arc_child_close(a);
		return e;
	}
	*out = a;
	return 0;
}

void
arc_child_close(struct arc_child *a)
{
	if (a == NULL)
		return;
	close(a->sock);
	if (a->pid >= 0) {
		kill(a->pid, SIGKILL);
		while (waitpid(a->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(a);
}

bool
arc_child_is_packed(const struct arc_child *a)
{
	return a->packed;
}

int
arc_child_next(struct arc_child *a, const char **name)
{
	size_t n;
	int e = ask(a, 0, a->text, PIECE, &n);

	a->text[n < PIECE ? n : PIECE] = 0;
	*name = a->text;
	return e;
}

int
arc_child_read(struct arc_child *a, void *p, size_t n, size_t *got)
{
	*got = 0;
	while (*got < n) {
		uint32_t want = n - *got < PIECE ? (uint32_t)(n - *got) : PIECE;
		size_t k;
		int e = ask(a, want, (uint8_t *)p + *got, want, &k);

		if (e != 0)
			return e < 0 ? e : dead(a);
		*got += k;
		if (k < want)
			break;
	}
	return 0;
}
