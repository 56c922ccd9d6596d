/*
 * run_test - whole runs, by every engine and by pworker's options, against PyTorch's: each step's loss, each epoch's loss, top-1 and
 * top-5 in training and validation, when it ends, and its weights, running statistics and averages.
 *
 * The numbers in run_torch.h are those of a loop over PyTorch's modules, in f64; run.py is how they were made.
 */
#include "op/nets.h"
#include "pics.h"

#include "net/weights.h"
#include "train/stats.h"
#include "train/train.h"

#include <unistd.h>

#define TRAIN	24
#define VAL	10
#define SIDE	4u
#define CLASSES	7u
#define NP	127	/* weights and statistics */
#define NA	6
#define EPOCHS	5
#define BEYOND	24	/* steps of the longest */

struct run_case {
	const char *name, *lr;
	enum opt_rule rule;
	float momentum, beta2, eps, wd, clip_norm, smooth;
	struct average average;
	uint64_t swa, epochs;		/* 0: 2 */
	uint32_t accumulate;		/* 0: 1 */
	uint32_t patience, shift;
	bool flip, nofc, way;
	uint32_t ends, best, steps;	/* epochs, the best of them, from 1, and steps */
	float step[BEYOND], train[EPOCHS][3], val[EPOCHS][3];
	float w[NP], aux[NA], mean[NP + NA], stats[NA];
};

#include "run_torch.h"

static char dir[] = "/tmp/tally.XXXXXX";

/* What a run reported. */
static struct {
	double step[BEYOND], train[EPOCHS][3], val[EPOCHS][3];
	unsigned steps, trains, vals;
} told;

static void
event(void *arg, const struct train_event *ev)
{
	const double v[3] = { ev->loss, ev->accuracy, ev->top5 };

	(void)arg;
	if (ev->kind == TRAIN_STEP && told.steps < BEYOND)
		told.step[told.steps++] = ev->loss;
	if (ev->kind == TRAIN_EPOCH && told.trains < EPOCHS)
		memcpy(told.train[told.trains++], v, sizeof(v));
	if (ev->kind == TRAIN_VALIDATION && told.vals < EPOCHS)
		memcpy(told.val[told.vals++], v, sizeof(v));
}

/* A file's path in the test's folder; the last sixteen stay valid. */
static const char *
in_dir(const char *name)
{
	static char at[16][80];
	static unsigned slot;
	char *p = at[slot++ % 16];

	snprintf(p, sizeof(at[0]), "%s/%s", dir, name);
	return p;
}

/* The images of run.py. */
static int
images(const char *path, int first, int n, int step)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), e = 0;

	for (int k = 0; k < n && e == 0; k++) {
		struct buf png = { 0 }, rec = { 0 };
		float label = (float)(k * step % (int)CLASSES);
		uint8_t p[SIDE * SIDE];
		int i = first + k;

		for (int y = 0; y < (int)SIDE; y++)
			for (int x = 0; x < (int)SIDE; x++)
				p[y * (int)SIDE + x] = (uint8_t)(i * 71 + y * 37 + x * 59 + y * x * 13 + i % 7 * (y == i % 4) * 60);
		if ((e = img_encode_png(&(struct img){ .p = p, .c = 1, .h = SIDE, .w = SIDE }, &png)) == 0 &&
		    (e = imrec_encode(&rec, (uint64_t)k, &label, 1, png.p, png.n)) == 0)
			e = pics_rec(fd, rec.p, rec.n);
		buf_free(&png);
		buf_free(&rec);
	}
	close(fd);
	return e;
}

static struct graph *
net(float smooth)
{
	struct graph *g = graph_new(1, SIDE, SIDE);
	uint32_t x;

	x = NODE(g, 0, CONV, .k = 3, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .bias = true);
	x = NODE(g, x, BN, .eps = 1 / 1024.f, .momentum = 0.9f);
	x = NODE(g, x, ACT, .act = GRAPH_RELU);
	x = NODE(g, x, POOL, .pool = GRAPH_MAX, .r = 2, .s = 2, .stride = GRAPH_BOTH(2));
	x = NODE(g, x, FC, .k = CLASSES, .bias = true);
	NODE(g, x, SOFTMAX, .smooth = smooth);
	return g;
}

