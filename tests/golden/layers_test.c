/*
 * layers_test - each engine computes single layers as PyTorch does: loss, output, and input gradient; in bf16
 * within a bound, beside how far PyTorch's own bf16 is off.
 *
 * The numbers in layers_torch.h are those of another author's code, in f64; layers.py is how they were made, and says
 * what each net is.
 */
#include "golden/layers_bf16.h"
#include "golden/layers_torch.h"
#include "op/nets.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define BF16 6e-3	/* the norm of what bf16 may be off, by that of the numbers; or half as much again as PyTorch's */

struct layers_case {
	const char  *name;
	struct graph_node like;
	bool	     two;	/* its inputs are x and tanh x */
	float	     smooth;
	const float *w;		/* the layer's own weight */
	size_t	     nw;
	double	     loss;
	const float *dw, *da;	/* dw: of class 0 */
	size_t	     ndw;
	const double *bf16;	/* PyTorch's relative error of dw and da */
};

#define ANY(n, two, s, own, count, ...) { #n, { __VA_ARGS__ }, two, s, own, count, layers_##n##_loss, layers_##n##_dw, \
	layers_##n##_da, COUNT(layers_##n##_dw), layers_##n##_bf16 }
#define CASE(n, s, own, count, ...) ANY(n, false, s, own, count, __VA_ARGS__)
#define PLAIN(n, ...) CASE(n, 0, NULL, 0, __VA_ARGS__)
#define TWO(n, ...) ANY(n, true, 0, NULL, 0, __VA_ARGS__)

static const struct layers_case cases[] = {
	PLAIN(lrn, .op = GRAPH_LRN, .size = 5, .alpha = 0.5f, .power = 0.75f, .knorm = 2),
	PLAIN(lrn_even, .op = GRAPH_LRN, .size = 4, .alpha = 2, .power = 0.5f, .knorm = 1),
	PLAIN(max_ceil, .op = GRAPH_POOL, .pool = GRAPH_MAX, .r = 3, .s = 3, .stride = GRAPH_BOTH(2), .pad = GRAPH_BOTH(1),
	    .ceil = true),
	PLAIN(avg_padded, .op = GRAPH_POOL, .pool = GRAPH_AVG, .r = 3, .s = 3, .stride = GRAPH_BOTH(2), .pad = GRAPH_BOTH(1),
	    .ceil = true, .divide = GRAPH_PADDED),
	PLAIN(avg_inside, .op = GRAPH_POOL, .pool = GRAPH_AVG, .r = 3, .s = 2, .stride = { 2, 3 }, .pad = GRAPH_BOTH(1),
	    .ceil = true, .divide = GRAPH_INSIDE),
	PLAIN(elu, .op = GRAPH_ACT, .act = GRAPH_ELU, .alpha = 0.75f),
	PLAIN(leaky, .op = GRAPH_ACT, .act = GRAPH_LEAKY, .alpha = 0.25f),
	PLAIN(gelu, .op = GRAPH_ACT, .act = GRAPH_GELU),
	PLAIN(gelu_tanh, .op = GRAPH_ACT, .act = GRAPH_GELU_TANH),
	PLAIN(swish, .op = GRAPH_ACT, .act = GRAPH_SWISH),
	PLAIN(reflect, .op = GRAPH_PAD, .pad = { 3, 2 }, .reflect = true),
	CASE(dilated, 0, layers_dilated_w, COUNT(layers_dilated_w), .op = GRAPH_CONV, .k = 4, .r = 3, .s = 2,
	    .stride = { 2, 1 }, .pad = { 2, 1 }, .dilate = { 2, 3 }),
	CASE(groups, 0, layers_groups_w, COUNT(layers_groups_w), .op = GRAPH_CONV, .k = 4, .r = 3, .s = 3,
	    .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .groups = 2),
	CASE(plain, 0, layers_plain_w, COUNT(layers_plain_w), .op = GRAPH_CONV, .k = 3, .r = 3, .s = 2, .stride = { 1, 2 },
	    .pad = { 1, 0 }),
	PLAIN(relu, .op = GRAPH_ACT, .act = GRAPH_RELU),
	PLAIN(tanh, .op = GRAPH_ACT, .act = GRAPH_TANH),
	PLAIN(sigmoid, .op = GRAPH_ACT, .act = GRAPH_SIGMOID),
	PLAIN(linear, .op = GRAPH_ACT, .act = GRAPH_LINEAR, .alpha = 0.25f),
	PLAIN(max_whole, .op = GRAPH_POOL, .pool = GRAPH_MAX, .r = LAYERS_H, .s = LAYERS_W, .stride = GRAPH_BOTH(1)),
	PLAIN(avg_whole, .op = GRAPH_POOL, .pool = GRAPH_AVG, .r = LAYERS_H, .s = LAYERS_W, .stride = GRAPH_BOTH(1)),
	PLAIN(avg, .op = GRAPH_POOL, .pool = GRAPH_AVG, .r = 2, .s = 2, .stride = { 2, 1 }),
	PLAIN(zeros, .op = GRAPH_PAD, .pad = { 2, 1 }),
	TWO(add, .op = GRAPH_ADD),
	TWO(mul, .op = GRAPH_MUL),
	TWO(concat, .op = GRAPH_CONCAT),
	CASE(smooth, 0.2f, NULL, 0, .op = GRAPH_FLATTEN),
};

