/* worker_state - the state machine of a worker: gradients sent and weights received, without sockets or threads. */
#include "ps/worker/worker_state_in.h"
#include "base/err.h"
#include "ps/hello.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many arrays share floats with each slice. */
static void
count_arrays(struct worker_state *ws)
{
	for (uint32_t a = 0; a < ws->graph->nw; a++) {
		uint32_t from, to;

		shard_plan_over(ws->plan, ws->graph->w[a].first, ws->graph->w[a].count, &from, &to);
		for (uint32_t i = from; i < to; i++)
			ws->part[i].arrays++;
	}
	for (uint32_t i = 0; i < ws->plan->n; i++)
		ws->part[i].left = ws->part[i].arrays;
}

static uint32_t
count_slice_bytes(const struct worker_opt *w)
{
	return w->slice > 0 ? w->slice : shard_plan_usual_slice(w->graph->P, w->nservers);
}

static int
alloc_norms(struct worker_state *ws)
{
	struct worker_norms *n = &ws->norms;

	n->n = norms_count(ws->plan, &ws->w->hyper);
	n->missing = ws->o.nservers;
	n->has = calloc(ws->o.nservers, sizeof(*n->has));
	n->sum = calloc(n->n + 1, sizeof(*n->sum));
	n->bytes[0] = calloc(n->n + 1, NORM_BYTES);
	n->bytes[1] = calloc(n->n + 1, NORM_BYTES);
	return n->has != NULL && n->sum != NULL && n->bytes[0] != NULL && n->bytes[1] != NULL ? 0 : err_nomem();
}

static int
alloc_worker_state(struct worker_state *ws)
{
	const struct graph *g = ws->graph;

	ws->part = calloc(ws->plan->n, sizeof(*ws->part));
	ws->link = calloc(ws->o.nservers, sizeof(*ws->link));
	ws->pushed = calloc(g->nw + 1, sizeof(*ws->pushed));
	ws->stale = calloc(g->nw + 1, sizeof(*ws->stale));
	ws->next = calloc(g->nw + 1, sizeof(*ws->next));
	ws->staged = calloc(g->P + g->A + 1, sizeof(*ws->staged));
	ws->stats = calloc(g->A + 1, sizeof(*ws->stats));
	ws->passed_bytes = calloc(SETTINGS_MOST, SETTING_BYTES);
	if (alloc_norms(ws) < 0)
		return ERR_NOMEM;
	return ws->part != NULL && ws->link != NULL && ws->pushed != NULL && ws->stale != NULL && ws->next != NULL &&
	    ws->staged != NULL && ws->stats != NULL && ws->passed_bytes != NULL ?
	    worker_state_alloc_coded(ws) : err_nomem();
}

int
worker_state_new(const struct worker_state_opt *opt, struct worker_state **state)
{
	struct worker_state *ws = calloc(1, sizeof(*ws));
	int e;

	*state = NULL;
	if (ws == NULL)
		return err_nomem();
	ws->o = *opt;
	ws->w = opt->worker;
	ws->parting = ws->w->parting;
	if (ws->w->settings != NULL)
		worker_state_know_settings(ws, ws->w->settings);
	ws->graph = ws->w->graph;
	if ((e = hello_check(&ws->w->hyper, ws->w->slack)) < 0 ||
	    (e = shard_plan_new(ws->graph, opt->nservers, count_slice_bytes(ws->w), ws->w->mults, &ws->w->hyper,
	    &ws->plan)) < 0 ||
	    (e = alloc_worker_state(ws)) < 0) {
		worker_state_free(ws);
		return e;
	}
	count_arrays(ws);
	*state = ws;
	return 0;
}

void
worker_state_free(struct worker_state *ws)
{
	if (ws == NULL)
		return;
	shard_plan_free(ws->plan);
	free(ws->part);
	free(ws->link);
	free(ws->pushed);
	free(ws->stale);
	free(ws->next);
	free(ws->staged);
	free(ws->stats);
	free(ws->passed_bytes);
	free(ws->own_residuals);
	free(ws->coded);
	free(ws->norms.has);
	free(ws->norms.sum);
	free(ws->norms.bytes[0]);
	free(ws->norms.bytes[1]);
	free(ws);
}

