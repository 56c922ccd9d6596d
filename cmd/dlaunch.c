/* dlaunch - one command on many hosts as one: one start, one output, one exit status.  See dlaunch(1). */
#include "dlaunch.h"
#include "front.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

static const char usage[] = "dlaunch [-Pv] [-H hosts] [-n workers] [-s servers] [option ...] command [argument ...]";
static const char help[] =
    "Runs a command as the workers of a job, beside servers, on this machine or on many.\n"
    "  -n, --num-workers N (1)            -s, --num-servers N (as many as workers)\n"
    "  -H, --hosts FILE      a host a line; - is the standard input\n"
    "      --rsh NAME        how to get there: ssh, slurm, mpi, kubectl, or words with {host} and {port}\n"
    "  -P, --dry-run         only print what would run where\n"
    "  -v, --verbose         the table of exits in any case, and what the remote shells say\n"
    "  -x, --env NAME[=VALUE]             a variable for all processes; again for more\n"
    "      --chdir DIR       where the processes run (here)\n"
    "      --each WORD=V:V:...            WORD and a value of its own for each worker\n"
    "      --grace SECONDS   between SIGTERM and SIGKILL (10)\n"
    "      --interface NAME  the hosts' network interface that the job uses\n"
    "      --on-fail stop|wait            whether the first failure ends the others (stop)\n"
    "      --output DIR      a file a process, in place of the standard output\n"
    "      --remote PATH     where dlaunch is on the hosts (as here)\n"
    "      --restart N       times that a job that lost a process, peer or host is started again (0)\n"
    "      --server-command CMD           what runs as a server (pserver)\n"
    "      --silence SECONDS without a sign of life that a host is lost after (10)\n"
    "      --sync DIR[:TO]   copies a directory to the hosts first\n"
    "      --timeout SECONDS for all hosts and servers to be there (60)\n"
    "      --agent           what runs on each host, for dlaunch itself\n"
    "      --help, --version\n"
    "When the command's name is pworker, servers are pserver; any other command runs in all\n"
    "roles, told apart by DMLC_ROLE.\n";

enum {
	AGENT = 256, CHDIR, EACH, GRACE, HELP, INTERFACE, ON_FAIL, OUTPUT, REMOTE, RESTART, RSH, SERVER, SILENCE, SYNC, TIMEOUT, VERSION
};

static const struct option longs[] = {
	{ "agent", no_argument, NULL, AGENT },
	{ "chdir", required_argument, NULL, CHDIR },
	{ "dry-run", no_argument, NULL, 'P' },
	{ "each", required_argument, NULL, EACH },
	{ "env", required_argument, NULL, 'x' },
	{ "grace", required_argument, NULL, GRACE },
	{ "help", no_argument, NULL, HELP },
	{ "hosts", required_argument, NULL, 'H' },
	{ "interface", required_argument, NULL, INTERFACE },
	{ "num-servers", required_argument, NULL, 's' },
	{ "num-workers", required_argument, NULL, 'n' },
	{ "on-fail", required_argument, NULL, ON_FAIL },
	{ "output", required_argument, NULL, OUTPUT },
	{ "remote", required_argument, NULL, REMOTE },
	{ "restart", required_argument, NULL, RESTART },
	{ "rsh", required_argument, NULL, RSH },
	{ "server-command", required_argument, NULL, SERVER },
	{ "silence", required_argument, NULL, SILENCE },
	{ "sync", required_argument, NULL, SYNC },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, VERSION },
	{ NULL, 0, NULL, 0 }
};

/* env is "NAME=VALUE", or "NAME" with the value it has here. */
static void
pass_env(struct dlaunch *c, const char *env)
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
add_each(struct dlaunch *c, const char *each)
{
	if (*each == '=' || strchr(each, '=') == NULL)
		front_wrong("--each: '%s' is not WORD=VALUE:VALUE:...", each);
	if (words_add(&c->each, "%s", each) < 0)
		front_die(NULL, err_nomem());
}

