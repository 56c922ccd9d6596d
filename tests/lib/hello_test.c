/* hello_test - a job's description there and back, and what a stranger's may be. */
#include "tap.h"

#include "base/err.h"
#include "ps/stale.h"
#include "ps/hello.h"
#include "wire/msg.h"

#include <stdlib.h>

static struct graph *
net(void)
{
	struct graph *g = graph_new(1, 2, 3);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 4 }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

/* The job's text with one piece of it replaced. */
static int
with(const struct buf *text, const char *old, const char *new)
{
	struct buf b = { 0 };
	const char *at = strstr((char *)text->p, old);
	struct graph *g;
	struct hello j;
	int e;

	buf_put(&b, text->p, (size_t)(at - (char *)text->p));
	buf_put(&b, new, strlen(new));
	buf_put(&b, at + strlen(old), strlen(at + strlen(old)));
	e = hello_parse((char *)b.p, b.n, &j, &g);
	graph_free(g);
	buf_free(&b);
	return e;
}

int
main(void)
{
	struct graph *g = net(), *h;
	struct hello j = { .version = MSG_VERSION, .tally = "0.1", .nworkers = 3, .nservers = 2, .server = 1, .slack = 4,
	    .slice = 65536, .hyper = { .rule = OPT_ADAMW, .momentum = 0.9f,
	    .wd = 1e-4f, .clip = 0.1f, .l1 = 0.2f, .beta2 = 0.999f, .eps = 1e-8f, .clip_norm = 2.5f, .trust = 0.02f,
	    .turns = 7, .unit = true,
	    .average = { AVERAGE_LOOKAHEAD, 0.25f, 6 } }, .mults = "lr:fc*=10;wd:*_bias=0",
	    .hash = graph_hash(g) }, k;
	struct buf text = { 0 };
	unsigned bad = 0;

	is(hello_text(&j, g, &text), 0, "a job as text");
	buf_terminate(&text);
	ok(strncmp((char *)text.p, "job 10\ntally 0.1\nworkers 3\nelastic 0\nservers 2\nserver 1\nslack 4\n", 62) == 0,
	    "the text has a line for each value");
	is(hello_parse((char *)text.p, text.n, &k, &h), 0, "the text is parsed again");
	is(graph_hash(h), j.hash, "the parsed text has the same net");
	ok(k.hyper.momentum == 0.9f && k.hyper.wd == 1e-4f && k.hyper.clip == 0.1f &&
	    k.hyper.rule == OPT_ADAMW && k.hyper.l1 == 0.2f && k.hyper.beta2 == 0.999f && k.hyper.eps == 1e-8f,
	    "the parsed text has the bits of the rates");
	ok(k.hyper.clip_norm == 2.5f && k.hyper.trust == 0.02f && k.hyper.turns == 7 && k.hyper.unit &&
	    k.hyper.average.kind == AVERAGE_LOOKAHEAD && k.hyper.average.rate == 0.25f && k.hyper.average.every == 6,
	    "the parsed text has all options of the average");
	is_str(k.mults, "lr:fc*=10;wd:*_bias=0", "the parsed text has the rules of the arrays");
	is(hello_same(&j, &k), 0, "the same job");
	k.slack = STALE_ASYNC;
	is(hello_same(&j, &k), ERR_ARG, "another slack is another job");
	is_str(err_line(), "slack is 4 here and async there", "the error names both values");
	k.slack = 4;
	k.hyper.clip_norm = 2;
	is(hello_same(&j, &k), ERR_ARG, "%s", err_line());
	k.hyper.clip_norm = 2.5f;
	k.hash++;
	is(hello_same(&j, &k), ERR_ARG, "another net is another job");
	graph_free(h);
	is(hello_parse((char *)text.p, text.n, &k, NULL), 0, "the net need not be read");

	is(with(&text, "job 10\n", "job 1\n"), ERR_NOTSUP, "another protocol");
	is(with(&text, "workers 3", "workers 0"), ERR_LIMIT, "no workers");
	is(with(&text, "workers 3", "workers -1"), ERR_FORMAT, "a negative number");
	is(with(&text, "elastic 0", "elastic 4"), ERR_LIMIT, "more workers at the start than there may be");
	k.elastic = 2;
	k.slack = STALE_ASYNC;
	is(hello_check_workers(&k), 0, "the number of workers of an asynchronous job may change");
	k.slack = 4;
	is(hello_check_workers(&k), ERR_ARG, "that of a job with slack may not");
	is(with(&text, "server 1", "server 2"), ERR_LIMIT, "a server beyond the last");
	is(with(&text, "slack 4", "slack 4294967295"), ERR_LIMIT, "a slack beyond the greatest");
	is(with(&text, "momentum 0.9", "momentum nan"), ERR_FORMAT, "a NaN momentum is refused");
	is(with(&text, "optimizer adamw", "optimizer adagrad"), ERR_NOTSUP, "an optimizer that is not known");
	is(with(&text, "average lookahead", "average swan"), ERR_NOTSUP, "an average that is not known");
	is(with(&text, "average-every 6", "average-every 0"), ERR_LIMIT, "an average of every 0 steps is refused");
	is(with(&text, "turns 7", "turns 101"), ERR_LIMIT, "more turns than there may be");
	is(with(&text, "unit 1", "unit 2"), ERR_LIMIT, "a unit of 2 is refused");
	is(with(&text, "slice 65536", "slice 99999999"), ERR_LIMIT, "a slice that fits no message");
	is(with(&text, "servers 2\n", ""), ERR_FORMAT, "a line that is missing");
	is_str(err_line(), "job: line 'servers' is missing", "the missing line is named");
	is(with(&text, "hash ", "hash 0"), ERR_FORMAT, "a hash with a digit too many");
	is(with(&text, "graph\n", "graph\n\n\n???"), ERR_FORMAT, "a net that is none");
	for (size_t n = 0; n + 1 < text.n; n++) {
		bad += hello_parse((char *)text.p, n, &k, &h) < 0;
		graph_free(h);
	}
	is(bad, text.n - 1, "a text cut anywhere is refused");
	buf_free(&text);
	graph_free(g);
	return done();
}
