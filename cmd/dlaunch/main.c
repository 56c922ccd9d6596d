/* main - runs one command on many hosts, with one output and one exit status.  See dlaunch(1). */
#include "dlaunch/dlaunch.h"
#include "front.h"
#include "front_option.h"

#include "base/err.h"
#include "base/io.h"
#include "run/recipe.h"

#include <stdio.h>
#include <stdlib.h>

#define SILENCE_S	30
#define DETACHED_S	86400	/* a day, so that a laptop may sleep overnight */
#define OUTAGE_S	600	/* most outage between hosts: a longer silence is that of a detached job's launcher */
#define LEAST_S		1
#define MOST_WORKERS	(JOB_MOST / 2 - 1)

static const char dlaunch_usage[] =
    "dlaunch [-Pv] [-H hosts] [-n workers] [-s servers] [option ...] [@recipe]\n"
    "               command [argument ...]\n"
    "       dlaunch attach | logs | stop | wait job | list | status [job ...]\n"
    "       dlaunch rm job ... | scale job workers | set job name=value ...";
static const char dlaunch_help[] =
    "Runs a command as the workers of a job, beside servers, here or on many hosts.\n"
    "What runs:\n"
    "  -n, --num-workers N[..M] (1)     -s, --num-servers N (as many as workers)\n"
    "  -x, --env NAME[=VALUE]           --each WORD=V:V:...  a value for each worker\n"
    "  --server-command CMD (pserver)   --stdin  to worker 0  -P, --dry-run  @RECIPE\n"
    "Hosts and output:\n"
    "  -H, --hosts FILE  a host a line  --rsh ssh|slurm|mpi|kubectl|WORDS (ssh)\n"
    "  --chdir DIR  run there           --sync DIR[:TO]  copy it to the hosts first\n"
    "  --interface NAME  use this one   --remote PATH  where the hosts have dlaunch\n"
    "  --output DIR  write files there  --spool MIB (1024)  limit what a host stores\n"
    "  -v, --verbose  -h, --help  --version\n"
    "  --agent, --agent-adopt J, --agent-keep J, --agent-resume J  for its own use\n"
    "Jobs with a name:\n"
    "  --job NAME  --force  replace it  --detach  run in background  --resume JOB\n"
    "Failures:\n"
    "  --on-fail stop|wait (stop)  end the other processes, or wait until they end\n"
    "  --timeout SECONDS (60)  until all run  --silence SECONDS (30; detached: a day)\n"
    "  --grace SECONDS (10)  until SIGKILL    --restart N (0)  start a lost job again\n"
    "  --respawn N (10)  start a killed process again, at most N times an hour\n";

/* Adds "NAME=VALUE", or "NAME" with its value here. */
static void
pass_env(void *dlaunch, const char *option, char *env)
{
	struct dlaunch *c = dlaunch;
	const char *value = getenv(env);
	int e = 0;

	if (*env == '=' || *env == 0)
		front_wrong("%s: '%s' is not NAME or NAME=VALUE", option, env);
	if (strchr(env, '=') != NULL)
		e = words_add(&c->env, "%s", env);
	else if (value != NULL)
		e = words_add(&c->env, "%s=%s", env, value);
	else if (c->lost)
		front_say("%s: %s is not set here; processes that are started again lack it", option, env);
	else
		front_wrong("%s: %s is not set", option, env);
	if (e < 0)
		front_die(NULL, e);
}

static void
add_each(void *dlaunch, const char *option, char *each)
{
	struct dlaunch *c = dlaunch;

	if (*each == '=' || strchr(each, '=') == NULL)
		front_wrong("%s: '%s' is not WORD=VALUE:VALUE:...", option, each);
	if (words_add(&c->each, "%s", each) < 0)
		front_die(NULL, err_nomem());
}

