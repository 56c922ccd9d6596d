/*
 * alloc_test - does a step allocate memory once the plan has seen its batch size?
 *
 * The test limits the address space to what is in use and a small gap, and runs more steps.  A library may use the
 * gap within a call (oneDNN: 72 KB, and argument lists).  The output of each layer here is larger than the gap.
 */
#include "op/nets.h"

#include <errno.h>
#include <sys/resource.h>

#define BATCH	20
#define STEPS	2
#define GAP	(1u << 20)	/* bytes */

/* Bytes of address space in use.  Source: proc(5), statm. */
static rlim_t
in_use(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	nets_must(f != NULL && fscanf(f, "%lu", &pages) == 1 ? 0 : err_sys("/proc/self/statm"));
	fclose(f);
	return (rlim_t)pages * 4096;
}

static int
steps(const struct engine *e, struct engine_plan *p, const struct samples *s, float *g, float *stats)
{
	struct engine_result r;
	int err = 0;

	for (int k = 0; k < STEPS && err == 0; k++)
		if ((err = e->forward(p, s, NULL, NULL, &r)) == 0 &&
		    (err = e->backward(p, g, stats, NULL)) == 0)
			err = e->evaluate(p, s, &r, NULL);
	return err;
}

/* Its layers have outputs of 16 channels, 64x64: 2 MB a batch, and little to compute. */
static struct graph *
net(void)
{
	struct graph *g = graph_new(3, 64, 64);
	uint32_t a, b;

	a = NODE(g, 0, CONV, .k = 16, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .bias = true);
	a = NODE(g, BN(g, a, .fix_gamma = false), ACT, .act = GRAPH_RELU);
	a = NODE(g, a, POOL, .pool = GRAPH_MAX, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1));
	b = NODE(g, a, CONV, .k = 16, .r = 1, .s = 1, .stride = GRAPH_BOTH(1), .bias = true);
	a = CONCAT(g, a, NODE(g, b, ACT, .act = GRAPH_TANH));
	a = NODE(g, a, POOL, .pool = GRAPH_AVG, .r = 64, .s = 64, .stride = GRAPH_BOTH(1));
	a = NODE(g, a, FC, .k = 4, .bias = true);
	NODE(g, a, SOFTMAX, .k = 0);
	return g;
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	struct rng r = rng_start(6, 0, 0);
	struct graph *g = net();
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	float *d = nets_floats(g->P), *stats = nets_floats(g->A);
	struct rlimit before, limited, now;
	struct engine_plan *p;
	void *volatile more;	/* volatile, or the compiler removes the unused allocation */
	int err;

	nets_must(engine_plan(e, dev, g, BATCH, ENGINE_F32, 0, &p));
	nets_must(nets_load(e, p, g, &v));
	nets_must(steps(e, p, NETS_SAMPLES(g, v.x, v.y, BATCH), d, stats));
	nets_must(getrlimit(RLIMIT_AS, &before) == 0 ? 0 : err_sys("getrlimit"));
	limited = before;
	limited.rlim_cur = in_use() + GAP;
	nets_must(setrlimit(RLIMIT_AS, &limited) == 0 && getrlimit(RLIMIT_AS, &now) == 0 ? 0 : err_sys("setrlimit"));
	more = malloc(GAP + GAP / 2);
	err = steps(e, p, NETS_SAMPLES(g, v.x, v.y, BATCH), d, stats);
	nets_must(setrlimit(RLIMIT_AS, &before) == 0 ? 0 : err_sys("setrlimit"));
	if (now.rlim_cur == limited.rlim_cur)
		ok(more == NULL, "%s: the limit refuses 1.5 MB", e->name);
	else
		skip("the limit refuses 1.5 MB", "an emulator keeps no limit");
	is(err, 0, "%s: steps run under the limit", e->name);
	free(more);
	e->plan_free(p);
	free(d);
	free(stats);
	nets_numbers_free(&v);
	graph_free(g);
}

int
main(void)
{
	const char *san = getenv("SAN");

	if (san != NULL && *san != 0) {
		skip("memory of a step", "a sanitizer allocates some itself");
		return done();
	}
	nets_engines(2, engine);
	return done();
}
