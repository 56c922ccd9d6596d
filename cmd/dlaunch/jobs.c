/* jobs - jobs that have a directory: detached, looked at, attached to, stopped, resumed. */
#include "dlaunch/dlaunch.h"
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"
#include "run/launcher/job_record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS 100
#define PATIENCE_S 5.0	/* before it is said who is waited for; then twice that, and so on */

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

/* What runs a job again is where it was started. */
static void
be_there(const struct jobdir *d, struct words *argv, const char *why)
{
	char *cwd;
	int e = jobdir_command(d, argv, &cwd);

	if (e < 0)
		front_die(why, e);
	if (chdir(cwd) < 0)
		front_die(why, err_sys("%s", cwd));
	free(cwd);
}

void
dlaunch_resume(const char *job, struct jobdir *d, struct words *argv)
{
	int e;

	if ((e = jobdir_open(d, job)) < 0 || (e = jobdir_lock(d)) < 0 || (e = jobdir_mine(d)) < 0)
		front_die("--resume", e);
	be_there(d, argv, "--resume");
}

void
dlaunch_retake(const char *job, struct jobdir *d, struct job_record *r, struct words *argv)
{
	struct buf b = { 0 };
	int e;

	if ((e = jobdir_open(d, job)) < 0 || (e = jobdir_retake(d)) < 0 || (e = jobdir_mine(d)) < 0 ||
	    (e = jobdir_get(d, "record", JOB_RECORD_MOST, &b)) < 0 || (e = job_record_get(r, b.p, b.n)) < 0)
		front_die(job, e);
	buf_free(&b);
	be_there(d, argv, job);
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

static bool
lost(const struct jobdir_state *s)
{
	return !s->running && s->status < 0;
}

/* What of a job's output is shown, and up to where. */
struct shown {
	const char *name;	/* of our own stream */
	int	 from, to;
	uint64_t at;
};

/* What has come since the last time goes on to our own stream, up to byte `end` of the file. */
static void
pass_on(struct shown *o, uint64_t end)
{
	char text[65536];
	size_t got = 1;
	int e;

	while (o->at < end && got > 0) {
		size_t n = end - o->at < sizeof(text) ? (size_t)(end - o->at) : sizeof(text);

		if (io_read(o->from, text, n, &got) < 0)
			return;
		o->at += got;
		if ((e = io_write(o->to, text, got)) < 0)
			front_die(o->name, e);
	}
}

/*
 * Up to where what is in the files stays there: where the record ends, as behind that another launcher
 * would write it again (run/launcher/job_record.h); to the end when the job has ended.
 */
static void
find_ends(const struct jobdir *d, const struct jobdir_state *s, uint64_t *out, uint64_t *err)
{
	struct buf b = { 0 };
	struct job_record r;

	*out = *err = s->kept ? 0 : UINT64_MAX;
	if (s->kept && jobdir_get(d, "record", JOB_RECORD_MOST, &b) == 0 && job_record_get(&r, b.p, b.n) == 0) {
		*out = r.out;
		*err = r.err;
		job_record_free(&r);
	}
	buf_free(&b);
}

/*
 * A job whose launcher was lost gets another, in the background.  False when it does not; that another has just
 * done the same is as good.
 */
static bool
take_over(const char *name, const struct jobdir *d)
{
	int null, how;
	pid_t pid;

	front_flush();
	if ((pid = fork()) < 0)
		front_die(name, err_sys("fork"));
	if (pid == 0) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		exit(dlaunch_take_over(name));
	}
	if (waitpid(pid, &how, 0) < 0)
		front_die(name, err_sys("wait"));
	return how == 0 || look(d).running;
}

static int
attach(const char *name)
{
	struct shown out = { .name = "standard output", .to = STDOUT_FILENO }, err = { .name = "standard error", .to = STDERR_FILENO };
	uint64_t out_end, err_end;
	struct jobdir_state s;
	struct jobdir d;

	open_job(name, &d);
	out.from = openat(d.dir, "out", O_RDONLY | O_CLOEXEC);
	err.from = openat(d.dir, "err", O_RDONLY | O_CLOEXEC);
	if (out.from < 0 || err.from < 0)
		front_wrong("job %s was not detached", name);
	do {
		/* What it printed before it ended is there when it has. */
		s = look(&d);
		if (lost(&s) && s.kept && take_over(name, &d))
			s = look(&d);
		find_ends(&d, &s, &out_end, &err_end);
		pass_on(&out, out_end);
		pass_on(&err, err_end);
	} while (s.running && poll(NULL, 0, TICK_MS) == 0);
	if (s.status >= 0)
		return s.status;
	front_say("job %s: its launcher was lost", name);
	return FRONT_AGAIN;
}

/* Which takes the job's grace, and without end when the launcher is itself stopped. */
static void
wait_for_end(const struct jobdir *d, pid_t launcher)
{
	double since = clk_s(), tell = since + PATIENCE_S;

	while (look(d).running) {
		poll(NULL, 0, TICK_MS);
		if (clk_s() < tell)
			continue;
		front_say("job %s: waiting for its launcher, process %d, to end", d->name, (int)launcher);
		tell = clk_s() + (clk_s() - since);
	}
}

static int
stop(const char *name)
{
	struct jobdir d;
	struct jobdir_state s;

	open_job(name, &d);
	s = look(&d);
	if (lost(&s) && s.kept && take_over(name, &d))
		s = look(&d);
	if (!s.running)
		front_wrong("job %s does not run", name);
	if (s.pid <= 0 || kill(s.pid, SIGTERM) < 0)
		front_die(name, err_sys("its launcher, process %d", (int)s.pid));
	wait_for_end(&d, s.pid);
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
		printf("%s\t%s\t%s\t%s\t%s\t%s\n", name, s.running ? "runs" : !lost(&s) ? "ended" : s.kept ? "away" : "lost", status, since,
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

static bool
is_tool(const char *word)
{
	static const char *const tools[] = { "dlaunch", "im2rec", "netstat-logging", "plog", "pmerge", "pserver", "pworker" };
	const char *slash = strrchr(word, '/');

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (strcmp(slash != NULL ? slash + 1 : word, tools[i]) == 0)
			return true;
	return false;
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
	else if (strcmp(verb, "attach") == 0 || strcmp(verb, "stop") == 0)
		front_wrong("%s: needs the name of one job", verb);
	else if (*verb != 0 && *verb != '-' && *verb != '@' && !is_tool(verb))
		front_wrong("'%.64s' is neither a verb (attach, status, stop) nor a tool of tally; another command stands after "
		    "an option, or after --", verb);
	else
		return false;
	return true;
}
