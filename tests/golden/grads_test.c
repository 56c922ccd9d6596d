/*
 * grads_test - each engine has PyTorch's gradients, layer by layer: those of weights, biases and inputs, and
 * the outputs; and dropout, given our generator's mask.
 *
 * The numbers in grads_torch.h are those of another author's code, in f64; grads.py is how they were made, and says what each
 * net is.
 */
#include "golden/grads_torch.h"
#include "op/nets.h"

#include "engine/drop.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define FRONT	(GRADS_C * GRADS_FRONT * GRADS_FRONT)
#define MANY	500	/* of more numbers than these ... */
#define STEP	37	/* one of so many is compared */

static const struct engine_draw draw = { .seed = 3, .step = 5, .first = 7 };

struct grads_case {
	const char  *name;
	uint32_t     n;			/* layers */
	double	     over[2];		/* what divides their weights */
	struct graph_node like[2];
	double	     loss;
	const float *out, *back, *own;	/* out: of class 0 */
	size_t	     nout, nown;
};

#define TABLES(t) .loss = grads_##t##_loss, .out = grads_##t##_out, .back = grads_##t##_back, .nout = COUNT(grads_##t##_out)
#define LEARNED(t) TABLES(t), .own = grads_##t##_own, .nown = COUNT(grads_##t##_own)
#define CONV(...) { .op = GRAPH_CONV, .bias = true, __VA_ARGS__ }

static const struct grads_case cases[] = {
	{ "convolution", 1, { 16 }, { CONV(.k = 3, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1)) },
	    LEARNED(plain) },
	{ "strided", 1, { 16 }, { CONV(.k = 3, .r = 3, .s = 2, .stride = { 2, 3 }, .pad = { 1, 0 }) }, LEARNED(strided) },
	{ "dilated", 1, { 16 }, { CONV(.k = 3, .r = 3, .s = 2, .stride = GRAPH_BOTH(1), .pad = { 2, 1 }, .dilate = { 2, 3 }) },
	    LEARNED(dilated) },
	{ "grouped", 1, { 16 }, { CONV(.k = 6, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .groups = 2) },
	    LEARNED(groups) },
	{ "depth-wise", 1, { 16 }, { CONV(.k = GRADS_C, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1),
	    .groups = GRADS_C) }, LEARNED(depth) },
	{ "depth-wise, two of each, strided", 1, { 16 }, { CONV(.k = 2 * GRADS_C, .r = 3, .s = 2, .stride = { 1, 2 },
	    .pad = GRAPH_BOTH(1), .groups = GRADS_C) }, LEARNED(depth_more) },
	{ "1x1, and 3x3 of many channels", 2, { 64, 512 }, { CONV(.k = 32, .r = 1, .s = 1, .stride = GRAPH_BOTH(1)),
	    CONV(.k = 32, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1)) }, LEARNED(wide) },
	{ "full", 1, { 64 }, { { .op = GRAPH_FC, .k = 5, .bias = true } }, LEARNED(full) },
	{ "flatten, full", 2, { 0, 64 }, { { .op = GRAPH_FLATTEN }, { .op = GRAPH_FC, .k = 5, .bias = true } }, LEARNED(full) },
	{ "dropout", 1, { 0 }, { { .op = GRAPH_DROPOUT, .drop = GRADS_DROP } }, TABLES(dropout) },
};

static struct graph *
net(const struct grads_case *c)
{
	struct graph *g = graph_new(GRADS_C, GRADS_H, GRADS_W);
	uint32_t x;

	nets_must(g != NULL ? 0 : ERR_NOMEM);
	x = NODE(g, 0, CONV, .k = GRADS_C, .r = GRADS_FRONT, .s = GRADS_FRONT, .stride = GRAPH_BOTH(1),
	    .pad = GRAPH_BOTH(GRADS_FRONT / 2), .groups = GRADS_C);
	for (uint32_t i = 0; i < c->n; i++)
		x = nets_node(g, x, c->like[i]);
	x = NODE(g, x, FC, .k = GRADS_K);
	NODE(g, x, SOFTMAX, .k = 0);
	return g;
}

