/* jobs - the verbs attach, status and stop, and jobs that have a directory: detached or resumed. */
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
#define REPORT_S 5.0	/* time until a wait is first reported; later reports double it */

void
dlaunch_make_job(const struct dlaunch *c, struct jobdir *d)
{
	char cwd[PATH_MAX];
	int e;

	if (getcwd(cwd, sizeof(cwd)) == NULL)
		front_die("working directory", err_sys("read"));
	if ((e = jobdir_make(c->job, c->line, cwd, d)) < 0)
		front_die("--job", e);
}

/* Redirects the standard streams of a detached process to the job's files. */
static int
redirect_streams(const struct jobdir *d, bool append)
{
	const int flags = O_WRONLY | O_CREAT | O_APPEND | (append ? 0 : O_TRUNC);
	int in = open("/dev/null", O_RDONLY), out = openat(d->dir, "out", flags, 0600);
	int err = openat(d->dir, "err", flags, 0600);
	int e = in < 0 || out < 0 || err < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(err, STDERR_FILENO) < 0 ? err_sys("job %s", d->name) : 0;

	for (int i = 0; i < 3; i++) {
		int fd = (const int[]){ in, out, err }[i];

		if (fd > STDERR_FILENO)
			close(fd);
	}
	return e;
}

/* Prints the job's name once the job's own process is in a new session; before, a hangup would still reach it. */
static void
print_job_name(const struct jobdir *d, int fd)
{
	size_t got;
	char c;

	if (io_read(fd, &c, 1, &got) < 0 || got == 0)
		_exit(FRONT_PARTIAL);	/* it has reported the error */
	printf("%s\n", d->name);
	front_flush();
	_exit(0);
}

void
dlaunch_detach(struct jobdir *d, bool append)
{
	int fd[2], e;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		front_die("--detach", err_sys("fork"));
	if (pid > 0) {
		close(fd[1]);
		print_job_name(d, fd[0]);
	}
	setsid();
	if ((e = jobdir_claim(d)) < 0 || (e = redirect_streams(d, append)) < 0 || (e = io_write(fd[1], "x", 1)) < 0)
		front_die("--detach", e);
	close(fd[0]);
	close(fd[1]);
}

/* Reads the command line, and changes to the directory where the job was started. */
static void
enter_start_dir(const struct jobdir *d, struct words *argv, const char *why)
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
dlaunch_open_ended(const char *job, struct jobdir *d, struct words *argv)
{
	int e;

	if ((e = jobdir_open(job, d)) < 0 || (e = jobdir_lock(d)) < 0 || (e = jobdir_claim(d)) < 0)
		front_die("--resume", e);
	enter_start_dir(d, argv, "--resume");
}

void
dlaunch_open_lost(const char *job, struct jobdir *d, struct job_record *r, struct words *argv)
{
	struct buf b = { 0 };
	int e;

	if ((e = jobdir_open(job, d)) < 0 || (e = jobdir_take_over(d)) < 0 || (e = jobdir_claim(d)) < 0 ||
	    (e = jobdir_get(d, "record", JOB_RECORD_MOST, &b)) < 0 || (e = job_record_get(b.p, b.n, r)) < 0)
		front_die(job, e);
	buf_free(&b);
	enter_start_dir(d, argv, job);
}

static void
open_job(const char *name, struct jobdir *d)
{
	int e = jobdir_open(name, d);

	if (e < 0)
		front_die(NULL, e);
}

static struct jobdir_state
read_job_state(const struct jobdir *d)
{
	struct jobdir_state s;
	int e = jobdir_read_state(d, &s);

	if (e < 0)
		front_die(NULL, e);
	return s;
}

static bool
is_launcher_lost(const struct jobdir_state *s)
{
	return !s->running && s->status < 0;
}

/* How far a file of a job's output has been copied to our own stream. */
struct shown {
	const char *name;	/* of our own stream, for messages */
	int	 from, to;
	uint64_t at;
};

/* Copies what is new up to byte `end` of the file to our own stream. */
static void
copy_output(struct shown *o, uint64_t end)
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
 * Finds up to where the output files are final.  While the job has a record that is where the record
 * ends, since another launcher would truncate the files there (run/launcher/job_record.h).
 */
static void
find_stable_ends(const struct jobdir *d, const struct jobdir_state *s, uint64_t *out, uint64_t *err)
{
	struct buf b = { 0 };
	struct job_record r;

	*out = *err = s->has_record ? 0 : UINT64_MAX;
	if (s->has_record && jobdir_get(d, "record", JOB_RECORD_MOST, &b) == 0 && job_record_get(b.p, b.n, &r) == 0) {
		*out = r.out;
		*err = r.err;
		job_record_free(&r);
	}
	buf_free(&b);
}

