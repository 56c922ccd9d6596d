/*
 * freeze_test - do all engines skip the same frozen arrays, and compute the same gradients of the others?
 *
 * Each kind of layer with random shapes; each array is frozen with probability 1/2.  In nets without batch norm, the
 * learned arrays must have the same bits as if all arrays learned.
 */
#include "op/nets.h"

#include "net/freeze.h"

#define SEEDS	6
#define BATCH	3
#define BOUND	3e-5

struct ready {
	uint32_t times[64];
};

static int
ready(void *arg, uint32_t a)
{
	((struct ready *)arg)->times[a]++;
	return 0;
}

/* A step's gradients, with 0 in frozen arrays.  *hooked becomes false if a hook misses or repeats an array. */
static float *
step(const struct engine *e, struct engine_dev *dev, const struct graph *g, const struct nets_numbers *v, double *loss,
    bool *hooked)
{
	float *d = nets_floats(g->P), *stats = nets_floats(g->A);
	struct ready b = { { 0 } };
	const struct engine_hook hook = { .arg = &b, .param_needed = NULL, .grad_ready = ready };
	struct engine_result r;
	struct engine_plan *p;

	nets_must(engine_plan(e, dev, g, BATCH, ENGINE_F32, 0, &p));
	nets_must(nets_load(e, p, g, v));
	nets_must(e->forward(p, NETS_BATCH(g, v, BATCH), NULL, NULL, &r));
	nets_must(e->backward(p, d, stats, &hook));
	*loss = r.loss;
	for (uint32_t a = 0; a < g->nw; a++) {
		*hooked &= b.times[a] == !g->w[a].frozen;
		for (size_t j = 0; j < g->w[a].count; j++)
			if (g->w[a].frozen)
				d[g->w[a].first + j] = 0;
	}
	e->plan_free(p);
	free(stats);
	return d;
}

static double
distance(const float *a, const float *b, size_t n)
{
	double off = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		off += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
		all += (double)b[i] * b[i];
	}
	return all > 0 ? sqrt(off / all) : sqrt(off);
}

/* Freezes random arrays by rules, but not the last. */
static void
mark(struct graph *g, struct rng *r)
{
	char rules[4096] = "wd:*=1";
	size_t n = strlen(rules);

	for (uint32_t a = 0; a + 1 < g->nw; a++)
		if (rng_below(r, 2))
			n += (size_t)snprintf(rules + n, sizeof(rules) - n, ";freeze:%s", g->w[a].name);
	nets_must(n < sizeof(rules) ? freeze_rules(g, rules) : ERR_LIMIT);
}

static bool
has_bn(const struct graph *g)
{
	return g->A > 0;
}

static const struct engine *ref;
static struct engine_dev *ref_dev;

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	bool hooked = true;
	unsigned same = 0, without = 0;

	for (uint64_t c = 0; c < NETS_CASES; c++) {
		double worst = 0;

		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct rng r = rng_start(5, c, seed);
			struct graph *g = nets_graph(&nets_cases[c], &r, true);
			struct nets_numbers v = nets_numbers(g, &r, BATCH);
			double loss, want_loss, all_loss, d;
			float *all, *got, *want;
			bool dummy = true;

			all = step(e, dev, g, &v, &all_loss, &dummy);
			mark(g, &r);
			got = step(e, dev, g, &v, &loss, &hooked);
			want = step(ref, ref_dev, g, &v, &want_loss, &hooked);
			d = fmax(distance(got, want, g->P), fabs(loss - want_loss) / want_loss);
			worst = fmax(worst, d);
			for (uint32_t a = 0; a < g->nw; a++)
				if (g->w[a].frozen)
					memset(all + g->w[a].first, 0, g->w[a].count * sizeof(float));
			without += !has_bn(g);
			same += !has_bn(g) && memcmp(all, got, g->P * sizeof(float)) == 0;
			free(all), free(got), free(want);
			nets_numbers_free(&v);
			graph_free(g);
		}
		if (!ok(worst <= BOUND, "%s: %s, partly frozen, is as ref", e->name, nets_cases[c].name))
			printf("# %.1e\n", worst);
	}
	ok(hooked, "%s: grad_ready comes once for each array that is not frozen", e->name);
	is(same, without, "%s: learned arrays have the bits that they have when all learn", e->name);
}

int
main(void)
{
	ref = engine_find("ref");
	nets_must(ref != NULL ? ref->open(0, 1, &ref_dev) : ERR_NOTSUP);
	nets_engines(1, engine);
	ref->close(ref_dev);
	return done();
}