/* "4", or "2..4": 2 at the start and at least, and 4 at most. */
static void
parse_workers(void *dlaunch, const char *option, char *text)
{
	struct dlaunch *c = dlaunch;

	front_range(option, text, MOST_WORKERS, &c->elastic, &c->workers);
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
is_save(const char *word)
{
	return strcmp(word, "--save") == 0 || strncmp(word, "--save=", 7) == 0;
}

/* Whether one of the words is --save, or a recipe among them has it. */
static bool
has_save(char *const *argv)
{
	struct recipe r;
	bool has = false;

	for (; *argv != NULL && !has; argv++) {
		has = is_save(*argv);
		/* If it cannot be read, pworker says so. */
		if (**argv != '@' || recipe_read(*argv + 1, "pworker", &r) < 0)
			continue;
		for (size_t i = 0; i < r.words.n && !has; i++)
			has = is_save(r.words.v[i]);
		recipe_free(&r);
	}
	return has;
}

#define MEMBER(m)	FRONT_MEMBER(struct dlaunch, m)
#define NOT_GIVEN	UINT32_MAX

static const struct front_word on_fail[] = { { "stop", false }, { "wait", true }, { NULL, 0 } };
static const struct front_option launch_options[] = {
	{ "agent", FRONT_FLAG, MEMBER(agent) },
	{ "agent-adopt", FRONT_TEXT, MEMBER(agent_adopt) },
	{ "agent-keep", FRONT_TEXT, MEMBER(agent_keep) },
	{ "agent-resume", FRONT_TEXT, MEMBER(agent_resume) },
	{ "chdir", FRONT_TEXT, MEMBER(dir) },
	{ "detach", FRONT_FLAG, MEMBER(detach) },
	{ "dry-run", FRONT_FLAG, MEMBER(dry), .letter = 'P' },
	{ "each", FRONT_VALUE, .apply = add_each },
	{ "env", FRONT_VALUE, .apply = pass_env, .letter = 'x' },
	{ "force", FRONT_FLAG, MEMBER(force) },
	{ "grace", FRONT_REAL, MEMBER(grace_s), 0, 1e6 },
	{ "hosts", FRONT_TEXT, MEMBER(hosts_file), .letter = 'H' },
	{ "interface", FRONT_TEXT, MEMBER(iface) },
	{ "job", FRONT_TEXT, MEMBER(job) },
	{ "num-servers", FRONT_WHOLE, MEMBER(servers), 0, JOB_MOST / 2 - 1, .letter = 's' },
	{ "num-workers", FRONT_VALUE, .apply = parse_workers, .letter = 'n' },
	{ "on-fail", FRONT_WORD, MEMBER(wait), .words = on_fail, .text = "neither stop nor wait" },
	{ "output", FRONT_TEXT, MEMBER(output) },
	{ "remote", FRONT_TEXT, MEMBER(remote) },
	{ "respawn", FRONT_WHOLE, MEMBER(respawn), 0, 1 << 20 },
	{ "restart", FRONT_WHOLE, MEMBER(restarts), 0, 1 << 20 },
	{ "resume", FRONT_TEXT, MEMBER(resume) },
	{ "rsh", FRONT_TEXT, MEMBER(rsh) },
	{ "server-command", FRONT_TEXT, MEMBER(server) },
	{ "silence", FRONT_REAL, MEMBER(silence_s), LEAST_S, 1e6 },
	{ "spool", FRONT_WHOLE, MEMBER(spool_mib), 1, 1 << 20 },
	{ "stdin", FRONT_FLAG, MEMBER(input) },
	{ "sync", FRONT_TEXT, MEMBER(sync) },
	{ "timeout", FRONT_REAL, MEMBER(start_s), 1, 1e6 },
	{ "verbose", FRONT_FLAG, MEMBER(verbose), .letter = 'v' },
	{ 0 }
};

/* Whether a word of pworker's command line is an option that only dlaunch has. */
static bool
is_own_option(const char *word)
{
	for (const struct front_option *o = launch_options; o->name != NULL; o++) {
		size_t n = strlen(o->name);

		if (word[0] == '-' && o->letter != 0 && word[1] == o->letter && word[2] == 0)
			return true;
		if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, o->name, n) == 0 &&
		    (word[2 + n] == 0 || word[2 + n] == '=') && strcmp(o->name, "resume") != 0)
			return true;
	}
	return false;
}

/* The processes of the job tolerate the same outages.  Without --silence they have their own default. */
static void
pass_silence(struct dlaunch *c)
{
	static const char name[] = "TALLY_SILENCE=";

	for (size_t i = 0; i < c->env.n; i++)
		if (strncmp(c->env.v[i], name, sizeof(name) - 1) == 0)
			return;
	if (words_add(&c->env, "%s%g", name, c->outage_s) < 0)
		front_die(NULL, err_nomem());
}

