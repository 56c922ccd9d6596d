/*
 * gpu_step - the time of whole training steps of a net on an engine, on one synthetic batch, a line of TSV.
 *
 *	gpu_step ENGINE DTYPE NET CxHxW CLASSES BATCH SECONDS [OPTION VALUE]...
 *
 * A step is every array loaded, forward and backward with all gradients on the host.  Prints the columns that
 * bench/gpu names: net, batch, dtype, steps, median ms of a step, pictures a second at the median.
 */
#include "base/clk.h"
#include "base/err.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "net/init.h"
#include "net/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST	4096	/* steps */
#define OPTIONS	8

static void
must(int e, const char *what)
{
	if (e >= 0)
		return;
	fprintf(stderr, "gpu_step: %s: %s\n", what, err_line());
	exit(1);
}

static void *
room(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	must(p != NULL ? 0 : err_nomem(), "memory");
	return p;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct job {
	const struct engine *e;
	struct engine_dev  *dev;
	struct engine_plan *p;
	struct graph	   *g;
	struct samples	    s;
	float		   *w, *grad, *stats;
};

static void
step(const struct job *j)
{
	struct engine_result r;

	for (uint32_t a = 0; a < j->g->nw; a++)
		must(j->e->load(j->p, a, j->w + j->g->w[a].first), "load");
	must(j->e->forward(j->p, &j->s, NULL, NULL, &r), "forward");
	must(j->e->backward(j->p, j->grad, j->stats, NULL), "backward");
}

static void
batch(struct job *j, uint32_t n)
{
	const struct graph_node *in = &j->g->node[0];
	size_t numbers = (size_t)in->c * in->h * in->w * n;
	struct rng r = rng_start(1, 0, 0);
	float *x = room(numbers, sizeof(*x));
	int32_t *y = room(n, sizeof(*y));

	for (size_t i = 0; i < numbers; i++)
		x[i] = rng_normal(&r);
	for (uint32_t i = 0; i < n; i++)
		y[i] = (int32_t)rng_below(&r, j->g->classes);
	for (size_t i = 0; i < j->g->P; i++)
		j->w[i] = 0.05f * rng_normal(&r);
	j->s = (struct samples){ .n = n, .c = in->c, .h = in->h, .w = in->w, .x = x, .y = y };
}

int
main(int argc, char *argv[])
{
	struct script_opt opt[OPTIONS];
	uint32_t c, h, w, classes, n, opts = 0;
	enum engine_precision precision;
	double *ms = room(MOST, sizeof(*ms)), seconds, end, from;
	struct job j = { 0 };
	int steps = 0;

	if (argc < 8 || sscanf(argv[4], "%ux%ux%u", &c, &h, &w) != 3 || !engine_precision_find(argv[2], &precision)) {
		fprintf(stderr, "usage: gpu_step engine dtype net CxHxW classes batch seconds [option value]...\n");
		return 2;
	}
	classes = (uint32_t)atoi(argv[5]);
	n = (uint32_t)atoi(argv[6]);
	seconds = atof(argv[7]);
	for (int i = 8; i + 1 < argc && opts < OPTIONS; i += 2)
		opt[opts++] = (struct script_opt){ argv[i], argv[i + 1] };
	must(script_run(argv[3], c, h, w, classes, opt, opts, &j.g), argv[3]);
	must((j.e = engine_find(argv[1])) != NULL ? 0 : ERR_ARG, argv[1]);
	must(j.e->open(0, 1, &j.dev), argv[1]);
	must(j.e->plan(j.dev, j.g, n, precision, &j.p), "plan");
	j.w = room(j.g->P, sizeof(*j.w));
	j.grad = room(j.g->P, sizeof(*j.grad));
	j.stats = room(j.g->A, sizeof(*j.stats));
	batch(&j, n);
	for (int k = 0; k < 3; k++)
		step(&j);
	for (end = clk_s() + seconds; steps < MOST && (clk_s() < end || steps < 3); steps++) {
		from = clk_s();
		step(&j);
		ms[steps] = (clk_s() - from) * 1e3;
	}
	qsort(ms, (size_t)steps, sizeof(*ms), by_value);
	printf("%s\t%u\t%s\t%d\t%.2f\t%.0f\n", argv[3], n, argv[2], steps, ms[steps / 2], n / ms[steps / 2] * 1e3);
	j.e->plan_free(j.p);
	j.e->close(j.dev);
	return 0;
}
