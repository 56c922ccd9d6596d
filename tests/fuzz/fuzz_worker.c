/*
 * fuzz_worker - a worker's state machine, two servers that are right, and a network that is not: no crash, no message
 * beyond the plan; and if messages come late, twice or on another connection, but unchanged, the job comes to its end.
 *
 * The first byte is the kind of job.  Then each pair of bytes is a turn of a job whose messages are all valid: what
 * happens, to which server, and with what.  A forged message is followed by
 *
 *	u8 type | u8 flags | u8 step | u8 slice | u8 samples | u8 words | f32[words]
 */
#include "fuzz/mutate.h"
#include "ps/server/server_state.h"
#include "ps/worker/worker_state.h"

#include <stdlib.h>
#include <string.h>

#define SERVERS	2
#define WAITING	256u	/* most messages from a server that wait */
#define TURNS	4000	/* by which a job in which nothing is lost has ended */
#define MOST	16	/* more than the weights, and the statistics */

enum turn { DELIVER, TWICE, CHANGE, FORGE, RECONNECT, TURN_TYPES };
enum stage { GREET, BEGIN, READY, PUSH, SUM, PULL, BYE, DONE };

static const struct { uint32_t slack; float clip_norm; const char *rules; } kinds[] = {
	{ STALE_SYNC, 0, "" }, { 1, 0, "" }, { STALE_ASYNC, 0, "" }, { STALE_SYNC, 1, "" },
	{ STALE_SYNC, 0, "codec:*=bf16;codec:bn_*=fp16" }, { STALE_ASYNC, 0, "codec:a_*=fp16" },
	{ STALE_SYNC, 0, "codec:*=topk:0.5;codec:bn_*=2bit" }, { STALE_ASYNC, 0, "codec:*=topk:0.5;codec:bn_*=2bit" },
	{ STALE_SYNC, 0, "codec:*=f32" }, { 2, 0, "codec:*=bf16" },
};

struct letter {
	struct msg m;
	uint8_t *payload;
};

struct job {
	struct worker_opt o;
	struct worker_state *worker;
	struct graph *graph;
	struct server_state *server[SERVERS];
	struct letter queue[SERVERS][WAITING];	/* from each server, in order */
	unsigned n[SERVERS];
	bool	 lost[SERVERS];		/* the worker has reconnected, and waits for the welcome */
	uint8_t	*kept[4 * WAITING];	/* payloads that a server lends until the end */
	unsigned nkept;
	bool	 honest, dead;
	uint32_t phase;			/* of the last sum; those of a step grow */
	uint64_t asked;			/* requests for settings so far, and the id of the last one */
	enum stage stage;
	uint32_t left;			/* arrays to push */
	float	 w[MOST], aux[MOST], g[MOST], to[4 * MOST];
};

/* An exact copy, so that a sanitizer sees a byte read behind it. */
static void
post(struct job *j, unsigned s, const struct msg *m)
{
	struct letter *l = &j->queue[s][j->n[s]];

	if (j->n[s] == WAITING) {	/* the worker reads nothing any more */
		j->honest = false;
		return;
	}
	*l = (struct letter){ .m = *m };
	if (m->len > 0) {
		if ((l->payload = malloc(m->len)) == NULL)
			abort();
		memcpy(l->payload, m->payload, m->len);
	}
	l->m.payload = l->payload;
	l->m.lasting = false;
	j->n[s]++;
}

struct end { struct job *j; unsigned s; };

static void
answer(void *arg, uint32_t worker, const struct msg *m)
{
	const struct end *e = arg;

	if (worker != 0)
		abort();
	if (!e->j->lost[e->s] || m->type == MSG_WELCOME)
		post(e->j, e->s, m);
}

static void
send(void *arg, uint32_t server, const struct msg *m)
{
	struct job *j = arg;
	volatile uint8_t seen = 0;

	if (server >= SERVERS || m->type == 0 || m->type >= MSG_TYPES || m->worker != 0)
		abort();
	if ((m->type == MSG_PUSH || m->type == MSG_PULL || m->type == MSG_INIT) &&
	    (m->slice >= worker_state_plan(j->worker)->n || worker_state_plan(j->worker)->slice[m->slice].owner != server))
		abort();
	for (uint32_t i = 0; i < m->len; i++)
		seen = (uint8_t)(seen + ((const uint8_t *)m->payload)[i]);
	if (j->lost[server] && m->type != MSG_HELLO)
		return;
	if (server_state_take(j->server[server], m) < 0 && j->honest)
		abort();
}

