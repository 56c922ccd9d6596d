/* dlaunch - one command on many hosts as one: one start, one output, one exit status.  See dlaunch(1). */
#include "front.h"

#include "base/err.h"
#include "run/agent.h"
#include "run/launch.h"
#include "wire/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const char usage[] = "dlaunch [-Pv] [-H hosts] [-n workers] [-s servers] [option ...] command [argument ...]";
static const char help[] =
    "Runs a command as the workers of a job, beside servers, on this machine or on many.\n"
    "  -n, --num-workers N      workers (1)\n"
    "  -s, --num-servers N      servers (as many as workers)\n"
    "  -H, --hosts FILE         a host a line, over ssh; - is the standard input\n"
    "  -P, --print              only print what would run where\n"
    "  -v, --verbose            the table of exits, and what the remote shells say\n"
    "      --agent              what runs on each host, for dlaunch itself\n"
    "      --env NAME[=VALUE]   a variable for all processes; again for more\n"
    "      --grace SECONDS      between SIGTERM and SIGKILL (10)\n"
    "      --interface NAME     the hosts' network interface that the job uses\n"
    "      --remote PATH        where dlaunch is on the hosts (as here)\n"
    "      --rsh TEMPLATE       a remote shell, with {host} and {port} in it\n"
    "      --server-command CMD what runs as a server (pserver)\n"
    "      --silence SECONDS    without a sign of life that a host is lost after (10)\n"
    "      --timeout SECONDS    for all hosts and servers to be there (60)\n"
    "      --help, --version\n"
    "When the command's name is pworker, servers are pserver; any other command runs in all\n"
    "roles, told apart by DMLC_ROLE.\n";

/* An unknown host's key is refused: with BatchMode nobody is asked.  A dead link is noticed after 9 s. */
static const char ssh[] = "ssh -T -x -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=3 "
			  "-o ServerAliveCountMax=3 -oPort={port} {host}";

enum { AGENT = 256, ENV, GRACE, HELP, INTERFACE, REMOTE, RSH, SERVER, SILENCE, TIMEOUT, VERSION };

static const struct option longs[] = {
	{ "agent", no_argument, NULL, AGENT },
	{ "env", required_argument, NULL, ENV },
	{ "grace", required_argument, NULL, GRACE },
	{ "help", no_argument, NULL, HELP },
	{ "hosts", required_argument, NULL, 'H' },
	{ "interface", required_argument, NULL, INTERFACE },
	{ "num-servers", required_argument, NULL, 's' },
	{ "num-workers", required_argument, NULL, 'n' },
	{ "print", no_argument, NULL, 'P' },
	{ "remote", required_argument, NULL, REMOTE },
	{ "rsh", required_argument, NULL, RSH },
	{ "server-command", required_argument, NULL, SERVER },
	{ "silence", required_argument, NULL, SILENCE },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, VERSION },
	{ NULL, 0, NULL, 0 }
};

struct command {
	const char	*hosts_file;	/* NULL: this machine */
	const char	*rsh, *remote, *server, *iface;
	struct words	 env;
	uint32_t	 workers, servers;
	bool		 servers_said, agent, print, verbose;
	double		 grace_s, silence_s, start_s;
	char *const	*argv;
};

/* env is "NAME=VALUE", or "NAME" with the value it has here. */
static void
pass_env(struct command *c, const char *env)
{
	const char *value = getenv(env);
	int e;

	if (*env == '=' || *env == 0)
		front_wrong("--env: '%s' is not NAME or NAME=VALUE", env);
	if (strchr(env, '=') != NULL)
		e = words_add(&c->env, "%s", env);
	else if (value != NULL)
		e = words_add(&c->env, "%s=%s", env, value);
	else
		front_wrong("--env: %s has no value here", env);
	if (e < 0)
		front_die(NULL, e);
}

