/* hello - the description of a job, which a worker sends in its hello and a server compares. */
#include "ps/hello.h"
#include "base/err.h"
#include "base/num.h"
#include "ps/stale.h"
#include "ps/shard_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE HELLO_MULTS	/* bytes of the longest value, with its zero */
#define LINE  (VALUE + 32)

/* A job's values as text, in the order of the lines. */
enum key {
	VERSION, TALLY, WORKERS, ELASTIC, SERVERS, SERVER, SLACK, BACKUP, SLICE, OPTIMIZER, MOMENTUM, BETA2, EPSILON,
	DECAY, L1, CLIP, CLIPNORM, TRUST, TURNS, UNIT, AVERAGE, KEEP, EVERY, MULTS, HASH, KEYS
};

static const char *const name[KEYS] = {
	"job", "tally", "workers", "elastic", "servers", "server", "slack", "backup", "slice", "optimizer", "momentum",
	"beta2", "epsilon", "decay", "l1", "clip", "clip-norm", "trust", "turns", "unit",
	"average", "average-rate", "average-every", "groups", "hash"
};

/* Writes the shortest text that parses to the same f32; nine digits always do. */
static void
format_f32(char v[VALUE], float f)
{
	for (int digits = 6; digits <= 9; digits++) {
		snprintf(v, VALUE, "%.*g", digits, (double)f);
		if (strtof(v, NULL) == f)
			return;
	}
}

static void
format_values(const struct hello *j, char v[KEYS][VALUE])
{
	snprintf(v[VERSION], VALUE, "%" PRIu32, j->version);
	snprintf(v[TALLY], VALUE, "%s", j->tally);
	snprintf(v[WORKERS], VALUE, "%" PRIu32, j->nworkers);
	snprintf(v[ELASTIC], VALUE, "%" PRIu32, j->elastic);
	snprintf(v[SERVERS], VALUE, "%" PRIu32, j->nservers);
	snprintf(v[SERVER], VALUE, "%" PRIu32, j->server);
	if (j->slack == STALE_ASYNC)
		snprintf(v[SLACK], VALUE, "async");
	else
		snprintf(v[SLACK], VALUE, "%" PRIu32, j->slack);
	snprintf(v[BACKUP], VALUE, "%" PRIu32, j->backup);
	snprintf(v[SLICE], VALUE, "%" PRIu32, j->slice);
	snprintf(v[OPTIMIZER], VALUE, "%s", opt_name(j->hyper.rule));
	format_f32(v[MOMENTUM], j->hyper.momentum);
	format_f32(v[BETA2], j->hyper.beta2);
	format_f32(v[EPSILON], j->hyper.eps);
	format_f32(v[DECAY], j->hyper.wd);
	format_f32(v[L1], j->hyper.l1);
	format_f32(v[CLIP], j->hyper.clip);
	format_f32(v[CLIPNORM], j->hyper.clip_norm);
	format_f32(v[TRUST], j->hyper.trust);
	snprintf(v[TURNS], VALUE, "%" PRIu32, j->hyper.turns);
	snprintf(v[UNIT], VALUE, "%d", j->hyper.unit);
	snprintf(v[AVERAGE], VALUE, "%s", average_name(j->hyper.average.kind));
	format_f32(v[KEEP], j->hyper.average.rate);
	snprintf(v[EVERY], VALUE, "%" PRIu32, j->hyper.average.every);
	snprintf(v[MULTS], VALUE, "%s", j->mults[0] != 0 ? j->mults : "-");
	snprintf(v[HASH], VALUE, "%016" PRIx64, j->hash);
}

int
hello_text(const struct hello *j, const struct graph *g, struct buf *out)
{
	char v[KEYS][VALUE];

	format_values(j, v);
	for (unsigned k = 0; k < KEYS; k++)
		ERR_TRY(buf_put_fmt(out, "%s %s\n", name[k], v[k]));
	ERR_TRY(buf_put(out, "graph\n", 6));
	return graph_text(g, out);
}

/* Removes the line "key value" from the front of the text and copies its value. */
static int
cut_hello_line(const char **text, size_t *n, const char *key, char v[VALUE])
{
	const char *end = memchr(*text, '\n', *n < LINE ? *n : LINE);
	size_t head = strlen(key), len;

	if (end == NULL || (len = (size_t)(end - *text)) <= head + 1 || len - head > VALUE ||
	    memcmp(*text, key, head) != 0 || (*text)[head] != ' ' || memchr(*text, 0, len) != NULL)
		return err_fail(ERR_FORMAT, "job: line '%s' is missing", key);
	memcpy(v, *text + head + 1, len - head - 1);
	v[len - head - 1] = 0;
	*text += len + 1;
	*n -= len + 1;
	return 0;
}

static int
parse_hello_u32(const char *v, uint32_t lo, uint32_t hi, uint32_t *to)
{
	uint64_t u;
	int e = num_u64(v, lo, hi, &u);

	if (e == 0)
		*to = (uint32_t)u;
	return e;
}

static int
parse_hello_f32(const char *v, float *to)
{
	double d;
	int e = num_f64(v, 0, 1e30, &d);

	if (e == 0)
		*to = (float)d;
	return e;
}

