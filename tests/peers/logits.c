/*
 * logits - how far an engine's logits and gradients are from those of another program.
 *
 *	logits ENGINE|bf16 NET FOLDER [OPTION VALUE]...
 *
 * bf16 is the best engine in bf16.  FOLDER is what torch_nets.py or mxnet_nets.py writes; picture i has the label 7 i.
 * Prints the relative distances in the 2-norm of logits and, where grads.safetensors is there, gradients and batch
 * statistics, a line each.  Logits are known up to a constant a sample, as logarithms of probabilities, and compared so:
 * those that are far from 1 have to be scaled by who writes them, lest they be lost there.
 */
#include "peers.h"

#include "base/err.h"
#include "base/io.h"
#include "engine/engine.h"
#include "net/graph/script.h"
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

/* All rows of a file, each of n numbers; as many as *rows, where that is not 0. */
static float *
slurp(const char *folder, const char *name, size_t n, uint32_t *rows)
{
	size_t row = n * sizeof(float);
	struct buf b = { 0 };
	char path[512];

	path_of(folder, name, path);
	must(io_slurp(path, (size_t)1 << 30, &b));
	must(b.n % row == 0 && b.n > 0 && (*rows == 0 || b.n / row == *rows) ? 0 :
	    err_fail(ERR_SHORT, "%s: %zu bytes are no rows of %zu", path, b.n, row));
	*rows = (uint32_t)(b.n / row);
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
centre(float *p, size_t rows, size_t classes)
{
	for (size_t i = 0; i < rows; i++, p += classes) {
		double mean = 0;

		for (size_t k = 0; k < classes; k++)
			mean += p[k] / (double)classes;
		for (size_t k = 0; k < classes; k++)
			p[k] -= (float)mean;
	}
}

/* Pictures, with labels. */
static struct samples
pictures(const struct graph *g, const char *folder)
{
	struct samples s = { .c = g->node[0].c, .h = g->node[0].h, .w = g->node[0].w };
	int32_t *label;

	s.x = slurp(folder, "x.f32", (size_t)s.c * s.h * s.w, &s.n);
	must((label = calloc(s.n, sizeof(*label))) != NULL ? 0 : err_nomem());
	for (uint32_t i = 0; i < s.n; i++)
		label[i] = (int32_t)(i * 7 % g->classes);
	s.y = label;
	return s;
}

static void
compare_logits(const struct engine *e, struct engine_plan *p, const struct graph *g, struct samples *s, const char *folder)
{
	size_t all = (size_t)s->n * g->classes;
	float *want = slurp(folder, "logits.f32", g->classes, &s->n), *prob = floats(all);
	struct engine_result r;

	must(e->evaluate(p, s, &r, prob));
	for (size_t i = 0; i < all; i++)
		prob[i] = logf(prob[i]);
	centre(prob, s->n, g->classes);
	centre(want, s->n, g->classes);
	printf("logits %.3g\n", distance(prob, want, all));
	free(want);
	free(prob);
}

static void
compare_step(const struct engine *e, struct engine_plan *p, const struct graph *g, const struct samples *s, const char *path)
{
	float *d = floats(g->P), *stats = floats(g->A);
	struct weights grads;
	struct engine_result r;

	must(e->forward(p, s, NULL, NULL, &r));
	must(e->backward(p, d, stats, NULL));
	must(weights_load(path, g, &grads));
	printf("gradients %.3g\nstatistics %.3g\n", distance(d, grads.w, g->P), distance(stats, grads.aux, g->A));
	weights_free(&grads);
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
	struct samples s;
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
	must(engine_open(&e, 0, 0, &dev));
	s = pictures(g, argv[3]);
	must(engine_plan(e, dev, g, s.n, precision, 0, &p));
	path_of(argv[3], "weights.safetensors", path);
	must(weights_load(path, g, &w));
	must(e->load_aux(p, w.aux));
	for (uint32_t a = 0; a < g->nw; a++)
		must(e->load(p, a, w.w + g->w[a].first));
	weights_free(&w);
	compare_logits(e, p, g, &s, argv[3]);
	path_of(argv[3], "grads.safetensors", path);
	if (access(path, F_OK) == 0)
		compare_step(e, p, g, &s, path);
	free((float *)s.x);
	free((int32_t *)s.y);
	e->plan_free(p);
	e->close(dev);
	graph_free(g);
	return 0;
}