/* The first weights. */
static void
begin(const struct graph *g, bool nofc, float *w, float *aux)
{
	for (int i = 0; i < NA; i++)
		aux[i] = i < NA / 2 ? 0 : 1;
	for (uint32_t a = 0; a < g->nw; a++)
		for (size_t i = g->w[a].first; i < g->w[a].first + g->w[a].count; i++) {
			w[i] = (float)((int)(i * 37 % 101) - 50) / 256 + (g->w[a].role == GRAPH_GAMMA ? 1 : 0);
			if (nofc && a >= g->nw - 2)
				w[i] = 0;
		}
}

static double
worst(const float *got, const float *want, size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = isfinite(got[i]) ? fmax(most, fabs((double)(got[i] - want[i]))) : (double)INFINITY;
	return most;
}

static double
rows(double (*got)[3], const float (*want)[3], uint32_t n)
{
	double most = 0;

	for (uint32_t e = 0; e < n; e++)
		for (int k = 0; k < 3; k++)
			most = fmax(most, fabs(got[e][k] - (double)want[e][k]));
	return most;
}

/* Compares a reported run and its last checkpoint with run_torch.h. */
static void
compare(const struct engine *en, const struct graph *g, const struct run_case *c, struct weights *f)
{
	double most = 0;

	is(told.steps, c->steps, "%s: %s: the number of steps is PyTorch's", en->name, c->name);
	for (unsigned s = 0; s < c->steps && s < told.steps; s++)
		most = fmax(most, fabs(told.step[s] - (double)c->step[s]));
	near(most, 0, 2e-5, "%s: %s: the losses of the steps are PyTorch's", en->name, c->name);
	is(told.trains, c->ends, "%s: %s: the number of epochs is PyTorch's", en->name, c->name);
	near(rows(told.train, c->train, c->ends), 0, 2e-5,
	    "%s: %s: the training rows are PyTorch's", en->name, c->name);
	near(rows(told.val, c->val, c->ends), 0, 2e-5, "%s: %s: the validation rows are PyTorch's", en->name, c->name);
	near(worst(f->w, c->w, g->P), 0, 2e-5, "%s: %s: the weights are PyTorch's", en->name, c->name);
	near(worst(f->aux, c->aux, g->A), 0, 2e-5, "%s: %s: the running statistics are PyTorch's", en->name, c->name);
	is(f->average != NULL, c->average.kind != AVERAGE_NONE,
	    "%s: %s: the checkpoint has an average if one is asked for", en->name, c->name);
	if (f->average != NULL)
		near(worst(f->average, c->mean, g->P + g->A), 0, 2e-5,
		    "%s: %s: the average is PyTorch's", en->name, c->name);
}

/* Training in bf16 with steps smaller than the last bit of the weights, which needs master weights in f32. */
static void
halves(const struct engine *en, struct train_opt o, const struct run_case *c)
{
	float w[NP], aux[NA];
	double off = 0, all = 0;
	struct weights f;
	int e;

	begin(o.ps.graph, c->nofc, w, aux);
	o.precision = ENGINE_BF16;
	if ((e = train_run(&o)) < 0) {
		skip("a run in bf16", err_line());
		return;
	}
	nets_must(weights_load(in_dir("o-0002.safetensors"), o.ps.graph, &f));
	for (int i = 0; i < NP; i++) {
		all += pow((double)c->w[i] - (double)w[i], 2);
		off += pow((double)f.w[i] - (double)c->w[i], 2);
	}
	ok(sqrt(off / all) < 0.05,
	    "%s: a run in bf16 loses %.3f of the way, and %.3f without master weights", en->name, sqrt(off / all),
	    RUN_LOST);
	weights_free(&f);
}