static void
take(struct job *j, unsigned s, struct letter *l)
{
	void *place = worker_state_place(j->worker, s, &l->m);

	if (place != NULL && !l->m.lasting) {
		memcpy(place, l->payload, l->m.len);
		l->m.payload = place;
	}
	if (worker_state_take(j->worker, s, &l->m) < 0) {
		if (j->honest)
			abort();
		j->dead = true;
	} else if (l->m.type == MSG_WELCOME && j->lost[s]) {
		j->lost[s] = false;
		worker_state_repeat(j->worker, s);
	}
	if (l->m.lasting && l->payload != NULL && j->nkept < sizeof(j->kept) / sizeof(j->kept[0]))
		j->kept[j->nkept++] = l->payload;
	else
		free(l->payload);
}

/* Changes one thing of a message that was valid. */
static void
change(struct letter *l, uint8_t what)
{
	struct msg *m = &l->m;
	const uint8_t bit = (uint8_t)(1u << (what >> 5));

	switch (what & 7) {
	case 0: m->type = (uint16_t)(1 + (m->type + (what >> 3)) % (MSG_TYPES - 1)); break;
	case 1: m->flags ^= bit; break;
	case 2: m->step += what & 8 ? 1 : (uint64_t)-1; break;
	case 3: m->slice ^= bit; break;
	case 4: m->samples ^= bit; break;
	case 5: m->len -= what >> 3 < m->len ? what >> 3 : m->len; break;
	case 6: m->lasting = m->len > 0; break;
	case 7: if (m->len > 0) l->payload[(what >> 3) % m->len] ^= 0x55; break;
	}
	if (m->len == 0)
		m->payload = NULL;
}

static void
deliver(struct job *j, unsigned s, enum turn turn, uint8_t what)
{
	struct letter l;

	if (j->n[s] == 0)
		return;
	l = j->queue[s][0];
	memmove(j->queue[s], j->queue[s] + 1, --j->n[s] * sizeof(l));
	if (turn == TWICE)
		post(j, s, &l.m);
	if (turn == CHANGE) {
		j->honest = false;
		change(&l, what);
	}
	take(j, s, &l);
}

static size_t
forge(struct job *j, unsigned s, const uint8_t *p, size_t n)
{
	struct letter l;
	struct msg m;

	if (n < 6 || n - 6 < 4u * (p[5] % 32))
		return n;
	m = (struct msg){ .type = (uint16_t)(1 + p[0] % (MSG_TYPES - 1)), .flags = p[1], .step = p[2], .slice = p[3],
	    .samples = p[4], .len = 4u * (p[5] % 32), .payload = p + 6 };
	j->honest = false;
	post(j, s, &m);
	if (j->n[s] == WAITING)
		return n;
	l = j->queue[s][--j->n[s]];
	take(j, s, &l);
	return 6 + m.len;
}

static void
drop_queue(struct job *j, unsigned s)
{
	while (j->n[s] > 0)
		free(j->queue[s][--j->n[s]].payload);
}

static void
reconnect(struct job *j, unsigned s)
{
	drop_queue(j, s);
	worker_state_keep(j->worker, s);
	j->lost[s] = worker_state_welcome(j->worker, s);
	if (server_state_keep(j->server[s], 0) < 0 || worker_state_hello(j->worker, s) < 0)
		abort();
}

static bool
is_missing(struct job *j, enum worker_wait what, uint32_t array)
{
	uint32_t server;

	return worker_state_missing(j->worker, what, array, &server) > 0;
}

/* Whether all weights and statistics have arrived. */
static bool
is_ready(struct job *j)
{
	bool ready = !is_missing(j, WORKER_WAIT_ALL, 0);

	for (uint32_t a = 0; a < j->graph->nw; a++)
		ready &= !is_missing(j, WORKER_WAIT_ARRAY, a);
	return ready;
}