/*
 * Starts another launcher for a job whose launcher was lost, in the background.  Returns false if that
 * fails, unless the job runs anyway because somebody else has just done the same.
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
	return how == 0 || read_job_state(d).running;
}

static int
attach_job(const char *name)
{
	struct shown out = { .name = "standard output", .to = STDOUT_FILENO };
	struct shown err = { .name = "standard error", .to = STDERR_FILENO };
	uint64_t out_end, err_end;
	struct jobdir_state s;
	struct jobdir d;

	open_job(name, &d);
	out.from = openat(d.dir, "out", O_RDONLY | O_CLOEXEC);
	err.from = openat(d.dir, "err", O_RDONLY | O_CLOEXEC);
	if (out.from < 0 || err.from < 0)
		front_wrong("job %s was not detached", name);
	do {
		/* The state is read first: output that precedes the end is then in the files. */
		s = read_job_state(&d);
		if (is_launcher_lost(&s) && s.has_record && take_over(name, &d))
			s = read_job_state(&d);
		find_stable_ends(&d, &s, &out_end, &err_end);
		copy_output(&out, out_end);
		copy_output(&err, err_end);
	} while (s.running && poll(NULL, 0, TICK_MS) == 0);
	if (s.status >= 0)
		return s.status;
	front_say("job %s: the launcher was lost", name);
	return FRONT_AGAIN;
}

/* Waits for the launcher's end, without a limit: the launcher itself may be stopped. */
static void
wait_for_job_end(const struct jobdir *d, pid_t launcher)
{
	double since = clk_s(), report_at = since + REPORT_S;

	while (read_job_state(d).running) {
		poll(NULL, 0, TICK_MS);
		if (clk_s() < report_at)
			continue;
		front_say("job %s: waiting for its launcher, process %d, to end", d->name, (int)launcher);
		report_at = clk_s() + (clk_s() - since);
	}
}

static int
stop_job(const char *name)
{
	struct jobdir d;
	struct jobdir_state s;

	open_job(name, &d);
	s = read_job_state(&d);
	if (is_launcher_lost(&s) && s.has_record && take_over(name, &d))
		s = read_job_state(&d);
	if (!s.running)
		front_wrong("job %s is not running", name);
	if (s.pid <= 0 || kill(s.pid, SIGTERM) < 0)
		front_die(name, err_sys("launcher process %d", (int)s.pid));
	wait_for_job_end(&d, s.pid);
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
	s = read_job_state(&d);
	if (s.status >= 0)
		snprintf(status, sizeof(status), "%d", s.status);
	if (localtime_r(&s.since, &tm) != NULL)
		strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S", &tm);
	/* A job that is just being made has no command yet. */
	if ((e = jobdir_command(&d, &argv, &cwd)) < 0 || argv.n == 0 || (e = words_text(argv.v, &text)) < 0)
		front_warn(name, e);
	else
		printf("%s\t%s\t%s\t%s\t%s\t%s\n", name,
		    s.running ? "runs" : !is_launcher_lost(&s) ? "ended" : s.has_record ? "away" : "lost",
		    status, since, cwd, (char *)text.p);
	free(cwd);
	buf_free(&text);
	words_free(&argv);
	jobdir_close(&d);
}

static int
print_jobs(char *const *names)
{
	struct words all = { 0 };
	int e;

	if (*names == NULL) {
		if ((e = jobdir_list(&all)) < 0)
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
	static const char *const tools[] = { "dlaunch", "im2rec", "netstat-logging", "plog", "pmerge", "pserver",
	    "pworker" };
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
		*code = print_jobs(argv + 2);
	else if (strcmp(verb, "attach") == 0 && argc == 3)
		*code = attach_job(argv[2]);
	else if (strcmp(verb, "stop") == 0 && argc == 3)
		*code = stop_job(argv[2]);
	else if (strcmp(verb, "attach") == 0 || strcmp(verb, "stop") == 0)
		front_wrong("%s: needs the name of one job", verb);
	else if (*verb != 0 && *verb != '-' && *verb != '@' && !is_tool(verb))
		front_wrong("'%.64s' is neither a verb (attach, status, stop) nor a tool of tally; "
		    "put -- before another command", verb);
	else
		return false;
	return true;
}
