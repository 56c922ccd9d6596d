/*
 * bn_test - does each engine norm batches as PyTorch does, and with gamma fixed as MXNet?  What comes out and goes back, what
 * gamma and beta learn, the running statistics after two batches, and evaluation by them.
 *
 * The numbers in bn_torch.h and bn_mxnet.h are those of other authors' code, in f64; bn.py is how they were made.
 */
#include "golden/bn_mxnet.h"
#include "golden/bn_torch.h"
#include "op/nets.h"

#define PLANE	(BN_H * BN_W)
#define FLOATS	(BN_C * PLANE)
#define TAPS	(BN_FRONT * BN_FRONT)

/* Where the arrays stand: the convolution's, gamma, beta, the fc's; mean, variance. */
enum { FRONT = 0, GAMMA = BN_C * TAPS, BETA = GAMMA + BN_C, FC = BETA + BN_C, ALL = FC + BN_K * FLOATS };

struct want {
	const char  *by;
	bool	     fixed;
	double	     loss;
	const float *out, *back, *dgamma, *dbeta, *mean, *var;	/* mean, var: after two batches */
};

#define WANT(name, gamma_fixed) { #name, gamma_fixed, bn_##name##_loss, bn_##name##_out, bn_##name##_back, bn_##name##_dgamma, \
	bn_##name##_dbeta, bn_##name##_mean, bn_##name##_var }

static struct graph *
net(bool fixed)
{
	struct graph *g = graph_new(BN_C, BN_H, BN_W);
	uint32_t x;

	nets_must(g != NULL ? 0 : ERR_NOMEM);
	x = NODE(g, 0, CONV, .k = BN_C, .r = BN_FRONT, .s = BN_FRONT, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(BN_FRONT / 2),
	    .groups = BN_C);
	x = NODE(g, x, BN, .eps = BN_EPS, .momentum = BN_MOMENTUM, .fix_gamma = fixed);
	x = NODE(g, x, FC, .k = BN_K);
	NODE(g, x, SOFTMAX, .k = 0);
	return g;
}

static void
numbers(float w[ALL], float aux[2 * BN_C])
{
	for (size_t c = 0; c < BN_C; c++)
		w[FRONT + c * TAPS + TAPS / 2] = 1;
	memcpy(w + GAMMA, bn_gamma, sizeof(bn_gamma));
	memcpy(w + BETA, bn_beta, sizeof(bn_beta));
	for (size_t j = 0; j < (size_t)BN_K * FLOATS; j++)
		w[FC + j] = (float)((j * j + 1) % 11) / 64;
	memcpy(aux, bn_mean, sizeof(bn_mean));
	memcpy(aux + BN_C, bn_var, sizeof(bn_var));
}

/* One batch forward and back, and into the running statistics. */
static double
step(const struct engine *e, struct engine_plan *p, const struct graph *g, const float *x, float d[ALL], float aux[2 * BN_C])
{
	float stats[2 * BN_C];
	struct engine_result r;

	nets_must(e->forward(p, NETS_SAMPLES(g, x, bn_label, BN_N), NULL, NULL, &r));
	nets_must(e->backward(p, d, stats, NULL));
	opt_fold_to(aux, stats, 2 * BN_C, 1, g->node[2].momentum, aux);
	return r.loss;
}

static void
trained(const struct engine *e, struct engine_plan *p, const struct graph *g, const struct want *want, float aux[2 * BN_C])
{
	float d[ALL], unused[ALL], none[BN_C] = { 0 };

	near(step(e, p, g, bn_x, d, aux), want->loss, 3e-6 * want->loss, "%s: %s: the loss", e->name, want->by);
	nets_same(d + FC, want->out, FLOATS, 0, e->name, "what comes out");
	nets_same(d + FRONT, want->back, BN_C * TAPS, 0, e->name, "what goes back");
	nets_same(d + GAMMA, want->fixed ? none : want->dgamma, BN_C, 0, e->name, "what gamma learns");
	/* The sum of 40 numbers that are larger. */
	nets_same(d + BETA, want->dbeta, BN_C, 3e-7, e->name, "what beta learns");
	step(e, p, g, bn_x2, unused, aux);
	nets_same(aux, want->mean, BN_C, 0, e->name, "the running mean after two batches");
}

static void
one(const struct engine *e, struct engine_dev *dev, const struct want *want)
{
	const double m = BN_N * PLANE, old = (double)BN_MOMENTUM * BN_MOMENTUM;
	struct graph *g = net(want->fixed);
	struct nets_numbers v = { .w = nets_floats(g->P), .aux = nets_floats(g->A) };
	float prob[BN_N * BN_K], var[BN_C];
	struct engine_result r;
	struct engine_plan *p;

	is(g->P, ALL, "%s: %s: the net has as many weights", e->name, want->by);
	numbers(v.w, v.aux);
	nets_must(engine_plan(e, dev, g, BN_N, ENGINE_F32, 0, &p));
	nets_must(nets_load(e, p, g, &v));
	if (!want->fixed) {
		nets_must(e->evaluate(p, NETS_SAMPLES(g, bn_x, bn_label, BN_N), &r, prob));
		nets_same(prob, bn_torch_prob, BN_N * BN_K, 0, e->name, "evaluation is by the running statistics");
	}
	trained(e, p, g, want, v.aux);
	/* PyTorch's variance of a batch of m is that of what it is drawn from, m / (m - 1) of ours and MXNet's. */
	for (size_t c = 0; c < BN_C; c++)
		var[c] = want->fixed ? want->var[c] : (float)(old * bn_var[c] + (want->var[c] - old * bn_var[c]) * (m - 1) / m);
	nets_same(v.aux + BN_C, var, BN_C, 0, e->name, "the running variance after two batches");
	e->plan_free(p);
	nets_numbers_free(&v);
	graph_free(g);
}

static void
engine(const struct engine *e, struct engine_dev *dev)
{
	const struct want torch = WANT(torch, false), mxnet = WANT(mxnet, true);

	one(e, dev, &torch);
	one(e, dev, &mxnet);
}

int
main(void)
{
	for (size_t c = 0; c < BN_C; c++)
		ok(bn_mxnet_dgamma[c] == 0, "a fixed gamma has no gradient in MXNet");
	nets_engines(2, engine);
	return done();
}
