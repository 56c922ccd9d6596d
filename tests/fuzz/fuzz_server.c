/*
 * fuzz_server - any messages to the state machine of a server: no crash, no answer beyond the plan, no more memory for it.
 *
 * The first byte is the regime and the kind: 0-3 slack 0, 1, 3, async, 4 slack 0 with norms, 5 slack 0 and 6 async
 * with codecs, 7 and 8 with coarse ones, 9 slack 0 with a backup worker, 10 with two and norms, and then messages, else
 * the rest is a hello's text, after 'h' without its first line, which has the version of today.  A message is
 *
 *	u8 type | u8 flags | u8 worker, incarnation<<4 | u8 step | u8 slice | u8 samples | u8 rate |  u8 words | f32[words]
 *
 * With flag 128 the last 3 bytes belong to the next message.
 */
#include "fuzz/mutate.h"
#include "base/buf.h"
#include "base/hash.h"
#include "ps/stale.h"
#include "ps/hello.h"
#include "ps/server/server_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS	3

static const struct { uint32_t slack; float clip_norm; const char *rules; uint32_t backup; } kinds[] = {
	{ STALE_SYNC, 0, "", 0 }, { 1, 0, "", 0 }, { 3, 0, "", 0 }, { STALE_ASYNC, 0, "", 0 }, { STALE_SYNC, 1, "", 0 },
	{ STALE_SYNC, 0, "codec:*=bf16;codec:bn_*=fp16", 0 }, { STALE_ASYNC, 0, "codec:a_*=fp16", 0 },
	{ STALE_SYNC, 0, "codec:*=topk:0.5;codec:bn_*=2bit", 0 }, { STALE_ASYNC, 0, "codec:*=topk:0.5;codec:bn_*=2bit", 0 },
	{ STALE_SYNC, 0, "", 1 }, { STALE_SYNC, 1, "", 2 },
};

/*
 * Whether weights of a slice have such a length: exact ones or those of any kind of job, or none for the worker that
 * sent them.
 */
static bool
is_size_of(const struct shard_plan_slice *s, const struct msg *m)
{
	const uint32_t len = m->len;

	if ((m->flags & MSG_EMPTY) != 0)
		return len == 0;
	if ((m->flags & MSG_CODEC) != 0)
		return len == codec_bytes(shard_plan_codec(s, m, true), s->count);
	return len == s->count * sizeof(float) || len == codec_bytes(shard_plan_answer(s, true), s->count) ||
	    len == codec_bytes(shard_plan_answer(s, false), s->count);
}

static void
emit(void *arg, uint32_t worker, const struct msg *m)
{
	struct server_state **s = arg;
	const struct shard_plan *p = server_state_plan(*s);
	volatile uint8_t seen = 0;

	if (worker >= WORKERS || m->worker != worker || m->type == 0 || m->type >= MSG_TYPES)
		abort();
	if ((m->type == MSG_WEIGHTS && (m->slice >= p->n || !is_size_of(&p->slice[m->slice], m))) ||
	    (m->type == MSG_STATE && (m->slice >= p->n || m->len != p->slice[m->slice].count * sizeof(float))))
		abort();
	for (uint32_t i = 0; i < m->len; i++)
		seen = (uint8_t)(seen + ((const uint8_t *)m->payload)[i]);
}

static struct graph *
net(void)
{
	struct graph *g = graph_new(1, 1, 2);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 3 }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_BN, .name = "bn", .in = &at, .nin = 1, .eps = 1e-3f }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

/* Worker w's hello, always a good one. */
static void
hello(struct server_state *s, const struct graph *g, unsigned kind, uint32_t w, uint64_t incarnation)
{
	struct hello h = { .version = MSG_VERSION, .tally = TALLY_VERSION, .nworkers = WORKERS, .nservers = 2,
	    .slack = kinds[kind].slack, .backup = kinds[kind].backup,
	    .hyper = { .clip_norm = kinds[kind].clip_norm }, .slice = 16, .hash = graph_hash(g) };
	struct msg m = { .type = MSG_HELLO, .worker = w, .incarnation = incarnation };
	struct buf b = { 0 };

	snprintf(h.mults, sizeof(h.mults), "%s", kinds[kind].rules);
	if (hello_text(&h, g, &b) < 0)
		abort();
	m.len = (uint32_t)b.n;
	m.payload = b.p;
	server_state_take(s, &m);
	buf_free(&b);
}

