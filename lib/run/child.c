/* child - starts a process in a session of its own, connected by pipes. */
#include "run/child.h"

#include "base/err.h"
#include "base/io.h"
#include "run/consequence.h"
#include "run/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { IN, OUT, ERR, WHY, PIPES };

/* Runs in the child and executes the command.  Returns, with errno, only if something fails. */
static void
exec_child(const struct child_opt *opt, int fd[PIPES][2], pid_t parent)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t held;

	setsid();
	prctl(PR_SET_PDEATHSIG, opt->death);
	if (getppid() != parent)
		_exit(127);	/* the parent died before prctl(2) watched it */
	if (dup2(opt->has_in ? fd[IN][0] : null, STDIN_FILENO) < 0 ||
	    dup2(fd[OUT][1], STDOUT_FILENO) < 0 || dup2(fd[ERR][1], STDERR_FILENO) < 0)
		return;
	for (const int *k = opt->inherit; k != NULL && *k >= 0; k++)
		if (fcntl(*k, F_SETFD, 0) < 0)
			return;
	for (char *const *e = opt->env; e != NULL && *e != NULL; e++)
		if (putenv(*e) != 0)
			return;
	if (opt->shim != NULL && consequence_announce() < 0)
		return;
	sigemptyset(&held);
	if (opt->held > 0)
		sigaddset(&held, opt->held);
	sigprocmask(SIG_SETMASK, &held, NULL);
	if (opt->signalled)
		kill(getpid(), opt->held);
	execvp(opt->argv[0], opt->argv);
}

static void
close_pair(int fd[2])
{
	for (int i = 0; i < 2; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/*
 * Makes the calling child a shim and forks the process below it.  Returns in that process, with the
 * shim's id as its parent.  Process ids (positive) and errors (negative) share one pipe.
 */
static pid_t
fork_shim(const struct shim_opt *opt, int fd[PIPES][2], int agent)
{
	struct shim_opt with = *opt;
	pid_t shim = getpid(), command = -1;
	struct shim *s;
	int word;

	with.fd[SHIM_OUT] = fd[OUT][0];
	with.fd[SHIM_ERR] = fd[ERR][0];
	if ((s = shim_begin(&with, agent)) != NULL && (command = fork()) == 0)
		return shim;
	word = command > 0 ? (int)command : -errno;
	if (io_write(fd[WHY][1], &word, sizeof(word)) < 0 || command < 0)
		_exit(126);
	shim_supervise(s, command);
}

/* Waits for exec in the child: a failure is written to the pipe, success closes it. */
static int
read_exec_result(int fd[2], pid_t *command)
{
	int word = 0, why = 0;
	size_t got = 0;

	close(fd[1]);
	fd[1] = -1;
	while (io_read(fd[0], &word, sizeof(word), &got) == 0 && got == sizeof(word))
		if (word > 0)
			*command = word;
		else
			why = -word;
	return why;
}

static int
fork_child(const struct child_opt *opt, int fd[PIPES][2], int shim[2], struct child *c)
{
	pid_t parent = getpid();
	int why;

	if ((c->pid = fork()) < 0)
		return err_sys("fork");
	if (c->pid == 0) {
		if (opt->shim != NULL)
			parent = fork_shim(opt->shim, fd, shim[1]);
		exec_child(opt, fd, parent);
		why = -errno;
		if (io_write(fd[WHY][1], &why, sizeof(why)) < 0)
			_exit(126);
		_exit(127);
	}
	c->command = c->pid;
	if ((why = read_exec_result(fd[WHY], &c->command)) == 0)
		return 0;
	if (opt->shim != NULL)
		shim_release(shim[0]);
	shim[0] = -1;
	waitpid(c->pid, NULL, 0);
	errno = why;
	return err_sys("%s", opt->argv[0]);
}

int
child_start(const struct child_opt *opt, struct child *c)
{
	int fd[PIPES][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } }, shim[2] = { -1, -1 };
	int e = 0;

	*c = (struct child){ .in = -1, .out = -1, .err = -1, .shim = -1 };
	for (int i = opt->has_in ? IN : OUT; i < PIPES && e == 0; i++)
		if (pipe2(fd[i], O_CLOEXEC) < 0)
			e = err_sys("pipe");
	if (e == 0 && opt->shim != NULL && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, shim) < 0)
		e = err_sys("socketpair");
	if (e == 0 && (e = fork_child(opt, fd, shim, c)) == 0) {
		c->in = fd[IN][1];
		c->out = fd[OUT][0];
		c->err = fd[ERR][0];
		c->shim = shim[0];
		fd[IN][1] = fd[OUT][0] = fd[ERR][0] = shim[0] = -1;
	} else {
		c->pid = 0;
	}
	for (int i = 0; i < PIPES; i++)
		close_pair(fd[i]);
	close_pair(shim);
	return e;
}

void
child_signal(pid_t pid, int signo)
{
	if (pid > 0 && signo == SIGKILL)
		session_kill(pid);
	else if (pid > 0)
		kill(-pid, signo);
}

bool
child_ended(pid_t pid, int *status, uint32_t *peak_kib)
{
	struct rusage used;

	if (pid <= 0 || wait4(pid, status, WNOHANG, &used) != pid)
		return false;
	if (peak_kib != NULL)
		*peak_kib = used.ru_maxrss < UINT32_MAX ? (uint32_t)used.ru_maxrss : UINT32_MAX;
	return true;
}
