/* merge_test - means, averages of a series, and batch norm's statistics merged and taken anew, against PyTorch's. */
#include "base/err.h"
#include "net/merge/merge.h"
#include "train/stats.h"
#include "pics.h"
#include "tap.h"

#include "merge_torch.h"

#define FILES	4
#define COUNT	12
#define CHANNELS 4
#define PICTURES 22
#define SIDE	6
#define NAME(s)	(char *)(uintptr_t)(s)

static char path[FILES + 1][256];	/* of the files, and of what they make */
static char *const in[FILES] = { path[0], path[1], path[2], path[3] };

/* The numbers of merge.py. */
static float
number(size_t i, size_t mul, size_t add, int mod, float div)
{
	return (float)((int)((i * mul + add) % (size_t)mod) - mod / 2) / div;
}

static void
must(int e)
{
	if (e >= 0)
		return;
	printf("Bail out! %s\n", err_line());
	exit(1);
}

/* File f: one tensor w in each float type, and running statistics in PyTorch's and in MXNet's names. */
static void
write_file(int f)
{
	static const char *const stat[] = { "bn.running_mean", "bn.running_var", "bn_moving_mean", "bn_moving_var" };
	static const char *const w[] = { [TENSORS_F32] = "f32", [TENSORS_F64] = "f64", [TENSORS_F16] = "f16", [TENSORS_BF16] = "bf16" };
	struct tensors t = { .kind = TENSORS_SAFE };
	struct tensors_out *out;
	float x[COUNT];
	double room[COUNT];

	for (int k = TENSORS_F32; k <= TENSORS_BF16; k++)
		must(tensors_add(&t, w[k], &(struct tensor){ .type = (enum tensors_type)k, .ndim = 2, .dim = { 3, COUNT / 3 } }));
	for (int k = 0; k < 4; k++)
		must(tensors_add(&t, stat[k], &(struct tensor){ .ndim = 1, .dim = { CHANNELS } }));
	must(tensors_create(path[f], &t, &out));
	for (size_t i = 0; i < COUNT; i++)
		x[i] = number(i, 37, 29 * (size_t)f, 101, 64);
	for (int k = TENSORS_F32; k <= TENSORS_BF16; k++) {
		tensors_from_f32((enum tensors_type)k, x, COUNT, room);
		must(tensors_write(out, room, COUNT * tensors_type_size((enum tensors_type)k)));
	}
	for (int k = 0; k < 4; k++)
		must(tensors_write(out, torch_saw + (2 * f + k % 2) * CHANNELS, CHANNELS * sizeof(float)));
	must(tensors_commit(out));
	tensors_close(&t);
}

/* Of the first n files, with these weights. */
static void
merge(uint32_t n, const double *weight)
{
	double share[FILES], sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += weight[i];
	for (uint32_t i = 0; i < n; i++)
		share[i] = weight[i] / sum;
	must(merge_run(&(struct merge_opt){ .path = in, .n = n, .share = share }, path[FILES]));
}

static void
read_tensor(const char *name, void *to)
{
	const struct tensor *x;
	struct tensors t;

	must(tensors_open(&t, path[FILES]));
	if ((x = tensors_find(&t, name)) == NULL)
		must(err_fail(ERR_FORMAT, "no tensor %s", name));
	must(tensors_read(&t, x, 0, x->count, to));
	tensors_close(&t);
}

/* The largest difference, relative to numbers beyond 1. */
static double
worst(const float *x, const float *want, size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, fabs((double)x[i] - (double)want[i]) / fmax(1, fabs((double)want[i])));
	return most;
}

static void
same_as(const float *want, const char *what)
{
	float x[COUNT];
	double d[COUNT];

	read_tensor("f32", x);
	near(worst(x, want, COUNT), 0, 1e-7, "%s is PyTorch's", what);
	read_tensor("f64", d);
	for (int i = 0; i < COUNT; i++)
		x[i] = (float)d[i];
	near(worst(x, want, COUNT), 0, 1e-7, "%s of doubles is PyTorch's", what);
}

static void
merges(void)
{
	static const double saw[] = { 5, 8, 3, 16 }, even[] = { 1, 1, 1, 1 };
	static const double ema[] = { 0.421875, 0.140625, 0.1875, 0.25 };	/* 0.75^3, and 0.25 0.75^k */
	float x[2 * CHANNELS];
	uint16_t half[COUNT];

	for (int f = 0; f < FILES; f++)
		write_file(f);
	merge(FILES, even);
	same_as(torch_mean, "a mean");
	same_as(torch_swa, "a mean, as swa_utils averages");
	merge(FILES, ema);
	same_as(torch_ema, "a moving average of 0.75");
	merge(FILES, saw);
	same_as(torch_weighted, "a weighted mean");
	read_tensor("bn.running_mean", x);
	read_tensor("bn.running_var", x + CHANNELS);
	near(worst(x, torch_union, 2 * CHANNELS), 0, 2e-7, "merged statistics are those of the union of the data");
	read_tensor("bn_moving_mean", x);
	read_tensor("bn_moving_var", x + CHANNELS);
	near(worst(x, torch_union, 2 * CHANNELS), 0, 2e-7,
	    "merged statistics under our names are those of the union, too");
	merge(3, even);
	read_tensor("f16", half);
	ok(memcmp(half, torch_three_f16, sizeof(half)) == 0, "a mean is rounded to f16 as PyTorch does");
	read_tensor("bf16", half);
	ok(memcmp(half, torch_three_bf16, sizeof(half)) == 0, "a mean is rounded to bf16 as PyTorch does");
}