/* Asks for other settings, if the last request was decided. */
static void
ask_settings(struct job *j, uint8_t what)
{
	struct setting set = { .has = what & 16 ? SETTING_LR : SETTING_MOMENTUM, .lr = 0.5, .momentum = 0.25 };

	if (j->asked > 0 && settings_find(worker_state_settings(j->worker), j->asked) == NULL)
		return;
	set.id = ++j->asked;
	set.has |= what & 32 ? SETTING_WD : 0;
	set.has |= what & 64 && j->o.slack != STALE_SYNC ? SETTING_SLACK : 0;
	set.has |= what & 128 && shard_plan_recodes(j->o.mults) ? SETTING_CODEC : 0;
	set.slack = set.has & SETTING_SLACK ? 1 + (uint32_t)j->asked % 3 : 0;
	set.codec = set.has & SETTING_CODEC ? (uint32_t)j->asked % 3 : 0;
	worker_state_set(j->worker, &set);
}

static enum stage
choose(struct job *j, uint8_t what)
{
	const double v[3] = { 1, 2, 3 };

	if (worker_state_last(j->worker))
		what = 15;
	switch (what & 15) {
	default:
		worker_state_step(j->worker, what & 16 ? 0 : 2, 0.125f);
		if (what & 32)
			worker_state_mark(j->worker);
		j->left = j->graph->nw;
		j->phase = j->o.slack == STALE_SYNC ? 0 : j->phase;
		return PUSH;
	case 8:
		j->phase = what >> 4 > (int)j->phase ? what >> 4 : j->phase;
		worker_state_sum(j->worker, j->phase, v, 3);
		return SUM;
	case 9: worker_state_state(j->worker, j->to); return PULL;
	case 10: worker_state_average(j->worker, j->to); return PULL;
	case 11: worker_state_exact(j->worker, j->to); return PULL;
	case 12: worker_state_stop(j->worker); return READY;
	case 13: worker_state_epoch(j->worker, what >> 4); return READY;
	case 14: ask_settings(j, what); return READY;
	case 15: worker_state_bye(j->worker); return BYE;
	}
}

/* The worker's own part: what pworker does, as far as it need not wait. */
static void
work(struct job *j, uint8_t what)
{
	uint64_t step;
	double v[3];

	switch (j->stage) {
	case GREET:
		for (unsigned s = 0; s < SERVERS; s++)
			if (!worker_state_welcome(j->worker, s))
				return;
		worker_state_begin(j->worker, NULL, 0);
		j->stage = BEGIN;
		return;
	case BEGIN:
		if (!is_ready(j))
			return;
		if (worker_state_begun(j->worker, &step) < 0) {
			if (j->honest)
				abort();
			j->dead = true;
		}
		j->stage = READY;
		return;
	case READY:
		if (is_ready(j))
			j->stage = choose(j, what);
		return;
	case PUSH:
		while (j->left > 0) {
			j->left--;
			worker_state_encode(j->worker, j->left, j->g);
			worker_state_push(j->worker, j->left, j->g);
		}
		worker_state_finish(j->worker, j->g);
		j->stage = READY;
		return;
	case SUM:
		if (is_missing(j, WORKER_WAIT_SUM, 0))
			return;
		worker_state_total(j->worker, v, 3);
		if (j->honest && (v[0] != 1 || v[2] != 3))
			abort();
		j->stage = READY;
		return;
	case PULL:
		if (!is_missing(j, WORKER_WAIT_STATE, 0))
			j->stage = READY;
		return;
	case BYE:
		if (!is_missing(j, WORKER_WAIT_BYE, 0))
			j->stage = DONE;
		return;
	case DONE:
		return;
	}
}

static void
run_turns(struct job *j, const uint8_t *p, size_t n)
{
	while (n >= 2 && !j->dead && j->stage != DONE) {
		const unsigned s = p[0] & 1;
		const enum turn turn = (p[0] >> 1) % TURN_TYPES;
		const uint8_t what = p[1];

		p += 2;
		n -= 2;
		if (turn == FORGE) {
			size_t used = forge(j, s, p, n);

			p += used;
			n -= used;
		} else if (turn == RECONNECT) {
			reconnect(j, s);
		} else {
			deliver(j, s, turn, what);
		}
		if (!j->dead)
			work(j, what);
	}
	for (unsigned i = 0; i < TURNS && j->honest && !j->dead && j->stage != DONE; i++) {
		deliver(j, i % SERVERS, DELIVER, 0);
		if (!j->dead)
			work(j, 15);
	}
	if (j->honest && j->stage != DONE)
		abort();
}

