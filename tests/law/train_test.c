/*
 * train_test - the promises of a whole run, on ref and a few small images: the
 * same seed gives the same bytes however the run was cut, read or stopped, and
 * every record comes once an epoch.
 */
#include "pics.h"
#include "tap.h"

#include "base/err.h"
#include "train/train.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define RECORDS 37
#define SIDE	8

static char dir[] = "/tmp/tally.XXXXXX";
static volatile sig_atomic_t stop;
static uint64_t seen, stop_at;	/* the samples in the rows of epochs; the step after which stop is set */
static unsigned epochs, saves;

static void
event(void *arg, const struct train_event *ev)
{
	(void)arg;
	if (ev->kind == TRAIN_EPOCH) {
		seen += ev->samples;
		epochs++;
	}
	saves += ev->kind == TRAIN_SAVE;
	if (ev->kind == TRAIN_STEP && ev->step == stop_at)
		stop = SIGTERM;
}

/* Images of noise, a little brighter with each class. */
static int
write_records(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600), e = 0;

	for (uint64_t id = 0; id < RECORDS && e == 0; id++) {
		struct rng r = rng_start(1, 0, id);
		struct buf png = { 0 }, rec = { 0 };
		float label = (float)(id % 4);
		uint8_t p[SIDE * SIDE];

		for (int i = 0; i < SIDE * SIDE; i++)
			p[i] = (uint8_t)(rng_below(&r, 100) + 40 * (id % 4));
		if ((e = img_encode_png(&(struct img){ p, 1, SIDE, SIDE }, &png)) == 0 &&
		    (e = imrec_encode(&rec, id, &label, 1, png.p, png.n)) == 0)
			e = pics_rec(fd, rec.p, rec.n);
		buf_free(&png);
		buf_free(&rec);
	}
	close(fd);
	return e;
}

/* conv 4, batch norm when asked for, relu, dropout, fc 4. */
static struct graph *
net(bool bn)
{
	struct graph *g = graph_new(1, SIDE - 2, SIDE - 2);
	uint32_t at = 0;
	int e = graph_add(g, &(struct graph_node){ .op = GRAPH_CONV, .name = "conv", .in = (uint32_t[]){ at },
	    .nin = 1, .k = 4, .r = 3, .s = 3, .stride = GRAPH_BOTH(1), .pad = GRAPH_BOTH(1), .bias = true }, &at);

	if (e == 0 && bn)
		e = graph_add(g, &(struct graph_node){ .op = GRAPH_BN, .name = "bn", .in = (uint32_t[]){ at },
		    .nin = 1, .eps = 1e-5f, .momentum = 0.9f }, &at);
	if (e == 0)
		e = graph_add(g, &(struct graph_node){ .op = GRAPH_ACT, .name = "relu", .in = (uint32_t[]){ at },
		    .nin = 1, .act = GRAPH_RELU }, &at);
	if (e == 0)
		e = graph_add(g, &(struct graph_node){ .op = GRAPH_DROPOUT, .name = "drop", .in = (uint32_t[]){ at },
		    .nin = 1, .drop = 0.25f }, &at);
	if (e == 0)
		e = graph_add(g, &(struct graph_node){ .op = GRAPH_FLATTEN, .name = "flat", .in = (uint32_t[]){ at },
		    .nin = 1 }, &at);
	if (e == 0)
		e = graph_add(g, &(struct graph_node){ .op = GRAPH_FC, .name = "fc", .in = (uint32_t[]){ at },
		    .nin = 1, .k = 4, .bias = true }, &at);
	if (e == 0)
		e = graph_add(g, &(struct graph_node){ .op = GRAPH_SOFTMAX, .name = "loss", .in = (uint32_t[]){ at },
		    .nin = 1 }, &at);
	return e == 0 ? g : NULL;
}

static struct train_opt
recipe(const struct graph *g, const char *save)
{
	static char data[64];

	snprintf(data, sizeof(data), "%s/t.rec", dir);
	return (struct train_opt){ .engine = engine_find("ref"), .data = { .path = data, .batch = 5, .shuffle = true,
	    .aug = { .rand_crop = true, .rand_mirror = true, .scale = 1 / 256.0f } }, .val = data,
	    .ps = { .graph = g, .nworkers = 1, .hyper = { .momentum = 0.9f, .wd = 1e-4f } },
	    .sched = { .base = 0.05 }, .init = "uniform:0.1", .seed = 3, .accumulate = 1, .epochs = 3,
	    .save = save, .stop = &stop, .event = event };
}