const struct shard_plan *
worker_state_plan(const struct worker_state *ws)
{
	return ws->plan;
}

void
worker_state_emit(struct worker_state *ws, uint32_t server, struct msg m)
{
	m.incarnation = ws->w->incarnation;
	m.worker = ws->w->rank;
	ws->o.emit(ws->o.arg, server, &m);
}

void
worker_state_emit_slice(struct worker_state *ws, uint32_t i, struct msg m)
{
	m.slice = i;
	worker_state_emit(ws, ws->plan->slice[i].owner, m);
}

int
worker_state_hello(struct worker_state *ws, uint32_t server)
{
	struct hello job = { .version = MSG_VERSION, .tally = TALLY_VERSION, .nworkers = ws->w->nworkers,
	    .elastic = ws->w->elastic, .nservers = ws->o.nservers, .server = server, .slack = ws->w->slack,
	    .backup = ws->w->backup,
	    .slice = count_slice_bytes(ws->w), .hyper = ws->w->hyper, .hash = graph_hash(ws->graph) };
	struct buf text = { 0 };
	int e;

	snprintf(job.mults, sizeof(job.mults), "%s", ws->w->mults != NULL ? ws->w->mults : "");
	e = hello_text(&job, ws->graph, &text);
	if (e == 0)
		worker_state_emit(ws, server, (struct msg){ .type = MSG_HELLO,
		    .flags = (ws->w->kept ? MSG_KEPT : 0) | (ws->parting ? MSG_LAST : 0),
		    .len = (uint32_t)text.n, .payload = text.p });
	buf_free(&text);
	return e;
}

bool
worker_state_welcome(const struct worker_state *ws, uint32_t server)
{
	return ws->link[server].welcome;
}

bool
worker_state_kept(const struct worker_state *ws, uint32_t server)
{
	return ws->link[server].kept;
}

bool
worker_state_empty(const struct worker_state *ws)
{
	for (uint32_t s = 0; s < ws->o.nservers; s++)
		if (ws->link[s].empty)
			return true;
	return false;
}

bool
worker_state_parting(const struct worker_state *ws)
{
	return ws->parting;
}

void
worker_state_part(struct worker_state *ws, uint32_t server)
{
	ws->link[server].bye = true;
}

bool
worker_state_parted(const struct worker_state *ws, uint32_t server)
{
	return ws->link[server].bye;
}

void
worker_state_expect(struct worker_state *ws, uint32_t a)
{
	ws->stale[a] = true;
	ws->next[a] = 0;
}

void
worker_state_begin(struct worker_state *ws, const struct worker_first *f, uint64_t step)
{
	uint64_t from = WORKER_ANY;

	ws->begin_called = true;
	if (f != NULL && f->settings != NULL)
		worker_state_know_settings(ws, f->settings);
	worker_state_pass_settings(ws);
	ws->first = f != NULL ? *f : (struct worker_first){ 0 };
	ws->first_step = step;
	for (uint32_t s = 0; s < ws->o.nservers; s++)
		if (!ws->link[s].empty && ws->link[s].step < from)
			from = ws->link[s].step;
	ws->from = from;
	for (uint32_t i = 0; i < ws->plan->n; i++) {
		ws->part[i].waiting = true;
		ws->part[i].want = worker_state_exact_steps(ws) && !ws->plan->slice[i].frozen ? from : WORKER_ANY;
		worker_state_start_slice(ws, i);
	}
	for (uint32_t a = 0; a < ws->graph->nw; a++)
		worker_state_expect(ws, a);
	ws->aux_stale = true;
}

