/* jobs - the verbs, which act on jobs that have a directory: attach, list, logs, rm, scale, set, status, stop, wait. */
#include "dlaunch/dlaunch.h"
#include "front.h"
#include "front_progress.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"
#include "base/nearest.h"
#include "run/launcher/job_record.h"
#include "run/pidstat.h"

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

#define STOPPED_S	2.0	/* a launcher that is stopped for so long is reported */
#define STOPPED_AGAIN_S	60.0	/* and again after this time */
#define STATUS_CELLS	8	/* job, state, status, workers, since, host, directory, command */
#define GAP		2	/* columns between two */
#define LEAST_COMMAND	16	/* columns of a command */

static void
open_job(const char *name, struct jobdir *d)
{
	front_must(NULL, jobdir_open(name, d));
}

static struct jobdir_state
read_job_state(const struct jobdir *d)
{
	struct jobdir_state s;

	front_must(NULL, jobdir_read_state(d, &s));
	return s;
}

static bool
is_launcher_lost(const struct jobdir_state *s)
{
	return !s->running && s->status < 0;
}

static bool
is_launcher_stopped(const struct jobdir_state *s)
{
	struct pidstat p;

	return s->running && s->here && s->pid > 0 && pidstat_read(s->pid, &p) && p.stopped;
}

/* Reports a launcher that stays stopped: nothing of its job is recorded or printed.  *report_at: 0 if it runs. */
static void
check_launcher(const char *name, const struct jobdir_state *s, double *report_at)
{
	const double now = clk_s();

	if (!is_launcher_stopped(s)) {
		*report_at = 0;
	} else if (*report_at == 0) {
		*report_at = now + STOPPED_S;
	} else if (now >= *report_at) {
		front_say("job %s: waiting for its launcher, process %d, which is stopped", name, (int)s->pid);
		*report_at = now + STOPPED_AGAIN_S;
	}
}

/* How far a file of a job's output has been copied to our own stream. */
struct shown {
	const char *name;	/* name of our own stream in messages */
	int	 from, to;
	uint64_t at;
	bool	 rowless;	/* without the rows of logs */
	bool	 log;		/* state of dlaunch_is_row() */
	struct buf line;	/* rowless: the line that is not complete yet */
};

int
dlaunch_copy(int from, int to, uint64_t *at, uint64_t end)
{
	char text[65536];
	size_t got = 1;

	while (*at < end && got > 0) {
		size_t n = end - *at < sizeof(text) ? (size_t)(end - *at) : sizeof(text);

		if (io_read(from, text, n, &got) < 0)
			return 0;
		*at += got;
		ERR_TRY(io_write(to, text, got));
	}
	return 0;
}

/* The same as dlaunch_copy() without the rows of logs. */
static int
copy_without_rows(struct shown *o, uint64_t end)
{
	char text[65536];
	size_t got = 1;
	int e = 0;

	while (o->at < end && got > 0 && e == 0) {
		size_t n = end - o->at < sizeof(text) ? (size_t)(end - o->at) : sizeof(text);

		if (io_read(o->from, text, n, &got) < 0)
			return 0;
		o->at += got;
		for (char *p = text, *next; p < text + got && e == 0; p = next) {
			char *nl = memchr(p, '\n', (size_t)(text + got - p));

			next = nl != NULL ? nl + 1 : text + got;
			if ((e = buf_put(&o->line, p, (size_t)(next - p))) < 0 || nl == NULL)
				continue;
			if (!dlaunch_is_row((char *)o->line.p, o->line.n, &o->log))
				e = io_write(o->to, o->line.p, o->line.n);
			o->line.n = 0;
		}
	}
	return e;
}