static void
set_on_fail(struct dlaunch *c, const char *what)
{
	c->wait = strcmp(what, "wait") == 0;
	if (!c->wait && strcmp(what, "stop") != 0)
		front_wrong("--on-fail: '%s' is neither stop nor wait", what);
}

/* Each list must have a value for each worker. */
static void
check_each(const struct dlaunch *c)
{
	for (size_t i = 0; i < c->each.n; i++) {
		uint32_t n = 1;

		for (const char *p = strchr(c->each.v[i], '='); *p != 0; p++)
			n += *p == ':';
		if (n != c->workers)
			front_wrong("--each: %s: %u values for %u workers", c->each.v[i], n, c->workers);
	}
}

static bool
is_pworker(const char *command)
{
	const char *slash = strrchr(command, '/');

	return strcmp(slash != NULL ? slash + 1 : command, "pworker") == 0;
}

static bool
has_save(char *const *argv)
{
	for (; *argv != NULL; argv++)
		if (strcmp(*argv, "--save") == 0 || strncmp(*argv, "--save=", 7) == 0)
			return true;
	return false;
}

static void
options(struct dlaunch *c, int argc, char *argv[])
{
	int o;

	/* "+": what follows the command's name is the command's. */
	while ((o = getopt_long(argc, argv, "+H:Pn:s:vx:", longs, NULL)) != -1)
		switch (o) {
		case 'H': c->hosts_file = optarg; break;
		case 'P': c->dry = true; break;
		case 'n': c->workers = (uint32_t)front_num("-n", optarg, 1, JOB_MOST / 2 - 1); break;
		case 's': c->servers = (uint32_t)front_num("-s", optarg, 0, JOB_MOST / 2 - 1);
			  c->servers_said = true; break;
		case 'v': c->verbose = true; break;
		case 'x': pass_env(c, optarg); break;
		case AGENT: c->agent = true; break;
		case CHDIR: c->dir = optarg; break;
		case EACH: add_each(c, optarg); break;
		case GRACE: c->grace_s = front_real("--grace", optarg, 0, 1e6); break;
		case HELP: front_help();
		case INTERFACE: c->iface = optarg; break;
		case ON_FAIL: set_on_fail(c, optarg); break;
		case OUTPUT: c->output = optarg; break;
		case REMOTE: c->remote = optarg; break;
		case RESTART: c->restarts = (uint32_t)front_num("--restart", optarg, 0, 1 << 20); break;
		case RSH: c->rsh = optarg; break;
		case SERVER: c->server = optarg; break;
		case SILENCE: c->silence_s = front_real("--silence", optarg, 2, 1e6); break;
		case SYNC: c->sync = optarg; break;
		case TIMEOUT: c->start_s = front_real("--timeout", optarg, 1, 1e6); break;
		case VERSION: printf("dlaunch %s\n", TALLY_VERSION); front_flush(); exit(0);
		default: front_usage();
		}
	c->argv = argv + optind;
	if (!c->servers_said)
		c->servers = c->workers;
}

static void
check(struct dlaunch *c)
{
	if (*c->argv == NULL)
		front_usage();
	c->dmlc = !is_pworker(*c->argv);
	if (!c->dmlc && c->servers == 0 && c->workers > 1)
		front_wrong("%u workers need a server", c->workers);
	if (!c->dmlc && c->restarts > 0 && !has_save(c->argv))
		front_wrong("--restart: goes on from a checkpoint: pworker needs --save");
	check_each(c);
}

int
main(int argc, char *argv[])
{
	static const char *const always[] = { "OMP_NUM_THREADS", "OMP_WAIT_POLICY" };
	struct dlaunch c = { .workers = 1, .server = "pserver", .iface = "", .grace_s = 10, .silence_s = 10, .start_s = 60 };
	int status;

	front_init(argv[0], usage, help);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (getenv(always[i]) != NULL)
			pass_env(&c, always[i]);
	options(&c, argc, argv);
	if (c.agent)
		return dlaunch_agent();
	check(&c);
	status = dlaunch_run(&c);
	words_free(&c.env);
	words_free(&c.each);
	return status;
}