int
worker_state_begun(struct worker_state *ws, uint64_t *step)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t i = 0; i < ws->plan->n; i++) {
		if (ws->plan->slice[i].frozen)
			continue;
		least = ws->part[i].got < least ? ws->part[i].got : least;
		most = ws->part[i].got > most ? ws->part[i].got : most;
	}
	if (worker_state_exact_steps(ws) && least != most)
		return err_fail(ERR_FORMAT, "the servers are at steps %" PRIu64 " to %" PRIu64, least, most);
	ws->begin_done = true;
	if (ws->w->elastic > 0) {
		uint64_t since = deal_since(&ws->deal, ws->w->rank);

		least = since != DEAL_NONE && since > least ? since : least;
	}
	ws->step = ws->turn = ws->sum_step = least;
	*step = least;
	return 0;
}

uint64_t
worker_state_deal(struct worker_state *ws, uint64_t at, uint32_t *workers)
{
	uint64_t k = deal_next(&ws->deal, ws->w->rank, at, workers);

	if (k != DEAL_NONE) {
		ws->step = k;
		worker_state_resume_residuals(ws);
	}
	return k;
}

void
worker_state_step(struct worker_state *ws, uint32_t n, float rate)
{
	worker_state_pass_settings(ws);
	worker_state_choose_codec(ws);
	ws->n = n;
	ws->rate = rate;
	ws->marked = false;
	for (uint32_t i = 0; i < ws->plan->n; i++)
		ws->part[i].left = ws->part[i].arrays;
}

void
worker_state_mark(struct worker_state *ws)
{
	ws->marked = true;
}

/* base: the array that slice i is a range of. */
static void
push_slice(struct worker_state *ws, uint32_t i, const float *base)
{
	const struct shard_plan_slice *s = &ws->plan->slice[i];
	struct msg m = { .type = MSG_PUSH, .step = ws->step, .samples = ws->n, .rate = ws->rate, .lasting = true };

	if (ws->n > 0) {
		m.flags = shard_plan_codec_flags(s->codec, worker_state_codec(ws, i));
		m.len = (uint32_t)codec_bytes(worker_state_codec(ws, i), s->count);
		m.payload = worker_state_encodes(ws, i) ? (const void *)ws->part[i].coded : base + s->first;
	} else {
		m.flags = MSG_EMPTY;
		worker_state_keep_residual(ws, i);
	}
	m.flags |= ws->marked ? MSG_MARK : 0;
	ws->part[i].waiting = true;
	ws->part[i].lent = NULL;
	ws->part[i].want = ws->step + 1;
	ws->part[i].push = m;
	worker_state_emit_slice(ws, i, m);
}

void
worker_state_push(struct worker_state *ws, uint32_t a, const float *g)
{
	uint32_t from, to;

	assert(a < ws->graph->nw && !ws->graph->w[a].frozen && ws->pushed[a] <= ws->step && !ws->stale[a]);
	ws->pushed[a] = ws->step + 1;
	worker_state_expect(ws, a);
	if (ws->n == 0)
		return;
	shard_plan_over(ws->plan, ws->graph->w[a].first, ws->graph->w[a].count, &from, &to);
	for (uint32_t i = from; i < to; i++)
		if (--ws->part[i].left == 0)
			push_slice(ws, i, g);
}

void
worker_state_finish(struct worker_state *ws, const float *stats)
{
	for (uint32_t a = 0; a < ws->graph->nw; a++) {
		if (ws->graph->w[a].frozen)
			continue;
		assert(ws->n == 0 || ws->pushed[a] == ws->step + 1);
		worker_state_expect(ws, a);
	}
	for (size_t i = 0; ws->n > 0 && i < ws->graph->A; i++)
		ws->stats[i] = stats[i] * (float)ws->n;
	ws->aux_stale = true;
	for (uint32_t i = 0; i < ws->plan->n; i++)
		if (!ws->plan->slice[i].frozen && (ws->n == 0 || ws->part[i].arrays == 0))
			push_slice(ws, i, ws->stats);
	ws->step++;
	ws->turn++;
}

int
worker_state_find_missing(const struct worker_state *ws, uint32_t *server)
{
	for (uint32_t i = 0; i < ws->plan->n; i++)
		if (ws->part[i].waiting) {
			*server = ws->plan->slice[i].owner;
			return 1;
		}
	return 0;
}

