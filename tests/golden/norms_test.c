/* norms_test - clipping by norm, LARS, Muon and averages through a worker and its server, against PyTorch's and MXNet's weights. */
#include "tap.h"

#include "net/graph.h"
#include "net/opt.h"
#include "ps/worker.h"

#include "lars_mxnet.h"
#include "norms_torch.h"

#include <stdlib.h>

#define FLOATS	107
#define STEPS	4
#define N	8	/* samples */

/* Three layers: a matrix with more rows than columns, one with fewer, and the classifier. */
static struct graph *
net(void)
{
	struct graph *g = graph_new(1, 2, 3);
	uint32_t at = 0;

	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "a", .in = &at, .nin = 1, .k = 8, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "m", .in = &at, .nin = 1, .k = 4, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "b", .in = &at, .nin = 1, .k = 3, .bias = true }, &at);
	graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = &at, .nin = 1 }, &at);
	return g;
}

/* The numbers of norms.py and lars.py. */
static float
number(int i, int mul, int add, int mod, int div)
{
	return (float)((i * mul + add) % mod - mod / 2) / (float)div;
}

/* The steps of a worker alone; 0 or an error. */
static int
run(const struct graph *g, const struct opt_hyper *h, const char *mults, uint32_t slice, float rate, float *w, float *average)
{
	float aux[1], d[FLOATS];
	struct worker_opt o = { .graph = g, .nworkers = 1, .hyper = *h, .mults = mults, .slice = slice, .w = w, .aux = aux };
	struct worker *wk;
	uint64_t step = 0;
	uint32_t n;
	int e;

	for (int i = 0; i < FLOATS; i++)
		w[i] = number(i, 37, 0, 101, 64);
	if ((e = worker_open(&o, &wk)) < 0)
		return e;
	e = worker_begin(wk, NULL, &step);
	for (int t = 0; e == 0 && t < STEPS; t++) {
		for (int i = 0; i < FLOATS; i++)
			d[i] = N * number(i, 53, 29 * t, 97, 32);
		e = worker_step(wk, N, rate);
		if (t % 2 == 1)
			worker_mark(wk);
		for (uint32_t a = 0; e == 0 && a < g->nw; a++)
			e = worker_push(wk, a, d);
		if (e == 0 && (e = worker_finish(wk, aux)) == 0)
			e = worker_ready(wk);
	}
	if (e == 0 && average != NULL)
		e = worker_average(wk, average, &n);
	worker_close(wk);
	return e;
}

static double
worst(const float *w, const float *want)
{
	double most = 0;

	for (int i = 0; i < FLOATS; i++)
		most = fmax(most, fabs((double)w[i] - (double)want[i]));
	return most;
}

int
main(void)
{
	struct graph *g = net();
	struct opt_hyper lars = { .wd = 0.01f };
	float w[FLOATS], average[FLOATS];

	is(g->P, FLOATS, "the net of norms.py");
	for (size_t i = 0; i < sizeof(torch_norms) / sizeof(*torch_norms); i++) {
		struct opt_hyper h = { .rule = torch_norms[i].rule, .momentum = torch_norms[i].momentum,
			.beta2 = torch_norms[i].beta2, .eps = torch_norms[i].eps, .wd = 0.01f,
			.clip_norm = torch_norms[i].clip_norm, .turns = torch_norms[i].turns, .unit = torch_norms[i].unit };

		for (uint32_t slice = 64; slice <= 4096; slice *= 8) {
			is(run(g, &h, NULL, slice, 0.05f, w, NULL), 0, "%s, clipped at %g, slices of %u bytes", opt_name(h.rule),
			    (double)h.clip_norm, slice);
			near(worst(w, torch_norms[i].w), 0, 3e-6, "... PyTorch's weights");
		}
	}
	opt_usual(OPT_LARS, &lars);
	lars.trust = 0.02f;
	is(run(g, &lars, "wd:*_bias=0", 64, 2.0f, w, NULL), 0, "lars");
	near(worst(w, mxnet_lars), 0, 3e-6, "... MXNet's weights");
	for (size_t i = 0; i < sizeof(torch_averages) / sizeof(*torch_averages); i++) {
		struct opt_hyper h = { .momentum = 0.9f, .wd = 0.01f, .average = { torch_averages[i].kind, 0.75f, 3 } };

		is(run(g, &h, NULL, 64, 0.05f, w, average), 0, "%s", average_name(h.average.kind));
		near(worst(w, torch_averages[i].w), 0, 3e-6, "... PyTorch's weights");
		near(worst(average, torch_averages[i].average), 0, 3e-6, "... and their average");
	}
	graph_free(g);
	return done();
}
