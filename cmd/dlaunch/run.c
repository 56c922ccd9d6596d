/* run - runs a job from its start to its end: hosts, directories, attempts. */
#include "dlaunch/dlaunch.h"
#include "front.h"
#include "front_wait.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"
#include "base/secret.h"
#include "run/launcher/launch.h"
#include "run/outfile.h"
#include "run/launcher/rsh.h"
#include "run/launcher/sync.h"
#include "wire/conn.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define OWN_FILES	24	/* descriptors besides remote shells: standard streams, signals, files */
#define REMOTE_FILES	4	/* descriptors a host: the pipes to a remote shell, and one while they are made */

void
dlaunch_self(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (n < 0)
		front_die("/proc/self/exe", err_sys("read"));
	path[n] = 0;
}

int
dlaunch_signals(const int *listened)
{
	static const int unasked[] = { SIGPIPE, SIGHUP, SIGINT, SIGTSTP, SIGTTIN, SIGTTOU };
	struct sigaction old;
	sigset_t set, all;
	int fd;

	sigemptyset(&set);
	sigemptyset(&all);
	for (; *listened != 0; listened++) {
		sigaddset(&all, *listened);
		if (*listened == SIGCHLD || (sigaction(*listened, NULL, &old) == 0 && old.sa_handler != SIG_IGN))
			sigaddset(&set, *listened);
	}
	for (size_t i = 0; i < sizeof(unasked) / sizeof(unasked[0]); i++)
		sigaddset(&all, unasked[i]);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if ((fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
		front_die("signals", err_sys("signalfd"));
	return fd;
}

/* What starting a job needs, for the first and for later attempts. */
struct start {
	struct hosts	 hosts;
	struct words	 rsh, server;
	bool		 remote;	/* the agents run through rsh; else the agent is a child of this process */
	char		 dir[PATH_MAX], agent[PATH_MAX];
	struct buf	 hosts_text;	/* text of the hosts file, or of an equivalent one */
	char		 id[JOB_RECORD_ID + 1];	/* id of a detached job; "" for another */
	struct jobdir	*job;
	int		 signals;
	struct dlaunch_start at_work;
	struct dlaunch_asked asked;
};

/* The name of the hosts' text in messages. */
static const char *
name_hosts(const struct dlaunch *c)
{
	return c->hosts_file != NULL ? c->hosts_file : c->rsh != NULL ? "SLURM_JOB_NODELIST" : "";
}

/*
 * The file of the job's directory with the hosts of an attempt.  Each has its own, so that the record, which changes
 * later, always has the one it fits.
 */
static void
name_hosts_file(uint32_t attempt, char name[32])
{
	if (attempt == 0)
		snprintf(name, 32, "hosts");
	else
		snprintf(name, 32, "hosts.%u", attempt);
}

/*
 * Reads the hosts: those of a job that is taken over, else of the hosts file, else those that the remote
 * shell knows, else this machine.
 */
static void
read_hosts(const struct dlaunch *c, struct start *s)
{
	/* An address in the hosts takes precedence over --interface. */
	const char *here = c->iface[0] != 0 ? "localhost" : "localhost addr=127.0.0.1";
	const char *name = name_hosts(c);
	struct buf *text = &s->hosts_text;
	char file[32];
	int e;

	if (c->hosts_file != NULL)
		front_wait_read(c->hosts_file);
	s->remote = c->hosts_file != NULL || c->rsh != NULL;
	if (c->record != NULL) {
		name_hosts_file(c->record->attempt, file);
		e = jobdir_get(s->job, file, HOSTS_FILE, text);
	} else if (c->hosts_file != NULL && (e = io_slurp(c->hosts_file, HOSTS_FILE, text)) < 0) {
		if (strcmp(c->hosts_file, "-") != 0 && access(c->hosts_file, F_OK) < 0 && errno == ENOENT)
			err_note(0, "No such file; write the name of a host on each line of one");
		err_within("%s", c->hosts_file);
	} else if (c->hosts_file != NULL) {
		e = 0;
	} else if (c->rsh != NULL) {
		e = rsh_hosts(c->rsh, text);
	} else {
		e = buf_put(text, here, strlen(here));
	}
	front_wait_end();
	if (e >= 0 && c->hosts_file == NULL && c->rsh != NULL && text->n == 0)
		front_wrong("--rsh %s: no hosts; name them with -H", c->rsh);
	if (e < 0 || (e = hosts_parse(name, text->p, text->n, &s->hosts)) < 0)
		front_die(NULL, e);
}

/*
 * The silence after which a host is lost.  TCP repeats what it lost at intervals that double, so that the first sign
 * after an outage may take as long again.  A detached job connects anew instead.
 */
static double
choose_silence_s(const struct dlaunch *c)
{
	return c->detach ? c->silence_s : 2 * c->silence_s;
}

static void
read_rsh(const struct dlaunch *c, struct start *s)
{
	bool port;

	if (rsh_words(c->rsh != NULL ? c->rsh : "ssh", choose_silence_s(c), &s->rsh, &port) < 0)
		front_wrong("--rsh: %s", err_line());
	for (uint32_t i = 0; i < s->hosts.n && s->remote; i++)
		if (s->hosts.host[i].port != 0 && !port)
			front_wrong("host %s has a port, but --rsh has no {port}", s->hosts.host[i].login);
}

/* The path is not quoted, as shells and srun treat quotes differently; so it must not need quotes. */
static void
read_agent(const struct dlaunch *c, struct start *s)
{
	if (c->remote != NULL && s->remote) {
		snprintf(s->agent, sizeof(s->agent), "%s", c->remote);
		return;
	}
	dlaunch_self(s->agent);
	if (s->remote && !words_is_plain(s->agent))
		front_wrong("%s: a remote shell could split this path; give another by --remote", s->agent);
}

static void
read_start(const struct dlaunch *c, struct start *s)
{
	char from[PATH_MAX];
	const char *to;

	read_hosts(c, s);
	/* srun(1) and mpirun(1) pass ours on, and an agent takes it for that of its own host. */
	unsetenv("SSH_CONNECTION");
	read_rsh(c, s);
	read_agent(c, s);
	/* Before the job's directory is made.  A job that is taken over has its copies. */
	if (c->sync != NULL && c->record == NULL)
		front_must("--sync", sync_parse(c->sync, from, &to));
	if (c->dir != NULL)
		snprintf(s->dir, sizeof(s->dir), "%s", c->dir);
	else if (getcwd(s->dir, sizeof(s->dir)) == NULL)
		front_die("working directory", err_sys("read"));
	if (words_split(&s->server, c->server) < 0 || s->server.n == 0)
		front_wrong("--server-command: %s", s->server.n == 0 ? "no word in it" : err_line());
}

/* Makes empty output files of the processes. */
static void
make_output_files(const char *dir, const struct roster *r)
{
	int e = outfile_dir(dir);

	for (uint32_t i = 0; i < r->n && e == 0; i++)
		e = outfile_begin(dir, &r->m[i].child);
	if (e < 0)
		front_die("--output", e);
}

/* Makes a new key, as hexadecimal digits: text [JOB_KEY + 1]. */
static void
make_key(char *text)
{
	uint8_t key[CONN_KEY];
	int e = conn_key_new(key);

	if (e < 0)
		front_die("key", e);
	conn_key_text(key, text);
	explicit_bzero(key, sizeof(key));
}

/* Makes the id of a job, by which launchers find its agents, and agents its processes. */
static void
make_job_id(char id[JOB_RECORD_ID + 1])
{
	char key[JOB_KEY + 1];

	make_key(key);
	snprintf(id, JOB_RECORD_ID + 1, "%.*s", (int)JOB_RECORD_ID, key);
}

static int
save_record(void *arg, const void *p, size_t n)
{
	const struct start *s = arg;

	return jobdir_put(s->job, "record", p, n);
}

static void
report_started(void *arg)
{
	struct start *s = arg;

	dlaunch_check_start(&s->at_work);
}

static void
report_lost(void *arg, const char *why)
{
	struct start *s = arg;

	dlaunch_fail_start(&s->at_work, why);
}

static void
say_host_line(void *arg, const struct host *host, const char *line)
{
	(void)arg;
	front_say("host %s: %s", host->login, line);
}

/*
 * Copies the folder of --sync to the hosts.  Returns 0 or the exit status.  A host that was not reached is lost for a
 * further attempt.
 */
static int
sync_hosts(const struct dlaunch *c, const struct start *s, struct roster *roster)
{
	struct sync_opt o = { .hosts = &s->hosts, .nhosts = roster->hosts, .rsh = s->remote ? &s->rsh : NULL,
		.signals = s->signals, .say = say_host_line };
	char from[PATH_MAX];
	uint32_t host = 0;
	int signo = 0, e = sync_parse(c->sync, from, &o.to);

	o.from = from;
	if (e == 0)
		e = sync_run(&o, &signo, &host);
	if (e < 0)
		front_warn("--sync", e);
	for (uint32_t i = 0; i < roster->n && e == ERR_PEER; i++)
		if (roster->m[i].host == host)
			roster->m[i].state = ROSTER_LOST;
	if (e == ERR_PEER)
		roster_fail(roster, FRONT_AGAIN);
	return e == 0 ? 0 : e == ERR_STOP ? 128 + signo : e == ERR_PEER ? FRONT_AGAIN : FRONT_PARTIAL;
}

static int
run_attempt(const struct dlaunch *c, struct start *s, struct roster *roster, uint32_t attempts,
    const struct job_record *from)
{
	char *none[] = { NULL }, id[JOB_RECORD_ID + 1];
	uint32_t elastic = from != NULL ? from->elastic : s->asked.workers;
	struct words argv = { 0 }, env = { 0 };
	struct launch_watch watch, quiet = { .arg = &s->at_work, .lines = dlaunch_note_output };
	void *key;
	int status;

	if (secret_new(JOB_KEY + 1, &key) < 0)
		front_die("key", ERR_NOMEM);
	dlaunch_build_attempt(c, attempts, c->resume != NULL, &argv, &env);
	dlaunch_add_settings(c, s->job, &env);
	if (s->id[0] != 0)
		memcpy(id, s->id, sizeof(id));
	else
		make_job_id(id);
	if (!c->dmlc && (c->servers > 0 || c->workers > 1))
		make_key(key);
	watch = dlaunch_watch(&s->hosts, roster, dlaunch_on_console(c));
	status = launch_run(&(struct launch_opt){ .hosts = &s->hosts, .rsh = s->remote ? &s->rsh : NULL,
	    .agent = s->agent, .id = id, .version = TALLY_VERSION, .tool = "dlaunch",
	    .job = { .dmlc = c->dmlc, .input = c->input, .workers = c->workers, .elastic = elastic,
		.servers = c->servers, .key = key,
		.dir = s->dir, .iface = c->iface, .silence_ms = (uint32_t)(choose_silence_s(c) * 1e3),
		.spool_kib = c->spool_mib << 10,
		.respawn = c->servers == 0 || strcmp(c->server, "pserver") == 0 ? c->respawn : 0,
		.argv = argv.v, .env = env.v, .server_argv = s->server.v,
		.each = c->each.v != NULL ? c->each.v : none },
	    .start_s = c->start_s, .outage_s = c->outage_s, .grace_s = c->grace_s, .signals = s->signals,
	    .in = STDIN_FILENO, .out = STDOUT_FILENO, .err = STDERR_FILENO,
	    .detached = { .on = s->id[0] != 0, .attempt = attempts, .save = save_record,
		.started = report_started, .lost = report_lost, .arg = s, .from = from },
	    .scale = dlaunch_scale_calls(&s->asked, s->remote ? s->hosts.places : 0),
	    .set = dlaunch_set_calls(&s->asked),
	    .verbose = c->verbose, .wait = c->wait, .watch = c->detach ? quiet : watch, .dir = c->output }, roster);
	dlaunch_watch_end(&watch);
	secret_free(key, JOB_KEY + 1);
	words_free(&argv);
	words_free(&env);
	if (status != 0 || c->verbose)
		dlaunch_show_exits(roster, &s->hosts);
	return status;
}

static void
make_roster(const struct dlaunch *c, const struct start *s, struct roster *roster)
{
	int e = roster_make(&s->hosts, c->dmlc, c->servers, c->workers, roster);

	if (e < 0)
		front_die(NULL, e);
	roster->workers = s->asked.workers;
	roster->least = c->elastic;
}

/*
 * Leaves out hosts that were lost before an attempt: spares, or the other hosts, take their places.  None is left out
 * if none would stay, or if all of several were lost at once: this machine, not they, was cut off.  Returns whether
 * it has left out any.
 */
static bool
drop_lost_hosts(const struct dlaunch *c, struct start *s, const struct roster *roster, uint32_t attempt)
{
	bool *gone = calloc(s->hosts.n, sizeof(*gone));
	uint32_t left = s->hosts.n;
	struct buf text = { 0 };
	char file[32];
	int e = gone != NULL ? 0 : err_nomem();

	for (uint32_t i = 0; e == 0 && i < roster->n; i++) {
		const struct member *m = &roster->m[i];

		left -= m->state == ROSTER_LOST && !gone[m->host];
		gone[m->host] |= m->state == ROSTER_LOST;
	}
	if (roster->hosts > 1 && s->hosts.n - left == roster->hosts)
		left = s->hosts.n;
	if (e == 0 && left > 0 && left < s->hosts.n &&
	    (e = hosts_without(&s->hosts, &(struct hosts_loss){ .gone = gone, .used = roster->hosts,
	    .servers = c->servers, .workers = c->workers }, s->hosts_text.p, s->hosts_text.n, &text)) == 0) {
		for (uint32_t h = 0; h < s->hosts.n; h++)
			if (gone[h])
				front_say("host %s: is left out from now on", s->hosts.host[h].login);
		hosts_free(&s->hosts);
		buf_free(&s->hosts_text);
		s->hosts_text = text;
		e = hosts_parse(name_hosts(c), text.p, text.n, &s->hosts);
	}
	name_hosts_file(attempt, file);
	free(gone);
	if (e < 0)
		front_die(NULL, e);
	if (c->detach && (e = jobdir_put(s->job, file, s->hosts_text.p, s->hosts_text.n)) < 0)
		front_warn("--detach", e);
	return text.n > 0;
}

/* Runs attempts until one ends well or a further one would not help. */
static int
run_attempts(const struct dlaunch *c, struct start *s, struct roster *roster)
{
	uint32_t first = c->record != NULL ? c->record->attempt : 0;
	int status = run_attempt(c, s, roster, first, c->record);
	bool copies = false;	/* a spare host may not have the files yet */

	for (uint32_t i = first + 1; i <= c->restarts && status != 0 && dlaunch_may_restart(roster); i++) {
		copies |= drop_lost_hosts(c, s, roster, i) && c->sync != NULL;
		dlaunch_pause(i, c->restarts, s->signals);
		roster_free(roster);
		make_roster(c, s, roster);
		if (!copies || (status = sync_hosts(c, s, roster)) == 0) {
			copies = false;
			status = run_attempt(c, s, roster, i, NULL);
		}
	}
	return status;
}

/* Truncates the output files to the sizes of the record: what followed is sent again. */
static void
cut_output(const struct dlaunch *c, const struct roster *roster, const struct jobdir *d)
{
	const struct job_record *r = c->record;
	int e;

	if ((e = jobdir_cut(d, "out", r->out)) == 0)
		e = jobdir_cut(d, "err", r->err);
	for (uint32_t i = 0; i < roster->n && i < r->n && c->output != NULL && e == 0; i++)
		if ((e = outfile_cut(c->output, &roster->m[i].child, true, r->m[i].out)) == 0)
			e = outfile_cut(c->output, &roster->m[i].child, false, r->m[i].err);
	if (e < 0)
		front_die(d->name, e);
}

static void
say_resumed(const struct jobdir *d)
{
	struct jobdir_state state;
	char when[32] = "";
	struct tm tm;

	if (jobdir_read_state(d, &state) == 0 && localtime_r(&state.since, &tm) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	front_say("job %s is resumed%s%s", d->name, when[0] != 0 ? ", " : "", when);
}

/* Makes this process the launcher of the job, with a directory if the job has a name. */
static void
claim_job_dir(const struct dlaunch *c, struct start *s, const struct roster *roster)
{
	struct jobdir *d = s->job;
	int e;

	if (c->record != NULL)
		cut_output(c, roster, d);
	else if (c->resume != NULL)
		front_must("--resume", jobdir_begin(d));
	else if (c->job != NULL || c->detach)
		dlaunch_make_job(c, d);
	if (c->record != NULL)
		memcpy(s->id, c->record->id, sizeof(s->id));
	else if (c->detach)
		make_job_id(s->id);
	if (c->detach && c->record == NULL && (e = jobdir_put(d, "hosts", s->hosts_text.p, s->hosts_text.n)) < 0)
		front_die("--detach", e);
	/* Before the name is printed, so that a signal sent then is not lost. */
	s->signals = dlaunch_signals((const int[]){ SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, 0 });
	if (c->detach)
		s->at_work.fd = dlaunch_detach(d, c->resume != NULL || c->record != NULL, s->signals);
	/* The processes of a job that is taken over were started before. */
	if (c->record != NULL)
		dlaunch_started(&s->at_work);
	/* Marks in the output file where the resumed run begins. */
	if (c->detach && c->resume != NULL && c->record == NULL)
		say_resumed(d);
	if (c->output != NULL && c->resume == NULL && c->record == NULL)
		make_output_files(c->output, roster);
}

int
dlaunch_run(const struct dlaunch *c, struct jobdir *d)
{
	struct start s = { .job = d };
	struct roster roster;
	int status = 0;

	dlaunch_open_start(c, &s.at_work);
	read_start(c, &s);
	dlaunch_open_scale(c, d, &s.asked);
	make_roster(c, &s, &roster);
	if (c->dry) {
		dlaunch_show_plan(c, &roster, &s.hosts, s.remote ? &s.rsh : NULL, s.agent);
	} else {
		const uint64_t files = OWN_FILES + (uint64_t)REMOTE_FILES * roster.hosts;

		front_must(NULL, io_allow_files(files, files, "hosts", roster.hosts));
		claim_job_dir(c, &s, &roster);
		dlaunch_put_workers(&s.asked);
		if (c->sync != NULL && c->record == NULL)
			status = sync_hosts(c, &s, &roster);
		if (status == 0)
			status = run_attempts(c, &s, &roster);
		if (status == 0)
			dlaunch_started(&s.at_work);
		if (d->dir >= 0 && jobdir_end(d, status) < 0)
			front_warn("--job", ERR_SYS);
	}
	roster_free(&roster);
	hosts_free(&s.hosts);
	buf_free(&s.hosts_text);
	words_free(&s.rsh);
	words_free(&s.server);
	free(s.at_work.printed);
	return status;
}
