/* server_deal_test - how a server counts the workers of an elastic job, and what it tells them. */
#include "lib/fc_net.h"
#include "tap.h"

#include "base/buf.h"
#include "base/err.h"
#include "ps/deal.h"
#include "ps/hello.h"
#include "ps/server/server_state.h"
#include "ps/stale.h"

#include <stdlib.h>

#include "lib/emitted.h"	/* its n would be hidden by parameters of the others */

#define W	4	/* most workers */

static struct server_state *
server(struct memory *m, uint32_t index)
{
	struct server_state_opt o = { .nworkers = W, .elastic = 2, .nservers = 2, .index = index, .memory = m, .emit = emit };
	struct server_state *s;

	return server_state_new(&o, &s) == 0 ? s : NULL;
}

static uint16_t hello_flags;

static int
hello(struct server_state *s, uint32_t index, uint32_t w, uint32_t elastic, uint32_t slack)
{
	struct graph *g = fc_net();
	struct hello h = { .version = MSG_VERSION, .tally = TALLY_VERSION, .nworkers = W, .elastic = elastic, .nservers = 2,
	    .server = index, .slack = slack, .slice = 32, .hash = graph_hash(g) };
	struct buf b = { 0 };
	int e;

	hello_text(&h, g, &b);
	n = 0;
	e = server_state_take(s, &(struct msg){ .type = MSG_HELLO, .flags = hello_flags, .worker = w, .incarnation = 1,
	    .len = (uint32_t)b.n, .payload = b.p });
	buf_free(&b);
	graph_free(g);
	return e;
}

static int
tell(struct server_state *s, struct msg m)
{
	m.incarnation = 1;
	n = 0;
	return server_state_take(s, &m);
}

/* What worker w was told about changes, as "0:2 7:3 ". */
static const char *
deals(uint32_t w)
{
	static char text[256];
	size_t at = 0;

	text[0] = 0;
	for (uint32_t i = 0; i < n; i++)
		if (to[i] == w && out[i].type == MSG_DEAL)
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%llu:%u ", (unsigned long long)out[i].step, out[i].samples);
	return text;
}

static struct msg
push(uint32_t w, uint64_t step, uint32_t slice)
{
	static const float g[8];

	return (struct msg){ .type = MSG_PUSH, .worker = w, .step = step, .slice = slice, .samples = 1, .rate = 1,
	    .len = 24, .payload = g };
}

int
main(void)
{
	static const float zero[8];
	struct memory memory = { .fd = -1 };
	struct server_state *s = server(&memory, 0), *other = server(NULL, 1);

	is(hello(s, 0, 0, 0, STALE_ASYNC), ERR_ARG, "a worker that knows no change of their number is refused");
	is_str(strstr(err_line(), "elastic is"), "elastic is 2 here and 0 there", "the error names both numbers");
	is(hello(s, 0, 0, 2, STALE_SYNC), ERR_ARG, "a synchronous job is refused");
	is(hello(s, 0, 0, 2, STALE_ASYNC), 0, "worker 0 joins");
	is_str(deals(0), "0:2 ", "worker 0 hears that two workers begin, although one is not there yet");
	is(out[0].type, MSG_WELCOME, "the welcome comes first");
	is(tell(s, (struct msg){ .type = MSG_INIT, .slice = 0, .len = 24, .payload = zero }), 0, "the weights arrive");
	hello(s, 0, 1, 2, STALE_ASYNC);
	is_str(deals(1), "0:2 ", "worker 1 hears the same");
	is_str(deals(0), "", "worker 0 hears nothing new");
	is(tell(s, push(0, 0, 0)), 0, "worker 0 pushes batch 0");
	is(tell(s, push(0, 2, 0)), 0, "worker 0 pushes batch 2, as batch 1 is another's");
	is(tell(s, push(0, 0, 0)), 0, "batch 0 again is a repetition");
	ok(n == 1 && out[0].type == MSG_WEIGHTS && out[0].step == 3 && out[0].samples == 2, "a repetition does not count");
	is(tell(s, push(0, DEAL_BATCHES, 0)), ERR_FORMAT, "a number beyond the greatest is refused");
	hello(s, 0, 3, 2, STALE_ASYNC);
	is_str(deals(3), "0:2 9:4 ", "a worker that joins hears all changes");
	is_str(deals(0), "9:4 ", "the others hear that there are four from a batch on that none has begun");
	hello(s, 0, 2, 2, STALE_ASYNC);
	is_str(deals(0), "", "worker 2 was counted with worker 3");
	is(tell(s, (struct msg){ .type = MSG_BYE, .worker = 3 }), 0, "worker 3 leaves");
	is_str(deals(1), "25:3 ", "the others hear that there are three");
	ok(!server_state_over(s), "the server goes on");
	server_state_free(s);
	s = server(&memory, 0);
	hello(s, 0, 1, 2, STALE_ASYNC);
	is_str(deals(1), "0:2 9:4 25:3 ", "a server that is started again tells all changes");
	hello_flags = MSG_LAST;
	is(hello(s, 0, 3, 2, STALE_ASYNC), 0, "a successor of worker 3 says goodbye again");
	hello_flags = 0;
	is_str(deals(1), "", "a worker that says goodbye again is not counted");
	ok(server_state_gone(s, 3), "a worker that says goodbye again stays gone");
	is(tell(s, (struct msg){ .type = MSG_BYE, .worker = 3 }), 0, "the second goodbye is handled");
	ok(n == 1 && to[0] == 3 && out[0].type == MSG_BYE, "the second goodbye is answered");
	n = 0;
	server_state_lost(s, 2);
	is_str(deals(1), "40:2 ", "a worker that is lost is not counted");
	hello(s, 0, 0, 2, STALE_ASYNC);
	tell(s, (struct msg){ .type = MSG_BYE, .worker = 0 });
	is_str(deals(1), "", "a worker of a lower rank that leaves changes no number");
	tell(s, (struct msg){ .type = MSG_BYE, .worker = 1 });
	ok(server_state_over(s), "the server ends without the workers that may join");
	hello(other, 1, 0, 2, STALE_ASYNC);
	is_str(deals(0), "", "other servers count nobody");
	server_state_free(s);
	server_state_free(other);
	memory_close(&memory);
	return done();
}
