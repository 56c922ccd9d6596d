/* steps - a few updates by a worker alone, from weights and gradients that peers' scripts have too. */
#ifndef TESTS_GOLDEN_STEPS_H
#define TESTS_GOLDEN_STEPS_H

#include "ps/worker/worker.h"
#include "tap.h"

#include <stdlib.h>

#define STEPS	4
#define N	8	/* samples */

/* Number i of numbers() in norms.py, lars.py, rules.py and rules_mxnet.py. */
static inline float
number(int i, int mul, int add, int mod, int div)
{
	return (float)((i * mul + add) % mod - mod / 2) / (float)div;
}

/* w [P] are the weights behind them all, average [P + A] their average, or NULL.  0 or an error. */
static int
steps(const struct graph *g, const struct opt_hyper *h, const char *mults, uint32_t slice, const float rate[STEPS], float *w,
    float *average)
{
	float *aux = calloc(g->A + 1, sizeof(*aux)), *d = calloc(g->P, sizeof(*d));
	struct worker_opt o = { .graph = g, .nworkers = 1, .hyper = *h, .mults = mults, .slice = slice, .w = w, .aux = aux };
	struct worker *wk;
	uint64_t step = 0;
	uint32_t n;
	int e;

	for (int i = 0; i < (int)g->P; i++)
		w[i] = number(i, 37, 0, 101, 64);
	if ((e = worker_open(&o, &wk)) == 0)
		e = worker_begin(wk, NULL, &step);
	for (int t = 0; e == 0 && t < STEPS; t++) {
		for (int i = 0; i < (int)g->P; i++)
			d[i] = N * number(i, 53, 29 * t, 97, 32);
		e = worker_step(wk, N, rate[t]);
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
	free(aux);
	free(d);
	return e;
}

static double
steps_worst(const float *w, const float *want, size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = isfinite(w[i]) ? fmax(most, fabs((double)w[i] - (double)want[i])) : (double)INFINITY;
	return most;
}

#endif