/* Recomputes the statistics of the average. */
static void
anew(const struct engine *en, const struct graph *g, const struct run_case *c, struct weights *f, const struct batch_opt *data)
{
	struct stats_opt o = { .engine = engine_find(en->name), .threads = 1, .weights = f, .data = *data };
	uint64_t n;
	float aux[NA];

	memcpy(f->w, f->average, g->P * sizeof(float));
	is(stats_run(&o, aux, &n), 0, "%s: %s: stats_run() computes the statistics of the average", en->name, c->name);
	near(worst(aux, c->stats, g->A), 0, 2e-5,
	    "%s: %s: the statistics of the average are PyTorch's", en->name, c->name);
}

/* The two newest checkpoints and the best one are kept. */
static void
kept(const struct run_case *c)
{
	for (uint32_t e = 1; e <= c->ends; e++) {
		const bool wanted = e + 2 > c->ends;
		char name[32];

		snprintf(name, sizeof(name), "o-%04u.safetensors", e);
		ok((access(in_dir(name), F_OK) == 0) == wanted,
		    "%s: %s %s", c->name, name, wanted ? "is kept" : "is deleted");
	}
}

/* The same with pworker's options, by one worker or by one for each micro-batch of a step; the net is a script. */
static void
command(const char *build, const struct graph *g, const struct run_case *c, bool job)
{
	const unsigned pieces = c->accumulate > 0 ? c->accumulate : 1;
	static const char *const average[] = { "", " --ema 0.75", " --swa 1", " --lookahead 4:0.5" };
	struct buf line = { 0 };
	struct weights f;
	char last[32];
	FILE *net = fopen(in_dir("net.lua"), "w");

	nets_must(net != NULL ? 0 : ERR_SYS);
	fprintf(net, "local x = conv{data(1, 4, 4), 3, kernel = 3, pad = 1, name = 'n1'}\n"
	    "x = maxpool{relu(bn{x, eps = 1 / 1024, momentum = 0.9, name = 'n2'}), kernel = 2, stride = 2}\n"
	    "return softmax{fc{flatten(x), 7, name = 'n5'}, smooth = %g}\n", (double)c->smooth);
	fclose(net);
	nets_must(buf_put_fmt(&line, "d=%s b='%s'; ", dir, build));
	if (job)
		nets_must(buf_put_fmt(&line, "\"$b/dlaunch\" -n %u -s 2 ", pieces));
	nets_must(buf_put_fmt(&line, "\"$b/pworker\" --net $d/net.lua --data $d/train.rec --val $d/val.rec --no-shuffle --batch 4 "
	    "--scale 0.0078125 --engine cpu --threads 1 --optimizer %s --momentum %.9g --wd %.9g --lr %s --accumulate %u "
	    "--epochs %u --start $d/first.safetensors --save $d/c --best --keep 2%s", opt_name(c->rule), (double)c->momentum,
	    (double)c->wd, c->lr, job ? 1 : pieces, c->epochs > 0 ? (unsigned)c->epochs : 2, average[c->average.kind]));
	if (c->rule == OPT_ADAMW)
		nets_must(buf_put_fmt(&line, " --beta2 %.9g --epsilon %.9g", (double)c->beta2, (double)c->eps));
	if (c->clip_norm > 0)
		nets_must(buf_put_fmt(&line, " --clip-norm %.9g", (double)c->clip_norm));
	if (c->patience > 0)
		nets_must(buf_put_fmt(&line, " --patience %u", c->patience));
	nets_must(buf_put_fmt(&line, "%s%s >$d/rows 2>&1", c->flip ? " --flip" : "", c->shift > 0 ? " --shift 1" : ""));
	nets_must(buf_terminate(&line));
	snprintf(last, sizeof(last), "c-%04u.safetensors", c->ends);
	unlink(in_dir(last));
	if (system((char *)line.p) != 0 || weights_load(in_dir(last), g, &f) < 0) {
		ok(0, "%s: %s", c->name, (char *)line.p);
	} else {
		near(worst(f.w, c->w, g->P), 0, 2e-5,
		    "%s: pworker%s has PyTorch's weights", c->name, job ? " in a job" : "");
		near(worst(f.aux, c->aux, g->A), 0, 2e-5, "%s: pworker has PyTorch's running statistics", c->name);
		near(f.average != NULL ? worst(f.average, c->mean, g->P + g->A) : 0, 0, 2e-5,
		    "%s: pworker has PyTorch's average", c->name);
		is(f.average != NULL, c->average.kind != AVERAGE_NONE,
		    "%s: pworker's checkpoint has an average if one is asked for", c->name);
		weights_free(&f);
	}
	buf_free(&line);
}

