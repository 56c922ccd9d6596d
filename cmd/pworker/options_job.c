/* options_job - the worker's place in a job, from the command line or from a tracker of dmlc. */
#include "pworker/pworker.h"
#include "front.h"
#include "front_wait.h"
#include "pserver_run.h"

#include "base/err.h"
#include "ps/hello.h"
#include "ps/shard_plan.h"
#include "run/rendezvous/rendezvous.h"
#include "wire/conn.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
parse_servers(struct pworker *p, const char *option, char *text)
{
	uint32_t n = 0;

	for (char *s = strtok(text, ","); s != NULL; s = strtok(NULL, ",")) {
		if (n == PWORKER_SERVERS)
			front_wrong("%s: more than %d addresses", option, PWORKER_SERVERS);
		front_address(option, s);
		p->server[n++] = s;
	}
	if (n == 0)
		front_wrong("%s: no address", option);
	p->train.ps.server = p->server;
	p->train.ps.nservers = n;
}

static void
parse_rank(struct pworker *p, const char *option, char *text)
{
	struct worker_opt *ps = &p->train.ps;
	char tail;

	ps->elastic = 0;
	if (strstr(text, "..") == NULL)
		front_part(option, text, &ps->rank, &ps->nworkers);
	else if (text[strspn(text, "0123456789/.")] != 0 || sscanf(text, "%6" SCNu32 "/%6" SCNu32 "..%6" SCNu32 "%c",
	    &ps->rank, &ps->elastic, &ps->nworkers, &tail) != 3 || ps->rank >= ps->nworkers || ps->elastic == 0 ||
	    ps->elastic > ps->nworkers)
		front_wrong("%s: '%.64s' is not I/N..M with I below M and N from 1 to M, as in 0/2..4", option, text);
}

/* "16" for all workers, or "16:48", a number for each. */
static void
parse_batch(struct pworker *p, const char *option, char *text)
{
	uint32_t n = 1, i = 0;

	for (const char *c = text; *c != 0; c++)
		n += *c == ':';
	free(p->batch);
	if ((p->batch = calloc(n, sizeof(*p->batch))) == NULL)
		front_die(option, err_nomem());
	for (char *word; (word = strsep(&text, ":")) != NULL;)
		p->batch[i++] = (uint32_t)front_num(option, word, 1, 65536);
	p->nbatch = n;
}

/* "bf16" for all arrays, or "PATTERN=bf16". */
static void
parse_codec(struct pworker *p, const char *option, char *text)
{
	struct buf *rules = &p->learn.mults;
	char *is = strrchr(text, '=');
	struct codec c;
	char name[CODEC_TEXT];

	if (strpbrk(text, ";\n") != NULL || !codec_find(is != NULL ? is + 1 : text, &c))
		front_wrong("%s: '%.64s' is not CODEC or PATTERN=CODEC; codecs are " CODEC_NAMES, option, text);
	codec_text(c, name);
	if (buf_put_fmt(rules, "%scodec:%.*s=%s", rules->n > 0 ? ";" : "", is != NULL ? (int)(is - text) : 1,
	    is != NULL ? text : "*", name) < 0)
		front_die(option, ERR_NOMEM);
	if (rules->n >= HELLO_MULTS)
		front_wrong("%s: the rules are more than %d bytes", option, HELLO_MULTS - 1);
}

static void
take_shard_listener(struct pworker *p, const char *option, char *text)
{
	p->shard_fd = pserver_take_listener(option, text);
}

