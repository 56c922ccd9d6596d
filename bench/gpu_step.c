/*
 * gpu_step - the time and the loss of whole training steps of a net on an engine, on one synthetic batch, a line of TSV.
 *
 *	gpu_step ENGINE DTYPE NET CxHxW CLASSES BATCH SECONDS [OPTION VALUE]...
 *
 * A DTYPE followed by +: kernels by a race, as pworker --autotune.
 * A step is all that a worker without a server does: pixels in, forward, backward, and every weight updated by SGD with
 * momentum, on the device where the engine learns there.  Steps are timed in blocks, from an idle device to an idle
 * device, as bench/peers/train_torch.py does.  SECONDS 0: one short block.  Prints net, batch, dtype, steps, median ms of
 * a step, images a second at the median, TFLOP/s of its convolutions and full layers, CUDA graphs captured/refused, or -,
 * and the mean loss of a sample in step 1 and in step 6, which depend on the arguments alone but for rounding.
 *
 * Status: 0; 3 if the device has not enough memory; 4 if it lacks the dtype or a layer; 1 after another error, which a
 * loss that is no finite number is, too.
 */
#include "base/buf.h"
#include "base/clk.h"
#include "base/err.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "net/init.h"
#include "net/graph/script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST	4096	/* blocks of steps */
#define BLOCK	10
#define FEW	3	/* steps before the first block, and of a short block */
#define LOSSES	6	/* steps whose loss is kept */
#define OPTIONS	8

static void
must(int e, const char *what)
{
	if (e >= 0)
		return;
	fprintf(stderr, "gpu_step: %s: %s\n", what, err_line());
	exit(e == ERR_NOMEM ? 3 : e == ERR_NOTSUP ? 4 : 1);
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
	float		   *w, *aux, *grad, *stats, *state;
	bool		    learns;	/* where the weights are */
	uint64_t	    steps;
	double		    loss[LOSSES];	/* the mean of a sample, of the first steps */
	uint8_t		   *pixels;	/* of s */
	int32_t		   *classes;
};

static const struct opt_hyper hyper = { .lr = 0.001f, .momentum = 0.9f, .wd = 1e-4f };

static void
load(const struct job *j)
{
	for (uint32_t a = 0; a < j->g->nw; a++)
		must(j->e->load(j->p, a, j->w + j->g->w[a].first), "load");
}

/* All arrays in one range; batch norm's running statistics are nobody's concern here. */
static void
learn(struct job *j)
{
	const struct engine_group all = { .count = j->g->P, .lr = 1, .wd = 1 };
	const struct engine_opt how = { .hyper = hyper, .group = &all, .ngroup = 1, .state = j->state };

	load(j);
	must(j->e->load_aux(j->p, j->aux), "load");
	j->learns = j->e->device_opt != NULL && j->e->device_opt->begin(j->p, &how) == 0;
}

/* With the device optimizer nobody waits for the update here. */
static void
step(struct job *j)
{
	struct engine_result r;

	if (!j->learns)
		load(j);
	must(j->e->forward(j->p, &j->s, NULL, NULL, &r), "forward");
	must(isfinite(r.loss) ? 0 : err_fail(ERR_FORMAT, "the loss of step %llu is %g",
	    (unsigned long long)j->steps + 1, r.loss), "forward");
	if (j->steps < LOSSES)
		j->loss[j->steps] = r.loss / j->s.n;
	j->steps++;
	must(j->e->backward(j->p, j->learns ? NULL : j->grad, j->learns ? NULL : j->stats, NULL), "backward");
	if (j->learns)
		must(j->e->device_opt->step(j->p, j->s.n, hyper.lr, j->steps, false), "update");
	else
		must(j->e->update(j->dev, j->w, j->state, j->grad, j->g->P, j->s.n, &hyper), "update");
}

/* Waits until the device is idle. */
static void
wait_for_device(struct job *j)
{
	if (j->learns)
		must(j->e->device_opt->fetch(j->p, NULL, NULL, NULL, NULL, NULL), "update");
}

/* Returns the milliseconds of a step in a block of n steps. */
static double
time_block(struct job *j, int n)
{
	double from = clk_s();

	for (int k = 0; k < n; k++)
		step(j);
	wait_for_device(j);
	return (clk_s() - from) * 1e3 / n;
}