static int
parse_value(enum key k, const char *v, struct hello *j)
{
	uint32_t u = 0;
	int e;

	switch (k) {
	case VERSION:	return parse_hello_u32(v, 0, UINT32_MAX, &j->version);
	case TALLY:	return snprintf(j->tally, sizeof(j->tally), "%s", v) < HELLO_TALLY ? 0 :
			    err_fail(ERR_LIMIT, "'%s' is too long", v);
	case WORKERS:	return parse_hello_u32(v, 1, HELLO_WORKERS, &j->nworkers);
	case ELASTIC:	return parse_hello_u32(v, 0, j->nworkers, &j->elastic);
	case SERVERS:	return parse_hello_u32(v, 1, SHARD_PLAN_SERVERS, &j->nservers);
	case SERVER:	return parse_hello_u32(v, 0, j->nservers - 1, &j->server);
	case SLACK:	return strcmp(v, "async") == 0 ? (j->slack = STALE_ASYNC, 0) :
			    parse_hello_u32(v, 0, STALE_ASYNC - 1, &j->slack);
	case BACKUP:	return parse_hello_u32(v, 0, j->nworkers - 1, &j->backup);
	case SLICE:	return parse_hello_u32(v, SHARD_PLAN_LEAST, SHARD_PLAN_MOST, &j->slice);
	case OPTIMIZER:	return opt_find(v, &j->hyper.rule) ? 0 : err_fail(ERR_NOTSUP, "'%.32s' is not known here", v);
	case MOMENTUM:	return parse_hello_f32(v, &j->hyper.momentum);
	case BETA2:	return parse_hello_f32(v, &j->hyper.beta2);
	case EPSILON:	return parse_hello_f32(v, &j->hyper.eps);
	case DECAY:	return parse_hello_f32(v, &j->hyper.wd);
	case L1:	return parse_hello_f32(v, &j->hyper.l1);
	case MULTS:	return strcmp(v, "-") == 0 ? 0 : (memcpy(j->mults, v, strlen(v) + 1), 0);
	case CLIP:	return parse_hello_f32(v, &j->hyper.clip);
	case CLIPNORM:	return parse_hello_f32(v, &j->hyper.clip_norm);
	case TRUST:	return parse_hello_f32(v, &j->hyper.trust);
	case TURNS:	return parse_hello_u32(v, 0, OPT_TURNS, &j->hyper.turns);
	case UNIT:
		e = parse_hello_u32(v, 0, 1, &u);
		j->hyper.unit = u;
		return e;
	case AVERAGE:	return average_find(v, &j->hyper.average.kind) ? 0 :
			    err_fail(ERR_NOTSUP, "'%.32s' is not known here", v);
	case KEEP:	return parse_hello_f32(v, &j->hyper.average.rate);
	case EVERY:
		return parse_hello_u32(v, j->hyper.average.kind == AVERAGE_LOOKAHEAD, UINT32_MAX,
		    &j->hyper.average.every);
	case HASH:	return num_hex64(v, &j->hash);
	case KEYS:	break;
	}
	return err_fail(ERR_FORMAT, "unknown key");
}

int
hello_parse(const char *text, size_t n, struct hello *j, struct graph **g)
{
	char v[VALUE];
	int e;

	*j = (struct hello){ 0 };
	if (g != NULL)
		*g = NULL;
	for (unsigned k = 0; k < KEYS; k++) {
		ERR_TRY(cut_hello_line(&text, &n, name[k], v));
		if ((e = parse_value(k, v, j)) < 0) {
			err_within("job: %s", name[k]);
			return e;
		}
		if (k == VERSION && j->version != MSG_VERSION)
			return err_fail(ERR_NOTSUP, "protocol %" PRIu32 " there, %u here", j->version, MSG_VERSION);
	}
	if (n < 6 || memcmp(text, "graph\n", 6) != 0)
		return err_fail(ERR_FORMAT, "job: line 'graph' is missing");
	if (g == NULL)
		return 0;
	ERR_TRY(graph_parse(text + 6, n - 6, g));
	if (graph_hash(*g) == j->hash)
		return 0;
	graph_free(*g);
	*g = NULL;
	return err_fail(ERR_FORMAT, "job: the graph does not match its hash");
}

int
hello_same(const struct hello *here, const struct hello *there)
{
	char a[KEYS][VALUE], b[KEYS][VALUE];

	format_values(here, a);
	format_values(there, b);
	for (unsigned k = 0; k < KEYS; k++)
		if (strcmp(a[k], b[k]) != 0)
			return err_fail(ERR_ARG, "%s is %s here and %s there%s", k == HASH ? "the net's hash" : name[k],
			    a[k], b[k], k == HASH ?
			    "; give all workers the same --classes, --shape and options of the net" : "");
	return 0;
}

int
hello_check_workers(const struct hello *j)
{
	if (j->elastic > 0 && j->slack != STALE_ASYNC)
		return err_fail(ERR_ARG, "the number of workers changes, which needs an asynchronous job");
	if (j->backup > 0 && j->slack != STALE_SYNC)
		return err_fail(ERR_ARG, "backup workers need a synchronous job");
	if (j->backup > 0 && shard_plan_coded(j->mults))
		return err_fail(ERR_ARG, "backup workers do not go with a codec, as what a late gradient held is lost");
	return 0;
}

int
hello_check(const struct opt_hyper *h, uint32_t slack)
{
	unsigned needs = opt_needs(h);

	if (slack == STALE_SYNC)
		return 0;
	if (needs & (OPT_NORM | OPT_NORMS))
		return err_fail(ERR_ARG, "%s needs norms over all servers, and so a synchronous job",
		    needs & OPT_NORMS ? opt_name(h->rule) : "clipping by norm");
	if (h->average.kind == AVERAGE_SWA)
		return err_fail(ERR_ARG, "a mean of the weights over epochs needs a synchronous job");
	return 0;
}