/* Within 3e-6 of the largest. */
static void
same(const float *got, const float *want, size_t n, const char *engine, const char *layer, const char *what)
{
	double most = 0, worst = 0;

	for (size_t j = 0; j < n; j++) {
		double d = fabs((double)got[j] - want[j]);

		most = fmax(most, fabs(want[j]));
		worst = !(d <= worst) ? d : worst;
	}
	if (!ok(most > 0 && worst <= 3e-6 * most, "%s: %s: %s", engine, layer, what))
		printf("# %g off, the largest is %g\n", worst, most);
}

/* A number is off by 2^-9 of itself at most in bf16; so are those of three layers in a row, and some sums come to little. */
static void
like(const float *got, const float *want, size_t n, double torch, const char *engine, const char *layer, const char *what)
{
	double off = 0, size = 0;

	for (size_t j = 0; j < n; j++) {
		off += ((double)got[j] - want[j]) * ((double)got[j] - want[j]);
		size += (double)want[j] * want[j];
	}
	off = sqrt(off / size);
	ok(off <= fmax(BF16, 1.5 * torch), "%s: %s: %s in bf16, %.2g off; PyTorch's %.2g", engine, layer, what, off, torch);
}

static struct graph *
net(const struct layers_case *c)
{
	struct graph *g = graph_new(LAYERS_C, LAYERS_H, LAYERS_W);
	uint32_t x = NODE(g, 0, CONV, .k = LAYERS_C, .r = 1, .s = 1, .stride = GRAPH_BOTH(1), .groups = LAYERS_C);

	if (c->two) {
		struct graph_node two = c->like;

		two.in = (uint32_t[]){ x, NODE(g, x, ACT, .act = GRAPH_TANH) };
		two.nin = 2;
		x = nets_node(g, x, two);
	} else
		x = nets_node(g, x, c->like);
	x = NODE(g, x, FC, .k = LAYERS_K);
	NODE(g, x, SOFTMAX, .smooth = c->smooth);
	return g;
}

/* d: the gradients, of which the fc's is behind the first `fc`. */
static void
compare(const struct engine *e, const struct layers_case *c, enum engine_precision precision, float *d, size_t fc)
{
	if (precision == ENGINE_BF16) {
		like(d + fc, c->dw, c->ndw, c->bf16[0], e->name, c->name, "the output is PyTorch's");
		like(d, c->da, LAYERS_C, c->bf16[1], e->name, c->name, "the input gradient is PyTorch's");
		return;
	}
	same(d + fc, c->dw, c->ndw, e->name, c->name, "the output is PyTorch's");
	for (size_t j = 0; j < c->ndw; j++)
		d[fc + c->ndw + j] *= -1;
	same(d + fc + c->ndw, c->dw, c->ndw, e->name, c->name, "the output of the other class is PyTorch's");
	same(d, c->da, LAYERS_C, e->name, c->name, "the input gradient is PyTorch's");
}

/* Whether the engine has that precision. */
static bool
one(const struct engine *e, struct engine_dev *dev, const struct layers_case *c, enum engine_precision precision)
{
	struct graph *g = net(c);
	size_t fc = LAYERS_C + c->nw;
	struct nets_numbers v = { .w = nets_floats(g->P) };
	float *d = nets_floats(g->P);
	struct engine_result r;
	struct engine_plan *p = NULL;
	int made = g->P == fc + LAYERS_K * c->ndw ? engine_plan(e, dev, g, LAYERS_N, precision, 0, &p) : ERR_FORMAT;

	for (size_t j = 0; j < LAYERS_C; j++)
		v.w[j] = 1;
	if (c->nw > 0)
		memcpy(v.w + LAYERS_C, c->w, c->nw * sizeof(float));
	for (size_t j = fc; j < g->P; j++)
		v.w[j] = (float)(((j - fc) * (j - fc) + 1) % 13) / 64;
	if (made == 0) {
		nets_must(nets_load(e, p, g, &v));
		nets_must(e->forward(p, NETS_SAMPLES(g, layers_x, layers_label, LAYERS_N), NULL, NULL, &r));
		nets_must(e->backward(p, d, NULL, NULL));
		near(r.loss, c->loss, (precision == ENGINE_BF16 ? 2e-2 : 3e-6) * c->loss,
		    "%s: %s: the loss is PyTorch's", e->name, c->name);
		compare(e, c, precision, d, fc);
	} else if (made != ERR_NOTSUP || precision == ENGINE_F32)
		ok(false, "%s: %s: the net has PyTorch's shapes, and a plan", e->name, c->name);
	e->plan_free(p);
	nets_numbers_free(&v);
	free(d);
	graph_free(g);
	return made == 0;
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	bool half = true;

	for (size_t i = 0; i < COUNT(cases); i++)
		one(e, dev, &cases[i], ENGINE_F32);
	for (size_t i = 0; i < COUNT(cases) && half; i++)
		half = one(e, dev, &cases[i], ENGINE_BF16);
	if (!half)
		skip("single layers in bf16", err_line());
}

int
main(void)
{
	nets_engines(2, engine);
	return done();
}