static int
run(const struct train_opt *o)
{
	stop = 0;
	seen = 0;
	epochs = saves = 0;
	return train_run(o);
}

static bool
same(const char *a, const char *b)
{
	struct buf x = { 0 }, y = { 0 };
	bool eq = io_slurp(a, 1 << 20, &x) == 0 && io_slurp(b, 1 << 20, &y) == 0 && x.n == y.n && x.n > 0 &&
	    memcmp(x.p, y.p, x.n) == 0;

	buf_free(&x);
	buf_free(&y);
	return eq;
}

/* A file's path in the test's folder; the last eight stay valid. */
static const char *
in_dir(const char *name)
{
	static char at[8][80];
	static unsigned slot;
	char *p = at[slot++ % 8];

	snprintf(p, sizeof(at[0]), "%s/%s", dir, name);
	return p;
}

static void
cuts(bool bn)
{
	struct graph *g = net(bn);
	struct train_opt o = recipe(g, in_dir("a"));
	const char *what = bn ? "with batch norm" : "plain";

	is(run(&o), 0, "%s: a run of three epochs exits with 0", what);
	is(seen, 3 * RECORDS, "%s: an epoch has every record once", what);
	is(saves, 3, "%s: each epoch has a checkpoint", what);

	o = recipe(g, in_dir("b"));
	o.data.threads = 4;
	is(run(&o), 0, "%s: a run with 4 decode threads exits with 0", what);
	ok(same(in_dir("a-0003.safetensors"), in_dir("b-0003.safetensors")),
	    "%s: 4 decode threads give the same bytes", what);

	for (uint64_t s = 1; s <= 17; s += 5) {
		char from[80];

		o = recipe(g, in_dir("c"));
		o.steps = s;
		is(run(&o), 0, "%s: a run ends after step %d", what, (int)s);
		o = recipe(g, in_dir("c"));
		if (s % 8 != 0)
			snprintf(from, sizeof(from), "%s/c-%04d-%06d.safetensors", dir, (int)(s / 8), (int)(s % 8));
		else
			snprintf(from, sizeof(from), "%s/c-%04d.safetensors", dir, (int)(s / 8));
		o.resume = from;
		is(run(&o), 0, "%s: that run is resumed", what);
		ok(same(in_dir("a-0003.safetensors"), in_dir("c-0003.safetensors")),
		    "%s: the resumed run gives the same bytes", what);
		unlink(in_dir("c-0003.safetensors"));
	}

	o = recipe(g, in_dir("d"));
	stop_at = 11;
	is(run(&o), ERR_STOP, "%s: a stop request in step 11 ends the run", what);
	stop_at = 0;
	ok(access(in_dir("d-0001-000004.safetensors"), F_OK) == 0,
	    "%s: the stopped run has a checkpoint of the next step", what);
	o = recipe(g, in_dir("d"));
	o.resume = in_dir("d-0001-000004.safetensors");
	is(run(&o), 0, "%s: the stopped run is resumed", what);
	ok(same(in_dir("a-0003.safetensors"), in_dir("d-0003.safetensors")),
	    "%s: the run resumed after a stop gives the same bytes", what);

	o = recipe(g, in_dir("e"));
	o.seed = 4;
	is(run(&o), 0, "%s: a run with another seed exits with 0", what);
	ok(!same(in_dir("a-0003.safetensors"), in_dir("e-0003.safetensors")),
	    "%s: another seed gives other bytes", what);
	graph_free(g);
}

/* 37 records, micro-batches of 5, nine a step: one step of 5 4 4 4 4 4 4 4 4; of 40 a step the last are empty. */
static void
uneven(void)
{
	struct graph *g = net(true);
	struct train_opt o = recipe(g, NULL);

	o.accumulate = 9;
	is(run(&o), 0, "a run of nine micro-batches a step exits with 0");
	is(seen, 3 * RECORDS, "nine micro-batches have every record once an epoch");
	o.accumulate = 40;
	o.data.batch = 1;
	is(run(&o), 0, "a run of more micro-batches than records exits with 0");
	is(seen, 3 * RECORDS, "more micro-batches than records have every record once an epoch");
	graph_free(g);
}