/* Copies the weights that array r and slice i share. */
static void
copy_part(struct worker_state *ws, uint32_t i, const struct graph_array *r)
{
	const struct shard_plan_slice *s = &ws->plan->slice[i];
	const size_t first = s->first > r->first ? s->first : r->first;
	const size_t end = s->first + s->count < r->first + r->count ? s->first + s->count : r->first + r->count;
	const float *from = ws->part[i].lent != NULL ? ws->part[i].lent + (first - s->first) : ws->staged + first;

	memcpy(ws->w->w + first, from, (end - first) * sizeof(float));
}

/* Copies slices as they arrive, while the servers update others. */
static int
copy_array(struct worker_state *ws, uint32_t a, uint32_t *server)
{
	const struct graph_array *r = &ws->graph->w[a];
	uint32_t from, to, i;

	if (!ws->stale[a])
		return 0;
	shard_plan_over(ws->plan, r->first, r->count, &from, &to);
	for (i = ws->next[a] > from ? ws->next[a] : from; i < to && !ws->part[i].waiting; i++)
		copy_part(ws, i, r);
	ws->next[a] = i < to ? i : 0;
	ws->stale[a] = i < to;
	if (i == to)
		return 0;
	*server = ws->plan->slice[i].owner;
	return 1;
}

static int
copy_aux(struct worker_state *ws, uint32_t *server)
{
	if (worker_state_find_missing(ws, server) > 0)
		return 1;
	if (ws->aux_stale && ws->graph->A > 0)
		memcpy(ws->w->aux, ws->staged + ws->graph->P, ws->graph->A * sizeof(float));
	ws->aux_stale = false;
	return 0;
}

static int
find_missing_stats(const struct worker_state *ws, uint32_t *server)
{
	for (uint32_t i = 0; i < ws->plan->n; i++)
		if (ws->part[i].arrays == 0 && ws->part[i].waiting) {
			*server = ws->plan->slice[i].owner;
			return 1;
		}
	return 0;
}

static int
find_missing_sum(const struct worker_state *ws, uint32_t *server)
{
	*server = 0;
	return ws->summing;
}

static int
find_missing_state(const struct worker_state *ws, uint32_t *server)
{
	for (uint32_t i = 0; i < ws->plan->n; i++)
		if (ws->part[i].asked) {
			*server = ws->plan->slice[i].owner;
			return 1;
		}
	return 0;
}

static int
find_missing_bye(const struct worker_state *ws, uint32_t *server)
{
	for (uint32_t s = 0; s < ws->o.nservers; s++)
		if (!ws->link[s].bye) {
			*server = s;
			return 1;
		}
	return 0;
}

int
worker_state_missing(struct worker_state *ws, enum worker_wait what, uint32_t a, uint32_t *server)
{
	switch (what) {
	case WORKER_WAIT_ARRAY:	return copy_array(ws, a, server);
	case WORKER_WAIT_ALL:	return copy_aux(ws, server);
	case WORKER_WAIT_STEP:	return worker_state_find_newest(ws, server);
	case WORKER_WAIT_STATS:	return find_missing_stats(ws, server);
	case WORKER_WAIT_SUM:	return find_missing_sum(ws, server);
	case WORKER_WAIT_STATE:	return find_missing_state(ws, server);
	case WORKER_WAIT_BYE:	return find_missing_bye(ws, server);
	}
	return 0;
}

uint64_t
worker_state_steps(const struct worker_state *ws)
{
	return ws->step;
}

uint64_t
worker_state_updates(const struct worker_state *ws)
{
	return ws->w->slack == STALE_SYNC ? ws->step : ws->updates;
}

struct staleness
worker_state_staleness(struct worker_state *ws)
{
	struct staleness s = ws->staleness;

	ws->staleness = (struct staleness){ .n = 0 };
	return s;
}

/* With backup workers one that is late ends at the same step as the others. */
bool
worker_state_last(const struct worker_state *ws)
{
	return ws->last && (ws->w->backup == 0 || ws->step >= ws->part[ws->plan->lead].got);
}
