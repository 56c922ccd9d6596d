/* server_settings_test - how servers decide changes of settings, follow them, and keep them. */
#include "lib/fc_net.h"
#include "tap.h"

#include "base/buf.h"
#include "base/err.h"
#include "ps/hello.h"
#include "ps/server/server_state.h"
#include "ps/settings.h"
#include "ps/stale.h"

#include <stdlib.h>
#include <string.h>

#include "lib/emitted.h"	/* its n would be hidden by parameters of the others */

#define W	2	/* workers */

/* The last change that message i has. */
static struct setting
find_change(uint32_t i)
{
	struct setting c = { .has = 0 };

	if (out[i].type == MSG_SET)
		settings_get_change((const uint8_t *)payload[i] + out[i].len - SETTING_BYTES, &c);
	return c;
}

static int
tell(struct server_state *s, struct msg m)
{
	m.incarnation = 1;
	n = 0;
	return server_state_take(s, &m);
}

static void
hello(struct server_state *s, uint32_t w, uint32_t index, uint32_t slack)
{
	struct graph *g = fc_net();
	struct hello h = { .version = MSG_VERSION, .tally = TALLY_VERSION, .nworkers = W, .nservers = index + 1,
	    .server = index, .slack = slack, .slice = 64, .hash = graph_hash(g) };
	struct buf b = { 0 };

	hello_text(&h, g, &b);
	is(tell(s, (struct msg){ .type = MSG_HELLO, .worker = w, .len = (uint32_t)b.n, .payload = b.p }), 0,
	    "worker %u joins", (unsigned)w);
	buf_free(&b);
	graph_free(g);
}

static struct server_state *
server(uint32_t slack, struct memory *m)
{
	struct server_state_opt o = { .nworkers = W, .nservers = 1, .memory = m, .emit = emit };
	static const float zero[12];
	struct server_state *s;

	if (server_state_new(&o, &s) < 0)
		abort();
	for (uint32_t w = 0; w < W; w++)
		hello(s, w, 0, slack);
	tell(s, (struct msg){ .type = MSG_INIT, .len = sizeof(zero), .payload = zero });
	return s;
}

/* A gradient of ones. */
static int
push(struct server_state *s, uint32_t w, uint64_t step)
{
	const float g[12] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

	return tell(s, (struct msg){ .type = MSG_PUSH, .worker = w, .step = step, .samples = 1, .rate = 1,
	    .len = sizeof(g), .payload = g });
}

static int
ask(struct server_state *s, uint32_t w, const char *text, uint64_t id)
{
	uint8_t b[SETTING_BYTES];
	struct setting c;

	settings_parse_change(text, &c);
	c.id = id;
	settings_put_change(&c, b);
	return tell(s, (struct msg){ .type = MSG_SET, .flags = MSG_EMPTY, .worker = w, .len = sizeof(b), .payload = b });
}

static void
test_sync(void)
{
	struct memory memory = { .fd = -1 };
	struct server_state *s = server(STALE_SYNC, &memory);
	uint8_t b[SETTING_BYTES];

	is(ask(s, 1, "wd=0.5", 7), ERR_FORMAT, "a worker other than 0 cannot ask");
	is(ask(s, 0, "slack=3", 7), ERR_FORMAT, "a synchronous job has no slack");
	is(ask(s, 0, "wd=0.5", 7), 0, "worker 0 asks for another decay");
	ok(n == 2 && to[0] == 0 && to[1] == 1 && find_change(0).from == 1 && find_change(1).from == 1 && find_change(1).number == 1 &&
	    find_change(1).wd == 0.5, "all workers hear that it holds from step 1 on, which none has begun");
	is(ask(s, 0, "wd=0.5", 7), 0, "worker 0 asks again");
	ok(n == 1 && to[0] == 0 && find_change(0).number == 1, "a repeated request is answered and changes nothing");
	push(s, 0, 0);
	push(s, 1, 0);
	ok(n == 2 && out[0].type == MSG_WEIGHTS && payload[0][0] == -1, "step 0 has the decay before");
	server_state_free(s);
	s = server(STALE_SYNC, &memory);
	hello(s, 1, 0, STALE_SYNC);
	ok(n == 2 && out[0].type == MSG_WELCOME && find_change(1).from == 1 && find_change(1).id == 7,
	    "a server that is started again tells what its predecessor decided");
	push(s, 0, 1);
	push(s, 1, 1);
	ok(n == 2 && payload[0][0] == -1.5, "step 1 has the new decay, also in a server that was started again");
	settings_put_change(&(struct setting){ .from = 3, .number = 2, .has = SETTING_WD, .wd = 1 }, b);
	is(tell(s, (struct msg){ .type = MSG_SET, .worker = 1, .len = sizeof(b), .payload = b }), 0,
	    "a worker passes a change on");
	ok(n == 2 && to[0] == 0 && to[1] == 1 && find_change(0).from == 3,
	    "all workers hear of a change that one of them has read");
	is(tell(s, (struct msg){ .type = MSG_SET, .worker = 1, .len = sizeof(b), .payload = b }), 0,
	    "a worker passes the same change on again");
	is(n, 0, "no worker hears of a repetition");
	push(s, 0, 2);
	push(s, 1, 2);
	ok(payload[0][0] == -1.75, "a change does not hold before its step");
	push(s, 0, 3);
	push(s, 1, 3);
	ok(payload[0][0] == -1, "a change holds from its step on");
	server_state_free(s);
	memory_close(&memory);
}

static void
test_slack(void)
{
	struct server_state *s = server(1, NULL);

	push(s, 0, 0);
	push(s, 0, 1);
	is(n, 0, "a worker that is two steps ahead waits with slack 1");
	is(ask(s, 0, "slack=3", 7), 0, "worker 0 asks for slack 3");
	ok(n == 3 && to[0] == 0 && out[0].type == MSG_WEIGHTS && find_change(1).from == 0,
	    "the worker goes on, and both hear of the change from the slowest's step on");
	push(s, 0, 2);
	is(n, 1, "a worker that is three steps ahead goes on");
	is(ask(s, 0, "slack=1", 8), 0, "worker 0 asks for slack 1");
	is(push(s, 0, 3), 0, "a step that had begun is accepted");
	is(n, 0, "the answer to that step waits");
	for (uint64_t step = 0; step < 2; step++) {
		push(s, 1, step);
		ok(n == 1 && to[0] == 1, "the slower worker goes on");
	}
	push(s, 1, 2);
	ok(n == 2 && to[0] == 0 && to[1] == 1, "the faster one goes on when it is within the new slack");
	is(ask(s, 0, "slack=async", 9), 0, "the job becomes asynchronous");
	for (uint64_t step = 4; step < 9; step++)
		push(s, 0, step);
	is(n, 1, "nobody waits any more");
	server_state_free(s);
}

int
main(void)
{
	test_sync();
	test_slack();
	return done();
}