static void
parse_options(struct dlaunch *c, int argc, char *argv[])
{
	c->line = argv;		/* before recipes are expanded: --resume reads them again */
	/* Words after the command's name belong to the command. */
	front_options(&argc, &argv, FRONT_RECIPES, launch_options, c);
	c->argv = argv + optind;
	if (c->servers == NOT_GIVEN)
		c->servers = c->elastic > 0 ? c->elastic : c->workers;
	c->outage_s = c->detach && c->silence_s > OUTAGE_S ? OUTAGE_S : c->silence_s;
	if (c->silence_s > 0)
		pass_silence(c);
	else
		c->silence_s = c->detach ? DETACHED_S : SILENCE_S;
}

static bool
has_word(char *const *argv, const char *word, size_t n)
{
	for (; *argv != NULL; argv++)
		if (strncmp(*argv, word, n) == 0)
			return true;
	return false;
}

bool
dlaunch_is_async(const struct dlaunch *c)
{
	return has_word(c->argv, "--async", sizeof("--async"));
}

/* A recipe of pworker may say --async; pworker checks it. */
static void
check_elastic(const struct dlaunch *c)
{
	if (c->dmlc)
		front_wrong("-n: only pworker's number of workers can change");
	if (c->servers == 0)
		front_wrong("-n: a number of workers that changes needs servers");
	if (!dlaunch_is_async(c) && !has_word(c->argv, "@", 1))
		front_wrong("-n: a number of workers that changes needs pworker --async, as the workers of other jobs "
		    "wait for each other");
}

static void
check_dlaunch_options(struct dlaunch *c)
{
	if (*c->argv == NULL)
		front_missing(c->line[1] != NULL ? 2 : 1, "no command is named, such as pworker");
	dlaunch_check_command(*c->argv);
	c->dmlc = strcmp(io_base_name(*c->argv), "pworker") != 0;
	for (char **word = c->argv; !c->dmlc && *word != NULL; word++)
		if (is_own_option(*word))
			front_wrong("%s: is an option of dlaunch, which stands before pworker", *word);
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
	if (c->elastic > 0)
		check_elastic(c);
	check_each(c);
}

/* Reads the options of this command line, or of the job to resume. */
static void
init_options(struct dlaunch *c, int argc, char *argv[], bool lost)
{
	static char always[][16] = { "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "TALLY_MAX_ISA", "TALLY_SILENCE",
	    "TALLY_TRANSPORT" };

	*c = (struct dlaunch){ .workers = 1, .servers = NOT_GIVEN, .server = "pserver", .iface = "", .grace_s = 10,
	    .start_s = 60, .spool_mib = 1024, .respawn = 10, .lost = lost };
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (getenv(always[i]) != NULL)
			pass_env(c, "--env", always[i]);
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
	char *cwd;
	int status;

	dlaunch_open_lost(job, &dir, &r, &command, &cwd);
	init_options(&c, (int)command.n, command.v, true);
	if (c.dir == NULL)
		c.dir = cwd;
	check_dlaunch_options(&c);
	c.record = &r;
	status = dlaunch_run(&c, &dir);
	jobdir_close(&dir);
	job_record_free(&r);
	words_free(&command);
	words_free(&c.env);
	words_free(&c.each);
	free(cwd);
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

	front_init(argv[0], dlaunch_usage, dlaunch_help);
	if (dlaunch_verb(argc, argv, &status))
		return status;
	init_options(&c, argc, argv, false);
	if (c.agent)
		return dlaunch_agent(*c.argv, false);
	if (c.agent_adopt != NULL)
		return dlaunch_agent(c.agent_adopt, true);
	if (c.agent_keep != NULL)
		return dlaunch_agent_keep(c.agent_keep);
	if (c.agent_resume != NULL)
		return dlaunch_agent_resume(c.agent_resume);
	if ((resume = c.resume) != NULL) {
		if (*c.argv != NULL || strncmp(argv[1], "--r", 3) != 0 ||
		    argc != (strchr(argv[1], '=') != NULL ? 2 : 3))
			front_wrong("--resume: takes no other option and no command");
		dlaunch_open_ended(resume, &dir, &command);
		init_options(&c, (int)command.n, command.v, false);
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
