/* server_state_test - what the state machine of a server answers and refuses. */
#include "lib/fc_net.h"
#include "tap.h"

#include "base/buf.h"
#include "base/err.h"
#include "ps/stale.h"
#include "ps/hello.h"
#include "ps/norms.h"
#include "ps/server/server_state.h"

#include <stdlib.h>

#include "lib/emitted.h"	/* its n would be hidden by parameters of the others */

static uint16_t hello_flags;
static const char *hello_mults = "";

static int
hello(struct server_state *s, uint32_t w, uint64_t incarnation, const char *tally, uint32_t slack)
{
	struct graph *g = fc_net();
	struct hello h = { .version = MSG_VERSION, .nworkers = 2, .nservers = 1, .slack = slack, .slice = 32,
	    .hash = graph_hash(g) };
	struct buf b = { 0 };
	struct msg m = { .type = MSG_HELLO, .flags = hello_flags, .worker = w, .incarnation = incarnation };
	int e;

	snprintf(h.tally, sizeof(h.tally), "%s", tally);
	snprintf(h.mults, sizeof(h.mults), "%s", hello_mults);
	hello_text(&h, g, &b);
	m.len = (uint32_t)b.n;
	m.payload = b.p;
	n = 0;
	e = server_state_take(s, &m);
	buf_free(&b);
	graph_free(g);
	return e;
}

static int
tell(struct server_state *s, struct msg m)
{
	n = 0;
	return server_state_take(s, &m);
}

/* Slice 0 has 8 weights, slice 1 has 4. */
static struct msg
push(uint32_t w, uint64_t step, uint32_t slice, const float *g)
{
	return (struct msg){ .type = MSG_PUSH, .incarnation = 1, .worker = w, .step = step, .slice = slice, .samples = 2,
	    .rate = 0.5f, .len = slice == 0 ? 32 : 16, .payload = g };
}

static struct server_state *
begun(uint32_t slack)
{
	struct server_state_opt o = { .nworkers = 2, .nservers = 1, .emit = emit };
	static const float zero[8];
	struct server_state *s;

	server_state_new(&o, &s);
	hello(s, 0, 1, TALLY_VERSION, slack);
	hello(s, 1, 1, TALLY_VERSION, slack);
	for (uint32_t i = 0; i < 2; i++)
		tell(s, (struct msg){ .type = MSG_INIT, .incarnation = 1, .worker = 1, .slice = i,
		    .len = i == 0 ? 32 : 16, .payload = zero });
	return s;
}

static void
test_hello(void)
{
	struct server_state_opt o = { .nworkers = 2, .nservers = 1, .emit = emit };
	struct server_state *s;

	is(server_state_new(&(struct server_state_opt){ .nworkers = 0, .nservers = 1 }, &s), ERR_LIMIT, "a server needs workers");
	is(server_state_new(&(struct server_state_opt){ .nworkers = 1, .nservers = 2, .index = 2 }, &s), ERR_LIMIT, "index 2 is refused");
	is(server_state_new(&o, &s), 0, "a server is made");
	ok(server_state_plan(s) == NULL && !server_state_sync(s) && server_state_steps(s) == 0, "a new server knows no job");
	is(tell(s, push(0, 0, 0, (float[8]){ 0 })), ERR_FORMAT, "nothing before a hello");
	is_str(err_line(), "worker 0: PUSH without a hello", "the error names the worker");
	is(hello(s, 0, 5, "9.9", 0), ERR_ARG, "another tally");
	ok(server_state_plan(s) == NULL, "no job is learned from another version");
	is(hello(s, 2, 5, TALLY_VERSION, 0), ERR_ARG, "a worker too many is refused");
	is(hello(s, 0, 5, TALLY_VERSION, 0), 0, "a hello is handled");
	ok(n == 1 && to[0] == 0 && out[0].type == MSG_WELCOME && out[0].flags == MSG_EMPTY, "a hello before weights is answered as empty");
	ok(server_state_sync(s) && server_state_plan(s)->n == 2, "the job is learned from the first hello");
	is(hello(s, 0, 5, TALLY_VERSION, 0), 0, "the same hello is handled again");
	is(hello(s, 1, 5, TALLY_VERSION, 3), ERR_ARG, "a hello with another slack is refused");
	is(hello(s, 0, 4, TALLY_VERSION, 0), 0, "another incarnation takes the worker's place");
	is(hello(s, 0, 5, TALLY_VERSION, 0), ERR_ARG, "messages of the older incarnation are refused");
	is(tell(s, (struct msg){ .type = MSG_BYE, .incarnation = 5 }), 0, "a goodbye of the older incarnation is handled");
	ok(n == 0 && !server_state_gone(s, 0), "the goodbye of the older incarnation is ignored");
	is(tell(s, (struct msg){ .type = MSG_PULL, .incarnation = 7 }), ERR_FORMAT, "a message of an unknown incarnation is refused");
	server_state_free(s);
	server_state_free(NULL);
}

