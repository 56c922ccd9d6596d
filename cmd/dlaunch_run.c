/* dlaunch_run - a job from its start to its end, and an agent's part of it. */
#include "dlaunch.h"
#include "front.h"

#include "base/err.h"
#include "run/agent.h"
#include "run/launch.h"
#include "run/outfile.h"
#include "run/rsh.h"
#include "run/sync.h"
#include "wire/conn.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define OWN_FILES	24	/* standard ones, signals, a job's directory, output by rank, what is open for a moment */
#define REMOTE_FILES	4	/* the pipes to a remote shell, and one while they are made */

/* The path of this program. */
static void
self(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (n < 0)
		front_die("/proc/self/exe", err_sys("read"));
	path[n] = 0;
}

/*
 * The signals that are listened to come through a descriptor.  The others that could end or stop us unasked are
 * blocked: a launcher that stops would be silent, and so lost, for its agents.  One that is ignored stays so (nohup(1)).
 */
static int
signals(const int *listened)
{
	static const int unasked[] = { SIGPIPE, SIGHUP, SIGINT, SIGTSTP, SIGTTIN };
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

int
dlaunch_agent(void)
{
	char bin[PATH_MAX];
	int e;

	if (isatty(STDIN_FILENO))
		front_wrong("--agent is for dlaunch itself to use");
	self(bin);
	*strrchr(bin, '/') = 0;
	e = agent_run(&(struct agent_opt){ .in = STDIN_FILENO, .out = STDOUT_FILENO,
	    .signals = signals((const int[]){ SIGCHLD, SIGTERM, 0 }), .version = TALLY_VERSION, .bin = bin });
	return e == 0 ? 0 : e == ERR_PEER ? FRONT_AGAIN : FRONT_PARTIAL;
}

/* What a job needs to be started, once or again. */
struct start {
	struct hosts	 hosts;
	struct words	 rsh, server;
	bool		 remote;	/* through rsh; else the agent is a child of this process */
	char		 dir[PATH_MAX], agent[PATH_MAX];
	int		 signals;
};

/* The hosts are those of the file, else those that the remote shell knows, else this machine. */
static void
read_hosts(const struct dlaunch *c, struct start *s)
{
	static const char here[] = "localhost addr=127.0.0.1";
	struct buf text = { 0 };
	int e;

	s->remote = true;
	if (c->hosts_file != NULL)
		e = hosts_read(&s->hosts, c->hosts_file);
	else if (c->rsh != NULL && (e = rsh_hosts(c->rsh, &text)) != 0)
		e = e < 0 ? e : hosts_parse(&s->hosts, "SLURM_JOB_NODELIST", text.p, text.n);
	else if (c->rsh != NULL)
		front_wrong("--rsh %s: on which hosts? -H names them", c->rsh);
	else
		s->remote = false;
	if (!s->remote)
		e = hosts_parse(&s->hosts, "", here, strlen(here));
	buf_free(&text);
	if (e < 0)
		front_die(NULL, e);
}

static void
read_rsh(const struct dlaunch *c, struct start *s)
{
	bool port;

	if (rsh_words(c->rsh != NULL ? c->rsh : "ssh", &s->rsh, &port) < 0)
		front_wrong("--rsh: %s", err_line());
	for (uint32_t i = 0; i < s->hosts.n && s->remote; i++)
		if (s->hosts.host[i].port != 0 && !port)
			front_wrong("host %s has a port, and --rsh no {port}", s->hosts.host[i].login);
}

/* A path that the remote side's shell must not take apart goes to it as it is: shells and srun differ in what quotes do. */
static void
read_agent(const struct dlaunch *c, struct start *s)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:@%,=-";

	if (c->remote != NULL && s->remote) {
		snprintf(s->agent, sizeof(s->agent), "%s", c->remote);
		return;
	}
	self(s->agent);
	if (s->remote && s->agent[strspn(s->agent, plain)] != 0)
		front_wrong("%s: a remote shell could take this path apart; say another by --remote", s->agent);
}

static void
prepare(const struct dlaunch *c, struct start *s)
{
	read_hosts(c, s);
	read_rsh(c, s);
	read_agent(c, s);
	if (c->dir != NULL)
		snprintf(s->dir, sizeof(s->dir), "%s", c->dir);
	else if (getcwd(s->dir, sizeof(s->dir)) == NULL)
		front_die("working directory", err_sys("read"));
	if (words_split(&s->server, c->server) < 0 || s->server.n == 0)
		front_wrong("--server-command: %s", s->server.n == 0 ? "no word in it" : err_line());
}

/* Files of the processes' own, empty. */
static void
begin_output(const char *dir, const struct roster *r)
{
	int e = outfile_dir(dir);

	for (uint32_t i = 0; i < r->n && e == 0; i++)
		e = outfile_begin(dir, &r->m[i].what);
	if (e < 0)
		front_die("--output", e);
}

/* The job's key as hexadecimal digits. */
static void
new_key(char text[JOB_KEY + 1])
{
	uint8_t key[CONN_KEY];
	int e = conn_key_new(key);

	if (e < 0)
		front_die("key", e);
	conn_key_text(key, text);
	explicit_bzero(key, sizeof(key));
}

static void
say_of_host(void *arg, const struct host *host, const char *line)
{
	(void)arg;
	front_say("host %s: %s", host->login, line);
}

