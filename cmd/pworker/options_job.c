/* options_job - the options that say who takes part, or a tracker's environment, into a worker's place in a job. */
#include "pworker/pworker.h"
#include "pworker/tracker.h"
#include "front.h"

#include "base/err.h"
#include "wire/conn.h"

#include <string.h>

enum { O_ASYNC, O_KEY, O_PLAIN, O_SERVERS, O_SLACK, O_WORKER };

static const struct option longs[] = {
	{ "async", no_argument, NULL, O_ASYNC },
	{ "key-file", required_argument, NULL, O_KEY },
	{ "plain", no_argument, NULL, O_PLAIN },
	{ "servers", required_argument, NULL, O_SERVERS },
	{ "slack", required_argument, NULL, O_SLACK },
	{ "worker", required_argument, NULL, O_WORKER },
	{ NULL, 0, NULL, 0 }
};

static void
parse_servers(struct pworker *p, char *text)
{
	uint32_t n = 0;

	for (char *s = strtok(text, ","); s != NULL; s = strtok(NULL, ",")) {
		if (n == WORKER_SERVERS)
			front_wrong("--servers: more than %d", WORKER_SERVERS);
		front_address("--servers", s);
		p->server[n++] = s;
	}
	if (n == 0)
		front_wrong("--servers: no address");
	p->train.ps.server = p->server;
	p->train.ps.nservers = n;
}

static void
apply_job_option(struct pworker *p, int c, char *text)
{
	struct worker_opt *ps = &p->train.ps;

	switch (c) {
	case O_ASYNC:	ps->slack = STALE_ASYNC; break;
	case O_KEY:	p->key = text; break;
	case O_PLAIN:	p->plain = true; break;
	case O_SERVERS:	parse_servers(p, text); break;
	case O_SLACK:	ps->slack = (uint32_t)front_num("--slack", text, 0, UINT32_MAX - 1); break;
	case O_WORKER:	front_part("--worker", text, &ps->rank, &ps->nworkers); break;
	}
}

static void
settle_job_options(struct pworker *p)
{
	const struct worker_opt *ps = &p->train.ps;

	if (ps->nservers == 0 && ps->nworkers > 1)
		front_wrong("--worker: several workers need --servers");
	if (ps->nservers > 0 && p->key == NULL && !p->plain)
		front_wrong("--servers: needs the job's --key-file");
}

const struct worker_theme worker_job_theme = { longs, apply_job_option, settle_job_options };

static void
read_key(const struct pworker *p, uint8_t key[CONN_KEY])
{
	int e;

	memset(key, 0, CONN_KEY);	/* what --plain has: all know it */
	if (p->key != NULL && !p->plain && (e = conn_key_read(p->key, key)) < 0)
		front_die(p->key, e);
}

struct rendezvous *
worker_meet(struct pworker *p, uint8_t *key)
{
	struct worker_opt *ps = &p->train.ps;
	struct rendezvous_env env;
	struct rendezvous *m = NULL;
	bool tracker = ps->nservers == 0 && ps->nworkers == 1 && worker_tracker(&env, p->key, p->plain);

	read_key(p, key);
	if (tracker) {
		m = worker_tracker_join(&env, key, &p->list);
		parse_servers(p, p->list);
		ps->rank = env.rank;
		ps->nworkers = env.workers;
	}
	worker_batch_settle(&p->batch, &p->train);
	return m;
}