static void
test_late(void)
{
	const float g[8] = { 0 };
	struct server_state_opt o = { .nworkers = 2, .nservers = 1, .emit = emit };
	const struct msg sum = { .type = MSG_SUM, .incarnation = 1, .step = 1, .len = 8, .payload = g };
	struct server_state *s;

	server_state_new(&o, &s);
	is(server_state_late(s, 1), MSG_NOBODY, "without a job nobody is late");
	hello(s, 1, 1, TALLY_VERSION, STALE_SYNC);
	tell(s, (struct msg){ .type = MSG_PULL, .incarnation = 1, .worker = 1 });
	is(server_state_late(s, 1), 0, "worker 1 waits for the first weights, from worker 0");
	server_state_free(s);

	s = begun(STALE_SYNC);
	is(server_state_late(s, 1), MSG_NOBODY, "a worker that has asked for nothing waits for nobody");
	tell(s, push(1, 0, 0, g));
	is(server_state_late(s, 1), 0, "worker 1 waits for the gradient of worker 0");
	is(server_state_late(s, 0), MSG_NOBODY, "worker 0 waits for nobody");
	tell(s, push(0, 0, 0, g));
	is(server_state_late(s, 1), MSG_NOBODY, "nobody is late when the step is closed");
	tell(s, sum);
	is(server_state_late(s, 0), 1, "worker 0 waits for the sum's part of worker 1");
	tell(s, (struct msg){ .type = MSG_BYE, .incarnation = 1, .worker = 1 });
	is(server_state_late(s, 0), MSG_NOBODY, "a worker that has left is not late");
	server_state_free(s);

	s = begun(1);
	for (uint64_t t = 0; t < 2; t++)
		tell(s, push(0, t, 0, g));
	is(server_state_late(s, 0), 1, "worker 0 waits for the slowest with bounded staleness");
	server_state_free(s);
}