static const struct pworker_option job_options[] = {
	{ "async", PWORKER_SET, PWORKER_MEMBER(train.ps.slack), STALE_ASYNC, .needs = NEED_TRAINING },
	{ "backup", PWORKER_WHOLE, PWORKER_MEMBER(train.ps.backup), 0, HELLO_WORKERS, .needs = NEED_TRAINING },
	{ "balance", PWORKER_TEXT, PWORKER_MEMBER(balance), .needs = NEED_TRAINING },
	{ "batch", PWORKER_VALUE, .apply = parse_batch },
	{ "codec", PWORKER_VALUE, .apply = parse_codec, .needs = NEED_TRAINING },
	{ "key-file", PWORKER_TEXT, PWORKER_MEMBER(key) },
	{ "plain", PWORKER_FLAG, PWORKER_MEMBER(plain) },
	{ "servers", PWORKER_VALUE, .apply = parse_servers },
	{ "shard", PWORKER_FLAG, PWORKER_MEMBER(shard), .needs = NEED_TRAINING },
	{ "shard-fd", PWORKER_VALUE, .apply = take_shard_listener, .needs = NEED_TRAINING | NEED_RUN },
	{ "shard-state", PWORKER_TEXT, PWORKER_MEMBER(shard_state), .needs = NEED_TRAINING | NEED_RUN },
	{ "slack", PWORKER_WHOLE, PWORKER_MEMBER(train.ps.slack), 0, UINT32_MAX - 1, .needs = NEED_TRAINING },
	{ "state", PWORKER_TEXT, PWORKER_MEMBER(state), .needs = NEED_TRAINING | NEED_RUN },
	{ "updates", PWORKER_WHOLE, PWORKER_MEMBER(train.updates), 1, UINT32_MAX - HELLO_WORKERS,
	    .needs = NEED_TRAINING },
	{ "worker", PWORKER_VALUE, .apply = parse_rank },
	{ 0 }
};

static void
settle_job_options(struct pworker *p)
{
	const struct worker_opt *ps = &p->train.ps;

	if (ps->nservers == 0 && ps->nworkers > 1)
		front_wrong("--worker: several workers need --servers; with --shard they are their own servers");
	if (ps->nservers > 0 && p->key == NULL && !p->plain)
		front_wrong("--servers: needs the job's --key-file, or --plain");
	if (ps->elastic > 0 && ps->slack != STALE_ASYNC)
		front_wrong("--worker: a number of workers that changes needs --async, as the workers of other jobs "
		    "wait for each other");
	if (ps->backup > 0 && ps->slack != STALE_SYNC)
		front_wrong("--backup: needs a synchronous job, without --async and --slack");
	if (p->balance != NULL && (ps->slack != STALE_SYNC || ps->backup > 0))
		front_wrong("--balance: needs a synchronous job, without --async, --slack and --backup");
	if (p->train.updates > 0 && ps->slack == STALE_SYNC)
		front_wrong("--updates: needs --async or --slack; all workers of a synchronous job do --steps");
	if (p->train.updates > 0 && pworker_given(p, "epochs") == PWORKER_ABSENT)
		p->train.epochs = UINT32_MAX;
	if (ps->elastic > 0 && ps->nservers == 0)
		front_wrong("--worker: a number of workers that changes needs --servers");
	if (p->state != NULL && ps->nservers == 0)
		front_wrong("--state: needs --servers");
	if (!p->shard && (p->shard_fd > 0 || p->shard_state != NULL))
		front_wrong("%s: needs --shard", p->shard_fd > 0 ? "--shard-fd" : "--shard-state");
	if (p->shard && ps->rank >= ps->nservers)
		front_wrong("--shard: needs an address for worker %" PRIu32 " in --servers", ps->rank);
	if (p->shard && ps->elastic > 0)
		front_wrong("--shard: does not go with a number of workers that changes, as a shard cannot leave");
}

const struct pworker_theme pworker_job_theme = { job_options, settle_job_options };

uint32_t
pworker_largest_batch(const struct pworker *p)
{
	uint32_t most = p->batch != NULL ? 0 : p->train.data.batch;

	for (uint32_t i = 0; p->batch != NULL && i < p->nbatch; i++)
		most = p->batch[i] > most ? p->batch[i] : most;
	return most;
}

void
pworker_settle_batch(struct pworker *p)
{
	struct train_opt *t = &p->train;
	bool alike = true;

	if (p->batch == NULL)
		return;
	if (p->nbatch > 1 && t->ps.elastic > 0)
		front_wrong("--batch: one number, as the number of workers changes");
	if (p->nbatch > 1 && p->nbatch != t->ps.nworkers)
		front_wrong("--batch: %u numbers for %u workers", p->nbatch, t->ps.nworkers);
	for (uint32_t i = 1; i < p->nbatch; i++)
		alike &= p->batch[i] == p->batch[0];
	/* Equal batches become one number, so that the job computes the bits of that number. */
	t->data.batch = p->batch[alike ? 0 : t->ps.rank];
	t->batches = alike ? NULL : p->batch;
}