static void
weights(const struct grads_case *c, const struct graph *g, float *w)
{
	const struct graph_array *last = &g->w[g->nw - 1];

	for (size_t k = 0; k < GRADS_C; k++)
		w[k * GRADS_FRONT * GRADS_FRONT + GRADS_FRONT * GRADS_FRONT / 2] = 1;
	for (const struct graph_array *a = g->w + 1; a < last; a++)
		for (size_t j = 0; j < a->count; j++)
			w[a->first + j] = a->role == GRAPH_BIAS ? (float)(7 * j % 9) / 8 - 0.5f :
			    (float)(((double)((3 * j * j + 5 * j) % 23) - 11) / c->over[a->node - 2]);
	for (size_t j = 0; j < last->count; j++)
		w[last->first + j] = (float)((j * j + 1) % 11) / 64;
}

/* What grads.py has of an array. */
static size_t
told(const float *x, size_t n, float *to)
{
	size_t step = n <= MANY ? 1 : STEP, count = 0;

	for (size_t j = 0; j < n; j += step)
		to[count++] = x[j];
	return count;
}

/* Within so much of the largest; Winograd's sums are of larger numbers than what they come to. */
static void
same(const float *got, const float *want, size_t n, const struct engine *e, const char *layer, const char *what)
{
	double most = 0, worst = 0;

	for (size_t j = 0; j < n; j++) {
		double d = fabs((double)got[j] - want[j]);

		most = fmax(most, fabs(want[j]));
		worst = !(d <= worst) ? d : worst;
	}
	if (!ok(worst <= 5e-6 * most, "%s: %s: %s", e->name, layer, what))
		printf("# %g off, the largest is %g\n", worst, most);
}

/* d: the gradients of the net. */
static void
compare(const struct engine *e, const struct grads_case *c, const struct graph *g, const float *d)
{
	const struct graph_array *last = &g->w[g->nw - 1];
	float *got = nets_floats(g->P + last->count);
	size_t n = 0;

	for (const struct graph_array *a = g->w + 1; a < last; a++)
		n += told(d + a->first, a->count, got + n);
	is(n, c->nown, "%s: %s: the net has as many weights as PyTorch's", e->name, c->name);
	same(got, c->own, c->nown, e, c->name, "what it learns");
	n = told(d + last->first, last->count / GRADS_K, got);
	is(n, c->nout, "%s: %s: the net has as many outputs as PyTorch's", e->name, c->name);
	same(got, c->out, c->nout, e, c->name, "the output is PyTorch's");
	same(d, c->back, FRONT, e, c->name, "the input gradient is PyTorch's");
	free(got);
}

static void
one(const struct engine *e, struct engine_dev *dev, const struct grads_case *c)
{
	struct graph *g = net(c);
	struct nets_numbers v = { .w = nets_floats(g->P) };
	float *d = nets_floats(g->P);
	struct engine_result r;
	struct engine_plan *p;

	weights(c, g, v.w);
	nets_must(engine_plan(e, dev, g, GRADS_N, ENGINE_F32, 0, &p));
	nets_must(nets_load(e, p, g, &v));
	nets_must(e->forward(p, NETS_SAMPLES(g, grads_x, grads_label, GRADS_N), &draw, NULL, &r));
	nets_must(e->backward(p, d, NULL, NULL));
	near(r.loss, c->loss, 3e-6 * c->loss, "%s: %s: the loss is PyTorch's", e->name, c->name);
	compare(e, c, g, d);
	e->plan_free(p);
	nets_numbers_free(&v);
	free(d);
	graph_free(g);
}

/* What PyTorch left out is what our generator leaves out, of layer 2. */
static void
same_mask(void)
{
	const size_t floats = (size_t)GRADS_C * GRADS_H * GRADS_W;
	size_t bad = 0;

	for (uint32_t n = 0; n < GRADS_N; n++)
		for (uint32_t j = 0; j < floats; j++)
			bad += (drop_bits(drop_key(&draw, n, 2), j) >= drop_bound(GRADS_DROP)) != (GRADS_MASK[n * floats + j] == '1');
	is(bad, 0, "PyTorch's dropout mask is our generator's");
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	for (size_t i = 0; i < COUNT(cases); i++)
		one(e, dev, &cases[i]);
}

int
main(void)
{
	same_mask();
	nets_engines(2, engine);
	return done();
}
