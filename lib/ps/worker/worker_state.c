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
count_arrays(struct worker_state *b)
{
	for (uint32_t a = 0; a < b->graph->nw; a++) {
		uint32_t from, to;

		shard_plan_over(b->plan, b->graph->w[a].first, b->graph->w[a].count, &from, &to);
		for (uint32_t i = from; i < to; i++)
			b->part[i].arrays++;
	}
	for (uint32_t i = 0; i < b->plan->n; i++)
		b->part[i].left = b->part[i].arrays;
}

static uint32_t
slice_bytes(const struct worker_opt *w)
{
	return w->slice > 0 ? w->slice : SHARD_PLAN_SLICE;
}

static int
alloc_norms(struct worker_state *b)
{
	struct worker_norms *n = &b->norms;

	n->n = norms_count(b->plan, &b->w->hyper);
	n->missing = b->o.nservers;
	n->has = calloc(b->o.nservers, sizeof(*n->has));
	n->sum = calloc(n->n + 1, sizeof(*n->sum));
	n->bytes[0] = calloc(n->n + 1, NORM_BYTES);
	n->bytes[1] = calloc(n->n + 1, NORM_BYTES);
	return n->has != NULL && n->sum != NULL && n->bytes[0] != NULL && n->bytes[1] != NULL ? 0 : err_nomem();
}

static int
alloc_worker_state(struct worker_state *b)
{
	const struct graph *g = b->graph;

	b->part = calloc(b->plan->n, sizeof(*b->part));
	b->link = calloc(b->o.nservers, sizeof(*b->link));
	b->pushed = calloc(g->nw + 1, sizeof(*b->pushed));
	b->stale = calloc(g->nw + 1, sizeof(*b->stale));
	b->staged = calloc(g->P + g->A + 1, sizeof(*b->staged));
	b->stats = calloc(g->A + 1, sizeof(*b->stats));
	if (alloc_norms(b) < 0)
		return ERR_NOMEM;
	return b->part != NULL && b->link != NULL && b->pushed != NULL && b->stale != NULL && b->staged != NULL &&
	    b->stats != NULL ? worker_state_alloc_coded(b) : err_nomem();
}

int
worker_state_new(const struct worker_state_opt *opt, struct worker_state **state)
{
	struct worker_state *b = calloc(1, sizeof(*b));
	int e;

	*state = NULL;
	if (b == NULL)
		return err_nomem();
	b->o = *opt;
	b->w = opt->worker;
	b->parting = b->w->parting;
	b->graph = b->w->graph;
	if ((e = hello_check(&b->w->hyper, b->w->slack)) < 0 ||
	    (e = shard_plan_new(b->graph, opt->nservers, slice_bytes(b->w), b->w->mults, &b->w->hyper, &b->plan)) < 0 ||
	    (e = alloc_worker_state(b)) < 0) {
		worker_state_free(b);
		return e;
	}
	count_arrays(b);
	*state = b;
	return 0;
}

void
worker_state_free(struct worker_state *b)
{
	if (b == NULL)
		return;
	shard_plan_free(b->plan);
	free(b->part);
	free(b->link);
	free(b->pushed);
	free(b->stale);
	free(b->staged);
	free(b->stats);
	free(b->own_left);
	free(b->coded);
	free(b->norms.has);
	free(b->norms.sum);
	free(b->norms.bytes[0]);
	free(b->norms.bytes[1]);
	free(b);
}

const struct shard_plan *
worker_state_plan(const struct worker_state *b)
{
	return b->plan;
}

void
worker_state_emit(struct worker_state *b, uint32_t server, struct msg m)
{
	m.incarnation = b->w->incarnation;
	m.worker = b->w->rank;
	b->o.emit(b->o.arg, server, &m);
}

void
worker_state_emit_slice(struct worker_state *b, uint32_t i, struct msg m)
{
	m.slice = i;
	worker_state_emit(b, b->plan->slice[i].owner, m);
}

int
worker_state_hello(struct worker_state *b, uint32_t server)
{
	struct hello job = { .version = MSG_VERSION, .tally = TALLY_VERSION, .nworkers = b->w->nworkers,
	    .nservers = b->o.nservers, .server = server, .slack = b->w->slack, .slice = slice_bytes(b->w),
	    .hyper = b->w->hyper, .hash = graph_hash(b->graph) };
	struct buf text = { 0 };
	int e;

	snprintf(job.mults, sizeof(job.mults), "%s", b->w->mults != NULL ? b->w->mults : "");
	e = hello_text(&job, b->graph, &text);
	if (e == 0)
		worker_state_emit(b, server, (struct msg){ .type = MSG_HELLO,
		    .flags = (b->w->kept ? MSG_KEPT : 0) | (b->parting ? MSG_LAST : 0),
		    .len = (uint32_t)text.n, .payload = text.p });
	buf_free(&text);
	return e;
}

