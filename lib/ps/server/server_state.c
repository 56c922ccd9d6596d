/* server_state - the state machine of a parameter server: a message of a worker in, messages to workers out. */
#include "ps/server/server_state_in.h"
#include "base/err.h"
#include "base/hash.h"
#include "net/freeze.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool
is_gone(const struct peer *p)
{
	return p->at == SHARD_LEFT || p->at == SHARD_LOST;
}

/* A predecessor may have seen workers come and leave. */
static int
find_known_workers(struct server_state *s)
{
	const struct shard_head *h = s->o.memory != NULL ? shard_find_head(s->o.memory) : NULL;

	if (h != NULL && h->nworkers != s->o.nworkers)
		return err_fail(ERR_FORMAT, "the server's state is of a job with %" PRIu64 " workers", h->nworkers);
	for (uint32_t w = 0; h != NULL && w < s->o.nworkers; w++) {
		s->peer[w].at = h->worker[w] <= SHARD_LOST ? (enum shard_worker)h->worker[w] : SHARD_LOST;
		s->total.gone[w] = is_gone(&s->peer[w]);
	}
	return 0;
}

int
server_state_new(const struct server_state_opt *opt, struct server_state **server)
{
	struct server_state *s;
	int e;

	*server = NULL;
	if (opt->nworkers < 1 || opt->nworkers > HELLO_WORKERS)
		return err_fail(ERR_LIMIT, "%" PRIu32 " workers are not in 1..%u", opt->nworkers, HELLO_WORKERS);
	if (opt->nservers < 1 || opt->nservers > SHARD_PLAN_SERVERS || opt->index >= opt->nservers)
		return err_fail(ERR_LIMIT, "no server %" PRIu32 " of %" PRIu32, opt->index, opt->nservers);
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return err_nomem();
	s->o = *opt;
	if (opt->lends)
		memory_make(&s->own);
	else
		s->own.fd = -1;
	if ((e = total_init(&s->total, opt->nworkers)) == 0) {
		s->peer = calloc(opt->nworkers, sizeof(*s->peer));
		e = s->peer != NULL ? find_known_workers(s) : err_nomem();
	}
	if (e < 0) {
		server_state_free(s);
		return e;
	}
	*server = s;
	return 0;
}

void
server_state_free(struct server_state *s)
{
	if (s == NULL)
		return;
	if (s->shard.plan != NULL)
		shard_free(&s->shard);
	memory_close(&s->own);
	total_free(&s->total);
	free(s->peer);
	free(s);
}

void
server_state_emit(struct server_state *s, uint32_t w, struct msg m)
{
	m.incarnation = s->o.incarnation;
	m.worker = w;
	s->o.emit(s->o.arg, w, &m);
}

/* The first hello describes the job.  Later ones must agree with it, and all with this server's options. */
static int
check_job(struct server_state *s, const struct msg *m)
{
	bool first = s->shard.plan == NULL;
	struct graph *g = NULL;
	struct hello job, want;
	int e;

	ERR_TRY(hello_parse(m->payload, m->len, &job, first ? &g : NULL));
	want = first ? job : s->hello;
	want.nworkers = s->o.nworkers;
	want.elastic = s->o.elastic;
	want.nservers = s->o.nservers;
	want.server = s->o.index;
	snprintf(want.tally, sizeof(want.tally), "%s", TALLY_VERSION);
	if ((e = hello_same(&want, &job)) == 0 && first && (e = freeze_rules(g, job.mults)) == 0 &&
	    (e = shard_init(&s->shard, &job, g, hash_update(HASH_START, m->payload, m->len),
	    s->o.memory != NULL ? s->o.memory : &s->own, s->o.once)) == 0) {
		s->hello = job;
		total_attach(&s->total, s->shard.memory, s->shard.total);
		server_deal_attach(s);
	}
	graph_free(g);
	return e;
}

/* Notes in the memory where worker w is. */
static void
set_worker(struct server_state *s, uint32_t w, enum shard_worker at)
{
	s->peer[w].at = at;
	s->shard.head->worker[w] = (uint8_t)at;
	memory_report_change(s->shard.memory, &s->shard.head->worker[w], 1);
}

static void
join_worker(struct server_state *s, uint32_t w)
{
	shard_join(&s->shard, w);
	total_join(&s->total, w);
	set_worker(s, w, SHARD_HERE);
}

static int
handle_hello(struct server_state *s, const struct msg *m)
{
	struct peer *p = &s->peer[m->worker];
	const bool parts = p->at == SHARD_LEFT && m->flags & MSG_LAST;	/* it only says goodbye again */
	struct msg hi = { .type = MSG_WELCOME };

	if (p->before != 0 && m->incarnation == p->before)
		return err_fail(ERR_ARG, "a later process has this rank");
	ERR_TRY(check_job(s, m));
	/* The steps since its goodbye were made without it. */
	if (p->at == SHARD_LEFT && s->hello.slack == STALE_SYNC && !parts &&
	    (!p->known || m->incarnation != p->incarnation))
		return err_fail(ERR_ARG, "has said goodbye already, and the job goes on without it");
	if (!p->known || m->incarnation != p->incarnation || p->at == SHARD_LOST) {
		*p = (struct peer){ .incarnation = m->incarnation, .known = true, .at = p->at,
		    .before = m->incarnation != p->incarnation ? p->incarnation : p->before };
		if (!parts)
			join_worker(s, m->worker);
	}
	s->shard.norms.sent[m->worker] = 0;
	hi.step = shard_step(&s->shard, m->worker);
	hi.flags = (shard_ready(&s->shard) ? 0 : MSG_EMPTY) | (s->o.memory != NULL ? MSG_KEPT : 0);
	server_state_emit(s, m->worker, hi);
	server_settings_tell(s, m->worker);
	server_deal_tell(s, m->worker);
	server_deal_count(s);
	return 0;
}

