/* shim - the parent of one process of a job, which ends all that the process started. */
#include "run/agent/shim.h"

#include "run/family.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_ALL SIGUSR2	/* stands for SIGKILL, which the shim could not catch */

void
shim_begin(pid_t parent)
{
	sigset_t all;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "tally-shim");
	family_adopt();
	prctl(PR_SET_PDEATHSIG, KILL_ALL);
	if (getppid() != parent)
		_exit(127);
}

/* Ends with the command's status, or by its signal. */
static _Noreturn void
exit_as_command(int status)
{
	sigset_t one;

	if (WIFSIGNALED(status)) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		sigemptyset(&one);
		sigaddset(&one, WTERMSIG(status));
		raise(WTERMSIG(status));
		sigprocmask(SIG_UNBLOCK, &one, NULL);
	}
	/* Where the signal does not kill: the status that a shell gives. */
	_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* Reaps all children that have ended.  Returns false if none is left. */
static bool
reap_children(pid_t command, bool *ended, int *status)
{
	pid_t pid;
	int how;

	while ((pid = waitpid(-1, &how, WNOHANG)) > 0)
		if (pid == command) {
			*ended = true;
			*status = how;
		}
	return pid == 0;
}

_Noreturn void
shim_supervise(pid_t command)
{
	int null = open("/dev/null", O_RDWR), status = 0, signo;
	bool ended = false, asked = false, now = false;
	sigset_t all;

	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		dup2(null, i);
	close_range(STDERR_FILENO + 1, UINT_MAX, 0);
	sigfillset(&all);
	while (reap_children(command, &ended, &status)) {
		if (now && !ended) {
			kill(command, SIGKILL);
			ended = waitpid(command, &status, 0) == command;
		}
		if (ended && (now || !asked)) {
			family_kill(NULL, 0);
			break;
		}
		if ((signo = sigwaitinfo(&all, NULL)) < 0 || signo == SIGCHLD)
			continue;
		now |= signo == KILL_ALL;
		asked |= signo == SIGTERM;
		if (!now)
			family_signal(signo);
	}
	exit_as_command(status);
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