static void
run(const struct engine *en, const struct run_case *c)
{
	struct graph *g = net(c->smooth);
	static const volatile sig_atomic_t never;
	const char *build = getenv("BUILD");	/* that of the shell's tests */
	const bool emulated = getenv("EMULATOR") != NULL && *getenv("EMULATOR") != 0;
	char last[32], tool[4096];
	struct weights f, best;
	float w[NP], aux[NA];
	struct train_opt o = { .engine = engine_find(en->name), .threads = 1,
		.data = { .path = in_dir("train.rec"), .batch = 4, .aug = { .scale = 1 / 128.f } },
		.val = in_dir("val.rec"), .views = { .flip = c->flip, .shift = c->shift }, .ps = { .graph = g, .nworkers = 1,
		.hyper = { .rule = c->rule, .momentum = c->momentum, .beta2 = c->beta2, .eps = c->eps, .wd = c->wd,
		.clip_norm = c->clip_norm, .average = c->average } }, .swa = c->swa, .init = "uniform:0.07",
		.accumulate = c->accumulate > 0 ? c->accumulate : 1, .epochs = c->epochs > 0 ? c->epochs : 2, .save = in_dir("o"),
		.keep = 2, .best = true, .patience = c->patience, .start = in_dir("first.safetensors"), .stop = &never, .event = event };

	is(g->P, NP, "the net has the weights of run.py");
	nets_must(sched_parse(c->lr, &o.sched));
	begin(g, c->nofc, w, aux);
	nets_must(weights_save(o.start, &(struct weights_content){ .graph = g, .w = w, .aux = aux }));
	memset(&told, 0, sizeof(told));
	nets_must(train_run(&o));
	snprintf(last, sizeof(last), "o-%04u.safetensors", c->ends);
	nets_must(weights_load(in_dir(last), g, &f));
	compare(en, g, c, &f);
	nets_must(weights_load(in_dir("o-best.safetensors"), g, &best));
	is(atoi(weights_get(&best, "epoch")), c->best,
	    "%s: the best checkpoint is that of PyTorch's best epoch", c->name);
	kept(c);
	if (c->average.kind == AVERAGE_SWA)
		anew(en, g, c, &f, &o.data);
	if (c->way)
		halves(en, o, c);
	weights_free(&f);
	weights_free(&best);
	if (strcmp(en->name, "cpu") == 0 && build != NULL) {
		snprintf(tool, sizeof(tool), "%s/dlaunch", build);
		if (access(tool, X_OK) < 0) {
			skip(c->name, "no tools are built");
		} else {
			command(build, g, c, false);
			if (c->accumulate > 1 && !emulated)
				command(build, g, c, true);
			else if (c->accumulate > 1)
				skip(c->name, "dlaunch starts itself again, which the kernel cannot do with another processor's program");
		}
	}
	graph_free(g);
}

static void
engine(const struct engine *en, struct engine_dev *dev)
{
	(void)dev;	/* a run opens its own */
	for (size_t i = 0; i < sizeof(run_cases) / sizeof(*run_cases); i++)
		run(en, &run_cases[i]);
}

int
main(void)
{
	char clean[64];

	if (mkdtemp(dir) == NULL)
		return 1;
	nets_must(images(in_dir("train.rec"), 0, TRAIN, 3));
	nets_must(images(in_dir("val.rec"), 100, VAL, 5));
	nets_engines(1, engine);
	snprintf(clean, sizeof(clean), "rm -rf %s", dir);
	return system(clean) != 0 || done();
}
