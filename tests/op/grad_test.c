/*
 * grad_test - are the gradients of ref those of finite differences, for each learned array and kind of layer?
 *
 * The test computes the loss L at w, w +- h/2 and w +- h, and extrapolates the derivative to order h^4.  The remaining
 * error is the rounding of L.  A corner of the loss (relu, max) near w makes the differences at h and h/2 disagree: in
 * their slope if it is off w, in their bend if it is at w.  The test skips and counts such weights, and must check nine
 * of ten.  A wrong factor is wrong at every h, so no skip can hide it.
 */
#include "op/nets.h"

#define SEEDS	8
#define BATCH	3
#define H	0x1p-6	/* a power of two, so that w + h loses few bits of w; the test uses the actual difference */

struct tally {
	uint32_t checked, skipped, wrong;
	double	 worst;		/* the largest error / bound */
	char	 array[GRAPH_NAME + 16];	/* that has it */
};

struct probe {
	const struct engine *e;
	struct engine_plan *p;
	const struct graph *g;
	struct nets_numbers v;
};

/* The loss with one weight moved by h.  *moved is the distance after rounding. */
static double
loss_at(struct probe *t, uint32_t a, size_t j, double h, double *moved)
{
	struct engine_result r = { 0 };
	float keep = t->v.w[j], now = (float)(keep + h);

	*moved = (double)now - keep;
	t->v.w[j] = now;
	nets_must(t->e->load(t->p, a, t->v.w + t->g->w[a].first));
	nets_must(t->e->forward(t->p, NETS_BATCH(t->g, &t->v, BATCH), NULL, NULL, &r));
	t->v.w[j] = keep;
	nets_must(t->e->load(t->p, a, t->v.w + t->g->w[a].first));
	return r.loss;
}

/* The slope between -h and h.  *bend is the slope on the right minus that on the left. */
static double
slope(struct probe *t, uint32_t a, size_t j, double h, double middle, double *bend)
{
	double up, down, right = loss_at(t, a, j, h, &up), left = loss_at(t, a, j, -h, &down);

	*bend = (right - middle) / up - (left - middle) / down;
	return (right - left) / (up - down);
}

static void
check_weight(struct probe *t, uint32_t a, size_t j, double g, double bound, bool kinks, struct tally *sum)
{
	double none, bend1, bend2, middle = loss_at(t, a, j, 0, &none);
	double d1 = slope(t, a, j, H, middle, &bend1), d2 = slope(t, a, j, H / 2, middle, &bend2);
	double error = fabs((4 * d2 - d1) / 3 - g);

	/* Without a corner the bend is proportional to h, and the rest of slope and bend is of order h^2. */
	if (kinks && (fabs(d1 - d2) > bound / 2 || fabs(bend1 - 2 * bend2) > bound / 2)) {
		sum->skipped++;
		return;
	}
	sum->checked++;
	sum->wrong += !(error <= bound);
	if (error / bound > sum->worst) {
		sum->worst = error / bound;
		memcpy(sum->array, t->g->w[a].name, sizeof(sum->array));
	}
}

static void
check(struct probe *t, bool kinks, struct tally *sum)
{
	struct engine_result r;
	float *g = nets_floats(t->g->P), *stats = nets_floats(t->g->A);

	nets_must(nets_load(t->e, t->p, t->g, &t->v));
	nets_must(t->e->forward(t->p, NETS_BATCH(t->g, &t->v, BATCH), NULL, NULL, &r));
	nets_must(t->e->backward(t->p, g, stats, NULL));
	for (uint32_t a = 0; a < t->g->nw; a++) {
		const struct graph_array *w = &t->g->w[a];
		double most = 0;

		for (size_t j = w->first; j < w->first + w->count; j++)
			most = fabs(g[j]) > most ? fabs(g[j]) : most;
		for (size_t j = w->first; j < w->first + w->count; j++)
			check_weight(t, a, j, g[j], 1e-3 * most + 2e-4, kinks, sum);
	}
	free(g);
	free(stats);
}

int
main(void)
{
	const struct engine *ref = engine_find("ref");
	struct engine_dev *dev;

	nets_must(ref != NULL ? ref->open(0, 1, &dev) : ERR_NOTSUP);
	for (uint64_t c = 0; c < NETS_CASES; c++) {
		struct tally sum = { 0 };

		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct rng r = rng_start(1, c, seed);
			struct graph *g = nets_graph(&nets_cases[c], &r, false);
			struct probe t = { .e = ref, .g = g, .v = nets_numbers(g, &r, BATCH) };

			nets_must(engine_plan(ref, dev, g, BATCH, ENGINE_F32, 0, &t.p));
			check(&t, nets_cases[c].kinks, &sum);
			ref->plan_free(t.p);
			nets_numbers_free(&t.v);
			graph_free(g);
		}
		ok(sum.wrong == 0 && sum.checked >= 9 * sum.skipped, "%s: %u derivatives are right",
		    nets_cases[c].name, sum.checked);
		printf("# skipped %u, wrong %u; worst %.2f of the bound, in %s\n", sum.skipped, sum.wrong,
		    sum.worst, sum.array);
	}
	ref->close(dev);
	return done();
}