static const char net[] =
	"tally-net 1\n"
	"data data c=3 h=6 w=6\n"
	"conv a in=data k=5 r=3 s=3 stride=1 pad=1 bias=1\n"
	"bn first in=a fix_gamma=0 eps=1e-05 momentum=0.9\n"
	"act relu in=first act=relu\n"
	"conv b in=relu k=4 r=3 s=3 stride=2 pad=0 bias=0\n"
	"bn second in=b fix_gamma=0 eps=1e-05 momentum=0.9\n"
	"fc f in=second k=2 bias=1\n"
	"softmax s in=f\n";

static void
write_images(const char *rec)
{
	int fd = pics_create(rec);

	for (size_t n = 0; n < PICTURES; n++) {
		uint8_t p[3 * SIDE * SIDE];
		struct img im = { .c = 3, .h = SIDE, .w = SIDE, .p = p };
		struct buf png = { 0 }, b = { 0 };
		const float label = 0;

		for (size_t i = 0; i < sizeof(p); i++) {
			size_t at = n * sizeof(p) + i;

			p[i] = (uint8_t)(at * 37 + at / 108 * 59 + at * at / 50);
		}
		must(img_encode_png(&im, &png));
		must(imrec_encode(&b, n, &label, 1, png.p, png.n));
		must(pics_rec(fd, b.p, b.n));
		buf_free(&png);
		buf_free(&b);
	}
	close(fd);
}

static void
bad(void *arg, uint32_t n, const char *why)
{
	(void)arg;
	printf("Bail out! %u records: %s\n", n, why);
	exit(1);
}

/* Statistics by an engine of batches of 8, which are PyTorch's within a bound. */
static void
statistics(const struct engine *engine, struct graph *g, float *w, const char *rec, uint64_t steps,
    const float *want)
{
	float aux[18] = { 0 };
	const struct weights f = { .graph = g, .w = w, .aux = aux };
	const struct stats_opt o = { .engine = engine, .threads = 2, .weights = &f, .steps = steps, .bad = bad,
		.data = { .path = rec, .batch = 8, .aug = { .mean_of = { 128, 128, 128 }, .scale = 1 / 64.0f } } };
	uint64_t samples = 0;

	is(stats_run(&o, aux, &samples), 0,
	    "%s: stats_run() computes the statistics of %s: %s", engine->name, steps > 0 ? "16 images" : "all",
	    err_line());
	is(samples, steps > 0 ? 8 * steps : PICTURES, "%s: the number of samples is right", engine->name);
	near(worst(aux, want, 18), 0, 1e-5, "%s: the statistics are PyTorch's", engine->name);
}

static void
anew(void)
{
	static const size_t arrays[][2] = { { 37, 0 }, { 29, 3 }, { 17, 31 }, { 23, 7 }, { 31, 5 }, { 41, 11 }, { 43, 13 } };
	const char *rec = pics_path("a.rec");
	struct graph *g;
	float *w;

	must(graph_parse(net, sizeof(net) - 1, &g));
	if ((w = calloc(g->P, sizeof(*w))) == NULL)
		must(err_nomem());
	for (size_t a = 0; a < sizeof(arrays) / sizeof(*arrays); a++)
		for (size_t i = 0; i < g->w[a].count; i++)
			w[g->w[a].first + i] = number(i, arrays[a][0], arrays[a][1], 101, 64);
	write_images(rec);
	for (int i = 0; i < 2; i++) {
		const struct engine *e = engine_find(i == 0 ? "ref" : "cpu");

		if (e == NULL) {
			skip("statistics by another engine", "this build has none");
			continue;
		}
		statistics(e, g, w, rec, 0, torch_stats_all);
		statistics(e, g, w, rec, 2, torch_stats_some);
	}
	free(w);
	graph_free(g);
}

int
main(void)
{
	for (int f = 0; f <= FILES; f++)
		snprintf(path[f], sizeof(path[f]), "%s", pics_path((const char[][8]){ "0", "1", "2", "3", "out" }[f]));
	merges();
	anew();
	pics_clean();
	return done();
}