/* A run depends on the optimizer's state, schedule, average, order, augmentation, dropout and best result. */
static struct train_opt
whole(const struct graph *g, enum opt_rule rule, enum average_kind kind, const char *save)
{
	struct train_opt o = recipe(g, save);

	opt_usual(rule, &o.ps.hyper);
	o.ps.hyper.trust = 0.02f;
	o.ps.hyper.average = (struct average){ kind, 0.75f, 3 };
	o.ps.hyper.l1 = 1e-4f;
	o.ps.hyper.clip_norm = 1;
	o.swa = 1;
	o.accumulate = 1 + (rule + kind) % 2;
	o.data.aug.mixup = 0.5f;
	o.best = true;
	o.patience = 3;
	if (sched_parse("warmup:1:0.001,0.01,cosine:0.002@3,x0.5@2.5", &o.sched) < 0)
		ok(0, "the schedule is parsed");
	return o;
}

/* A run that was interrupted twice within epochs, against one that was not. */
static void
everything(enum opt_rule rule, enum average_kind kind)
{
	struct graph *g = net(true);
	struct train_opt o = whole(g, rule, kind, in_dir("w"));
	uint64_t epoch = (RECORDS + 4) / 5 / o.accumulate, at = 0;	/* steps */
	char from[96];
	int e = run(&o);

	for (unsigned cut = 1; cut <= 3 && e == 0; cut++) {
		o = whole(g, rule, kind, in_dir("p"));
		if (cut > 1)
			o.resume = from;
		at += epoch - 1;
		o.steps = cut < 3 ? at : 0;
		if ((e = run(&o)) == 0)
			snprintf(from, sizeof(from), "%s/p-%04d-%06d.safetensors", dir, (int)(at / epoch), (int)(at % epoch));
	}
	is(e, 0,
	    "%s, average %s, %u micro-batches: a whole run and one in three parts exit with 0", opt_name(rule),
	    average_name(kind), o.accumulate);
	ok(same(in_dir("w-0003.safetensors"), in_dir("p-0003.safetensors")) &&
	    same(in_dir("w-best.safetensors"), in_dir("p-best.safetensors")),
	    "the interrupted run has the bytes of the whole run, the best weights too");
	unlink(in_dir("p-0003.safetensors"));
	graph_free(g);
}

static void
refused(void)
{
	char path[80];
	struct graph *g = net(false);
	struct train_opt o = recipe(g, NULL);

	snprintf(path, sizeof(path), "%s/a-0003.safetensors", dir);
	o.resume = path;
	o.seed = 9;
	is(run(&o), ERR_FORMAT, "weights of another net are refused");
	ok(strstr(err_line(), path) != NULL, "the refusal names the file: %s", err_line());
	o.resume = NULL;
	o.init = "magic";
	is(run(&o), ERR_FORMAT, "an unknown rule of first weights is refused");
	graph_free(g);
}

static struct engine_draw drawn[16];
static unsigned draws;

/* ref's forward, which records the inputs of the random numbers. */
static int
forward(struct engine_plan *plan, const struct samples *s, const struct engine_draw *draw, const struct engine_hook *hook,
	 struct engine_result *result)
{
	if (draws < sizeof(drawn) / sizeof(*drawn))
		drawn[draws] = *draw;
	draws++;
	return engine_find("ref")->forward(plan, s, draw, hook, result);
}

/* Three micro-batches of 5 a step, three steps an epoch. */
static void
chance(const uint32_t *batches)
{
	struct engine spy = *engine_find("ref");
	struct graph *g = net(false);
	struct train_opt o = recipe(g, NULL);
	unsigned bad = 0;

	spy.forward = forward;
	draws = 0;
	o.engine = &spy;
	o.accumulate = 3;
	o.epochs = 1;
	o.batches = batches;
	is(run(&o), 0, "an epoch with micro-batches exits with 0");
	is(draws, 9, "an epoch has three micro-batches a step");
	for (unsigned k = 0; k < 9; k++)
		bad += drawn[k].seed != o.seed || drawn[k].step != k / 3 || drawn[k].first != k % 3 * 5;
	is(bad, 0, "dropout gets the seed, the step, and the number of the first sample in the step");
	graph_free(g);
}

int
main(void)
{
	char path[80], clean[128];

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/t.rec", dir);
	is(write_records(path), 0, "%d records are written", RECORDS);
	cuts(false);
	cuts(true);
	uneven();
	for (int rule = 0; rule < OPT_RULES; rule++)
		for (int kind = 0; kind < AVERAGE_KINDS; kind++)
			everything((enum opt_rule)rule, (enum average_kind)kind);
	refused();
	chance(NULL);
	chance((uint32_t[]){ 5 });
	snprintf(clean, sizeof(clean), "rm -rf %s", dir);
	return system(clean) != 0 || done();
}
