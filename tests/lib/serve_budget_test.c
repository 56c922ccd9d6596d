/* serve_budget_test - what a server keeps for a worker that asks for much and reads late: a budget, and then all of it. */
#include "tap.h"

#include "base/err.h"
#include "ps/hello.h"
#include "ps/server/serve.h"
#include "wire/addr.h"
#include "wire/conn.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define IN	1024u
#define OUT	2048u		/* IN * OUT weights: 8 MB */
#define SLICE	524288u
#define SLICES	16u
#define ROUNDS	60u		/* in which all slices are asked for: 480 MB, if each were answered */
#define BUDGET	300000L		/* KiB that the process may grow by; sanitizers keep what is freed */

static struct {
	struct serve_opt  opt;
	struct serve_sums sums;
	uint8_t		  key[CONN_KEY];
	char		  where[ADDR_TEXT];
	int		  told[2], err;
} server;

static void
listening(void *arg, const char *where)
{
	(void)arg;
	snprintf(server.where, sizeof(server.where), "%s", where);
	(void)!write(server.told[1], "!", 1);
}

static void *
serve(void *arg)
{
	server.err = serve_run(&server.opt, &server.sums);
	return arg;
}

static struct graph *
net(void)
{
	struct graph *g = graph_new(1, 1, IN);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = OUT }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

static void
run_once(struct conn *c)
{
	if (poll(&(struct pollfd){ .fd = conn_fd(c), .events = conn_events(c) }, 1, -1) >= 0 && conn_run(c) < 0)
		printf("Bail out! %s\n", err_line()), exit(1);
}

/* Says m, and does not read. */
static void
say(struct conn *c, const struct msg *m)
{
	if (conn_send(c, m) < 0)
		printf("Bail out! %s\n", err_line()), exit(1);
	while (conn_queued(c) > 0)
		run_once(c);
}

static void
hear(struct conn *c, struct msg *m)
{
	while (!conn_next(c, m))
		run_once(c);
}

static void
say_hello(struct conn *c, const struct graph *g)
{
	struct hello h = { .version = MSG_VERSION, .tally = TALLY_VERSION, .nworkers = 1, .nservers = 1, .slice = SLICE,
	    .hash = graph_hash(g) };
	struct buf b = { 0 };
	struct msg m;

	hello_text(&h, g, &b);
	say(c, &(struct msg){ .type = MSG_HELLO, .incarnation = 7, .len = (uint32_t)b.n, .payload = b.p });
	hear(c, &m);
	is(m.type, MSG_WELCOME, "a worker is welcome");
	buf_free(&b);
}

static long
peak_kib(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return used.ru_maxrss;
}

int
main(void)
{
	struct msg ask = { .type = MSG_PULL, .incarnation = 7 }, m;
	float *w = malloc(SLICE);
	struct graph *g = net();
	unsigned good = 0, all = 0;
	pthread_t thread;
	struct conn *c;
	long before;
	char one;

	(void)!pipe(server.told);
	conn_key_new(server.key);
	server.opt = (struct serve_opt){ .listen = "127.0.0.1:0", .nworkers = 1, .nservers = 1, .key = server.key,
	    .stop_fd = eventfd(0, EFD_CLOEXEC), .listening = listening };
	pthread_create(&thread, NULL, serve, NULL);
	(void)!read(server.told[0], &one, 1);
	if (conn_dial(server.where, server.key, CONN_WORKER, &c) < 0)
		printf("Bail out! %s\n", err_line()), exit(1);
	say_hello(c, g);
	for (uint32_t i = 0; i < SLICES; i++) {
		for (uint32_t k = 0; k < SLICE / sizeof(*w); k++)
			w[k] = (float)(i + 1);
		say(c, &(struct msg){ .type = MSG_INIT, .incarnation = 7, .slice = i, .len = SLICE, .payload = w });
	}
	before = peak_kib();
	for (uint32_t i = 0; i < ROUNDS * SLICES; i++) {
		ask.slice = i % SLICES;
		say(c, &ask);
	}
	say(c, &(struct msg){ .type = MSG_BYE, .incarnation = 7 });
	for (hear(c, &m); m.type == MSG_WEIGHTS; hear(c, &m), all++)
		good += m.len == SLICE && m.slice < SLICES && ((const float *)m.payload)[SLICE / sizeof(*w) - 1] == (float)(m.slice + 1);
	ok(all >= SLICES && all <= ROUNDS * SLICES && good == all, "each slice comes, with its weights: %u answers", all);
	is(m.type, MSG_BYE, "the goodbye follows the answers");
	ok(peak_kib() - before < BUDGET, "the server kept no more than a budget for it: %ld KiB", peak_kib() - before);
	conn_close(c);
	pthread_join(thread, NULL);
	is(server.err, 0, "the server ends well");
	close(server.opt.stop_fd);
	graph_free(g);
	free(w);
	return done();
}