static void
options(struct command *c, int argc, char *argv[])
{
	int o;

	/* "+": what follows the command's name is the command's. */
	while ((o = getopt_long(argc, argv, "+H:Pn:s:v", longs, NULL)) != -1)
		switch (o) {
		case 'H': c->hosts_file = optarg; break;
		case 'P': c->print = true; break;
		case 'n': c->workers = (uint32_t)front_num("-n", optarg, 1, JOB_MOST / 2 - 1); break;
		case 's': c->servers = (uint32_t)front_num("-s", optarg, 0, JOB_MOST / 2 - 1);
			  c->servers_said = true; break;
		case 'v': c->verbose = true; break;
		case AGENT: c->agent = true; break;
		case ENV: pass_env(c, optarg); break;
		case GRACE: c->grace_s = front_real("--grace", optarg, 0, 1e6); break;
		case HELP: front_help();
		case INTERFACE: c->iface = optarg; break;
		case REMOTE: c->remote = optarg; break;
		case RSH: c->rsh = optarg; break;
		case SERVER: c->server = optarg; break;
		case SILENCE: c->silence_s = front_real("--silence", optarg, 2, 1e6); break;
		case TIMEOUT: c->start_s = front_real("--timeout", optarg, 1, 1e6); break;
		case VERSION: printf("dlaunch %s\n", TALLY_VERSION); front_flush(); exit(0);
		default: front_usage();
		}
	c->argv = argv + optind;
	if (!c->servers_said)
		c->servers = c->workers;
}

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
	static const int unasked[] = { SIGPIPE, SIGHUP, SIGINT, SIGTSTP };
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

static int
be_agent(void)
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

static void
read_hosts(const struct command *c, struct hosts *h)
{
	static const char here[] = "localhost addr=127.0.0.1";
	int e = c->hosts_file != NULL ? hosts_read(h, c->hosts_file) : hosts_parse(h, "", here, strlen(here));

	if (e < 0)
		front_die(NULL, e);
}

/* The words of the remote shell; {host} goes to the end when the template does not say where. */
static void
read_rsh(const struct command *c, const struct hosts *h, struct words *rsh)
{
	bool host = false, port = false;
	int e;

	if ((e = words_split(rsh, c->rsh != NULL ? c->rsh : ssh)) < 0)
		front_wrong("--rsh: %s", err_line());
	if (rsh->n == 0)
		front_wrong("--rsh: no word in it");
	for (size_t i = 0; i < rsh->n; i++) {
		host |= strstr(rsh->v[i], "{host}") != NULL;
		port |= strstr(rsh->v[i], "{port}") != NULL;
	}
	for (uint32_t i = 0; i < h->n; i++)
		if (h->host[i].port != 0 && !port)
			front_wrong("host %s has a port, and --rsh no {port}", h->host[i].login);
	if (!host && (e = words_add(rsh, "{host}")) < 0)
		front_die(NULL, e);
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
print_plan(const struct roster *roster, const struct hosts *h)
{
	printf("role\trank\thost\n");
	for (uint32_t i = 0; i < roster->n; i++)
		printf("%s\t%u\t%s\n", job_role(roster->m[i].what.role), roster->m[i].what.rank,
		    h->host[roster->m[i].host].login);
	front_flush();
}

static void
print_table(const struct roster *roster, const struct hosts *h)
{
	bool any = false;

	for (uint32_t i = 0; i < roster->n; i++)
		any |= roster->m[i].pid != 0;
	if (!any)
		return;
	fprintf(stderr, "%-10s %5s  %-20s %8s %10s  %s\n", "role", "rank", "host", "pid", "seconds", "end");
	for (uint32_t i = 0; i < roster->n; i++) {
		const struct member *m = &roster->m[i];
		char how[64] = "not started";

		if (m->state == ROSTER_ENDED)
			roster_how(m->status, how);
		else if (m->state == ROSTER_LOST && m->pid != 0)
			snprintf(how, sizeof(how), "lost with its host");
		fprintf(stderr, "%-10s %5u  %-20s %8u %10.1f  %s\n", job_role(m->what.role), m->what.rank,
		    h->host[m->host].login, m->pid, m->seconds, how);
	}
}

static bool
is_pworker(const char *command)
{
	const char *slash = strrchr(command, '/');

	return strcmp(slash != NULL ? slash + 1 : command, "pworker") == 0;
}

/* A path that the remote side's shell must not take apart goes to it as it is: shells and srun differ in what quotes do. */
static const char *
agent_path(const struct command *c, char own[PATH_MAX])
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:@%,=-";

	self(own);
	if (c->remote == NULL && c->hosts_file == NULL)
		return own;
	if (c->remote == NULL && own[strspn(own, plain)] != 0)
		front_wrong("%s: a remote shell could take this path apart; say another by --remote", own);
	return c->remote != NULL ? c->remote : own;
}