static void
batch(struct job *j, uint32_t n)
{
	const struct graph_node *in = &j->g->node[0];
	size_t numbers = (size_t)in->c * in->h * in->w * n;
	struct rng r = rng_start(1, 0, 0);
	uint8_t *x = j->pixels = room(numbers, sizeof(*x));
	int32_t *y = j->classes = room(n, sizeof(*y));

	for (size_t i = 0; i < numbers; i++)
		x[i] = (uint8_t)rng_below(&r, 256);
	for (uint32_t i = 0; i < n; i++)
		y[i] = (int32_t)rng_below(&r, j->g->classes);
	j->s = (struct samples){ .n = n, .c = in->c, .h = in->h, .w = in->w, .pixel = x, .y = y,
		.norm = { .flat = { 128, 128, 128 }, .by = { 1 / 64.0f, 1 / 64.0f, 1 / 64.0f } } };
}

static void
count_graphs(const struct job *j, char text[32])
{
	unsigned captured, refused;
	struct buf b = { 0 };
	const char *at;

	must(j->e->explain(j->p, &b), "explain");
	must(buf_terminate(&b), "explain");
	snprintf(text, 32, "-");
	if ((at = strstr((const char *)b.p, "CUDA graphs ")) != NULL &&
	    sscanf(at, "CUDA graphs captured %u, refused %u", &captured, &refused) == 2)
		snprintf(text, 32, "%u/%u", captured, refused);
	buf_free(&b);
}

static void
close_job(struct job *j)
{
	void *arrays[] = { j->w, j->grad, j->stats, j->state, j->aux, j->pixels, j->classes };

	j->e->plan_free(j->p);
	j->e->close(j->dev);
	graph_free(j->g);
	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
		free(arrays[i]);
}

int
main(int argc, char *argv[])
{
	struct script_opt opt[OPTIONS];
	uint32_t c, h, w, classes, n, opts = 0;
	enum engine_precision precision;
	char dtype[16] = "", graphs[32];
	double *ms = room(MOST, sizeof(*ms)), seconds, end;
	struct job j = { 0 };
	int blocks = 0, each;

	if (argc < 8 || sscanf(argv[4], "%ux%ux%u", &c, &h, &w) != 3 || sscanf(argv[2], "%15[^+]", dtype) != 1 ||
	    !engine_precision_find(dtype, &precision)) {
		fprintf(stderr, "usage: gpu_step engine dtype net CxHxW classes batch seconds [option value]...\n");
		return 2;
	}
	classes = (uint32_t)atoi(argv[5]);
	n = (uint32_t)atoi(argv[6]);
	seconds = atof(argv[7]);
	each = seconds > 0 ? BLOCK : FEW;
	for (int i = 8; i + 1 < argc && opts < OPTIONS; i += 2)
		opt[opts++] = (struct script_opt){ argv[i], argv[i + 1] };
	must(script_run(argv[3], c, h, w, classes, opt, opts, &j.g), argv[3]);
	must((j.e = engine_find(argv[1])) != NULL ? 0 : ERR_ARG, argv[1]);
	must(engine_open(&j.e, 0, 1, &j.dev), argv[1]);
	engine_tune(j.e, j.dev, &(struct engine_tune){ .measure = strchr(argv[2], '+') != NULL });
	must(engine_plan(j.e, j.dev, j.g, n, precision, 0, &j.p), "plan");
	j.w = room(j.g->P, sizeof(*j.w));
	j.grad = room(j.g->P, sizeof(*j.grad));
	j.stats = room(j.g->A, sizeof(*j.stats));
	j.state = room(j.g->P, sizeof(*j.state));
	j.aux = room(j.g->A, sizeof(*j.aux));
	must(init_weights(j.g, "msra", 1, j.w, j.aux), "weights");
	batch(&j, n);
	learn(&j);
	time_block(&j, FEW);
	for (end = clk_s() + seconds; blocks < MOST && (blocks == 0 || clk_s() < end); blocks++)
		ms[blocks] = time_block(&j, each);
	qsort(ms, (size_t)blocks, sizeof(*ms), by_value);
	count_graphs(&j, graphs);
	printf("%s\t%u\t%s\t%d\t%.2f\t%.0f\t%.1f\t%s\t%.9g\t%.9g\n", argv[3], n, argv[2], blocks * each, ms[blocks / 2],
	    n / ms[blocks / 2] * 1e3, 6.0 * (double)graph_macs(j.g) * n / ms[blocks / 2] * 1e-9, graphs, j.loss[0],
	    j.loss[LOSSES - 1]);
	close_job(&j);
	free(ms);
	return 0;
}
