/* init_test - first weights: each rule's bound and spread, and that they are a function of (graph, rule, seed). */
#include "base/err.h"
#include "net/init.h"
#include "tap.h"

#include <stdlib.h>

static struct graph *g;
static float *w, *w2, *aux;

/* A conv, a batch norm and a layer wide enough for statistics. */
static void
make(void)
{
	struct graph_node conv = { .op = GRAPH_CONV, .name = "c", .k = 6, .r = 5, .s = 3, .stride = GRAPH_BOTH(1), .bias = true };
	struct graph_node bn = { .op = GRAPH_BN, .name = "b", .eps = 1e-5f, .momentum = 0.9f };
	struct graph_node fc = { .op = GRAPH_FC, .name = "f", .k = 300, .bias = true };
	uint32_t at = 0;

	g = graph_new(4, 12, 12);
	for (struct graph_node *n = &conv; n != NULL; n = n == &conv ? &bn : n == &bn ? &fc : NULL) {
		uint32_t in = at;

		n->in = &in;
		n->nin = 1;
		graph_add(g, n, &at);
	}
	w = calloc(g->P, sizeof(*w));
	w2 = calloc(g->P, sizeof(*w));
	aux = calloc(g->A, sizeof(*aux));
}

static const struct graph_array *
array(const char *name)
{
	for (uint32_t i = 0; i < g->nw; i++)
		if (strcmp(g->w[i].name, name) == 0)
			return &g->w[i];
	return NULL;
}

static bool
all(const struct graph_array *a, const float *p, float v)
{
	for (size_t i = 0; i < a->count; i++)
		if (p[a->first + i] != v)
			return false;
	return true;
}

/* Mean, root mean square and largest magnitude of an array, in units of what is expected. */
static void
spread(const char *rule, const char *name, double rms, double most)
{
	const struct graph_array *a = array(name);
	double sum = 0, squares = 0, top = 0, n = (double)a->count, close;

	if (!ok(init_weights(g, rule, 1, w, aux) == 0, "%s", rule))
		return;
	for (size_t i = a->first; i < a->first + a->count; i++) {
		sum += w[i];
		squares += (double)w[i] * w[i];
		top = fabs(w[i]) > top ? fabs(w[i]) : top;
	}
	close = 5 / sqrt(n);	/* five standard deviations or so */
	near(sum / n, 0, rms * close, "%s of %s: mean", rule, name);
	near(sqrt(squares / n), rms, rms * close, "%s of %s: spread", rule, name);
	ok(top <= most && top > 0.9 * rms * sqrt(3), "%s of %s: largest %g", rule, name, top);
}

/* Two groups of 2 channels into 3 each, 3x2, and a full layer of 3 into 2, that begin by handing on what comes. */
static void
identity(void)
{
	struct graph_node conv = { .op = GRAPH_CONV, .name = "c", .in = (uint32_t[]){ 0 }, .nin = 1, .k = 6, .r = 3, .s = 2,
	    .stride = GRAPH_BOTH(1), .groups = 2, .begin = GRAPH_IDENTITY };
	struct graph_node fc = { .op = GRAPH_FC, .name = "f", .in = (uint32_t[]){ 1 }, .nin = 1, .k = 2,
	    .begin = GRAPH_IDENTITY };
	struct graph *h = graph_new(4, 3, 2);
	float v[6 * 2 * 6 + 2 * 6];
	uint32_t at, bad = 0, ruled = 0;

	graph_add(h, &conv, &at);
	graph_add(h, &fc, &at);
	ok(init_weights(h, "uniform:0.5", 1, v, NULL) == 0, "identity");
	for (uint32_t j = 0; j < 72; j++) {
		uint32_t k = j / 12, c = j / 6 % 2, tap = j % 6;

		if (k % 3 == 2)
			ruled += v[j] != 0 && fabsf(v[j]) < 0.5f;
		else
			bad += v[j] != (c == k % 3 && tap == 3 ? 1 : 0);
	}
	is(bad, 0, "the first filters of each group hand their channels on");
	is(ruled, 2 * 12, "the last filters of each group begin by the rule");
	for (uint32_t j = 0; j < 12; j++)
		bad += v[72 + j] != (j == 0 || j == 7 ? 1 : 0);
	is(bad, 0, "a full layer hands its first numbers on");
	graph_free(h);
}

int
main(void)
{
	static const char *const wrong[] = { "", "uniform", "uniform:", "uniform:x", "uniform:-1", "normal", "msra:2",
	    "xavier", "gauss:1", "f*=msra", "msra,msra", "msra,f*=gauss", "msra,", "msra,=" };
	const double conv = 4 * 5 * 3, fc = 6 * 8 * 10;	/* fan in */
	const float *f;
	int refused = 0;

	make();
	spread("uniform:0.07", "f_weight", 0.07 / sqrt(3), 0.07);
	spread("normal:0.01", "f_weight", 0.01, 0.01 * 7);
	spread("xavier:2.34", "f_weight", sqrt(2.34 / fc / 3), sqrt(2.34 / fc));
	spread("xavier:2.34", "c_weight", sqrt(2.34 / conv / 3), sqrt(2.34 / conv));
	spread("msra,f*=normal:0.01", "f_weight", 0.01, 0.01 * 7);
	spread("msra,f*=normal:0.01", "c_weight", sqrt(2 / conv), sqrt(2 / conv) * 7);
	spread("msra,*=normal:1,c*=uniform:0.07", "c_weight", 0.07 / sqrt(3), 0.07);
	spread("msra", "f_weight", sqrt(2 / fc), sqrt(2 / fc) * 7);
	spread("msra", "c_weight", sqrt(2 / conv), sqrt(2 / conv) * 7);
	ok(all(array("c_bias"), w, 0) && all(array("f_bias"), w, 0) && all(array("b_beta"), w, 0), "biases and betas 0");
	ok(all(array("b_gamma"), w, 1), "gammas 1");
	ok(all(&g->aux[0], aux, 0) && all(&g->aux[1], aux, 1), "moving means 0, variances 1");

	init_weights(g, "msra", 1, w2, aux);
	ok(memcmp(w, w2, g->P * sizeof(*w)) == 0, "the same seed, the same weights");
	init_weights(g, "msra", 2, w2, aux);
	ok(w[0] != w2[0] && w[array("f_weight")->first] != w2[array("f_weight")->first], "another seed, others");
	f = w + array("f_weight")->first;
	ok(fabsf(w[0] / w[1] - f[0] / f[1]) > 1e-3f, "each array has its own stream");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		refused += init_weights(g, wrong[i], 1, w, aux) == ERR_FORMAT;
	is(refused, sizeof(wrong) / sizeof(*wrong), "other rules are refused (%s)", err_line());
	identity();
	graph_free(g);
	free(w);
	free(w2);
	free(aux);
	return done();
}