static int
launch(const struct command *c, const struct hosts *hosts, struct roster *roster, bool dmlc)
{
	char own[PATH_MAX], dir[PATH_MAX], key[JOB_KEY + 1] = "";
	struct words rsh = { 0 }, server = { 0 };
	char *none[] = { NULL };
	int status;

	if (getcwd(dir, sizeof(dir)) == NULL)
		front_die("working directory", err_sys("read"));
	if (words_split(&server, c->server) < 0 || server.n == 0)
		front_wrong("--server-command: %s", server.n == 0 ? "no word in it" : err_line());
	if (c->hosts_file != NULL)
		read_rsh(c, hosts, &rsh);
	if (!dmlc && c->servers > 0)
		new_key(key);
	status = launch_run(&(struct launch_opt){ .hosts = hosts, .rsh = c->hosts_file != NULL ? &rsh : NULL,
	    .agent = agent_path(c, own), .version = TALLY_VERSION, .tool = "dlaunch",
	    .job = { .dmlc = dmlc, .workers = c->workers, .servers = c->servers, .key = key, .dir = dir,
		.iface = c->iface, .silence_ms = (uint32_t)(c->silence_s * 1e3),
		.env = c->env.v != NULL ? c->env.v : none, .argv = (char **)c->argv, .server_argv = server.v },
	    .start_s = c->start_s, .grace_s = c->grace_s,
	    .signals = signals((const int[]){ SIGCHLD, SIGINT, SIGTERM, SIGHUP, 0 }),
	    .out = STDOUT_FILENO, .err = STDERR_FILENO, .verbose = c->verbose }, roster);
	explicit_bzero(key, sizeof(key));
	if (status != 0 || c->verbose)
		print_table(roster, hosts);
	words_free(&rsh);
	words_free(&server);
	return status;
}

int
main(int argc, char *argv[])
{
	static const char *const always[] = { "OMP_NUM_THREADS", "OMP_WAIT_POLICY" };
	struct command c = { .workers = 1, .server = "pserver", .iface = "", .grace_s = 10, .silence_s = 10,
	    .start_s = 60 };
	struct hosts hosts;
	struct roster roster;
	int status = 0, e;
	bool dmlc;

	front_init(argv[0], usage, help);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (getenv(always[i]) != NULL)
			pass_env(&c, always[i]);
	options(&c, argc, argv);
	if (c.agent)
		return be_agent();
	if (*c.argv == NULL)
		front_usage();
	dmlc = !is_pworker(*c.argv);
	if (!dmlc && c.servers == 0 && c.workers > 1)
		front_wrong("%u workers need a server", c.workers);
	read_hosts(&c, &hosts);
	if ((e = roster_make(&roster, &hosts, dmlc, c.servers, c.workers)) < 0)
		front_die(NULL, e);
	if (c.print)
		print_plan(&roster, &hosts);
	else
		status = launch(&c, &hosts, &roster, dmlc);
	roster_free(&roster);
	hosts_free(&hosts);
	words_free(&c.env);
	return status;
}
