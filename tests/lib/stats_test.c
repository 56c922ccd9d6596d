/* stats_test - batch norm's statistics of records: of one batch, of many, and by hand. */
#include "base/err.h"
#include "net/init.h"
#include "train/stats.h"
#include "pics.h"
#include "tap.h"

#define N	23	/* records */
#define SIDE	5
#define PLANE	(SIDE * SIDE)

static const char net[] =
	"tally-net 1\n"
	"data data c=3 h=5 w=5\n"
	"bn first in=data fix_gamma=0 eps=1e-05 momentum=0.9\n"
	"conv c in=first k=4 r=3 s=3 stride=2 pad=0 bias=0\n"
	"dropout d in=c drop=0.25\n"
	"bn second in=d fix_gamma=1 eps=1e-05 momentum=0.9\n"
	"fc f in=second k=2 bias=1\n"
	"softmax s in=f\n";	/* aux: first_moving_mean [3], _var [3], second_moving_mean [4], _var [4] */
static struct graph *g;
static float w[3 + 3 + 4 * 27 + 8 + 2 * 16 + 2], aux[14];
static char rec[256];
static uint32_t bads;

static void
bad(void *arg, uint32_t n, const char *why)
{
	(void)arg;
	(void)why;
	bads += n;
}

static int
run(const char *engine, enum engine_precision precision, uint32_t batch, uint64_t steps, float got[14], uint64_t *samples)
{
	const struct weights f = { .graph = g, .w = w, .aux = aux };
	const struct stats_opt o = { .engine = engine_find(engine), .threads = 2, .precision = precision, .weights = &f,
		.seed = 5, .steps = steps,
		.data = { .path = rec, .batch = batch, .shuffle = true, .aug = { .mean_of = { 128, 128, 128 }, .scale = 1 / 64.0f } },
		.bad = bad };

	memset(got, 0, 14 * sizeof(*got));
	bads = 0;
	return stats_run(&o, got, samples);
}

static void
make(void)
{
	int fd;

	snprintf(rec, sizeof(rec), "%s", pics_path("train.rec"));
	fd = pics_create(rec);
	for (uint64_t i = 0; i < N; i++)
		pics_put(fd, i, (float)(i % 9), 3, SIDE, SIDE);	/* classes that the net has not */
	close(fd);
}

/* What the first layer sees are the pictures, whatever the batches. */
static void
by_hand(const float got[14], const char *what, double within)
{
	for (int c = 0; c < 3; c++) {
		double sum = 0, squares = 0;

		for (uint64_t i = 0; i < N; i++) {
			uint8_t p[3 * PLANE];

			pics_fill(p, 3, SIDE, SIDE, i);
			for (int k = 0; k < PLANE; k++) {
				double x = (p[k * 3 + c] - 128) / 64.0;

				sum += x;
				squares += x * x;
			}
		}
		sum /= N * PLANE;
		near(got[c], sum, within, "%s: mean of channel %d", what, c);
		near(got[3 + c], squares / (N * PLANE) - sum * sum, within, "%s: variance", what);
	}
}

/* A batch of all: what the engine itself says of it. */
static void
whole(float want[14])
{
	const struct engine *e = engine_find("ref");
	const int32_t y[N] = { 0 };
	const struct engine_draw draw = { .seed = 5 };
	static float x[N * 3 * PLANE], d[sizeof(w) / sizeof(*w)];
	struct batch_opt o = { .path = rec, .batch = N, .shuffle = true, .aug = { .c = 3, .h = SIDE, .w = SIDE,
		.mean_of = { 128, 128, 128 }, .scale = 1 / 64.0f } };
	struct engine_result r;
	struct engine_plan *p;
	struct engine_dev *dev;
	struct batch_reader *in;
	const struct batch *b;
	struct samples s;

	if (batch_open(&o, &in) < 0 || (batch_start(in, 0, 0), batch_next(in, &b)) != 1)
		printf("Bail out! %s\n", err_line());
	samples_f32(&b->s, 0, N, x);
	s = (struct samples){ .n = N, .c = 3, .h = SIDE, .w = SIDE, .x = x, .y = y };
	e->open(0, 1, &dev);
	engine_plan(e, dev, g, N, ENGINE_F32, 0, &p);
	for (uint32_t a = 0; a < g->nw; a++)
		e->load(p, a, w + g->w[a].first);
	e->forward(p, &s, &draw, NULL, &r);
	e->backward(p, d, want, NULL);
	e->plan_free(p);
	e->close(dev);
	batch_close(in);
}

int
main(void)
{
	float one[14], many[14], half[14], cpu[14], want[14];
	uint64_t samples;
	int same = 1, other = 0;

	if (graph_parse(net, sizeof(net) - 1, &g) < 0)
		return 1;
	is(g->P, sizeof(w) / sizeof(*w), "the net's weights");
	init_weights(g, "msra", 3, w, aux);
	make();
	is(run("ref", ENGINE_F32, N, 0, one, &samples), 0, "a batch of all: %s", err_line());
	is(samples, N, "each sample of a full batch counts");
	whole(want);
	ok(memcmp(one, want, sizeof(one)) == 0, "a full batch has the statistics of a step of training");
	by_hand(one, "one batch", 1e-5);
	is(run("ref", ENGINE_F32, 5, 0, many, &samples), 0, "batches of 5, and of 3");
	is(samples, N, "all samples of several batches count");
	by_hand(many, "many", 1e-5);
	for (int i = 6; i < 14; i++)
		other |= fabsf(many[i] - one[i]) > 1e-4f;
	ok(other, "a deeper layer's hang on the batches");
	if (engine_find("cpu") != NULL) {
		is(run("cpu", ENGINE_F32, 5, 0, cpu, &samples), 0, "another engine computes statistics");
		for (int i = 0; i < 14; i++)
			same &= fabsf(cpu[i] - many[i]) < 1e-4f;
		ok(same, "another engine has the same statistics");
	} else {
		skip("another engine computes statistics", "this build has none");
	}
	is(run("ref", ENGINE_BF16, 5, 0, half, &samples), 0, "statistics are computed in 16 bits");
	by_hand(half, "16 bits", 4e-3);
	other = 0;
	for (int i = 6; i < 14; i++) {
		other |= half[i] != many[i];
		near(half[i], many[i], 0.02, "value %d in f16 is near that in f32", i);
	}
	ok(other, "the statistics in f16 differ from those in f32");
	is(run("ref", ENGINE_TF32, 5, 0, half, &samples), ERR_NOTSUP, "a precision that the engine lacks is refused: %s", err_line());
	is(run("ref", ENGINE_F32, 5, 2, many, &samples), 0, "two batches alone");
	is(samples, 10, "two batches have ten samples");
	pics_write(rec, "", 0);
	is(run("ref", ENGINE_F32, 5, 0, many, &samples), ERR_FORMAT, "no records: %s", err_line());
	graph_free(g);
	pics_clean();
	return done();
}