bool
worker_state_welcome(const struct worker_state *b, uint32_t server)
{
	return b->link[server].welcome;
}

bool
worker_state_kept(const struct worker_state *b, uint32_t server)
{
	return b->link[server].kept;
}

bool
worker_state_empty(const struct worker_state *b)
{
	for (uint32_t s = 0; s < b->o.nservers; s++)
		if (b->link[s].empty)
			return true;
	return false;
}

bool
worker_state_parting(const struct worker_state *b)
{
	return b->parting;
}

void
worker_state_part(struct worker_state *b, uint32_t server)
{
	b->link[server].bye = true;
}

bool
worker_state_parted(const struct worker_state *b, uint32_t server)
{
	return b->link[server].bye;
}

static void
send_first(struct worker_state *b, uint32_t i)
{
	const struct shard_plan_slice *s = &b->plan->slice[i];
	const struct worker_first *f = &b->first;
	struct msg m = { .type = MSG_INIT, .step = b->first_step, .len = (uint32_t)(s->count * sizeof(float)) };

	if (s->kind == SHARD_PLAN_WEIGHTS && !s->frozen && f->state != NULL) {
		uint32_t states = opt_states(b->w->hyper.rule);
		struct msg of = m;

		of.flags = MSG_STATE_OF;
		of.len *= states;
		of.payload = f->state + s->first * states;
		worker_state_emit_slice(b, i, of);
	}
	if (!s->frozen && f->average != NULL) {
		struct msg of = m;

		of.flags = MSG_AVERAGE_OF;
		of.samples = f->averaged;
		of.payload = f->average + (s->kind == SHARD_PLAN_AUX ? b->graph->P : 0) + s->first;
		worker_state_emit_slice(b, i, of);
	}
	m.samples = f->updates;
	m.payload = (s->kind == SHARD_PLAN_AUX ? b->w->aux : b->w->w) + s->first;
	worker_state_emit_slice(b, i, m);
}

void
worker_state_start_slice(struct worker_state *b, uint32_t i)
{
	if (b->w->rank == 0 && b->link[b->plan->slice[i].owner].empty)
		send_first(b, i);
	worker_state_emit_slice(b, i, (struct msg){ .type = MSG_PULL, .step = b->from });
}

void
worker_state_begin(struct worker_state *b, const struct worker_first *f, uint64_t step)
{
	uint64_t from = WORKER_ANY;

	b->began = true;
	b->first = f != NULL ? *f : (struct worker_first){ 0 };
	b->first_step = step;
	for (uint32_t s = 0; s < b->o.nservers; s++)
		if (!b->link[s].empty && b->link[s].step < from)
			from = b->link[s].step;
	b->from = from;
	for (uint32_t i = 0; i < b->plan->n; i++) {
		b->part[i].waiting = true;
		b->part[i].want = b->w->slack == STALE_SYNC && !b->plan->slice[i].frozen ? from : WORKER_ANY;
		worker_state_start_slice(b, i);
	}
	for (uint32_t a = 0; a < b->graph->nw; a++)
		b->stale[a] = true;
	b->aux_stale = true;
}

int
worker_state_begun(struct worker_state *b, uint64_t *step)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t i = 0; i < b->plan->n; i++) {
		if (b->plan->slice[i].frozen)
			continue;
		least = b->part[i].got < least ? b->part[i].got : least;
		most = b->part[i].got > most ? b->part[i].got : most;
	}
	if (b->w->slack == STALE_SYNC && least != most)
		return err_fail(ERR_FORMAT, "the servers are at steps %" PRIu64 " to %" PRIu64, least, most);
	b->begun = true;
	b->step = b->sum_step = least;
	*step = least;
	return 0;
}

void
worker_state_step(struct worker_state *b, uint32_t n, float rate)
{
	b->n = n;
	b->rate = rate;
	b->marked = false;
	b->uncoded = b->ncoded;
	for (uint32_t i = 0; i < b->plan->n; i++)
		b->part[i].left = b->part[i].arrays;
}

void
worker_state_mark(struct worker_state *b)
{
	b->marked = true;
}

