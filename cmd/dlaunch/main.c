/* main - runs one command on many hosts, with one output and one exit status.  See dlaunch(1). */
#include "dlaunch/dlaunch.h"
#include "front.h"
#include "front_recipe.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define SILENCE_S	30
#define DETACHED_S	86400	/* a day, so that a laptop may sleep overnight */
#define LEAST_S		1

static const char usage[] =
    "dlaunch [-Pv] [-H hosts] [-n workers] [-s servers] [option ...] [@recipe] command [argument ...]\n"
    "       dlaunch attach | logs | stop | wait job\n"
    "       dlaunch rm job ...\n"
    "       dlaunch list\n"
    "       dlaunch status [job ...]";
static const char help[] =
    "Runs a command as the workers of a job, beside servers, on this machine or on many.\n"
    "What runs:\n"
    "  -n, --num-workers N (1)            -s, --num-servers N (as many as workers)\n"
    "  -x, --env NAME[=VALUE]  for all    --each WORD=V:V:...  a value of its own for each worker\n"
    "  --server-command CMD (pserver)     --stdin  becomes worker 0's input\n"
    "  @NAME  the options of a recipe     -P, --dry-run  print what would run where\n"
    "Hosts:\n"
    "  -H, --hosts FILE  a host a line    --rsh ssh|slurm|mpi|kubectl|WORDS  with {host}, {port} (ssh)\n"
    "  --chdir DIR  where processes run   --sync DIR[:TO]  copy it to the hosts first\n"
    "  --interface NAME  of the hosts     --remote PATH  of dlaunch on the hosts\n"
    "Output:\n"
    "  --output DIR  files a process      --spool MIB (1024)  of output that waits on a host\n"
    "  -v, --verbose   -h, --help   --version   --agent, --agent-keep JOB, --agent-resume JOB  internal\n"
    "Jobs with a name:\n"
    "  --job NAME  --force  replace one   --detach  run in the background    --resume JOB  continue it\n"
    "Failures:\n"
    "  --on-fail stop|wait  the others    --restart N (0)  attempts after a process or host was lost\n"
    "  --timeout SECONDS (60) to start    --silence SECONDS (30; detached a day)  a network may be down\n"
    "  --grace SECONDS (10)  to end       --respawn N (10)  times an hour for a killed process\n"
    "Any command but pworker runs in all roles, which DMLC_ROLE distinguishes, with -- before it.\n";

enum {
	AGENT = 256, AGENT_KEEP, AGENT_RESUME, CHDIR, DETACH, EACH, FORCE, GRACE, HELP, INTERFACE, JOB, ON_FAIL, OUTPUT,
	REMOTE, RESPAWN, RESTART, RESUME, RSH, SERVER, SILENCE, SPOOL, STDIN, SYNC, TIMEOUT, VERSION
};

static const struct option longs[] = {
	{ "agent", no_argument, NULL, AGENT },
	{ "agent-keep", required_argument, NULL, AGENT_KEEP },
	{ "agent-resume", required_argument, NULL, AGENT_RESUME },
	{ "chdir", required_argument, NULL, CHDIR },
	{ "detach", no_argument, NULL, DETACH },
	{ "dry-run", no_argument, NULL, 'P' },
	{ "each", required_argument, NULL, EACH },
	{ "env", required_argument, NULL, 'x' },
	{ "force", no_argument, NULL, FORCE },
	{ "grace", required_argument, NULL, GRACE },
	{ "help", no_argument, NULL, HELP },
	{ "hosts", required_argument, NULL, 'H' },
	{ "interface", required_argument, NULL, INTERFACE },
	{ "job", required_argument, NULL, JOB },
	{ "num-servers", required_argument, NULL, 's' },
	{ "num-workers", required_argument, NULL, 'n' },
	{ "on-fail", required_argument, NULL, ON_FAIL },
	{ "output", required_argument, NULL, OUTPUT },
	{ "remote", required_argument, NULL, REMOTE },
	{ "respawn", required_argument, NULL, RESPAWN },
	{ "restart", required_argument, NULL, RESTART },
	{ "resume", required_argument, NULL, RESUME },
	{ "rsh", required_argument, NULL, RSH },
	{ "server-command", required_argument, NULL, SERVER },
	{ "silence", required_argument, NULL, SILENCE },
	{ "spool", required_argument, NULL, SPOOL },
	{ "stdin", no_argument, NULL, STDIN },
	{ "sync", required_argument, NULL, SYNC },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, VERSION },
	{ NULL, 0, NULL, 0 }
};

/* Adds "NAME=VALUE", or "NAME" with its value here. */
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
		front_wrong("--env: %s is not set", env);
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

