/*
 * fast_test - does a net made for speed begin and learn as PyTorch's does?  Filters that whiten, filters that hand on, and
 * biases of norms with a rate and a decay of their own.
 *
 * The numbers in fast_torch.h are those of another author's code, in f64; fast.py is how they were made.
 */
#include "golden/fast_torch.h"
#include "op/nets.h"

#include "net/init.h"
#include "net/whiten.h"
#include "ps/shard_plan.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define PATCH	(FAST_C * FAST_R * FAST_S)

/* A net of one convolution, and of batch norm with the scale fixed behind it. */
static struct graph *
net(uint32_t c, struct graph_node conv)
{
	struct graph *g = graph_new(c, FAST_H, FAST_W);
	uint32_t x;

	nets_must(g != NULL ? 0 : ERR_NOMEM);
	conv.op = GRAPH_CONV;
	conv.stride[0] = conv.stride[1] = 1;
	x = nets_node(g, 0, conv);
	x = BN(g, x, .fix_gamma = true);
	x = NODE(g, x, FC, .k = 2);
	NODE(g, x, SOFTMAX, .k = 0);
	return g;
}

/* An eigenvector has either sign; the first half's may be any, and then the second's is the other. */
static void
whitened(void)
{
	struct graph *g = net(FAST_C, (struct graph_node){ .k = 2 * PATCH, .r = FAST_R, .s = FAST_S, .begin = GRAPH_WHITEN });
	float *w = nets_floats(g->P), sign;
	double worst = 0, negative = 0;

	nets_must(whiten_weights(g, fast_x, FAST_N, w));
	for (size_t i = 0; i < PATCH; i++) {
		const float *want = fast_filters + i * PATCH, *got = w + i * PATCH;
		double size = 0, dot = 0;

		for (size_t j = 0; j < PATCH; j++) {
			size = fmax(size, fabs(want[j]));
			dot += (double)want[j] * got[j];
		}
		sign = dot < 0 ? -1 : 1;
		for (size_t j = 0; j < PATCH; j++) {
			worst = fmax(worst, fabs((double)sign * got[j] - want[j]) / size);
			negative = fmax(negative, fabs((double)got[PATCH * PATCH + j] + got[j]));
		}
	}
	ok(worst < 3e-6, "whitening filters are PyTorch's scaled eigenvectors: %g off", worst);
	is(negative, 0, "the second half of the filters are the negatives of the first");
	free(w);
	graph_free(g);
}

static void
handed_on(const struct fast_dirac *t)
{
	const struct graph_node conv = { .k = t->k, .r = t->r, .s = t->s, .pad = { 2, 2 }, .groups = t->groups,
	    .begin = GRAPH_IDENTITY };
	struct graph *g = net(t->c * t->groups, conv);
	size_t filter = (size_t)t->c * t->r * t->s, each = t->k / t->groups, ones = 0, bad = 0, drawn = 0;
	float *w = nets_floats(g->P), *aux = nets_floats(g->A);

	nets_must(init_weights(g, "uniform:0.5", 1, w, aux));
	for (size_t j = 0; j < t->k * filter; j++) {
		size_t first = j / filter % each;

		if (first >= t->c) {
			drawn += w[j] != 0 && fabsf(w[j]) < 0.5f;
		} else if (ones < t->n && t->one[ones] == j) {
			bad += w[j] != 1;
			ones++;
		} else
			bad += w[j] != 0;
	}
	ok(bad == 0 && ones == t->n,
	    "identity filters are PyTorch's dirac_(): %u of %u channels in %u groups, %ux%u", t->k, t->c, t->groups,
	    t->r, t->s);
	is(drawn, each > t->c ? (each - t->c) * t->groups * filter : 0, "the other filters are drawn");
	free(w);
	free(aux);
	graph_free(g);
}

/* The arrays of the convolution and of beta alone; gamma is fixed and has no gradient. */
static void
scaled(void)
{
	struct graph *g = net(FAST_C, (struct graph_node){ .k = FAST_K, .r = 3, .s = 3 });
	const struct graph_array *conv = &g->w[0], *beta = &g->w[2];
	struct opt_hyper h = { .rule = OPT_NESTEROV };
	float *w = nets_floats(g->P), *state = nets_floats(g->P), *d = nets_floats(g->P), after[FAST_K * FAST_C * 9 + FAST_K];
	struct shard_plan *p;

	opt_usual(OPT_NESTEROV, &h);
	h.momentum = 0.875f;
	nets_must(shard_plan_new(g, 1, SHARD_PLAN_SLICE, FAST_MULTS, &h, &p));
	memcpy(w + conv->first, fast_before, conv->count * sizeof(*w));
	memcpy(w + beta->first, fast_before + conv->count, beta->count * sizeof(*w));
	for (size_t step = 0; step < 3; step++) {
		memcpy(d + conv->first, fast_g + step * COUNT(after), conv->count * sizeof(*d));
		memcpy(d + beta->first, fast_g + step * COUNT(after) + conv->count, beta->count * sizeof(*d));
		h.t = step + 1;
		for (uint32_t i = 0; i < p->ngroup; i++) {
			size_t at = p->group[i].first;

			h.lr = FAST_LR * p->group[i].lr;
			h.wd = FAST_WD * p->group[i].wd;
			opt_step(w + at, state + at, d + at, p->group[i].count, 1, &h);
		}
	}
	memcpy(after, w + conv->first, conv->count * sizeof(*w));
	memcpy(after + conv->count, w + beta->first, beta->count * sizeof(*w));
	is(conv->count + beta->count, COUNT(after), "the net has PyTorch's weights");
	nets_same(after, fast_after, COUNT(after), 0, "updates", "biases of norms learn 64 times as fast and decay alike");
	shard_plan_free(p);
	free(w);
	free(state);
	free(d);
	graph_free(g);
}

int
main(void)
{
	whitened();
	for (size_t i = 0; i < COUNT(fast_dirac); i++)
		handed_on(&fast_dirac[i]);
	scaled();
	return done();
}
