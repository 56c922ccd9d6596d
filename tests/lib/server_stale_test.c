/* server_stale_test - how far behind a server says that gradients were, and which it drops. */
#include "lib/fc_net.h"
#include "tap.h"

#include "base/buf.h"
#include "base/err.h"
#include "ps/hello.h"
#include "ps/server/server_state.h"
#include "ps/stale.h"

#include <stdlib.h>

#include "lib/emitted.h"	/* its n would be hidden by parameters of the others */

#define W	3	/* workers */

static int
tell(struct server_state *s, struct msg m)
{
	m.incarnation = 1;
	n = 0;
	return server_state_take(s, &m);
}

/* Slice 0 has 8 weights, slice 1 has 4. */
static struct server_state *
begun(struct hello h)
{
	struct server_state_opt o = { .nworkers = W, .nservers = 1, .emit = emit };
	static const float zero[8];
	struct graph *g = fc_net();
	struct buf b = { 0 };
	struct server_state *s;

	h.version = MSG_VERSION;
	h.nworkers = W;
	h.nservers = 1;
	h.slice = 32;
	h.hash = graph_hash(g);
	snprintf(h.tally, sizeof(h.tally), "%s", TALLY_VERSION);
	if (server_state_new(&o, &s) < 0 || hello_text(&h, g, &b) < 0)
		abort();
	for (uint32_t w = 0; w < W; w++)
		is(tell(s, (struct msg){ .type = MSG_HELLO, .worker = w, .len = (uint32_t)b.n, .payload = b.p }), 0,
		    "worker %u joins", (unsigned)w);
	for (uint32_t i = 0; i < 2; i++)
		tell(s, (struct msg){ .type = MSG_INIT, .slice = i, .len = i == 0 ? 32 : 16, .payload = zero });
	buf_free(&b);
	graph_free(g);
	return s;
}

static int
push_of(struct server_state *s, uint32_t w, uint64_t step, float v)
{
	const float g[8] = { v, v, v, v, v, v, v, v };

	return tell(s, (struct msg){ .type = MSG_PUSH, .worker = w, .step = step, .samples = 1, .rate = 1, .len = 32,
	    .payload = g });
}

static int
push(struct server_state *s, uint32_t w, uint64_t step)
{
	return push_of(s, w, step, 1);
}

static void
test_async(void)
{
	struct server_state *s = begun((struct hello){ .slack = STALE_ASYNC });

	tell(s, (struct msg){ .type = MSG_PULL, .worker = 1 });
	ok(n == 1 && out[0].rate == MSG_UNKNOWN, "the answer to a pull has no staleness");
	push(s, 0, 0);
	ok(n == 1 && out[0].rate == 0, "the gradient of the first weights is not stale");
	push(s, 0, 1);
	push(s, 1, 0);
	ok(n == 1 && to[0] == 1 && out[0].rate == 2, "a gradient is as stale as there were updates since its pull");
	push(s, 1, 0);
	ok(n == 1 && out[0].rate == MSG_UNKNOWN, "a repeated gradient is not counted again");
	push(s, 0, 2);
	ok(n == 1 && out[0].rate == 1, "the next gradient counts from the answer to the one before");
	server_state_free(s);
}

/* The answer waits for the slowest, and has the staleness at the arrival of the gradient. */
static void
test_slack(void)
{
	struct server_state *s = begun((struct hello){ .slack = 1 });

	for (uint32_t w = 1; w < W; w++)
		tell(s, (struct msg){ .type = MSG_PULL, .worker = w });
	push(s, 0, 0);
	push(s, 0, 1);
	is(n, 0, "a worker that is two steps ahead waits");
	push(s, 1, 0);
	ok(n == 1 && to[0] == 1 && out[0].rate == 2, "the answer to the slower one says how far behind its gradient was");
	push(s, 2, 0);
	ok(n == 2 && to[0] == 0 && out[0].rate == 0 && out[0].samples == 4 && to[1] == 2 && out[1].rate == 3,
	    "a delayed answer says how far behind the gradient was when it arrived");
	ok(!out[0].lasting && !out[1].lasting, "a half is not lent with slack, as an update may overwrite it");
	server_state_free(s);
}

static void
test_backup(void)
{
	struct server_state *s = begun((struct hello){ .slack = STALE_SYNC, .backup = 1 });
	const struct msg empty = { .type = MSG_PUSH, .flags = MSG_EMPTY, .worker = 0, .step = 2, .rate = 1 };

	push_of(s, 2, 0, 6);
	is(n, 0, "a step does not close with one of three gradients");
	push_of(s, 2, 0, 6);
	is(n, 0, "a repeated gradient does not close it");
	push_of(s, 0, 0, 2);
	ok(n == 2 && to[0] == 0 && to[1] == 2 && out[0].step == 1 && out[0].rate == 0 && payload[0][0] == -4,
	    "a step closes with two of three gradients");
	ok(push_of(s, 1, 0, 99) == 0 && n == 1 && to[0] == 1 && out[0].step == 1 && out[0].rate == 1 && payload[0][0] == -4,
	    "a late gradient is dropped, and answered with the newest weights and how late it was");
	push_of(s, 1, 0, 99);
	ok(n == 1 && out[0].step == 1 && out[0].rate == MSG_UNKNOWN, "a late gradient that is repeated is not counted again");
	push_of(s, 1, 1, 1);
	push_of(s, 0, 1, 1);
	ok(n == 2 && out[0].step == 2 && payload[0][0] == -5, "a worker that was late takes part in the next step");
	is(push_of(s, 2, 3, 1), ERR_FORMAT, "a gradient of a step that is not open is refused");
	tell(s, (struct msg){ .type = MSG_PULL, .worker = 2, .step = 1 });
	ok(n == 1 && out[0].step == 2 && payload[0][0] == -5, "a pull gets the newest weights, not those of the step before");
	tell(s, empty);
	push_of(s, 1, 2, 3);
	is(n, 0, "a worker without samples is no gradient: the step waits for the third");
	push_of(s, 2, 2, 5);
	ok(n == 3 && out[0].step == 3 && payload[0][0] == -9, "a step closes when all have pushed, however few gradients these are");
	push_of(s, 0, 3, 1);
	is(n, 0, "the first gradient of the next step waits");
	tell(s, (struct msg){ .type = MSG_BYE, .worker = 2 });
	is(n, 1, "a goodbye closes no step while another worker is missing");
	tell(s, (struct msg){ .type = MSG_BYE, .worker = 1 });
	ok(n == 2 && out[0].type == MSG_WEIGHTS && out[0].step == 4 && payload[0][0] == -10,
	    "a step closes when nobody is left to wait for");
	server_state_free(s);
}

static void
test_backup_refused(void)
{
	struct hello h = { .nworkers = 2, .backup = 1 };

	is(hello_check_workers(&h), 0, "a synchronous job may have backup workers");
	h.slack = 1;
	is(hello_check_workers(&h), ERR_ARG, "a job with a slack has none");
	h.slack = STALE_SYNC;
	snprintf(h.mults, sizeof(h.mults), "codec:*=bf16");
	is(hello_check_workers(&h), ERR_ARG, "a job with a codec has none");
}

int
main(void)
{
	test_backup();
	test_backup_refused();
	test_async();
	test_slack();
	return done();
}