/* Refuses a list of --each that does not have one value for each worker. */
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
parse_options(struct dlaunch *c, int argc, char *argv[])
{
	int o;

	c->line = argv;		/* before recipes are expanded: --resume reads them again */
	/* "+": words after the command's name belong to the command. */
	while ((o = front_option(&argc, &argv, "+H:Pn:s:vx:", longs)) != -1)
		switch (o) {
		case 'H': c->hosts_file = optarg; break;
		case 'P': c->dry = true; break;
		case 'n': c->workers = (uint32_t)front_num("-n", optarg, 1, JOB_MOST / 2 - 1); break;
		case 's': c->servers = (uint32_t)front_num("-s", optarg, 0, JOB_MOST / 2 - 1);
			  c->servers_given = true; break;
		case 'v': c->verbose = true; break;
		case 'x': pass_env(c, optarg); break;
		case AGENT: c->agent = true; break;
		case AGENT_KEEP: c->agent_keep = optarg; break;
		case AGENT_RESUME: c->agent_resume = optarg; break;
		case CHDIR: c->dir = optarg; break;
		case DETACH: c->detach = true; break;
		case EACH: add_each(c, optarg); break;
		case FORCE: c->force = true; break;
		case GRACE: c->grace_s = front_real("--grace", optarg, 0, 1e6); break;
		case HELP: front_help();
		case INTERFACE: c->iface = optarg; break;
		case JOB: c->job = optarg; break;
		case ON_FAIL: set_on_fail(c, optarg); break;
		case OUTPUT: c->output = optarg; break;
		case REMOTE: c->remote = optarg; break;
		case RESPAWN: c->respawn = (uint32_t)front_num("--respawn", optarg, 0, 1 << 20); break;
		case RESTART: c->restarts = (uint32_t)front_num("--restart", optarg, 0, 1 << 20); break;
		case RESUME: c->resume = optarg; break;
		case RSH: c->rsh = optarg; break;
		case SERVER: c->server = optarg; break;
		case SILENCE: c->silence_s = front_real("--silence", optarg, LEAST_S, 1e6); break;
		case SPOOL: c->spool_mib = (uint32_t)front_num("--spool", optarg, 1, 1 << 20); break;
		case STDIN: c->input = true; break;
		case SYNC: c->sync = optarg; break;
		case TIMEOUT: c->start_s = front_real("--timeout", optarg, 1, 1e6); break;
		case VERSION: printf("dlaunch %s\n", TALLY_VERSION); front_flush(); exit(0);
		}
	c->argv = argv + optind;
	if (!c->servers_given)
		c->servers = c->workers;
	if (c->silence_s == 0)
		c->silence_s = c->detach ? DETACHED_S : SILENCE_S;
}

static void
check_dlaunch_options(struct dlaunch *c)
{
	if (*c->argv == NULL)
		front_missing(c->line[1] != NULL ? 2 : 1, "no command is named, such as pworker");
	c->dmlc = !is_pworker(*c->argv);
	if (!c->dmlc && c->servers == 0 && c->workers > 1)
		front_wrong("-s: %u workers need at least one server", c->workers);
	if (!c->dmlc && (c->restarts > 0 || c->resume != NULL) && !has_save(c->argv))
		front_wrong("%s: pworker needs --save, as it resumes from a checkpoint",
		    c->resume != NULL ? "--resume" : "--restart");
	if (c->hosts_file != NULL && strcmp(c->hosts_file, "-") == 0 && (c->job != NULL || c->detach))
		front_wrong("--job, --detach: the hosts file must not be the standard input, as it is read again");
	if (c->input && (c->detach || c->restarts > 0 || c->resume != NULL ||
	    (c->hosts_file != NULL && strcmp(c->hosts_file, "-") == 0)))
		front_wrong("--stdin: cannot be combined with --detach, --restart, --resume or -H -");
	if (c->force && c->job == NULL)
		front_wrong("--force: needs --job");
	check_each(c);
}

/* Reads the options of this command line, or of the job to resume. */
static void
init_options(struct dlaunch *c, int argc, char *argv[])
{
	static const char *const always[] = { "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "TALLY_MAX_ISA",
		"TALLY_TRANSPORT" };

	*c = (struct dlaunch){ .workers = 1, .server = "pserver", .iface = "", .grace_s = 10, .start_s = 60,
	    .spool_mib = 1024, .respawn = 10 };
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (getenv(always[i]) != NULL)
			pass_env(c, always[i]);
	optind = 0;
	parse_options(c, argc, argv);
}

int
dlaunch_take_over(const char *job)
{
	struct words command = { 0 };
	struct jobdir dir;
	struct job_record r;
	struct dlaunch c;
	int status;

	dlaunch_open_lost(job, &dir, &r, &command);
	init_options(&c, (int)command.n, command.v);
	check_dlaunch_options(&c);
	c.record = &r;
	status = dlaunch_run(&c, &dir);
	jobdir_close(&dir);
	job_record_free(&r);
	words_free(&command);
	words_free(&c.env);
	words_free(&c.each);
	return status;
}

int
main(int argc, char *argv[])
{
	struct jobdir dir = { .dir = -1, .lock = -1 };
	struct words command = { 0 };
	struct dlaunch c;
	const char *resume;
	int status;

	front_init(argv[0], usage, help);
	if (dlaunch_verb(argc, argv, &status))
		return status;
	init_options(&c, argc, argv);
	if (c.agent)
		return dlaunch_agent();
	if (c.agent_keep != NULL)
		return dlaunch_agent_keep(c.agent_keep);
	if (c.agent_resume != NULL)
		return dlaunch_agent_resume(c.agent_resume);
	if ((resume = c.resume) != NULL) {
		if (*c.argv != NULL || argc > 3)
			front_wrong("--resume: takes no other option and no command");
		dlaunch_open_ended(resume, &dir, &command);
		init_options(&c, (int)command.n, command.v);
		c.resume = resume;
	}
	check_dlaunch_options(&c);
	status = dlaunch_run(&c, &dir);
	jobdir_close(&dir);
	words_free(&command);
	words_free(&c.env);
	words_free(&c.each);
	return status;
}
