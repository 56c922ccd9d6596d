/* detach - jobs that have a directory: made, detached, resumed and taken over. */
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
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The longest wait for a worker's output: of pworker, which may check a large data set, and of another command. */
#define TRAINS_S	20.0
#define RUNS_S		2.0
#define STARTED		"+"	/* in place of why the job did not start */

void
dlaunch_make_job(const struct dlaunch *c, struct jobdir *d)
{
	char cwd[PATH_MAX];
	int e;

	if (getcwd(cwd, sizeof(cwd)) == NULL)
		front_die("working directory", err_sys("read"));
	if ((e = jobdir_make(c->job, c->force, c->line, cwd, d)) < 0)
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

/* Where a job's error output ends, 0 if there is none yet. */
static off_t
measure_errors(const struct jobdir *d)
{
	struct stat st;

	return fstatat(d->dir, "err", &st, 0) == 0 ? st.st_size : 0;
}

/* Copies a job's error output from a position to our own. */
static void
copy_errors(const struct jobdir *d, off_t from)
{
	int fd = openat(d->dir, "err", O_RDONLY | O_CLOEXEC);
	uint64_t at = (uint64_t)from;

	if (fd >= 0 && lseek(fd, from, SEEK_SET) == from)
		(void)dlaunch_copy(fd, STDERR_FILENO, &at, UINT64_MAX);
	if (fd >= 0)
		close(fd);
}

/* Passes the user's wish to end the job on to its launcher.  A hangup only ends the wait. */
static void
forward_signal(int signals, pid_t launcher)
{
	struct signalfd_siginfo si;

	if (read(signals, &si, sizeof(si)) != sizeof(si) || si.ssi_signo == SIGCHLD || si.ssi_signo == SIGUSR1)
		return;
	if (si.ssi_signo == SIGHUP)
		_exit(128 + SIGHUP);
	kill(launcher, SIGTERM);
}

/*
 * Waits until the launcher has said that the job has started.  Returns false if it has ended before, or said why not:
 * `why`, else "".
 */
static bool
wait_for_start(const struct jobdir *d, int fd, int signals, pid_t launcher, char why[ERR_LINE])
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	double since = clk_s(), report_at = since + DLAUNCH_REPORT_S;
	size_t got;

	while (poll(p, 2, DLAUNCH_TICK_MS) <= 0 || p[0].revents == 0) {
		if (p[1].revents != 0)
			forward_signal(signals, launcher);
		if (clk_s() < report_at)
			continue;
		front_say("job %s: waiting for its processes to start", d->name);
		report_at = clk_s() + (clk_s() - since);
	}
	if (io_read(fd, why, ERR_LINE - 1, &got) < 0)
		got = 0;
	why[got] = 0;
	return strcmp(why, STARTED) == 0;
}

/* Prints why the job did not start, unless its error output says so, and where its files are. */
static void
print_cause(const struct jobdir *d, const char *why)
{
	char link[32], dir[PATH_MAX];
	struct buf b = { 0 };
	ssize_t n;

	if (*why == 0 || (jobdir_get(d, "err", JOBDIR_MOST, &b) == 0 && strstr((char *)b.p, why) != NULL)) {
		buf_free(&b);
		return;
	}
	buf_free(&b);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", d->dir);
	/* A line without a path is about one of these files. */
	if (strchr(why, '/') != NULL || (n = readlink(link, dir, sizeof(dir) - 1)) < 0)
		front_say("%s", why);
	else
		front_say("%s; make room for the job's files in %.*s", why, (int)n, dir);
}

/*
 * Ends the first process: prints the job's name once all its processes have started.  If they have not, prints the
 * launcher's errors, exits with its status, and removes a new job, which nobody can attach to.
 */
static _Noreturn void
end_first_process(struct jobdir *d, int fd, int signals, pid_t launcher, bool new, off_t errors)
{
	char why[ERR_LINE];
	int how;

	if (wait_for_start(d, fd, signals, launcher, why)) {
		printf("%s\n", d->name);
		front_flush();
		_exit(0);
	}
	if (waitpid(launcher, &how, 0) < 0)
		front_die("--detach", err_sys("wait"));
	print_cause(d, why);
	copy_errors(d, errors);
	front_say("job %s did not start", d->name);
	if (new && jobdir_remove(d) < 0)
		front_warn(NULL, ERR_SYS);
	_exit(WIFEXITED(how) && WEXITSTATUS(how) != 0 ? WEXITSTATUS(how) : FRONT_PARTIAL);
}

