/*
 * logits - how far an engine's logits and gradients are from those of another program.
 *
 *	logits ENGINE|bf16 NET FOLDER [OPTION VALUE]...
 *
 * bf16 is the best engine in bf16.  FOLDER is what torch_nets.py or mxnet_nets.py writes.  Prints the relative distances
 * in the 2-norm of logits and, where grads.safetensors is there, gradients and batch statistics, a line each.  Logits are
 * known up to a constant a sample, as logarithms of probabilities, and compared so.
 */
#include "peers.h"

#include "base/err.h"
#include "base/io.h"
#include "engine/engine.h"
#include "net/script.h"
#include "net/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define must(e)		peers_must("logits", (e))
#define floats(n)	peers_floats("logits", (n))

static void
path_of(const char *folder, const char *name, char path[512])
{
	snprintf(path, 512, "%s/%s", folder, name);
}

static float *
slurp(const char *folder, const char *name, size_t n)
{
	struct buf b = { 0 };
	char path[512];

	path_of(folder, name, path);
	must(io_slurp(path, n * sizeof(float), &b));
	must(b.n == n * sizeof(float) ? 0 : err_fail(ERR_SHORT, "%s: %zu bytes of %zu", path, b.n, n * sizeof(float)));
	return (float *)(void *)b.p;
}

static double
distance(const float *a, const float *b, size_t n)
{
	double off = 0, size = 0;

	for (size_t i = 0; i < n; i++) {
		off += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
		size += (double)b[i] * b[i];
	}
	return n > 0 ? sqrt(off / size) : 0;
}

/* Takes the mean off each row. */
static void
centre(float *p, size_t classes)
{
	for (size_t i = 0; i < PEERS_N; i++, p += classes) {
		double mean = 0;

		for (size_t k = 0; k < classes; k++)
			mean += p[k] / (double)classes;
		for (size_t k = 0; k < classes; k++)
			p[k] -= (float)mean;
	}
}

static void
compare(const struct engine *e, struct engine_plan *p, const struct graph *g, const char *folder)
{
	size_t all = (size_t)PEERS_N * g->classes, picture = (size_t)g->node[0].c * g->node[0].h * g->node[0].w;
	float *x = slurp(folder, "x.f32", PEERS_N * picture), *want = slurp(folder, "logits.f32", all), *prob = floats(all);
	float *d = floats(g->P), *stats = floats(g->A);
	const int32_t label[PEERS_N] = { 0, 7 % (int32_t)g->classes, 14 % (int32_t)g->classes, 21 % (int32_t)g->classes };
	const struct samples s = { .n = PEERS_N, .c = g->node[0].c, .h = g->node[0].h, .w = g->node[0].w, .x = x, .y = label };
	struct weights grads;
	struct engine_result r;
	char path[512];

	must(e->evaluate(p, &s, &r, prob));
	for (size_t i = 0; i < all; i++)
		prob[i] = logf(prob[i]);
	centre(prob, g->classes);
	centre(want, g->classes);
	printf("logits %.3g\n", distance(prob, want, all));
	path_of(folder, "grads.safetensors", path);
	if (access(path, F_OK) == 0) {
		must(e->forward(p, &s, NULL, NULL, &r));
		must(e->backward(p, d, stats, NULL));
		must(weights_load(path, g, &grads));
		printf("gradients %.3g\nstatistics %.3g\n", distance(d, grads.w, g->P), distance(stats, grads.aux, g->A));
		weights_free(&grads);
	}
	free(x);
	free(want);
	free(prob);
	free(d);
	free(stats);
}

int
main(int argc, char *argv[])
{
	struct script_opt opt[PEERS_OPTS];
	const struct engine *e;
	struct engine_plan *p;
	struct engine_dev *dev;
	struct graph *g;
	struct weights w;
	enum engine_precision precision = ENGINE_F32;
	uint32_t nopt = 0;
	char path[512];

	if (argc < 4 || argc % 2 != 0 || argc > 4 + 2 * PEERS_OPTS)
		return 2;
	for (int i = 4; i < argc; i += 2)
		opt[nopt++] = (struct script_opt){ argv[i], argv[i + 1] };
	must(script_run(argv[2], 0, 0, 0, 0, opt, nopt, &g));
	if (strcmp(argv[1], "bf16") == 0) {
		argv[1] = NULL;		/* the best engine there is */
		precision = ENGINE_BF16;
	}
	must((e = engine_find(argv[1])) != NULL ? 0 : ERR_ARG);
	must(e->open(0, 0, &dev));
	must(e->plan(dev, g, PEERS_N, precision, &p));
	path_of(argv[3], "weights.safetensors", path);
	must(weights_load(path, g, &w));
	must(e->load_aux(p, w.aux));
	for (uint32_t a = 0; a < g->nw; a++)
		must(e->load(p, a, w.w + g->w[a].first));
	weights_free(&w);
	compare(e, p, g, argv[3]);
	e->plan_free(p);
	e->close(dev);
	graph_free(g);
	return 0;
}