/*
 * In a synchronous job a pull starts a worker, and may name the step before.  In the others the staleness bound
 * decides, so that neither a repeated pull nor a worker that died while it waited gets ahead.
 */
static int
handle_pull(struct server_state *s, const struct msg *m)
{
	struct slice *sl = &s->shard.slice[m->slice];
	bool sync = s->hello.slack == STALE_SYNC;

	s->shard.norms.sent[m->worker] = 0;	/* the worker starts */
	if (m->flags & MSG_STATE_OF) {
		if (sl->m[0] == NULL)
			return err_fail(ERR_FORMAT, "slice %" PRIu32 " has no state", m->slice);
		sl->due[m->worker] |= SLICE_STATE;
	} else if (m->flags & MSG_AVERAGE_OF) {
		if (sl->average[0] == NULL)
			return err_fail(ERR_FORMAT, "slice %" PRIu32 " has no average", m->slice);
		sl->due[m->worker] |= SLICE_AVERAGE;
	} else if (m->flags & MSG_EMPTY) {
		sl->due[m->worker] |= SLICE_READY;
	} else if (m->flags & MSG_EXACT) {
		sl->due[m->worker] |= SLICE_EXACT;
	} else if (sync && sl->backup == 0 && sl->ready && sl->began && m->step + 1 == sl->step) {
		sl->due[m->worker] |= SLICE_BEFORE;
	} else {
		sl->due[m->worker] |= sync ? SLICE_PULL : SLICE_W;
	}
	server_answer(s, m->slice, UINT64_MAX, m->worker);
	return 0;
}

/* A message about one slice. */
static int
handle_slice_msg(struct server_state *s, const struct msg *m)
{
	uint64_t was;

	if (!shard_mine(&s->shard, m->slice))
		return err_fail(ERR_FORMAT, "slice %" PRIu32 " belongs to another server", m->slice);
	if (m->type == MSG_PULL)
		return handle_pull(s, m);
	was = s->shard.slice[m->slice].step;
	ERR_TRY(m->type == MSG_INIT ? slice_first(&s->shard.slice[m->slice], m) : slice_push(&s->shard.slice[m->slice],
	    m));
	if (m->type == MSG_INIT)
		server_answer(s, m->slice, UINT64_MAX, SERVER_ALL);
	else
		server_answer(s, m->slice, was, m->worker);
	server_norms_count(s, m->slice);
	if (m->type == MSG_PUSH)
		server_norms_repeat(s, m);
	return 0;
}

static void
send_totals(struct server_state *s)
{
	struct total *t = &s->total;
	const struct total_name *name = &t->last.name;

	for (uint32_t w = 0; w < t->nworkers; w++)
		if (t->due[w] == TOTAL_DUE) {
			t->due[w] = TOTAL_NOT_DUE;
			server_state_emit(s, w, (struct msg){ .type = MSG_TOTAL, .step = name->step,
			    .slice = name->index, .payload = t->last.sum,
			    .len = (uint32_t)(name->n * sizeof(double)) });
		}
}

static int
handle_sum(struct server_state *s, const struct msg *m)
{
	int e;

	if (m->len % sizeof(double) != 0)
		return err_fail(ERR_FORMAT, "a sum of %" PRIu32 " bytes", m->len);
	e = total_add(&s->total, m->worker, m->step, m->slice, m->payload, m->len / sizeof(double));
	if (e == 0)
		send_totals(s);
	return e;
}

/* Worker w has left or is lost: completes what waited only for it. */
static void
release_worker(struct server_state *s, uint32_t w, enum shard_worker at)
{
	if (is_gone(&s->peer[w]))
		return;
	set_worker(s, w, at);
	for (uint32_t i = 0; i < s->shard.plan->n; i++)
		if (shard_mine(&s->shard, i)) {
			uint64_t was = s->shard.slice[i].step;

			slice_leave(&s->shard.slice[i], w);
			server_answer(s, i, was, SERVER_ALL);
			server_norms_count(s, i);
		}
	total_leave(&s->total, w);
	send_totals(s);
	server_deal_count(s);
}