/* Copies what is new up to byte `end` of the file to our own stream. */
static void
copy_output(struct shown *o, uint64_t end)
{
	int e = o->rowless ? copy_without_rows(o, end) : dlaunch_copy(o->from, o->to, &o->at, end);

	if (e < 0)
		front_die(o->name, e);
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
start_launcher(const char *name, const struct jobdir *d)
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

static void
open_output(const struct jobdir *d, struct shown *o)
{
	if ((o->from = openat(d->dir, o->to == STDOUT_FILENO ? "out" : "err", O_RDONLY | O_CLOEXEC)) < 0)
		front_wrong("job %s was not detached", d->name);
}

/* Prints the job's output, waits for the job's end, or does both.  Returns the exit status of dlaunch. */
static int
follow_job(const char *name, bool output, bool wait)
{
	struct shown out = { .name = "standard output", .to = STDOUT_FILENO, .rowless = isatty(STDOUT_FILENO) };
	struct shown err = { .name = "standard error", .to = STDERR_FILENO };
	uint64_t out_end = UINT64_MAX, err_end = UINT64_MAX;
	double report_at = 0;
	struct jobdir_state s;
	struct jobdir d;

	open_job(name, &d);
	if (output) {
		open_output(&d, &out);
		open_output(&d, &err);
	}
	do {
		/* The state is read first: output that precedes the end is then in the files. */
		s = read_job_state(&d);
		if (wait && is_launcher_lost(&s) && s.has_record && start_launcher(name, &d))
			s = read_job_state(&d);
		if (wait)
			check_launcher(name, &s, &report_at);
		if (!output)
			continue;
		if (wait)
			find_stable_ends(&d, &s, &out_end, &err_end);
		copy_output(&out, out_end);
		copy_output(&err, err_end);
	} while (wait && s.running && poll(NULL, 0, DLAUNCH_TICK_MS) == 0);
	buf_free(&out.line);
	if (!wait)
		return 0;
	if (s.status >= 0)
		return s.status;
	front_say("job %s: the launcher was lost", name);
	return FRONT_AGAIN;
}

/* Waits for the launcher's end, without a limit: the launcher itself may be stopped. */
static void
wait_for_job_end(const struct jobdir *d, pid_t launcher)
{
	double since = clk_s(), report_at = since + DLAUNCH_REPORT_S;

	while (read_job_state(d).running) {
		poll(NULL, 0, DLAUNCH_TICK_MS);
		if (clk_s() < report_at)
			continue;
		front_say("job %s: waiting for its launcher, process %d, to end", d->name, (int)launcher);
		report_at = clk_s() + (clk_s() - since);
	}
}

struct jobdir_state
dlaunch_find_launcher(const char *name, const struct jobdir *d, const char *what)
{
	struct jobdir_state s = read_job_state(d);

	if (is_launcher_lost(&s) && s.has_record && start_launcher(name, d))
		s = read_job_state(d);
	if (is_launcher_lost(&s) && s.has_record)
		front_wrong("job %s: its launcher was lost, and no other can be started; its processes may run", name);
	if (!s.running)
		front_wrong("job %s is not running", name);
	/* A home may be shared by hosts and containers: there the id may be that of any process. */
	if (!s.here)
		front_wrong("job %s: its launcher is process %d %s host %s; %s", name, (int)s.pid,
		    s.beside ? "in another container of" : "on", s.host[0] != 0 ? s.host : "?", what);
	return s;
}

/* Returns false if the launcher was killed before it had ended the job. */
static bool
stop_launcher(const char *name, const struct jobdir *d)
{
	struct jobdir_state s = dlaunch_find_launcher(name, d, "stop it there");

	if (s.pid <= 0 || (kill(s.pid, SIGTERM) < 0 && errno != ESRCH))
		front_die(name, err_sys("launcher process %d", (int)s.pid));
	wait_for_job_end(d, s.pid);
	s = read_job_state(d);
	return !is_launcher_lost(&s) || !s.has_record;
}

static int
stop_job(const char *name)
{
	struct jobdir d;

	open_job(name, &d);
	/* A launcher that was just killed may have seemed to live: then another one takes the job over. */
	if (!stop_launcher(name, &d) && !stop_launcher(name, &d))
		front_wrong("job %s: its launcher was killed twice; stop it again", name);
	return 0;
}

/* Appends a row's cells, each with a zero byte. */
static void
add_status(struct buf *rows, const char *const cell[STATUS_CELLS])
{
	for (size_t i = 0; i < STATUS_CELLS; i++)
		if (buf_put(rows, cell[i], strlen(cell[i]) + 1) < 0)
			front_die(NULL, err_nomem());
}

static int
add_job_status(const char *name, struct buf *rows)
{
	struct words argv = { 0 };
	struct buf text = { 0 };
	struct jobdir_state s;
	struct jobdir d;
	char since[32] = "", status[16] = "", workers[16] = "", *cwd = NULL;
	uint32_t n;
	struct tm tm;
	int e = jobdir_open(name, &d);

	if (e == 0 && (e = jobdir_read_state(&d, &s)) == 0 && (e = jobdir_command(&d, &argv, &cwd)) == 0 &&
	    (e = words_text(argv.v, &text)) == 0) {
		if (s.status >= 0)
			snprintf(status, sizeof(status), "%d", s.status);
		if ((n = jobdir_number(&d, "workers")) > 0)
			snprintf(workers, sizeof(workers), "%u", n);
		if (localtime_r(&s.since, &tm) != NULL)
			strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S", &tm);
		add_status(rows, (const char *[STATUS_CELLS]){ name,
		    is_launcher_stopped(&s) ? "stopped" : s.running ? "runs" :
		    !is_launcher_lost(&s) ? "ended" : s.has_record ? "away" : "lost",
		    status, workers, since, s.host, cwd, (char *)text.p });
	}
	free(cwd);
	buf_free(&text);
	words_free(&argv);
	jobdir_close(&d);
	return e;
}

static void
print_tabbed(const struct buf *rows)
{
	const char *cell = (const char *)rows->p, *end = cell + rows->n;

	for (size_t i = 1; cell < end; i++, cell += strlen(cell) + 1)
		printf("%s%c", cell, i % STATUS_CELLS != 0 ? '\t' : '\n');
}

/* Prints columns that fit the terminal: without host and directory if need be, and with the start of commands. */
static void
print_aligned(const struct buf *rows)
{
	const char *cell, *end = (const char *)rows->p + rows->n;
	size_t wide[STATUS_CELLS] = { 0 }, terminal = progress_wide(STDOUT_FILENO), others = 0, i = 0;

	for (cell = (const char *)rows->p; cell < end; cell += strlen(cell) + 1, i++)
		if (strlen(cell) > wide[i % STATUS_CELLS])
			wide[i % STATUS_CELLS] = strlen(cell);
	for (i = 0; i + 1 < STATUS_CELLS; i++)
		others += wide[i] + GAP;
	for (i = STATUS_CELLS - 2; i >= STATUS_CELLS - 3 && others + LEAST_COMMAND > terminal; i--) {
		others -= wide[i] + GAP;
		wide[i] = 0;
	}
	wide[STATUS_CELLS - 1] = others + LEAST_COMMAND > terminal ? LEAST_COMMAND : terminal - others;
	for (cell = (const char *)rows->p, i = 0; cell < end; cell += strlen(cell) + 1, i++)
		if (i % STATUS_CELLS == STATUS_CELLS - 1)
			printf("%.*s\n", (int)wide[STATUS_CELLS - 1], cell);
		else if (wide[i % STATUS_CELLS] > 0)
			printf("%-*s", (int)wide[i % STATUS_CELLS] + GAP, cell);
}

static int
print_jobs(char *const *names)
{
	struct words all = { 0 };
	struct buf rows = { 0 };
	int e;

	if (*names == NULL) {
		front_must(NULL, jobdir_list(&all));
		names = all.n > 0 ? all.v : names;
	}
	add_status(&rows, (const char *[STATUS_CELLS]){ "job", "state", "status", "workers", "since", "host",
	    "directory", "command" });
	for (; *names != NULL; names++)
		/* A job that nobody named may have been removed since it was listed. */
		if ((e = add_job_status(*names, &rows)) == ERR_ARG && all.n == 0)
			front_die(NULL, e);
		else if (e < 0 && e != ERR_ARG)
			front_warn(NULL, e);
	if (isatty(STDOUT_FILENO))
		print_aligned(&rows);
	else
		print_tabbed(&rows);
	words_free(&all);
	buf_free(&rows);
	front_flush();
	return front_status();
}

/* Removes what is left of jobs that have ended; goes on after a failure. */
static int
remove_jobs(char *const *names)
{
	struct jobdir d;
	int e, worst = 0;

	if (*names == NULL)
		front_wrong("rm: needs the names of jobs");
	for (; *names != NULL; names++) {
		if ((e = jobdir_open(*names, &d)) == 0)
			e = jobdir_remove(&d);
		if (e == 0)
			continue;
		front_warn(NULL, e);
		if (worst != FRONT_USAGE)
			worst = e == ERR_ARG ? FRONT_USAGE : FRONT_PARTIAL;
	}
	return worst;
}

static const char *const tools[] = { "dlaunch", "im2rec", "netstat-logging", "plog", "pmerge", "pserver", "pworker" };

/* The verb or tool that a word is most like, or NULL. */
static const char *
find_nearest_verb(const char *word)
{
	static const char *const verbs[] = { "attach", "list", "logs", "rm", "scale", "set", "status", "stop", "wait" };
	struct nearest n = { .word = word };

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		nearest_try(&n, verbs[i]);
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		nearest_try(&n, tools[i]);
	return n.best != NULL && n.differ > 0 ? n.best : NULL;	/* a verb may stand in a wrong place */
}

static bool
is_tool(const char *word)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		if (strcmp(io_base_name(word), tools[i]) == 0)
			return true;
	return false;
}

