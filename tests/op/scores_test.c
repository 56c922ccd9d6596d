/*
 * scores_test - scores and their gradient are f32 in every precision: two scores that tie after rounding to 16 bits are
 * two scores.
 */
#include "op/nets.h"

#define SIDE	4

/* The parts of a net that make two scores of c inputs. */
typedef uint32_t head(struct graph *g, uint32_t x);

static uint32_t
fc(struct graph *g, uint32_t x)
{
	return NODE(g, x, FC, .k = 2, .bias = true);
}

static uint32_t
conv(struct graph *g, uint32_t x)
{
	return NODE(g, x, CONV, .k = 2, .r = 1, .s = 1, .stride = GRAPH_BOTH(1), .bias = true);
}

static uint32_t
scaled_fc(struct graph *g, uint32_t x)
{
	return NODE(g, fc(g, x), ACT, .act = GRAPH_LINEAR, .alpha = 1);
}

static uint32_t
sum_of_fcs(struct graph *g, uint32_t x)
{
	uint32_t a = fc(g, x), b = fc(g, x);

	return ADD(g, a, b);
}

static uint32_t
average(struct graph *g, uint32_t x)
{
	return NODE(g, x, POOL, .pool = GRAPH_AVG, .r = SIDE, .s = SIDE, .stride = GRAPH_BOTH(1));
}

static const struct {
	const char *name;
	head *make;
	uint32_t side, fcs;
	bool	 products;	/* the loss reads what a product writes */
} heads[] = {
	{ "an fc", fc, 1, 1, true },
	{ "a convolution", conv, 1, 1, true },
	{ "a scaled fc", scaled_fc, 1, 1, false },
	{ "a sum of fcs", sum_of_fcs, 1, 2, false },
	{ "an average of pixels", average, SIDE, 0, false },
};

/*
 * Two scores of about 8, of which the second is `apart` larger: less than half of `step`, the distance of 8 to the next
 * value in 16 bits.  Products of inputs 1 and apart have weights 8 and 1; an average is of values 8 and 8 + step.
 */
static void
check(const struct engine *e, struct engine_dev *dev, enum engine_precision precision, size_t h, float step)
{
	const char *type = engine_precision_name(precision), *name = heads[h].name;
	const float apart = heads[h].fcs > 0 ? step / 8 : step / (SIDE * SIDE);
	struct graph *g = graph_new(2, heads[h].side, heads[h].side);
	struct engine_result result;
	struct engine_plan *p;
	float *w, *d, *stats, *x, prob[2];
	const int32_t y = 1;

	NODE(g, heads[h].make(g, 0), SOFTMAX, .smooth = 0);
	w = nets_floats(g->P);
	d = nets_floats(g->P);
	x = nets_floats(2 * SIDE * SIDE);
	stats = nets_floats(g->A);
	for (uint32_t i = 0; i < heads[h].fcs; i++) {
		float *of = w + g->w[2 * i].first;

		of[0] = of[2] = 8 / (float)heads[h].fcs;
		of[3] = i == 0;
	}
	for (uint32_t i = 0; heads[h].fcs == 0 && i < 2 * SIDE * SIDE; i++)
		x[i] = i == SIDE * SIDE ? 8 + step : 8;
	if (heads[h].fcs > 0) {
		x[0] = 1;
		x[1] = apart;
	}
	nets_must(engine_plan(e, dev, g, 1, precision, 0, &p));
	nets_must(nets_load(e, p, g, &(struct nets_numbers){ .w = w, .aux = stats }));
	nets_must(e->evaluate(p, NETS_SAMPLES(g, x, &y, 1), &result, prob));
	is(result.correct, 1, "%s, %s: of two scores of %s the larger one wins", e->name, type, name);
	near(log(prob[1] / prob[0]), apart, 1e-6, "the probabilities are those of scores %.6f apart", apart);
	nets_must(e->forward(p, NETS_SAMPLES(g, x, &y, 1), NULL, NULL, &result));
	nets_must(e->backward(p, d, stats, NULL));
	near(result.loss, -log(prob[1]), 1e-6, "the loss is that of these scores");
	if (heads[h].fcs > 0)
		near(d[g->w[1].first], prob[0], 1e-6, "the gradient of the bias is that of these scores");
	e->plan_free(p);
	graph_free(g);
	free(w);
	free(d);
	free(x);
	free(stats);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	static const struct {
		enum engine_precision precision;
		float step;
	} types[] = { { ENGINE_BF16, 0x1p-4f }, { ENGINE_F16, 0x1p-7f } };

	for (size_t t = 0; t < sizeof(types) / sizeof(*types); t++) {
		struct graph *g = graph_new(1, 1, 1);
		struct engine_plan *p;
		int had;

		NODE(g, 0, SOFTMAX, .k = 0);
		had = engine_plan(e, dev, g, 1, types[t].precision, 0, &p);
		if (had == 0)
			e->plan_free(p);
		graph_free(g);
		if (had < 0)
			skip(engine_precision_name(types[t].precision), err_line());
		/* Elementwise layers before the loss: processors round what these read, GPUs do not. */
		for (size_t h = 0; had == 0 && h < sizeof(heads) / sizeof(*heads); h++)
			if (heads[h].products || e->accel != NULL)
				check(e, dev, types[t].precision, h, types[t].step);
	}
}

int
main(void)
{
	nets_engines(1, engine);
	return done();
}
