/* agent - dlaunch as the agent of a host, and as the relay to a running one. */
#include "dlaunch/dlaunch.h"
#include "front.h"

#include "base/err.h"
#include "base/io.h"
#include "run/agent/agent.h"
#include "run/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* name: by which another agent finds its processes; or NULL. */
static int
run_host_agent(int in, int out, int listener, const char *name, bool adopts)
{
	char bin[PATH_MAX];
	int e;

	dlaunch_self(bin);
	*strrchr(bin, '/') = 0;
	e = agent_run(&(struct agent_opt){ .in = in, .out = out, .attach_fd = listener,
	    .name = name != NULL ? name : "", .adopts = adopts,
	    .signals = dlaunch_signals((const int[]){ SIGCHLD, SIGTERM, 0 }), .version = TALLY_VERSION, .bin = bin });
	/* A launcher that is heard no more may hear its agent. */
	if (e == ERR_PEER)
		front_say("%s", err_line());
	return e == 0 ? 0 : e == ERR_PEER ? FRONT_AGAIN : FRONT_PARTIAL;
}

static void
refuse_terminal(void)
{
	if (isatty(STDIN_FILENO))
		front_wrong("--agent is only for use by dlaunch itself");
}

int
dlaunch_agent(const char *name, bool adopts)
{
	refuse_terminal();
	return run_host_agent(STDIN_FILENO, STDOUT_FILENO, -1, name, adopts);
}

/*
 * Runs an agent without terminal, session or pipes of its parent.  An error goes through fd; if it is
 * closed without one, the agent listens.
 */
static _Noreturn void
run_kept_agent(const char *name, bool adopts, int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), listener;

	setsid();
	if (attach_listen(name, &listener) < 0) {
		io_write(fd, err_line(), strlen(err_line()));
		_exit(FRONT_PARTIAL);
	}
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		dup2(null, i);
	close(fd);
	_exit(run_host_agent(-1, -1, listener, name, adopts));
}

static int
start_kept_agent(const char *name, bool adopts)
{
	char why[ERR_LINE];
	size_t got;
	int fd[2];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		front_die("--agent-keep", err_sys("fork"));
	if (pid == 0) {
		close(fd[0]);
		run_kept_agent(name, adopts, fd[1]);
	}
	close(fd[1]);
	if (io_read(fd[0], why, sizeof(why) - 1, &got) < 0 || got > 0) {
		why[got] = 0;
		front_say("--agent-keep: %s", why);
		return FRONT_PARTIAL;
	}
	close(fd[0]);
	return dlaunch_agent_resume(name);
}

int
dlaunch_agent_resume(const char *name)
{
	pid_t pid;
	int fd, e;

	refuse_terminal();
	signal(SIGPIPE, SIG_IGN);
	if ((e = attach_connect(name, &fd, &pid)) == ERR_PEER)
		return start_kept_agent(name, true);
	if (e < 0 || (e = attach_relay(STDIN_FILENO, STDOUT_FILENO, fd)) < 0) {
		front_warn("--agent-resume", e);
		return e == ERR_PEER ? FRONT_AGAIN : FRONT_PARTIAL;
	}
	return 0;
}

int
dlaunch_agent_keep(const char *name)
{
	refuse_terminal();
	return start_kept_agent(name, false);
}
