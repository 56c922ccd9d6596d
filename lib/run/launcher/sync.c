/* sync - copies a directory to all hosts by rsync(1), over the remote shell of the job. */
#include "run/launcher/sync.h"

#include "base/err.h"
#include "run/child.h"
#include "run/lines.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS 50

/* A running rsync. */
struct copy {
	const struct host *host;
	pid_t		 pid;	/* 0: none */
	struct lines	*err;
};

/*
 * Formats the remote shell for rsync --rsh: words in quotes of either kind, which are doubled within
 * (rsync(1)).  rsync appends the host, which the script drops, as the template has its own place for it.
 */
static int
format_rsync_rsh(const struct sync_opt *o, const struct host *host, struct buf *text)
{
	struct words rsh = { 0 };
	struct buf script = { 0 };
	int e = buf_put_fmt(&script, "shift; exec ");

	if (e == 0 && o->rsh != NULL && (e = words_fill(&rsh, o->rsh, host->login, host->port)) == 0)
		e = words_text(rsh.v, &script);
	if (e == 0 && (e = buf_put_fmt(&script, " \"$@\"")) == 0 && (e = buf_terminate(&script)) == 0)
		e = buf_put_fmt(text, "sh -c '");
	for (const char *p = (char *)script.p; e == 0 && *p != 0; p++)
		e = buf_put_fmt(text, *p == '\'' ? "''" : "%c", *p);
	if (e == 0 && (e = buf_put_fmt(text, "' sh")) == 0)
		e = buf_terminate(text);
	words_free(&rsh);
	buf_free(&script);
	return e;
}

static int
start_copy(const struct sync_opt *o, struct copy *c, const struct host *host)
{
	struct words argv = { 0 };
	struct buf rsh = { 0 };
	struct child child;
	int e;

	*c = (struct copy){ .host = host };
	/* -s (--secluded-args): the path goes through the pipe, not through the remote shell. */
	if ((e = format_rsync_rsh(o, host, &rsh)) == 0 && (e = words_add(&argv, "rsync")) == 0 &&
	    (e = words_add(&argv, "-as")) == 0 &&
	    (e = words_add(&argv, "--mkpath")) == 0 && (e = words_add(&argv, "--rsh=%s", (char *)rsh.p)) == 0 &&
	    (e = words_add(&argv, "--")) == 0 && (e = words_add(&argv, "%s/", o->from)) == 0 &&
	    (e = words_add(&argv, "host:%s", o->to)) == 0)
		e = child_start(&(struct child_opt){ .argv = argv.v, .death = SIGTERM }, &child);
	words_free(&argv);
	buf_free(&rsh);
	if (e < 0)
		return e;
	close(child.out);
	c->pid = child.pid;
	return (c->err = lines_open(child.err)) != NULL ? 0 : err_nomem();
}

/* Reports the lines that rsync has printed. */
static void
report_copy_lines(const struct sync_opt *o, struct copy *c)
{
	const char *text, *end;
	char line[512];
	size_t n;
	int e = c->err != NULL ? lines_next(c->err, &text, &n) : ERR_AGAIN;

	if (e == 0) {
		lines_close(c->err);
		c->err = NULL;
	}
	for (; e == 1 && n > 0; n -= (size_t)(end + 1 - text), text = end + 1) {
		end = memchr(text, '\n', n);
		snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
		o->say(o->arg, c->host, line);
	}
}

/* Returns 1 if the copy is complete, 0 while it runs. */
static int
check_copy(const struct sync_opt *o, struct copy *c)
{
	int status, code;

	report_copy_lines(o, c);
	if (c->err != NULL || !child_ended(c->pid, &status, NULL))
		return 0;
	c->pid = 0;
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	if (code == 0)
		return 1;
	/* 10, 12, 30, 35: socket and stream errors, time-outs (rsync(1), EXIT VALUES); 255: ssh's. */
	return err_fail(code == 255 || code == 10 || code == 12 || code == 30 || code == 35 ? ERR_PEER : ERR_SYS,
	    "host %s: rsync: exit status %d", c->host->login, code);
}

static void
stop_copy(struct copy *c)
{
	int status;

	lines_close(c->err);
	c->err = NULL;
	child_signal(c->pid, SIGTERM);
	while (c->pid > 0 && waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
}

/* Starts copies up to the limit and checks those that run; *busy is their number, *host that of one that failed. */
static int
run_copies(const struct sync_opt *o, struct copy copy[SYNC_ATONCE], uint32_t *next, uint32_t *busy, uint32_t *host)
{
	struct pollfd fd[SYNC_ATONCE + 1] = { { .fd = o->signals, .events = POLLIN } };
	int e;

	*busy = 0;
	for (uint32_t i = 0; i < SYNC_ATONCE; i++) {
		bool first_runs = *next == 1 && copy[0].pid != 0;

		if (copy[i].pid == 0 && *next < o->nhosts && !first_runs)
			ERR_TRY(start_copy(o, &copy[i], &o->hosts->host[(*next)++]));
		fd[i + 1] = (struct pollfd){ .fd = copy[i].err != NULL ? lines_fd(copy[i].err) : -1, .events = POLLIN };
		*busy += copy[i].pid > 0;
	}
	if (*busy == 0)
		return 0;
	if (poll(fd, SYNC_ATONCE + 1, TICK_MS) < 0 && errno != EINTR)
		return err_sys("poll");
	for (uint32_t i = 0; i < SYNC_ATONCE; i++)
		if (copy[i].pid > 0 && (e = check_copy(o, &copy[i])) < 0) {
			*host = (uint32_t)(copy[i].host - o->hosts->host);
			return e;
		}
	return 0;
}

/* Returns a signal that asks for the end; 0: none.  What SIGUSR1 asks for is read once the job runs. */
static int
read_signal(int fd)
{
	struct signalfd_siginfo si;
	int signo = 0;

	while (signo == 0 && read(fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
		if (si.ssi_signo != SIGCHLD && si.ssi_signo != SIGUSR1)
			signo = (int)si.ssi_signo;
	return signo;
}

int
sync_parse(const char *text, char from[PATH_MAX], const char **to)
{
	const char *colon = strrchr(text, ':');
	char *dir = colon != NULL ? strndup(text, (size_t)(colon - text)) : strdup(text);
	int e = dir == NULL ? err_nomem() : realpath(dir, from) == NULL ? err_sys("%s", dir) : 0;

	free(dir);
	*to = colon != NULL ? colon + 1 : from;
	return e;
}

int
sync_run(const struct sync_opt *o, int *signo, uint32_t *host)
{
	struct copy copy[SYNC_ATONCE] = { { 0 } };
	uint32_t next = 0, busy;
	int e;

	*signo = 0;
	while ((e = run_copies(o, copy, &next, &busy, host)) == 0 && busy > 0)
		if ((*signo = read_signal(o->signals)) != 0) {
			e = err_fail(ERR_STOP, "%s", strsignal(*signo));
			break;
		}
	for (uint32_t i = 0; i < SYNC_ATONCE; i++)
		stop_copy(&copy[i]);
	return e;
}
