/*
 * random - weights that give every layer something to do, and pictures, for another program to run.
 *
 *	random NET FOLDER [OPTION VALUE]...
 *
 * FOLDER gets weights.safetensors and x.f32 [N,C,H,W], of noise.  Statistics are those of these pictures, a little off, so
 * that activations keep their size and no layer may forget any of the four numbers of a channel.
 */
#include "peers.h"

#include "base/err.h"
#include "base/io.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "net/init.h"
#include "net/graph/script.h"
#include "net/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define must(e)		peers_must("random", (e))
#define floats(n)	peers_floats("random", (n))

static float
within(struct rng *r, float lo, float hi)
{
	return lo + (hi - lo) * rng_f32(r);
}

static void
spread(const struct graph *g, float *w)
{
	struct rng r = rng_start(3, 0, 0);

	for (uint32_t a = 0; a < g->nw; a++)
		for (size_t i = 0; i < g->w[a].count; i++)
			if (g->w[a].role == GRAPH_GAMMA)
				w[g->w[a].first + i] = within(&r, 0.5f, 1.5f);
			else if (g->w[a].role == GRAPH_BETA || g->w[a].role == GRAPH_BIAS)
				w[g->w[a].first + i] = within(&r, -0.2f, 0.2f);
}

/* The batch's statistics, off by up to a fifth of a deviation. */
static void
statistics(const struct graph *g, const float *w, const float *x, float *aux)
{
	const struct engine *e = engine_find("cpu");
	const int32_t label[PEERS_N] = { 0 };
	const struct samples s = { .n = PEERS_N, .c = g->node[0].c, .h = g->node[0].h, .w = g->node[0].w, .x = x, .y = label };
	struct rng r = rng_start(4, 0, 0);
	float *d = floats(g->P);
	struct engine_result result;
	struct engine_plan *p;
	struct engine_dev *dev;

	must(e != NULL ? 0 : ERR_ARG);
	must(e->open(0, 0, &dev));
	must(engine_plan(e, dev, g, PEERS_N, ENGINE_F32, 0, &p));
	for (uint32_t a = 0; a < g->nw; a++)
		must(e->load(p, a, w + g->w[a].first));
	must(e->forward(p, &s, NULL, NULL, &result));
	must(e->backward(p, d, aux, NULL));
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t c = 0; g->node[i].op == GRAPH_BN && c < g->node[i].c; c++) {
			float *mean = aux + g->aux[g->node[i].mean].first + c, *var = aux + g->aux[g->node[i].var].first + c;

			*mean += within(&r, -0.2f, 0.2f) * sqrtf(*var);
			*var = *var * within(&r, 0.8f, 1.25f) + 1e-3f;
		}
	e->plan_free(p);
	e->close(dev);
	free(d);
}

int
main(int argc, char *argv[])
{
	struct script_opt opt[PEERS_OPTS];
	struct rng r = rng_start(5, 0, 0);
	char path[512];
	struct io_new f;
	struct graph *g;
	uint32_t nopt = 0;
	float *w, *aux, *x;
	size_t n;

	if (argc < 3 || argc % 2 != 1 || argc > 3 + 2 * PEERS_OPTS)
		return 2;
	for (int i = 3; i < argc; i += 2)
		opt[nopt++] = (struct script_opt){ argv[i], argv[i + 1] };
	must(script_run(argv[1], 0, 0, 0, 0, opt, nopt, &g));
	n = (size_t)PEERS_N * g->node[0].c * g->node[0].h * g->node[0].w;
	x = floats(n);
	w = floats(g->P);
	aux = floats(g->A);
	for (size_t i = 0; i < n; i++)
		x[i] = within(&r, -1.5f, 1.5f);
	must(init_weights(g, "msra", 6, w, aux));
	spread(g, w);
	statistics(g, w, x, aux);
	snprintf(path, sizeof(path), "%s/weights.safetensors", argv[2]);
	must(weights_save(path, &(struct weights_content){ .graph = g, .w = w, .aux = aux }));
	snprintf(path, sizeof(path), "%s/x.f32", argv[2]);
	must(io_create(&f, path));
	must(io_write(f.fd, x, n * sizeof(*x)));
	must(io_commit(&f));
	free(w);
	free(aux);
	free(x);
	graph_free(g);
	return 0;
}