/* Whether a command of that name would be found on this machine. */
static bool
is_in_path(const char *name)
{
	const char *dir = getenv("PATH"), *end;
	char path[PATH_MAX];

	for (; dir != NULL && *dir != 0; dir = *end != 0 ? end + 1 : end) {
		end = strchrnul(dir, ':');
		if (snprintf(path, sizeof(path), "%.*s/%s", (int)(end - dir), dir, name) < (int)sizeof(path) &&
		    access(path, X_OK) == 0)
			return true;
	}
	return false;
}

void
dlaunch_check_command(const char *name)
{
	struct nearest n = { .word = name };

	for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
		nearest_try(&n, tools[i]);
	if (n.best != NULL && n.differ > 0 && strchr(name, '/') == NULL && !is_in_path(name))
		front_wrong("%s: no such command; did you mean %s?", name, n.best);
}

bool
dlaunch_verb(int argc, char *argv[], int *code)
{
	const char *verb = argc > 1 ? argv[1] : "", *job = argc == 3 ? argv[2] : NULL;
	bool attach = strcmp(verb, "attach") == 0, logs = strcmp(verb, "logs") == 0;
	bool stop = strcmp(verb, "stop") == 0, wait = strcmp(verb, "wait") == 0;
	const char *near;
	char **word = argv + 1;

	while (*word != NULL && **word == '@')	/* recipes */
		word++;
	if ((attach || logs || stop || wait) && job == NULL)
		front_wrong("%s: needs the name of one job", verb);
	if (strcmp(verb, "list") == 0 && argc > 2)
		front_wrong("list: takes no job; status does");
	if (strcmp(verb, "scale") == 0 && argc != 4)
		front_wrong("scale: needs the name of one job and a number of workers");
	if (stop)
		*code = stop_job(job);
	else if (strcmp(verb, "scale") == 0)
		*code = dlaunch_scale_job(argv[2], argv[3]);
	else if (strcmp(verb, "set") == 0)
		*code = dlaunch_set_job(argv + 2);
	else if (attach || logs || wait)
		*code = follow_job(job, !wait, !logs);
	else if (strcmp(verb, "status") == 0 || strcmp(verb, "list") == 0)
		*code = print_jobs(argv + 2);
	else if (strcmp(verb, "rm") == 0)
		*code = remove_jobs(argv + 2);
	else if (*word != NULL && **word != '-' && !is_tool(*word) && (near = find_nearest_verb(*word)) != NULL)
		front_wrong("'%.64s' is no verb and no tool of tally; did you mean %s?", *word, near);
	else if (*word != NULL && **word != '-' && !is_tool(*word))
		front_wrong("'%.64s' is neither a verb (attach, list, logs, rm, scale, set, status, stop, wait) nor a "
		    "tool of tally; put -- before another command", *word);
	else
		return false;
	return true;
}