static void
messages(unsigned kind, const uint8_t *p, size_t n)
{
	struct server_state *s = NULL;
	struct server_state_opt o = { .nworkers = WORKERS, .nservers = 2, .emit = emit, .arg = &s };
	struct graph *g = net();

	if (server_state_new(&o, &s) < 0)
		abort();
	for (uint32_t w = 0; w + 1 < WORKERS; w++)
		hello(s, g, kind, w, 1);
	while (n >= 8) {
		uint32_t words = p[7] % 32;
		struct msg m = { .type = p[0] % (MSG_TYPES + 1),
		    .flags = p[1] & (MSG_STATE_OF | MSG_EMPTY | MSG_LAST | MSG_EXACT), .worker = p[2] & 3,
		    .incarnation = (uint64_t)p[2] >> 4, .step = p[3], .slice = p[4], .samples = p[5],
		    .rate = (float)p[6] / 64, .len = words > 0 && p[1] & 128 ? 4 * words - 3 : 4 * words, .payload = p + 8 };

		if (n - 8 < m.len)
			break;
		if (m.type == MSG_HELLO && m.len == 0)
			hello(s, g, kind, m.worker, m.incarnation);
		else
			server_state_take(s, &m);
		n -= 8 + m.len;
		p += 8 + m.len;
	}
	(void)server_state_over(s);
	(void)server_state_steps(s);
	server_state_free(s);
	graph_free(g);
}

/* What is taken is what its own text says. */
static void
text(const uint8_t *p, size_t n)
{
	struct hello a, b;
	struct buf again = { 0 };
	struct graph *g;

	if (hello_parse((const char *)p, n, &a, &g) < 0)
		return;
	if (hello_text(&a, g, &again) < 0 || hello_parse((char *)again.p, again.n, &b, NULL) < 0 ||
	    hello_same(&a, &b) < 0)
		abort();
	buf_free(&again);
	graph_free(g);
}

static void
text_of_today(const uint8_t *p, size_t n)
{
	struct buf b = { 0 };

	if (buf_put_fmt(&b, "job %u\n", MSG_VERSION) < 0 || buf_put(&b, p, n) < 0)
		abort();
	text(b.p, b.n);
	buf_free(&b);
}

/* A message, with the bytes that its flag leaves to the next one not counted. */
static size_t
find_message(const uint8_t *p, size_t n)
{
	size_t words, size;

	if (n < 8)
		return n;
	words = p[7] % 32;
	size = 8 + (words > 0 && (p[1] & 128) != 0 ? 4 * words - 3 : 4 * words);
	return size < n ? size : n;
}

/* A message that a worker may send: its own payload, and the step and slice of a job that is at its beginning. */
static size_t
make_message(struct rng *r, uint8_t *p, size_t room)
{
	static const uint8_t types[] = { MSG_HELLO, MSG_INIT, MSG_PUSH, MSG_PUSH, MSG_PULL, MSG_SUM, MSG_NORMS, MSG_STOP,
	    MSG_BYE, MSG_EPOCH }, words[] = { 0, 0, 2, 4, 6 };

	if (room < 8 + 4 * 6)
		return 0;
	memset(p, 0, 8 + 4 * 6);
	p[0] = types[rng_below(r, sizeof(types))];
	p[1] = rng_below(r, 2) ? 0 : (uint8_t)(1u << rng_below(r, 7));
	p[2] = (uint8_t)(rng_below(r, WORKERS) | (rng_below(r, 8) ? 1 : rng_below(r, 4)) << 4);
	p[3] = (uint8_t)rng_below(r, 4);
	p[4] = (uint8_t)rng_below(r, 4);
	p[5] = (uint8_t)rng_below(r, 3);
	p[6] = (uint8_t)rng_u64(r);
	p[7] = p[0] == MSG_HELLO ? 0 : words[rng_below(r, sizeof(words))];
	return 8 + 4u * p[7];
}

