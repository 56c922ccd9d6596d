/* dlaunch_jobs - jobs that have a directory: detached, looked at, attached to, stopped, resumed. */
#include "dlaunch.h"
#include "front.h"

#include "base/err.h"
#include "base/io.h"
#include "run/jobdir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TICK_MS 100

void
dlaunch_job(const struct dlaunch *c, struct jobdir *d)
{
	char cwd[PATH_MAX];
	int e;

	if (getcwd(cwd, sizeof(cwd)) == NULL)
		front_die("working directory", err_sys("read"));
	if ((e = jobdir_make(d, c->job, c->line, cwd)) < 0)
		front_die("--job", e);
}

/* Standard streams of a process that nobody looks at. */
static int
to_files(const struct jobdir *d, bool on)
{
	const int flags = O_WRONLY | O_CREAT | O_APPEND | (on ? 0 : O_TRUNC);
	int in = open("/dev/null", O_RDONLY), out = openat(d->dir, "out", flags, 0600), err = openat(d->dir, "err", flags, 0600);
	int e = in < 0 || out < 0 || err < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(err, STDERR_FILENO) < 0 ? err_sys("job %s", d->name) : 0;

	for (int i = 0; i < 3; i++) {
		int fd = (const int[]){ in, out, err }[i];

		if (fd > STDERR_FILENO)
			close(fd);
	}
	return e;
}

/* Tells the job's name when it is on its own: before that a hangup would still reach it. */
static void
leave(const struct jobdir *d, int fd)
{
	size_t got;
	char c;

	if (io_read(fd, &c, 1, &got) < 0 || got == 0)
		_exit(FRONT_PARTIAL);	/* it has said why */
	printf("%s\n", d->name);
	front_flush();
	_exit(0);
}

void
dlaunch_detach(struct jobdir *d, bool on)
{
	int fd[2], e;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		front_die("--detach", err_sys("fork"));
	if (pid > 0) {
		close(fd[1]);
		leave(d, fd[0]);
	}
	setsid();
	if ((e = jobdir_mine(d)) < 0 || (e = to_files(d, on)) < 0 || (e = io_write(fd[1], "x", 1)) < 0)
		front_die("--detach", e);
	close(fd[0]);
	close(fd[1]);
}

void
dlaunch_resume(const char *job, struct jobdir *d, struct words *argv)
{
	char *cwd;
	int e;

	if ((e = jobdir_open(d, job)) < 0 || (e = jobdir_lock(d)) < 0 || (e = jobdir_mine(d)) < 0 ||
	    (e = jobdir_command(d, argv, &cwd)) < 0)
		front_die("--resume", e);
	if (chdir(cwd) < 0)
		front_die("--resume", err_sys("%s", cwd));
	free(cwd);
}

static void
open_job(const char *name, struct jobdir *d)
{
	int e = jobdir_open(d, name);

	if (e < 0)
		front_die(NULL, e);
}

static struct jobdir_state
look(const struct jobdir *d)
{
	struct jobdir_state s;
	int e = jobdir_look(d, &s);

	if (e < 0)
		front_die(NULL, e);
	return s;
}

/* What has come since the last time goes on to our own stream. */
static void
pass_on(int from, int to, const char *name)
{
	char text[65536];
	size_t got = 0;
	int e;

	do {
		if (from < 0 || (e = io_read(from, text, sizeof(text), &got)) < 0)
			return;
		if ((e = io_write(to, text, got)) < 0)
			front_die(name, e);
	} while (got == sizeof(text));
}

static int
attach(const char *name)
{
	struct jobdir d;
	struct jobdir_state s;
	int out, err;

	open_job(name, &d);
	out = openat(d.dir, "out", O_RDONLY | O_CLOEXEC);
	err = openat(d.dir, "err", O_RDONLY | O_CLOEXEC);
	if (out < 0 || err < 0)
		front_wrong("job %s was not detached", name);
	do {
		/* What it printed before it ended is there when it has. */
		s = look(&d);
		pass_on(out, STDOUT_FILENO, "standard output");
		pass_on(err, STDERR_FILENO, "standard error");
	} while (s.running && poll(NULL, 0, TICK_MS) == 0);
	if (s.status >= 0)
		return s.status;
	front_say("job %s: its launcher was lost", name);
	return FRONT_AGAIN;
}

static int
stop(const char *name)
{
	struct jobdir d;
	struct jobdir_state s;

	open_job(name, &d);
	s = look(&d);
	if (!s.running)
		front_wrong("job %s does not run", name);
	if (s.pid <= 0 || kill(s.pid, SIGTERM) < 0)
		front_die(name, err_sys("its launcher, process %d", (int)s.pid));
	while (look(&d).running)
		poll(NULL, 0, TICK_MS);
	return 0;
}

static void
print_status(const char *name)
{
	struct words argv = { 0 };
	struct buf text = { 0 };
	struct jobdir_state s;
	struct jobdir d;
	char since[32] = "", status[16] = "", *cwd;
	struct tm tm;
	int e;

	open_job(name, &d);
	s = look(&d);
	if (s.status >= 0)
		snprintf(status, sizeof(status), "%d", s.status);
	if (localtime_r(&s.since, &tm) != NULL)
		strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S", &tm);
	/* One that was just being made has no command yet. */
	if ((e = jobdir_command(&d, &argv, &cwd)) < 0 || argv.n == 0 || (e = words_text(argv.v, &text)) < 0)
		front_warn(name, e);
	else
		printf("%s\t%s\t%s\t%s\t%s\t%s\n", name, s.running ? "runs" : s.status < 0 ? "lost" : "ended", status, since,
		    cwd, (char *)text.p);
	free(cwd);
	buf_free(&text);
	words_free(&argv);
	jobdir_close(&d);
}

static int
status(char *const *names)
{
	struct words all = { 0 };
	int e;

	if (*names == NULL) {
		if ((e = jobdir_all(&all)) < 0)
			front_die(NULL, e);
		names = all.n > 0 ? all.v : names;
	}
	printf("job\tstate\tstatus\tsince\tdirectory\tcommand\n");
	for (; *names != NULL; names++)
		print_status(*names);
	words_free(&all);
	front_flush();
	return front_status();
}

bool
dlaunch_verb(int argc, char *argv[], int *code)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (strcmp(verb, "status") == 0)
		*code = status(argv + 2);
	else if (strcmp(verb, "attach") == 0 && argc == 3)
		*code = attach(argv[2]);
	else if (strcmp(verb, "stop") == 0 && argc == 3)
		*code = stop(argv[2]);
	else
		return false;
	return true;
}