/* A turn of two bytes, or one with the message that it forges. */
static size_t
find_turn(const uint8_t *p, size_t n)
{
	size_t size = n < 2 || (p[0] >> 1) % TURN_TYPES != FORGE ? 2 : n < 8 ? n : 8 + 4u * (p[7] % 32);

	return size < n ? size : n;
}

/* Most messages arrive unchanged, so that the job goes on; a forged one is what a server could send. */
static size_t
make_turn(struct rng *r, uint8_t *p, size_t room)
{
	static const uint8_t types[] = { MSG_WELCOME, MSG_WEIGHTS, MSG_TOTAL, MSG_STATE, MSG_BYE, MSG_NORMS, MSG_REFUSE,
	    MSG_SET },
	    words[] = { 0, 2, 4, 6, SETTING_BYTES / 4, MOST };
	const enum turn turn = rng_below(r, 4) ? DELIVER : (enum turn)rng_below(r, TURN_TYPES);
	const size_t n = turn == FORGE ? 8 + 4u * MOST : 2;

	if (room < n)
		return 0;
	memset(p, 0, n);
	p[0] = (uint8_t)((unsigned)turn << 1 | rng_below(r, 2));
	p[1] = (uint8_t)rng_u64(r);
	if (turn != FORGE)
		return n;
	p[2] = types[rng_below(r, sizeof(types))] - 1;
	p[3] = rng_below(r, 2) ? 0 : (uint8_t)(1u << rng_below(r, 8));
	p[4] = (uint8_t)rng_below(r, 4);
	p[5] = (uint8_t)rng_below(r, 4);
	p[6] = (uint8_t)rng_below(r, 3);
	p[7] = words[rng_below(r, sizeof(words))];
	return 8 + 4u * p[7];
}

size_t
LLVMFuzzerCustomMutator(uint8_t *p, size_t n, size_t room, unsigned seed)
{
	static const struct mutate_format turns = { .head = 1, .part = find_turn, .make = make_turn };

	return mutate_parts(&turns, p, n, room, seed);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static struct job j;
	struct end end[SERVERS];
	uint32_t at = 0;
	unsigned kind;

	if (n < 1 || (kind = p[0]) >= sizeof(kinds) / sizeof(kinds[0]))
		return 0;
	j = (struct job){ .honest = true, .graph = graph_new(1, 1, 2) };
	graph_add(j.graph, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 3 }, &at);
	graph_add(j.graph, &(struct graph_node){ .op = GRAPH_BN, .name = "bn", .in = &at, .nin = 1, .eps = 1e-3f }, &at);
	graph_add(j.graph, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	if (j.graph->P > MOST || j.graph->A > MOST)
		abort();
	for (unsigned i = 0; i < MOST; i++)
		j.g[i] = (float)i / 8 - 1;
	j.o = (struct worker_opt){ .graph = j.graph, .nworkers = 1, .slack = kinds[kind].slack,
	    .hyper = { .clip_norm = kinds[kind].clip_norm, .average = { AVERAGE_EMA, 0.5f, 0 } },
	    .mults = kinds[kind].rules, .incarnation = 7, .nservers = SERVERS, .slice = 16, .w = j.w, .aux = j.aux };
	if (worker_state_new(&(struct worker_state_opt){ .worker = &j.o, .nservers = SERVERS, .emit = send,
	    .arg = &j }, &j.worker) < 0)
		abort();
	for (unsigned s = 0; s < SERVERS; s++) {
		end[s] = (struct end){ &j, s };
		if (server_state_new(&(struct server_state_opt){ .nworkers = 1, .index = s, .nservers = SERVERS,
		    .incarnation = 9, .emit = answer, .arg = &end[s] }, &j.server[s]) < 0 ||
		    worker_state_hello(j.worker, s) < 0)
			abort();
	}
	run_turns(&j, p + 1, n - 1);
	for (unsigned s = 0; s < SERVERS; s++) {
		drop_queue(&j, s);
		server_state_free(j.server[s]);
	}
	worker_state_free(j.worker);
	while (j.nkept > 0)
		free(j.kept[--j.nkept]);
	graph_free(j.graph);
	return 0;
}
