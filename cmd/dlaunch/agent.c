/* agent - dlaunch as the agent of a host, and as the way to one that is there. */
#include "dlaunch/dlaunch.h"
#include "front.h"

#include "base/err.h"
#include "base/frame.h"
#include "base/io.h"
#include "run/agent/agent.h"
#include "run/ctl.h"
#include "run/attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static int
run(int in, int out, int door)
{
	char bin[PATH_MAX];
	int e;

	dlaunch_self(bin);
	*strrchr(bin, '/') = 0;
	e = agent_run(&(struct agent_opt){ .in = in, .out = out, .door = door,
	    .signals = dlaunch_signals((const int[]){ SIGCHLD, SIGTERM, 0 }), .version = TALLY_VERSION, .bin = bin });
	return e == 0 ? 0 : e == ERR_PEER ? FRONT_AGAIN : FRONT_PARTIAL;
}

static void
no_terminal(void)
{
	if (isatty(STDIN_FILENO))
		front_wrong("--agent is for dlaunch itself to use");
}

int
dlaunch_agent(void)
{
	no_terminal();
	return run(STDIN_FILENO, STDOUT_FILENO, -1);
}

/* That there is no agent, as one would say it: in what a remote shell itself exits with, its own troubles cannot be told from that. */
static int
say_none(void)
{
	struct buf hello = { 0 }, why = { 0 }, b = { 0 };
	int e;

	if ((e = ctl_put(&hello, CTL_PROTOCOL)) < 0 || (e = ctl_put_text(&hello, TALLY_VERSION)) < 0 ||
	    (e = ctl_put_text(&why, "its agent is gone, and what it ran")) < 0 || (e = buf_put(&b, CTL_MARK, strlen(CTL_MARK))) < 0 ||
	    (e = frame_put(&b, CTL_HELLO, hello.p, hello.n)) < 0 || (e = frame_put(&b, CTL_FAILED, why.p, why.n)) < 0 ||
	    (e = io_write(STDOUT_FILENO, b.p, b.n)) < 0)
		front_warn("--agent-resume", e);
	buf_free(&hello);
	buf_free(&why);
	buf_free(&b);
	return FRONT_PARTIAL;
}

int
dlaunch_agent_resume(const char *name)
{
	int fd, e;

	no_terminal();
	signal(SIGPIPE, SIG_IGN);
	if ((e = attach_enter(name, &fd)) == ERR_PEER)
		return say_none();
	if (e < 0 || (e = attach_pass(STDIN_FILENO, STDOUT_FILENO, fd)) < 0) {
		front_warn("--agent-resume", e);
		return e == ERR_PEER ? FRONT_AGAIN : FRONT_PARTIAL;
	}
	return 0;
}

/* The agent, of nobody's terminal, session or pipes; what keeps it from that goes through fd, whose end is good news. */
static _Noreturn void
stay(const char *name, int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), door;

	setsid();
	if (attach_open(name, &door) < 0) {
		io_write(fd, err_line(), strlen(err_line()));
		_exit(FRONT_PARTIAL);
	}
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		dup2(null, i);
	close(fd);
	_exit(run(-1, -1, door));
}

int
dlaunch_agent_keep(const char *name)
{
	char why[1024];
	size_t got;
	int fd[2];
	pid_t pid;

	no_terminal();
	if (pipe2(fd, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		front_die("--agent-keep", err_sys("fork"));
	if (pid == 0) {
		close(fd[0]);
		stay(name, fd[1]);
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