static void
test_round(void)
{
	const float a[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, b[8] = { 1e8f, 1, 1, 1, 1, 1, 1, 1 };
	struct server_state *s = begun(STALE_SYNC);
	struct msg m;

	is(tell(s, push(1, 0, 0, b)), 0, "rank 1's push");
	is(n, 0, "rank 1's push waits for rank 0's");
	is(tell(s, push(1, 0, 0, b)), 0, "a repeated push changes nothing");
	is(tell(s, push(1, 1, 0, b)), ERR_FORMAT, "a push of the next step is refused before the step is closed");
	is(tell(s, push(0, 0, 0, a)), 0, "rank 0's");
	ok(n == 2 && out[0].type == MSG_WEIGHTS && to[0] == 0 && to[1] == 1 && out[1].step == 1, "closes the step for both");
	ok(payload[1][1] == -0.5f * 3 / 4, "w = - rate * sum / samples");
	is(server_state_steps(s), 0, "slice 1 is still at step 0");
	is(tell(s, push(0, 0, 0, a)), 0, "a push of a closed step is handled");
	ok(n == 1 && out[0].step == 1, "a push of a closed step is answered again");
	is(tell(s, (struct msg){ .type = MSG_PULL, .incarnation = 1, .worker = 1, .step = 0 }), 0, "a pull of the step before is handled");
	ok(n == 1 && out[0].step == 0 && payload[0][1] == 0, "a pull of the step before is served from the other half");

	m = push(1, 0, 1, a);
	m.samples = 0;
	m.len = 0;
	m.flags = MSG_EMPTY;
	is(tell(s, m), 0, "a push without samples is handled");
	is(tell(s, push(0, 0, 1, a)), 0, "a push with samples beside one without is handled");
	ok(n == 2 && payload[0][0] == -0.5f / 2, "the sum is divided by the samples there are");
	is(server_state_steps(s), 1, "all slices are at step 1");
	is(tell(s, (struct msg){ .type = MSG_PULL, .flags = MSG_STATE_OF, .incarnation = 1, .slice = 1 }), 0, "a pull of state is handled");
	ok(n == 1 && out[0].type == MSG_STATE && out[0].len == 16, "optimizer state is returned");
	server_state_free(s);
}

/* None of these may change anything: the round after them comes out as if they had not been. */
static void
test_wrong(void)
{
	const float a[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct server_state *s = begun(STALE_SYNC);
	struct msg m;

#define WRONG(change, what) do { m = push(1, 0, 0, a); change; is(tell(s, m), ERR_FORMAT, what); } while (0)
	WRONG(m.slice = 2, "a slice beyond the last");
	WRONG(m.slice = UINT32_MAX, "a slice far beyond the last");
	WRONG(m.len = 28, "too short");
	WRONG(m.len = 36, "too long");
	WRONG(m.step = 1, "a step ahead");
	WRONG(m.step = UINT64_MAX, "a step far ahead");
	WRONG(m.samples = 0, "no samples and a payload");
	WRONG(m.flags = MSG_EMPTY, "samples and none");
	WRONG(m.rate = NAN, "a rate that is NaN");
	WRONG(m.type = MSG_WEIGHTS, "a server's message");
	WRONG((m.type = MSG_INIT, m.len = 28), "first weights that are too short");
	WRONG((m.type = MSG_SUM, m.len = 12), "a sum of one number and a half");
	m = push(1, 0, 0, a);
	m.worker = 2;
	is(tell(s, m), ERR_ARG, "a worker there is not");
	is(tell(s, push(0, 0, 0, a)), 0, "a right one");
	m = push(1, 0, 0, a);
	m.rate = 0.25f;
	is(tell(s, m), ERR_FORMAT, "a push with another rate than the others' is refused");
	is(tell(s, push(1, 0, 0, a)), 0, "a push with the same rate is handled");
	ok(n == 2 && payload[0][3] == -0.5f * 8 / 4, "a refused push changes nothing of the step");
	server_state_free(s);
}

/* A gradient is received in a buffer of the server, which may break off. */
static void
test_place(void)
{
	const float a[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct server_state *s = begun(STALE_SYNC);
	struct msg m = push(1, 0, 0, NULL);
	float *g = server_state_place(s, &m);

	ok(g != NULL, "a server has a place for a gradient before it has arrived");
	for (int i = 0; g != NULL && i < 8; i++)
		g[i] = 1e9f;
	ok(server_state_place(s, &m) == g, "a gradient that is sent again has the same place");
	m.incarnation = 2;
	ok(server_state_place(s, &m) == NULL, "another incarnation has none");
	m.incarnation = 1;
	m.step = 1;
	ok(server_state_place(s, &m) == NULL, "a gradient of another step has none");
	m.step = 0;
	m.len = 28;
	ok(server_state_place(s, &m) == NULL, "a gradient of another size has none");
	m.len = 32;
	tell(s, push(0, 0, 0, a));
	server_state_lost(s, 1);
	ok(payload[0][3] == -0.5f * 4 / 2, "a gradient that broke off is not added when its worker is lost");
	ok(server_state_place(s, &m) == NULL, "a worker that is lost has no place");
	server_state_free(s);
}

/* A gradient that a worker lends is read when it is added, but when the loan ends. */
static void
test_lent(bool ends)
{
	float a[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct server_state *s = begun(STALE_SYNC);
	struct msg m[2] = { push(0, 0, 0, a), push(1, 0, 0, a) };

	m[0].lasting = m[1].lasting = true;
	ok(tell(s, m[0]) == 0 && (!ends || server_state_keep(s, 0) == 0), "a gradient is lent, and its loan ends: %d", ends);
	a[3] = 6;
	ok(tell(s, m[1]) == 0 && payload[0][3] == -0.5f * (ends ? 4 + 6 : 6 + 6) / 4, "a gradient whose loan has ended is read then");
	server_state_free(s);
}

static void
test_leave(void)
{
	const float a[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	const double v[2] = { 1, 2 };
	struct server_state *s = begun(STALE_SYNC);
	struct msg m, sum = { .type = MSG_SUM, .incarnation = 1, .len = 16, .payload = v };

	tell(s, push(0, 0, 0, a));
	is(n, 0, "a worker waits");
	is(tell(s, sum), 0, "a worker that waits for a sum is known");
	is(tell(s, (struct msg){ .type = MSG_BYE, .incarnation = 1, .worker = 1 }), 0, "the other says goodbye");
	ok(n == 3 && out[0].type == MSG_WEIGHTS && out[0].step == 1 && out[1].type == MSG_TOTAL && out[2].type == MSG_BYE,
	    "nothing waits for a worker that left");
	ok(!server_state_over(s), "a job in which one worker is left is not over");
	server_state_lost(s, 0);
	ok(server_state_over(s), "lost is gone too");
	is(hello(s, 1, 2, TALLY_VERSION, STALE_SYNC), ERR_ARG, "a worker that left does not come back");
	ok(n == 0 && server_state_over(s), "nobody waits for it");
	is(hello(s, 0, 2, TALLY_VERSION, STALE_SYNC), 0, "a worker that was lost may come back");
	ok(n == 1 && out[0].type == MSG_WELCOME && !server_state_over(s), "a worker that returns is welcome");
	m = push(0, 1, 0, a);
	m.incarnation = 2;
	is(tell(s, m), 0, "a worker that came back pushes to the open step");
	ok(n == 1 && out[0].step == 2, "a worker that came back closes the step alone");
	hello_flags = MSG_LAST;
	is(hello(s, 1, 2, TALLY_VERSION, STALE_SYNC), 0, "a worker that left may say goodbye again");
	hello_flags = 0;
	is(tell(s, (struct msg){ .type = MSG_BYE, .incarnation = 2, .worker = 1 }), 0, "a repeated goodbye is handled");
	ok(n == 1 && out[0].type == MSG_BYE, "a repeated goodbye is answered again");
	server_state_free(s);
	s = begun(STALE_ASYNC);
	tell(s, (struct msg){ .type = MSG_BYE, .incarnation = 1, .worker = 1 });
	is(hello(s, 1, 2, TALLY_VERSION, STALE_ASYNC), 0, "a worker that left an asynchronous job may come back");
	server_state_free(s);

	s = begun(STALE_ASYNC);
	is(tell(s, push(0, 0, 0, a)), 0, "asynchronous: a push is handled");
	ok(n == 1 && to[0] == 0 && out[0].step == 1 && payload[0][0] == -0.25f, "asynchronous: a push is applied and answered alone");
	is(tell(s, push(0, 0, 0, a)), 0, "asynchronous: a repeated push is handled");
	ok(n == 1 && payload[0][0] == -0.25f, "a repeated push is answered, but not applied");
	is(tell(s, (struct msg){ .type = MSG_STOP, .incarnation = 1, .worker = 1 }), 0, "a stop");
	tell(s, push(0, 1, 0, a));
	ok(n == 1 && out[0].flags == MSG_LAST, "the stop is announced with the next answer");
	server_state_free(s);
}

/* Server 0 of 2 with clipping by norm: it has slice 0, of 6 of 12 weights. */
static struct server_state *
normed(uint32_t slack, int *e)
{
	struct server_state_opt o = { .nworkers = 2, .nservers = 2, .emit = emit };
	struct graph *g = fc_net();
	struct hello h = { .version = MSG_VERSION, .tally = TALLY_VERSION, .nworkers = 2, .nservers = 2, .slice = 32,
	    .slack = slack, .hyper = { .clip_norm = 1 }, .hash = graph_hash(g) };
	struct buf b = { 0 };
	struct server_state *s;

	server_state_new(&o, &s);
	hello_text(&h, g, &b);
	for (uint32_t w = 0; w < 2; w++)
		*e = server_state_take(s, &(struct msg){ .type = MSG_HELLO, .worker = w, .incarnation = 1, .len = (uint32_t)b.n,
		    .payload = b.p });
	buf_free(&b);
	graph_free(g);
	return s;
}

static void
test_norms(void)
{
	static const float zero[6], g[6] = { 6, 0, 0, -8 };
	uint8_t bytes[NORM_BYTES] = { 0 };
	struct msg total = { .type = MSG_NORMS, .incarnation = 1, .worker = 1, .len = NORM_BYTES, .payload = bytes };
	struct norm sum = { { 0 } }, part;
	struct server_state *s;
	struct msg m;
	int e;

	s = normed(1, &e);
	is(e, ERR_ARG, "norms with a slack: %s", err_line());
	server_state_free(s);
	s = normed(0, &e);
	is(e, 0, "a job that needs norms");
	tell(s, (struct msg){ .type = MSG_INIT, .incarnation = 1, .len = 24, .payload = zero });
	m = push(0, 0, 0, g);
	m.len = 24;
	is(tell(s, m), 0, "a push");
	ok(n == 0, "the first push does not close the step");
	is(tell(s, total), 0, "norms that come before the gradients");
	ok(n == 0, "norms before the gradients change nothing");
	m.worker = 1;
	is(tell(s, m), 0, "the other");
	ok(n == 2 && out[0].type == MSG_NORMS && out[1].type == MSG_NORMS && to[0] != to[1] && out[0].len == NORM_BYTES,
	    "each server sends its part of the norms before any weights");
	norm_add(&sum, (float[]){ 12, -16 }, 2);
	norm_get(&part, (const uint8_t *)payload[0]);
	near(norm_root(&part), 20, 0, "the part has the norm of the sum");
	is(tell(s, m), 0, "the push again");
	ok(n == 0, "a repeated push changes nothing");
	m.step = 1;
	is(tell(s, m), ERR_FORMAT, "a push of the next step is refused before the total: %s", err_line());
	norm_add(&sum, (float[]){ 15 }, 1);	/* on the other server */
	norm_put(&sum, bytes);
	total.len--;
	is(tell(s, total), ERR_FORMAT, "norms of another length");
	total.len++;
	is(tell(s, total), 0, "the total");
	ok(n == 2 && out[0].type == MSG_WEIGHTS && out[0].step == 1, "the total norms close the step");
	near(payload[0][0], -0.5 * 3 / (25.0 / 4 + 1e-6), 1e-6, "the gradient is clipped to a norm of 1");
	is(tell(s, total), 0, "the total from another worker");
	ok(n == 0, "the total of another worker changes nothing");
	total.step = 2;
	is(tell(s, total), ERR_FORMAT, "norms of a later step are refused");
	server_state_free(s);
	s = begun(STALE_SYNC);
	is(tell(s, total), ERR_FORMAT, "a server whose optimizer needs no norms refuses them");
	server_state_free(s);
}

/* Pushes step `step` of slice 0 from both workers, with gradients of ones in the bytes of bf16. */
static void
push_ones(struct server_state *s, uint64_t step)
{
	uint16_t one[8];

	for (int i = 0; i < 8; i++)
		one[i] = 0x3f80;
	for (uint32_t w = 0; w < 2; w++) {
		struct msg m = push(w, step, 0, NULL);

		m.len = sizeof(one);
		m.payload = one;
		(w == 0 ? tell(s, m) : server_state_take(s, &m));
	}
}

/* Pushes a gradient of which one number is sent, from worker w. */
static int
push_number(struct server_state *s, uint32_t w, uint64_t step, uint32_t at, float value)
{
	struct { uint32_t at; float value; } sent = { at, value };
	struct msg m = push(w, step, 0, NULL);

	m.len = sizeof(sent);
	m.payload = &sent;
	return server_state_take(s, &m);
}

/* The same from both workers. */
static void
push_numbers(struct server_state *s, uint64_t step, uint32_t at, float value)
{
	n = 0;
	for (uint32_t w = 0; w < 2; w++)
		push_number(s, w, step, at, value);
}

static uint32_t
payload_index(uint32_t i)
{
	uint32_t at;

	memcpy(&at, payload[i], sizeof(at));
	return at;
}

static void
test_codec(void)
{
	struct server_state *s;
	const void *sent;

	hello_mults = "codec:*=bf16";
	s = begun(STALE_SYNC);
	push_ones(s, 0);
	ok(n == 2 && out[0].type == MSG_WEIGHTS && out[0].len == 16 && to[0] != to[1], "both workers get weights as bf16");
	ok(out[0].payload == out[1].payload && out[0].lasting && out[1].lasting,
	    "weights are encoded once, and queued by reference");
	is(((const uint16_t *)out[0].payload)[7], 0xbe80, "each is a quarter less after one step of rate 0.5");
	sent = out[0].payload;
	push_ones(s, 1);
	ok(n == 2 && out[0].payload == out[1].payload && out[0].payload != sent, "the next update has other bytes");
	is(((const uint16_t *)sent)[7], 0xbe80, "the bytes of the update before stay for as long as a worker may need them");
	push_ones(s, 2);
	is(((const uint16_t *)out[0].payload)[7], 0xbf40, "each update is encoded anew");
	server_state_free(s);
	s = begun(STALE_ASYNC);
	push_ones(s, 0);
	ok(n == 2 && !out[0].lasting && !out[1].lasting && ((const uint16_t *)out[1].payload)[0] == 0xbf00,
	    "weights of an asynchronous job are copied, as other workers' pushes change them");
	server_state_free(s);
	hello_mults = "codec:*=topk:0.125";
	s = begun(STALE_SYNC);
	push_numbers(s, 0, 2, 4);
	ok(n == 2 && out[0].len == 8 && out[0].payload == out[1].payload && !(out[0].flags & MSG_EXACT),
	    "both workers get the same update of the largest weight");
	ok(payload_index(0) == 2 && payload[0][1] == -1, "an update has the index, and how much the weight changes");
	push_numbers(s, 1, 5, 2);
	ok(payload_index(0) == 5 && payload[0][1] == -0.5f, "the next update does not repeat it");
	tell(s, (struct msg){ .type = MSG_PULL, .incarnation = 1, .step = 2 });
	ok(n == 1 && out[0].flags & MSG_EXACT && out[0].len == 32 && payload[0][2] == -1 && payload[0][5] == -0.5f,
	    "a pull is answered with all that workers hold");
	tell(s, (struct msg){ .type = MSG_PULL, .incarnation = 1, .step = 1 });
	ok(n == 1 && out[0].flags & MSG_EXACT && payload[0][2] == -1 && payload[0][5] == 0, "a pull of the step before is answered, too");
	is(tell(s, push(0, 2, 0, (float[8]){ 0 })), ERR_FORMAT, "a gradient of another length is refused");
	is(push_number(s, 0, 2, 8, 1), ERR_FORMAT, "an index beyond the slice is refused");
	is_str(err_line(), "worker 0: push of slice 0 has invalid indices", "the line says that the indices are invalid");
	is(tell(s, (struct msg){ .type = MSG_PUSH, .flags = MSG_LENT, .incarnation = 1, .step = 2, .samples = 1, .len = 8,
	    .payload = &(uint64_t){ 0 }, .lasting = true }), ERR_FORMAT, "an update in memory that its worker can still change is refused");
	is(push_number(s, 0, 2, 7, 1), 0, "a valid push is accepted after the refused ones");
	server_state_free(s);
	hello_mults = "";
}

int
main(void)
{
	test_codec();
	test_norms();
	test_hello();
	test_late();
	test_round();
	test_wrong();
	test_place();
	test_lent(false);
	test_lent(true);
	test_leave();
	return done();
}