/* A line of a hello's text. */
static size_t
find_line(const uint8_t *p, size_t n)
{
	const uint8_t *end = memchr(p, '\n', n);

	return end != NULL ? (size_t)(end - p) + 1 : n;
}

/* A line of the net; those before it have an order that no made line keeps. */
static size_t
make_line(struct rng *r, uint8_t *p, size_t room)
{
	static const char *const lines[] = { "fc %c in=%c k=%u bias=0\n", "bn %c in=%c fix_gamma=0 eps=0.001 momentum=0\n",
	    "act %c in=%c act=relu\n", "flatten %c in=%c\n", "dropout %c in=%c p=0.%u\n", "softmax %c in=%c\n" };
	const int name = 'a' + (int)rng_below(r, 8), in = 'a' + (int)rng_below(r, 8);
	int n = snprintf((char *)p, room, lines[rng_below(r, sizeof(lines) / sizeof(lines[0]))], name, in,
	    (unsigned)rng_below(r, 9));

	return n > 0 && (size_t)n < room ? (size_t)n : 0;
}

/* Another value for a line's key. */
static size_t
change_line(struct rng *r, uint8_t *p, size_t n, size_t room)
{
	static const char *const values[] = { "async", "sgd", "adam", "lars", "muon", "ema", "swa", "none",
	    "lookahead", "-", "codec:*=bf16", "freeze:*_bias;codec:*=topk:0.1", "lr:a_*=0.5", "1e30", "nan" };
	const uint8_t *space = memchr(p, ' ', n);
	const size_t head = space != NULL ? (size_t)(space - p) + 1 : 0;
	int k;

	if (head == 0 || rng_below(r, 4) == 0)
		return mutate_bytes(p, n, room);
	k = rng_below(r, 2) ? snprintf((char *)p + head, room - head, "%llu\n",
	    (unsigned long long)mutate_number(r, strtoull((char *)p + head, NULL, 10))) :
	    snprintf((char *)p + head, room - head, "%s\n", values[rng_below(r, sizeof(values) / sizeof(values[0]))]);
	return (size_t)k < room - head ? head + (size_t)k : n;
}

/* The hash of the net that follows. */
static size_t
seal_hello(uint8_t *p, size_t n, size_t room)
{
	static const char graph[] = "graph\n", hash[] = "hash ";
	char digits[17];
	uint8_t *at = memmem(p, n, graph, sizeof(graph) - 1), *to = memmem(p, n, hash, sizeof(hash) - 1);

	(void)room;
	if (to != NULL && at != NULL && to + 22 <= at) {
		at += sizeof(graph) - 1;
		snprintf(digits, sizeof(digits), "%016llx",
		    (unsigned long long)hash_update(HASH_START, at, (size_t)(p + n - at)));
		memcpy(to + sizeof(hash) - 1, digits, 16);
	}
	return n;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *p, size_t n, size_t room, unsigned seed)
{
	static const struct mutate_format messages_of = { .head = 1, .part = find_message, .make = make_message },
	    lines = { .head = 1, .part = find_line, .make = make_line, .change = change_line, .seal = seal_hello };

	return mutate_parts(n > 0 && p[0] < sizeof(kinds) / sizeof(kinds[0]) ? &messages_of : &lines, p, n, room, seed);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	if (n < 1)
		return 0;
	if (p[0] < sizeof(kinds) / sizeof(kinds[0]))
		messages(p[0], p + 1, n - 1);
	else if (p[0] == 'h')
		text_of_today(p + 1, n - 1);
	else
		text(p + 1, n - 1);
	return 0;
}
