/* arc_child - reads an archive in a separate process.  For arc. */
#include "source/arc_child.h"
#include "base/confine.h"
#include "base/err.h"
#include "base/io.h"
#include "source/arc_local.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_BYTES	65536u		/* most bytes of an answer */

struct answer {
	int32_t		code;
	uint32_t	packed, n;
};

struct arc_child {
	pid_t	 pid;		/* -1: dead */
	int	 sock;
	bool	 packed;
	char	 text[ANSWER_BYTES + 1];	/* a name, or the line of an error */
};

/* The child's state. */
struct reader {
	int			 sock;
	struct arc_local	*local;
	struct answer		 head;
	uint8_t			 body[ANSWER_BYTES];	/* sent right after head, in one write */
};

/* Sends an answer with n bytes of the body, or with the line of an error. */
static int
send_answer(struct reader *r, int code, size_t n)
{
	if (code < 0) {
		n = strlen(err_line());
		memcpy(r->body, err_line(), n < ANSWER_BYTES ? n : ANSWER_BYTES);
	}
	r->head = (struct answer){ .code = code, .packed = r->local != NULL && arc_local_is_packed(r->local),
	    .n = (uint32_t)(n < ANSWER_BYTES ? n : ANSWER_BYTES) };
	return io_write(r->sock, &r->head, sizeof(r->head) + r->head.n);
}

/* Handles one request.  Returns 0, or nonzero if the parent is gone. */
static int
handle_request(struct reader *r)
{
	const char *name;
	size_t got = 0;
	uint32_t n;
	int e;

	if (io_read(r->sock, &n, sizeof(n), &got) < 0 || got < sizeof(n))
		return 1;
	confine_cpu(ARC_CHILD_CPU);
	if (n > 0)
		return e = arc_local_read(r->local, r->body, n < ANSWER_BYTES ? n : ANSWER_BYTES, &got),
		    send_answer(r, e, got);
	if ((e = arc_local_next(r->local, &name)) > 0) {
		if ((got = strlen(name)) > ANSWER_BYTES)
			e = err_fail(ERR_ITEM, "a name of %zu bytes", got);
		else
			memcpy(r->body, name, got);
	}
	return send_answer(r, e, e > 0 ? got : 0);
}

static _Noreturn void
run_child(int sock, const struct arc_local_opt *opt)
{
	struct reader *r = malloc(sizeof(*r));
	int e;

	if (r == NULL)
		_exit(1);
	confine_process(sock, opt->fd, ARC_CHILD_MEMORY);
	confine_cpu(ARC_CHILD_CPU);
	r->sock = sock;
	e = arc_local_open(opt, &r->local);
	if (send_answer(r, e, 0) == 0 && e == 0)
		while (handle_request(r) == 0)
			;
	_exit(0);
}

/* Ends a child that died or sent an invalid answer.  Returns the error. */
static int
end_child(struct arc_child *a)
{
	int status = 0;

	/* The status of a child that has already ended stays. */
	kill(a->pid, SIGKILL);
	while (waitpid(a->pid, &status, 0) < 0 && errno == EINTR)
		;
	a->pid = -1;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return err_fail(ERR_FORMAT, "libarchive used over %u s of processor time for one request",
		    ARC_CHILD_CPU);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		return err_fail(ERR_FORMAT, "libarchive crashed on it: %s", strsignal(WTERMSIG(status)));
	if (WIFEXITED(status))
		return err_fail(ERR_FORMAT, "libarchive gave up on it");
	return err_fail(ERR_FORMAT, "the process that read it is gone");
}

/* Receives an answer of at most `most` bytes into p. */
static int
receive_answer(struct arc_child *a, void *p, uint32_t most, size_t *got)
{
	struct answer h;
	size_t n;

	*got = 0;
	if (io_read(a->sock, &h, sizeof(h), &n) < 0 || n < sizeof(h) || h.code > 1 || h.code < ERR_LAST_ ||
	    h.n > (h.code < 0 ? ANSWER_BYTES : most))
		return end_child(a);
	if (io_read(a->sock, h.code < 0 ? a->text : p, h.n, &n) < 0 || n < h.n)
		return end_child(a);
	a->packed = h.packed != 0;
	if (h.code < 0) {
		a->text[n] = 0;
		return err_fail(h.code, "%s", a->text);
	}
	*got = n;
	return h.code;
}

/* Requests n bytes, or with 0 the next member. */
static int
send_request(struct arc_child *a, uint32_t n, void *p, uint32_t most, size_t *got)
{
	*got = 0;
	if (a->pid < 0)
		return err_fail(ERR_FORMAT, "the process that read it is gone");
	if (send(a->sock, &n, sizeof(n), MSG_NOSIGNAL) != (ssize_t)sizeof(n))
		return end_child(a);
	return receive_answer(a, p, most, got);
}

int
arc_child_open(int fd, const uint8_t *head, size_t n, enum arc_kind kind, struct arc_child **out)
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
		run_child(sock[1], &opt);
	e = a->pid < 0 ? err_sys("fork") : 0;
	close(sock[1]);
	if (e < 0 || (e = receive_answer(a, NULL, 0, &got)) < 0) {
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
	int e = send_request(a, 0, a->text, ANSWER_BYTES, &n);

	a->text[n < ANSWER_BYTES ? n : ANSWER_BYTES] = 0;
	*name = a->text;
	return e;
}

int
arc_child_read(struct arc_child *a, void *p, size_t n, size_t *got)
{
	*got = 0;
	while (*got < n) {
		uint32_t want = n - *got < ANSWER_BYTES ? (uint32_t)(n - *got) : ANSWER_BYTES;
		size_t k;
		int e = send_request(a, want, (uint8_t *)p + *got, want, &k);

		if (e != 0)
			return e < 0 ? e : end_child(a);
		*got += k;
		if (k < want)
			break;
	}
	return 0;
}