/* Copies "DIR" or "DIR:TO" to the hosts.  Returns 0 or the exit status. */
static int
sync_hosts(const struct dlaunch *c, const struct start *s, const struct roster *roster)
{
	const char *colon = strrchr(c->sync, ':');
	char *from = strndup(c->sync, colon != NULL ? (size_t)(colon - c->sync) : strlen(c->sync)), *real;
	int signo, e;

	if (from == NULL)
		front_die("--sync", err_nomem());
	if ((real = realpath(from, NULL)) == NULL)
		front_die("--sync", err_sys("%s", from));
	e = sync_run(&(struct sync_opt){ .hosts = &s->hosts, .nhosts = roster->hosts, .rsh = s->remote ? &s->rsh : NULL,
	    .from = real, .to = colon != NULL ? colon + 1 : real, .signals = s->signals, .say = say_of_host }, &signo);
	if (e < 0)
		front_warn("--sync", e);
	free(from);
	free(real);
	return e == 0 ? 0 : e == ERR_STOP ? 128 + signo : e == ERR_PEER ? FRONT_AGAIN : FRONT_PARTIAL;
}

static int
launch(const struct dlaunch *c, const struct start *s, struct roster *roster, uint32_t attempts)
{
	char key[JOB_KEY + 1] = "", *none[] = { NULL };
	struct words argv = { 0 }, env = { 0 };
	struct launch_watch watch;
	int status;

	dlaunch_attempt(c, attempts, c->resume != NULL, &argv, &env);

	if (!c->dmlc && c->servers > 0)
		new_key(key);
	watch = dlaunch_watch(&s->hosts, roster);
	status = launch_run(&(struct launch_opt){ .hosts = &s->hosts, .rsh = s->remote ? &s->rsh : NULL,
	    .agent = s->agent, .version = TALLY_VERSION, .tool = "dlaunch",
	    .job = { .dmlc = c->dmlc, .input = c->input, .workers = c->workers, .servers = c->servers, .key = key, .dir = s->dir,
		.iface = c->iface, .silence_ms = (uint32_t)(c->silence_s * 1e3), .argv = argv.v,
		.env = env.v, .server_argv = s->server.v,
		.each = c->each.v != NULL ? c->each.v : none },
	    .start_s = c->start_s, .grace_s = c->grace_s, .signals = s->signals,
	    .in = STDIN_FILENO, .out = STDOUT_FILENO, .err = STDERR_FILENO,
	    .verbose = c->verbose, .wait = c->wait, .watch = watch, .dir = c->output }, roster);
	dlaunch_watch_end(&watch);
	explicit_bzero(key, sizeof(key));
	words_free(&argv);
	words_free(&env);
	if (status != 0 || c->verbose)
		dlaunch_show_exits(roster, &s->hosts);
	return status;
}

static void
make_roster(const struct dlaunch *c, const struct start *s, struct roster *roster)
{
	int e = roster_make(roster, &s->hosts, c->dmlc, c->servers, c->workers);

	if (e < 0)
		front_die(NULL, e);
}

/* Attempts, up to one that ends well or as another would. */
static int
attempts(const struct dlaunch *c, const struct start *s, struct roster *roster)
{
	int status = launch(c, s, roster, 0);

	for (uint32_t i = 1; i <= c->restarts && status != 0 && dlaunch_again(roster); i++) {
		dlaunch_pause(i, c->restarts, s->signals);
		roster_free(roster);
		make_roster(c, s, roster);
		status = launch(c, s, roster, i);
	}
	return status;
}

/* As many files may be open as the hosts' pipes need; a limit that is lower is raised, where that is allowed. */
static void
make_room(const struct roster *roster)
{
	const rlim_t need = OWN_FILES + (rlim_t)REMOTE_FILES * roster->hosts;
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most) < 0 || most.rlim_cur >= need)
		return;
	if (most.rlim_max < need)
		front_die(NULL, err_fail(ERR_LIMIT, "%u hosts need %llu open files, and %llu are allowed (ulimit -n)",
		    roster->hosts, (unsigned long long)need, (unsigned long long)most.rlim_max));
	most.rlim_cur = need;
	if (setrlimit(RLIMIT_NOFILE, &most) < 0)
		front_die("open files", err_sys("setrlimit"));
}

int
dlaunch_run(const struct dlaunch *c, struct jobdir *d)
{
	struct start s = { .remote = false };
	struct roster roster;
	int status = 0;

	prepare(c, &s);
	make_roster(c, &s, &roster);
	if (c->dry) {
		dlaunch_show_plan(c, &roster, &s.hosts, s.remote ? &s.rsh : NULL, s.agent);
	} else {
		make_room(&roster);
		if (c->resume == NULL && (c->job != NULL || c->detach))
			dlaunch_job(c, d);
		if (c->detach)
			dlaunch_detach(d, c->resume != NULL);
		if (c->output != NULL && c->resume == NULL)
			begin_output(c->output, &roster);
		s.signals = signals((const int[]){ SIGCHLD, SIGINT, SIGTERM, SIGHUP, 0 });
		if (c->sync != NULL)
			status = sync_hosts(c, &s, &roster);
		if (status == 0)
			status = attempts(c, &s, &roster);
		if (d->dir >= 0 && jobdir_end(d, status) < 0)
			front_warn("--job", ERR_SYS);
	}
	roster_free(&roster);
	hosts_free(&s.hosts);
	words_free(&s.rsh);
	words_free(&s.server);
	return status;
}