static int
handle_worker_msg(struct server_state *s, const struct msg *m)
{
	struct peer *p = &s->peer[m->worker];

	if (m->type == MSG_HELLO)
		return handle_hello(s, m);
	if (!p->known || (m->incarnation != p->incarnation && m->incarnation != p->before))
		return err_fail(ERR_FORMAT, "%s without a hello", msg_name(m->type));
	if (m->incarnation != p->incarnation || (is_gone(p) && m->type != MSG_BYE))
		return 0;
	switch (m->type) {
	case MSG_INIT:
	case MSG_PUSH:
	case MSG_PULL:
		return handle_slice_msg(s, m);
	case MSG_SUM:
		return handle_sum(s, m);
	case MSG_NORMS:
		return server_norms_handle(s, m);
	case MSG_SET:
		return server_settings_handle(s, m);
	case MSG_STOP:
		memory_store_number(s->shard.memory, &s->shard.head->stop, 1);
		return 0;
	case MSG_EPOCH:
		return m->step < UINT64_MAX ? 0 : err_fail(ERR_FORMAT, "EPOCH without a number");
	case MSG_BYE:
		release_worker(s, m->worker, SHARD_LEFT);
		server_state_emit(s, m->worker, (struct msg){ .type = MSG_BYE });
		return 0;
	default:
		return err_fail(ERR_FORMAT, "%s is not for a server", msg_name(m->type));
	}
}

int
server_state_take(struct server_state *s, const struct msg *m)
{
	int e;

	if (m->worker >= s->o.nworkers)
		return err_fail(ERR_ARG, "worker %" PRIu32 ": the job has %" PRIu32 " workers", m->worker,
		    s->o.nworkers);
	if ((e = handle_worker_msg(s, m)) < 0)
		err_within("worker %" PRIu32, m->worker);
	return e;
}

void *
server_state_place(void *state, const struct msg *m)
{
	struct server_state *s = state;

	/* The incarnation shows that the worker sends it, and no other one in its name. */
	if (m->type != MSG_PUSH || m->worker >= s->o.nworkers || !s->peer[m->worker].known ||
	    s->peer[m->worker].incarnation != m->incarnation || is_gone(&s->peer[m->worker]) ||
	    !shard_mine(&s->shard, m->slice))
		return NULL;
	return slice_reserve(&s->shard.slice[m->slice], m);
}

void
server_state_lost(struct server_state *s, uint32_t w)
{
	if (w < s->o.nworkers && s->shard.plan != NULL)
		release_worker(s, w, SHARD_LOST);
}

int
server_state_keep(struct server_state *s, uint32_t w)
{
	return w < s->o.nworkers && s->shard.plan != NULL ? shard_keep(&s->shard, w) : 0;
}

const struct memory *
server_state_memory(const struct server_state *s)
{
	return s->shard.plan != NULL ? s->shard.memory : NULL;
}

void
server_state_resume(struct server_state *s, uint32_t w)
{
	if (w >= s->o.nworkers || !s->peer[w].answer_waits)
		return;
	s->peer[w].answer_waits = false;
	for (uint32_t i = 0; i < s->shard.plan->n && !s->peer[w].answer_waits; i++)
		if (shard_mine(&s->shard, i) && s->shard.slice[i].ready)
			server_answer_worker(s, i, w);
}

bool
server_state_gone(const struct server_state *s, uint32_t w)
{
	return is_gone(&s->peer[w]);
}

bool
server_state_here(const struct server_state *s, uint32_t w)
{
	return s->peer[w].at == SHARD_HERE;
}

bool
server_state_missed(const struct server_state *s, uint32_t w)
{
	return s->peer[w].at == SHARD_LOST;
}

bool
server_state_sync(const struct server_state *s)
{
	return s->shard.plan != NULL && s->hello.slack == STALE_SYNC;
}

/* Worker w of an elastic job has not joined it, and need not. */
static bool
is_to_come(const struct server_state *s, uint32_t w)
{
	return s->o.elastic > 0 && w >= s->o.elastic && s->peer[w].at == SHARD_ABSENT;
}

uint32_t
server_state_spare(const struct server_state *s)
{
	return s->hello.slack == STALE_SYNC ? s->hello.backup : s->o.nworkers - 1;
}

bool
server_state_over(const struct server_state *s)
{
	for (uint32_t w = 0; w < s->o.nworkers; w++)
		if (!is_gone(&s->peer[w]) && !is_to_come(s, w))
			return false;
	return true;
}

uint64_t
server_state_steps(const struct server_state *s)
{
	uint64_t least = UINT64_MAX;

	if (s->o.elastic > 0 && s->shard.plan != NULL)
		return shard_furthest(&s->shard);
	for (uint32_t w = 0; s->shard.plan != NULL && w < s->o.nworkers; w++) {
		uint64_t step = shard_step(&s->shard, w);

		least = step < least ? step : least;
	}
	return least < UINT64_MAX ? least : 0;
}

const struct shard_plan *
server_state_plan(const struct server_state *s)
{
	return s->shard.plan;
}

void
server_state_slice(const struct server_state *s, uint32_t slice, const float **w, const float **m)
{
	const struct slice *sl = &s->shard.slice[slice];

	*w = sl->w[sl->half];
	*m = sl->m[sl->half];
}

const float *
server_state_average(const struct server_state *s, uint32_t slice)
{
	return s->shard.slice[slice].average[s->shard.slice[slice].average_half];
}
