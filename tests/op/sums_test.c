/*
 * sums_test - sums over the pixels of maps for which a GPU takes several blocks: batch norm's statistics and gradients, and
 * the gradients of biases.
 *
 * compute-sanitizer's racecheck and synccheck watch this test, because these sums are the kernels whose threads share
 * memory.  The other tests of engines have maps of one block.
 */
#include "op/nets.h"

#include "engine/cuda/kernel/kernel.h"

#define BATCH	4
#define SIDE	28	/* 3,136 pixels */

static const struct engine *ref;
static struct engine_dev *ref_dev;

struct step {
	float	*g, *stats;
	struct engine_result r;
};

/* All sums with and without a ReLU after them.  No bias is followed by batch norm, which would make its gradient 0. */
static struct graph *
make_net(uint32_t c)
{
	struct graph *g = graph_new(c, SIDE, SIDE);
	uint32_t x = BN(g, 0, .fix_gamma = false);

	x = NODE(g, x, ACT, .act = GRAPH_RELU);
	x = NODE(g, x, CONV, .k = c, .r = 1, .s = 1, .stride = GRAPH_BOTH(1), .bias = true);
	x = NODE(g, x, ACT, .act = GRAPH_RELU);
	x = BN(g, x, .fix_gamma = false);
	NODE(g, NODE(g, x, FC, .k = 5, .bias = true), SOFTMAX, .k = 0);
	return g;
}

static int
run_step(const struct engine *e, struct engine_dev *dev, enum engine_precision precision, const struct graph *g,
	const struct nets_numbers *v, struct step *s)
{
	struct engine_plan *p;
	int err = engine_plan(e, dev, g, BATCH, precision, 0, &p);

	if (err == ERR_NOTSUP)
		return err;
	nets_must(err);
	*s = (struct step){ .g = nets_floats(g->P), .stats = nets_floats(g->A) };
	nets_must(nets_load(e, p, g, v));
	/* The second step finds what the first one has left in the memory of the sums. */
	for (int k = 0; k < 2; k++) {
		nets_must(e->forward(p, NETS_BATCH(g, v, BATCH), NULL, NULL, &s->r));
		nets_must(e->backward(p, s->g, s->stats, NULL));
	}
	e->plan_free(p);
	return 0;
}

static void
free_step(struct step *s)
{
	free(s->g);
	free(s->stats);
}

/* Means and variances of the samples in f64; their values are the same in every type. */
static double
check_statistics(const struct graph *g, const struct nets_numbers *v, const float *stats)
{
	const uint32_t c = g->node[0].c, pixels = SIDE * SIDE;
	double worst = 0;

	for (uint32_t ch = 0; ch < c; ch++) {
		double sum = 0, squares = 0, mean;

		for (uint32_t i = 0; i < BATCH * pixels; i++)
			sum += v->x[((size_t)(i / pixels) * c + ch) * pixels + i % pixels];
		mean = sum / (BATCH * pixels);
		for (uint32_t i = 0; i < BATCH * pixels; i++) {
			double d = v->x[((size_t)(i / pixels) * c + ch) * pixels + i % pixels] - mean;

			squares += d * d;
		}
		worst = fmax(worst, fabs(stats[ch] - mean) / sqrt(squares / (BATCH * pixels)));
		worst = fmax(worst, fabs(stats[c + ch] / (squares / (BATCH * pixels)) - 1));
	}
	return worst;
}

static void
check(const struct engine *e, struct engine_dev *dev, enum engine_precision precision, uint32_t c)
{
	const double bounds[] = { [ENGINE_F32] = 3e-5, [ENGINE_BF16] = 9e-2, [ENGINE_F16] = 5e-2 };
	const char *type = engine_precision_name(precision);
	struct rng r = rng_start(11, c, 0);
	struct graph *g = make_net(c);
	struct nets_numbers v = nets_numbers(g, &r, BATCH);
	struct step want, got, again;

	/* Halves of small integers, which no type rounds. */
	for (size_t i = 0; i < (size_t)BATCH * c * SIDE * SIDE; i++)
		v.x[i] = 0.5f * (float)any(&r, 0, 100) - 20;
	if (run_step(e, dev, precision, g, &v, &got) < 0) {
		skip(type, err_line());
	} else {
		nets_must(run_step(ref, ref_dev, ENGINE_F32, g, &v, &want));
		nets_must(run_step(e, dev, precision, g, &v, &again));
		near(check_statistics(g, &v, got.stats), 0, 1e-5, "%s, %s, %u channels: statistics are those in f64",
		    e->name, type, c);
		near(nets_distance(got.g, want.g, g->P), 0, bounds[precision],
		    "%s, %s, %u channels: gradients are near those of ref in f32", e->name, type, c);
		ok(memcmp(got.g, again.g, g->P * sizeof(float)) == 0 &&
		    memcmp(got.stats, again.stats, g->A * sizeof(float)) == 0,
		    "%s, %s, %u channels: a second plan has the same bits", e->name, type, c);
		free_step(&want);
		free_step(&got);
		free_step(&again);
	}
	nets_numbers_free(&v);
	graph_free(g);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	static const enum engine_precision types[] = { ENGINE_F32, ENGINE_BF16, ENGINE_F16 };
	/* Fewer than are wide; one column of blocks; two. */
	static const uint32_t channels[] = { 3, 16, 72 };

	for (size_t k = 0; e != ref && k < sizeof(channels) / sizeof(*channels); k++)
		for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++)
			check(e, dev, types[t], channels[k]);
}

static uint32_t
count_blocks(uint32_t c)
{
	uint32_t most;

	return kernel_cut_strips(BATCH * SIDE * SIDE, c, &most).blocks;
}

int
main(void)
{
	ref = engine_find("ref");
	nets_must(ref != NULL ? ref->open(0, 1, &ref_dev) : ERR_NOTSUP);
	is(count_blocks(3), 4, "a GPU takes 4 blocks for 3 channels");
	is(count_blocks(16), 7, "a GPU takes 7 blocks for 16 channels");
	is(count_blocks(72), 16, "a GPU takes 16 blocks for each half of 72 channels");
	nets_engines(2, engine);
	ref->close(ref_dev);
	return done();
}