/* Refuses a prefix with which the file of a worker, which may be on this host, would replace the log of --balance. */
static void
check_balance_output(const struct pworker *p, const char *option, const char *prefix, uint32_t n)
{
	char name[4096];

	for (uint32_t w = 0; w < n && prefix != NULL; w++)
		if (snprintf(name, sizeof(name), "%s.%" PRIu32, prefix, w) < (int)sizeof(name))
			front_output(option, name, &p->balance, 1);
}

/* Reads the batches of another run. */
static void
read_balance(struct pworker *p, const uint32_t *first, uint32_t n)
{
	const bool appends = p->train.resume != NULL || p->resume_last;

	check_balance_output(p, "--log", appends ? NULL : p->log, n);
	check_balance_output(p, "--trace", p->trace, n);
	front_must(p->balance, balance_read(p->balance, first, n, &p->schedule));
}

/* Prepares batches that change: by measured speeds, or as in the log of another run. */
static void
settle_balance(struct pworker *p)
{
	const uint32_t n = p->train.ps.nworkers;
	uint32_t first[BALANCE_WORKERS];

	if (p->balance == NULL)
		return;
	if (n < 2 || n > BALANCE_WORKERS)
		front_wrong("--balance: needs 2 to %u workers, not %" PRIu32, BALANCE_WORKERS, n);
	for (uint32_t w = 0; w < n; w++)
		first[w] = p->train.batches != NULL ? p->train.batches[w] : p->train.data.batch;
	if (strcmp(p->balance, "auto") != 0)
		read_balance(p, first, n);
	p->train.balance = &p->schedule;
}

/* Runs the pserver beside this program, else that of PATH; it reads the same environment. */
static void
become_server(const char *key_file, bool plain)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("pserver"));
	char *const argv[] = { (char[]){ "pserver" }, plain ? (char[]){ "--plain" } : (char[]){ "--key-file" },
		plain ? NULL : (char *)(uintptr_t)key_file, NULL };

	if (n > 0) {
		path[n] = 0;
		strcpy(strrchr(path, '/') + 1, "pserver");
		execv(path, argv);
	}
	execvp("pserver", argv);
	front_die("pserver", err_sys("run"));
}

/* Whether the environment gives a worker's role.  A server and a scheduler do not return. */
static bool
find_tracker(const struct pworker *p, struct rendezvous_env *env)
{
	front_must(NULL, rendezvous_env(env));
	if (env->role == RENDEZVOUS_NONE)
		return false;
	if (p->key == NULL && !p->plain)
		front_wrong("DMLC_ROLE: needs --key-file, or --plain, with which anybody may take part");
	if (env->role != RENDEZVOUS_WORKER)
		become_server(p->key, p->plain);
	return true;
}

struct rendezvous *
pworker_join_rendezvous(struct pworker *p)
{
	struct worker_opt *ps = &p->train.ps;
	struct rendezvous_env env;
	struct rendezvous *m = NULL;
	bool tracker = ps->nservers == 0 && ps->nworkers == 1 && find_tracker(p, &env);
	int e;

	if (p->key != NULL && !p->plain)
		ps->key = front_read_key(p->key);
	front_must(NULL, conn_transport(ps->key, &ps->transport));
	front_must(NULL, conn_silence(&ps->silence_s));
	if (tracker) {
		front_wait_for("the scheduler at ", env.at);
		if ((e = rendezvous_join(&env, ps->key, &m)) == 0) {
			front_wait_for("the servers, which join the scheduler at ", env.at);
			e = rendezvous_servers(m, &p->list);
		}
		front_wait_end();
		front_must(NULL, e);
		front_say("is worker %" PRIu32 " of %" PRIu32 ", servers %s", env.rank, env.workers, p->list);
		parse_servers(p, "DMLC_ROLE", p->list);
		ps->rank = env.rank;
		ps->nworkers = env.workers;
	}
	if (ps->nservers == 0 && shard_plan_coded(ps->mults))
		front_wrong("--codec: needs --servers");
	if (ps->backup >= ps->nworkers)
		front_wrong("--backup: %" PRIu32 " of %" PRIu32 " workers: must be fewer than all", ps->backup,
		    ps->nworkers);
	if (ps->backup > 0 && shard_plan_coded(ps->mults))
		front_wrong("--backup: does not go with --codec, as what a late gradient held is lost");
	pworker_settle_batch(p);
	settle_balance(p);
	return m;
}