/* base: the array that slice i is a range of. */
static void
push_slice(struct worker_state *b, uint32_t i, const float *base)
{
	const struct shard_plan_slice *s = &b->plan->slice[i];
	struct msg m = { .type = MSG_PUSH, .step = b->step, .samples = b->n, .rate = b->rate, .lasting = true };

	if (b->n > 0) {
		m.len = (uint32_t)shard_plan_bytes(s);
		m.payload = b->part[i].coded != NULL ? (const void *)b->part[i].coded : base + s->first;
	} else {
		m.flags = MSG_EMPTY;
		worker_state_keep_residual(b, i);
	}
	m.flags |= b->marked ? MSG_MARK : 0;
	b->part[i].waiting = true;
	b->part[i].want = b->step + 1;
	b->part[i].push = m;
	worker_state_emit_slice(b, i, m);
}

void
worker_state_push(struct worker_state *b, uint32_t a, const float *g)
{
	uint32_t from, to;

	assert(a < b->graph->nw && !b->graph->w[a].frozen && b->pushed[a] <= b->step && !b->stale[a]);
	b->pushed[a] = b->step + 1;
	b->stale[a] = true;
	if (b->n == 0)
		return;
	shard_plan_over(b->plan, b->graph->w[a].first, b->graph->w[a].count, &from, &to);
	for (uint32_t i = from; i < to; i++)
		if (--b->part[i].left == 0)
			push_slice(b, i, g);
}

void
worker_state_finish(struct worker_state *b, const float *stats)
{
	for (uint32_t a = 0; a < b->graph->nw; a++) {
		if (b->graph->w[a].frozen)
			continue;
		assert(b->n == 0 || b->pushed[a] == b->step + 1);
		b->stale[a] = true;
	}
	for (size_t i = 0; b->n > 0 && i < b->graph->A; i++)
		b->stats[i] = stats[i] * (float)b->n;
	b->aux_stale = true;
	for (uint32_t i = 0; i < b->plan->n; i++)
		if (!b->plan->slice[i].frozen && (b->n == 0 || b->part[i].arrays == 0))
			push_slice(b, i, b->stats);
	b->step++;
}

static int
find_missing(const struct worker_state *b, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (b->part[i].waiting)
			return (int)b->plan->slice[i].owner;
	return -1;
}

static int
copy_array(struct worker_state *b, uint32_t a)
{
	const struct graph_array *r = &b->graph->w[a];
	uint32_t from, to;
	int who;

	if (!b->stale[a])
		return -1;
	shard_plan_over(b->plan, r->first, r->count, &from, &to);
	if ((who = find_missing(b, from, to)) >= 0)
		return who;
	memcpy(b->w->w + r->first, b->staged + r->first, r->count * sizeof(float));
	b->stale[a] = false;
	return -1;
}

static int
copy_aux(struct worker_state *b)
{
	int who = find_missing(b, 0, b->plan->n);

	if (who < 0 && b->aux_stale && b->graph->A > 0)
		memcpy(b->w->aux, b->staged + b->graph->P, b->graph->A * sizeof(float));
	b->aux_stale = b->aux_stale && who >= 0;
	return who;
}

static int
find_missing_stats(const struct worker_state *b)
{
	for (uint32_t i = 0; i < b->plan->n; i++)
		if (b->part[i].arrays == 0 && b->part[i].waiting)
			return (int)b->plan->slice[i].owner;
	return -1;
}

static int
find_missing_state(const struct worker_state *b)
{
	for (uint32_t i = 0; i < b->plan->n; i++)
		if (b->part[i].asked)
			return (int)b->plan->slice[i].owner;
	return -1;
}

static int
find_missing_bye(const struct worker_state *b)
{
	for (uint32_t s = 0; s < b->o.nservers; s++)
		if (!b->link[s].bye)
			return (int)s;
	return -1;
}

int
worker_state_missing(struct worker_state *b, enum worker_wait what, uint32_t a)
{
	switch (what) {
	case WORKER_WAIT_ARRAY:	return copy_array(b, a);
	case WORKER_WAIT_ALL:	return copy_aux(b);
	case WORKER_WAIT_STATS:	return find_missing_stats(b);
	case WORKER_WAIT_SUM:	return b->summing ? 0 : -1;
	case WORKER_WAIT_STATE:	return find_missing_state(b);
	case WORKER_WAIT_BYE:	return find_missing_bye(b);
	}
	return -1;
}

uint64_t
worker_state_steps(const struct worker_state *b)
{
	return b->step;
}

uint64_t
worker_state_updates(const struct worker_state *b)
{
	return b->w->slack == STALE_SYNC ? b->step : b->updates;
}

bool
worker_state_last(const struct worker_state *b)
{
	return b->last;
}
