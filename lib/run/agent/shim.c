/* shim - the process between an agent and a process of its job, that ends what that one started. */
#include "run/agent/shim.h"

#include "run/family.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILL_ALL SIGUSR2	/* what it is sent for SIGKILL, which it could not take */

void
shim_begin(pid_t parent)
{
	sigset_t all;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "tally-warden");
	family_begin();
	prctl(PR_SET_PDEATHSIG, KILL_ALL);
	if (getppid() != parent)
		_exit(127);
}

/* Ends as the command did. */
static _Noreturn void
end(int status)
{
	sigset_t one;

	if (WIFSIGNALED(status)) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		sigemptyset(&one);
		sigaddset(&one, WTERMSIG(status));
		raise(WTERMSIG(status));
		sigprocmask(SIG_UNBLOCK, &one, NULL);
	}
	_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));	/* as shells have it, where it is ignored */
}

/* Takes in what has ended.  False when nothing is left. */
static bool
reap(pid_t command, bool *ended, int *status)
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
shim_stay(pid_t command)
{
	int null = open("/dev/null", O_RDWR), status = 0, signo;
	bool ended = false, asked = false, now = false;
	sigset_t all;

	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		dup2(null, i);
	close_range(STDERR_FILENO + 1, UINT_MAX, 0);
	sigfillset(&all);
	while (reap(command, &ended, &status)) {
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
	end(status);
}

void
shim_signal(pid_t warden, int signo)
{
	if (warden <= 0)
		return;
	kill(warden, signo == SIGKILL ? KILL_ALL : signo);
	if (signo == SIGKILL)
		kill(warden, SIGCONT);	/* it may be stopped */
}