int
dlaunch_detach(struct jobdir *d, bool append, int signals)
{
	const off_t errors = append ? measure_errors(d) : 0;
	int fd[2], e;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		front_die("--detach", err_sys("fork"));
	if (pid > 0) {
		close(fd[1]);
		end_first_process(d, fd[0], signals, pid, !append, errors);
	}
	/* In a session of its own no hangup reaches it. */
	setsid();
	if ((e = jobdir_claim(d)) < 0 || (e = redirect_streams(d, append)) < 0)
		front_die("--detach", e);
	close(fd[0]);
	return fd[1];
}

void
dlaunch_open_start(const struct dlaunch *c, struct dlaunch_start *s)
{
	bool trains = strcmp(io_base_name(c->argv[0]), "pworker") == 0;

	*s = (struct dlaunch_start){ .fd = -1, .silent = c->elastic > 0 ? c->elastic : c->workers,
	    .wait_s = trains ? TRAINS_S : RUNS_S,
	    .printed = calloc((size_t)c->workers + 1, sizeof(*s->printed)) };
	if (s->printed == NULL)
		front_die(NULL, err_nomem());
}

void
dlaunch_note_output(void *arg, const struct member *m, bool out, const char *text, size_t n)
{
	struct dlaunch_start *s = arg;
	bool *printed = m->child.role == JOB_WORKER ? &s->printed[m->child.rank] : NULL;

	(void)text, (void)n;
	if (!out || printed == NULL || *printed)
		return;
	*printed = true;
	s->silent -= s->silent > 0;
}

void
dlaunch_check_start(struct dlaunch_start *s)
{
	if (s->until == 0)
		s->until = clk_s() + s->wait_s;
	if (s->silent == 0 || clk_s() >= s->until)
		dlaunch_started(s);
}

/* Ends the wait of the first process. */
static void
tell_waiter(struct dlaunch_start *s, const char *text)
{
	if (s->fd < 0)
		return;
	if (io_write(s->fd, text, strlen(text)) < 0)
		front_say("--detach: %s", err_line());
	close(s->fd);
	s->fd = -1;
}

void
dlaunch_started(struct dlaunch_start *s)
{
	tell_waiter(s, STARTED);
}

void
dlaunch_fail_start(struct dlaunch_start *s, const char *why)
{
	tell_waiter(s, why);
}

void
dlaunch_open_ended(const char *job, struct jobdir *d, struct words *argv)
{
	char *cwd;
	int e;

	if ((e = jobdir_open(job, d)) < 0 || (e = jobdir_lock(d)) < 0 || (e = jobdir_claim(d)) < 0 ||
	    (e = jobdir_command(d, argv, &cwd)) < 0)
		front_die("--resume", e);
	if (chdir(cwd) < 0)
		front_die("--resume", err_sys("%s", cwd));
	free(cwd);
}

void
dlaunch_open_lost(const char *job, struct jobdir *d, struct job_record *r, struct words *argv, char **cwd)
{
	struct buf b = { 0 };
	int e;

	if ((e = jobdir_open(job, d)) < 0 || (e = jobdir_take_over(d)) < 0 || (e = jobdir_claim(d)) < 0 ||
	    (e = jobdir_get(d, "record", JOB_RECORD_MOST, &b)) < 0 || (e = job_record_get(b.p, b.n, r)) < 0 ||
	    (e = jobdir_command(d, argv, cwd)) < 0)
		front_die(job, e);
	buf_free(&b);
	if (chdir(*cwd) == 0)
		return;
	front_say("job %s: %s: %s; its processes go on", job, *cwd, strerror(errno));
	/* Relative paths must not name files of the folder of this command. */
	if (chdir("/") < 0)
		front_die(job, err_sys("/"));
}
