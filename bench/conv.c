/*
 * conv - a net's name into the rates of its convolutions with kernels of our own: wino, point and amx beside the library.
 *
 * A line for each shape that wino_fits(), point_fits() or amx_fits() takes, its count in the net, and each direction: milliseconds
 * and the rate of the multiply-adds that a direct convolution would do, border and all, of either; the best of --rounds.  Then the
 * sums over the net.
 */
#include "front.h"

#include "base/clk.h"
#include "base/err.h"
#include "base/rng.h"
#include "engine/cpu/amx/amx.h"
#include "engine/cpu/cpu_conv.h"
#include "engine/cpu/cpu_vec.h"
#include "engine/cpu/point/point.h"
#include "engine/cpu/wino/wino.h"
#include "net/graph/script.h"

#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "conv [--batch N] [--dtype TYPE] [--net NAME] [--net-opt KEY=VALUE] [--rounds N] [--shape CxHxW] [--threads N]";
static const char help[] =
    "  --batch N            images (128)\n"
    "  --dtype TYPE         f32 or bf16 (f32)\n"
    "  --net NAME           script of the net (inception)\n"
    "  --net-opt KEY=VALUE  an option of it\n"
    "  --rounds N           (5)\n"
    "  --shape CxHxW        of an image\n"
    "  --threads N          (2)\n";

static const char *const direction[DNNL_DIRECTIONS] = { "forward", "data", "weight" };

struct bench {
	struct dnnl_dev	 *dev;
	struct dnnl_layer *layer;
	struct cpu_conv	 *conv;
	struct dnnl_place own, library;
	float		 *dw;
	unsigned	  rounds;
	double		  total[DNNL_DIRECTIONS][2];	/* ms of the whole net */
};

static void *
alloc_room(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);

	if (p == NULL)
		front_die(NULL, err_nomem());
	memset(p, 0, (bytes + 127) / 64 * 64);
	return p;
}

static float *
make_numbers(size_t count, uint64_t seed)
{
	float *p = alloc_room(count * sizeof(*p));
	struct rng r = rng_start(seed, 0, 0);

	for (size_t i = 0; i < count; i++)
		p[i] = rng_normal(&r);
	return p;
}

/* The same in the type of a layer's maps. */
static void *
make_map(const struct dnnl_shape *s, size_t count, uint64_t seed)
{
	float *p = make_numbers(count, seed);

	for (size_t i = 0; i < count; i++)
		cpu_write(p, i, s->bf16, p[i]);
	return p;
}

/* Runs one direction, by our kernel or by the library. */
static int
run_direction(struct bench *b, enum dnnl_direction dir, bool own)
{
	return own ? cpu_conv_run(b->conv, dir, b->dw) : dnnl_layer_run(b->layer, dir, b->dw);
}

/* The times in milliseconds of the best rounds, in turns after a round that is not timed: [0] the library's, [1] ours. */
static void
time_direction(struct bench *b, enum dnnl_direction dir, double best[2])
{
	best[0] = best[1] = 1e9;
	for (unsigned i = 0; i <= 2 * b->rounds + 1; i++) {
		/* The first of two turns changes from round to round. */
		const bool own = (i + i / 2) % 2;
		double t = clk_s();

		front_must("run", run_direction(b, dir, own));
		t = (clk_s() - t) * 1e3;
		if (i > 1 && t < best[own])
			best[own] = t;
	}
}

static void
print_shape(struct bench *b, const struct dnnl_shape *s, unsigned count)
{
	const double ops = 2.0 * s->r * s->s * s->c * s->k * dnnl_layer_side(s, 0) * dnnl_layer_side(s, 1) * s->n;

	for (enum dnnl_direction dir = 0; dir < DNNL_DIRECTIONS; dir++) {
		double best[2], own, library;

		time_direction(b, dir, best);
		library = best[0];
		own = best[1];
		printf("%ux %ux%ux%u->%u by %ux%u\t%s\t%.2f\t%.0f\t%.2f\t%.0f\t%.2f\t%s\n", count, s->c, s->h, s->w, s->k, s->r, s->s,
		    direction[dir], own, ops / own / 1e6, library, ops / library / 1e6, library / own,
		    dnnl_layer_needs(b->layer)->kernel[dir]);
		fflush(stdout);
		b->total[dir][0] += count * own;
		b->total[dir][1] += count * library;
	}
}

static void
measure_shape(struct bench *b, const struct dnnl_shape *s, unsigned count)
{
	const uint32_t block = dnnl_dev_block();
	const size_t pixels = (size_t)s->n * s->h * s->w, x = (s->c + block - 1) / block * block * pixels;
	const size_t y = (s->k + block - 1) / block * block * pixels, weights = (size_t)s->r * s->s * s->c * s->k;
	float *w = make_numbers(weights, 1);

	front_must("layer", cpu_conv_new(b->dev, s, NULL, &b->conv));
	front_must("layer", dnnl_layer_new(b->dev, s, NULL, &b->layer));
	b->own = (struct dnnl_place){ .x = make_map(s, x, 2), .y = alloc_room(y * sizeof(float)), .dx = alloc_room(x * sizeof(float)),
		.dy = make_map(s, y, 3), .bias = alloc_room(s->k * sizeof(float)), .dbias = alloc_room(s->k * sizeof(float)) };
	b->library = b->own;
	b->own.packed = alloc_room(cpu_conv_needs(b->conv)->packed);
	b->own.scratch = alloc_room(cpu_conv_needs(b->conv)->scratch);
	b->library.packed = alloc_room(dnnl_layer_needs(b->layer)->packed);
	b->library.scratch = alloc_room(dnnl_layer_needs(b->layer)->scratch);
	b->dw = alloc_room(weights * sizeof(float));
	front_must("bind", cpu_conv_bind(b->conv, &b->own));
	front_must("bind", dnnl_layer_bind(b->layer, &b->library));
	front_must("load", cpu_conv_load(b->conv, w));
	front_must("load", dnnl_layer_load(b->layer, w));
	print_shape(b, s, count);
	cpu_conv_free(b->conv);
	dnnl_layer_free(b->layer);
	free(b->own.x);
	free(b->own.y);
	free(b->own.dx);
	free(b->own.dy);
	free(b->own.bias);
	free(b->own.dbias);
	free(b->own.packed);
	free(b->own.scratch);
	free(b->library.packed);
	free(b->library.scratch);
	free(b->dw);
	free(w);
}

static struct dnnl_shape
shape_of(const struct graph *g, uint32_t i, uint32_t batch, bool bf16)
{
	const struct graph_node *l = &g->node[i], *in = &g->node[l->in[0]];

	return (struct dnnl_shape) { .n = batch, .c = in->c, .h = in->h, .w = in->w, .k = l->k, .r = l->r, .s = l->s,
		.stride = { l->stride[0], l->stride[1] }, .pad = { l->pad[0], l->pad[1] },
		.dilate = { l->dilate[0], l->dilate[1] }, .groups = l->groups, .bias = true, .data = true, .bf16 = bf16 };
}

static bool
is_own(const struct dnnl_shape *s)
{
	return wino_fits(s) || point_fits(s) || amx_fits(s);
}

static bool
same_shape(const struct dnnl_shape *a, const struct dnnl_shape *b)
{
	return a->c == b->c && a->h == b->h && a->w == b->w && a->k == b->k && a->r == b->r && a->s == b->s &&
	    a->groups == b->groups && memcmp(a->stride, b->stride, sizeof(a->stride)) == 0 &&
	    memcmp(a->pad, b->pad, sizeof(a->pad)) == 0 && memcmp(a->dilate, b->dilate, sizeof(a->dilate)) == 0 &&
	    is_own(a) && is_own(b);
}

/* Each shape once, where it is first. */
static void
measure_net(struct bench *b, const struct graph *g, uint32_t batch, bool bf16)
{
	for (uint32_t i = 1; i < g->n; i++) {
		struct dnnl_shape s, other;
		unsigned count = 0;
		bool before = false;

		if (g->node[i].op != GRAPH_CONV)
			continue;
		s = shape_of(g, i, batch, bf16);
		for (uint32_t j = 1; j < g->n; j++)
			if (g->node[j].op == GRAPH_CONV) {
				other = shape_of(g, j, batch, bf16);
				before = before || (j < i && same_shape(&s, &other));
				count += same_shape(&s, &other);
			}
		if (!before && count > 0)
			measure_shape(b, &s, count);
	}
}

int
main(int argc, char *argv[])
{
	static const struct option longs[] = {
		{ "batch", required_argument, NULL, 'b' }, { "dtype", required_argument, NULL, 'd' },
		{ "net", required_argument, NULL, 'n' },
		{ "net-opt", required_argument, NULL, 'o' }, { "rounds", required_argument, NULL, 'r' },
		{ "shape", required_argument, NULL, 's' }, { "threads", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' }, { 0 },
	};
	struct bench b = { .rounds = 5 };
	struct script_opt opt[SCRIPT_OPTS];
	struct buf line = { 0 };
	const char *net = "inception";
	uint32_t batch = 128, options = 0, channels = 0, height = 0, width = 0;
	unsigned threads = 2;
	bool bf16 = false;
	struct graph *g;
	int c;

	front_init(argv[0], usage, help);
	while ((c = getopt_long(argc, argv, "b:d:n:o:r:s:t:h", longs, NULL)) != -1)
		switch (c) {
		case 'b': batch = (uint32_t)front_num("--batch", optarg, 1, 1 << 20); break;
		case 'd':
			bf16 = strcmp(optarg, "bf16") == 0;
			if (!bf16 && strcmp(optarg, "f32") != 0)
				front_wrong("--dtype: %s is neither f32 nor bf16", optarg);
			break;
		case 'n': net = optarg; break;
		case 'o': front_must("--net-opt", script_opt_take(opt, &options, optarg)); break;
		case 'r': b.rounds = (unsigned)front_num("--rounds", optarg, 1, 1000); break;
		case 's': front_shape("--shape", optarg, &channels, &height, &width); break;
		case 't': threads = (unsigned)front_num("--threads", optarg, 1, 1024); break;
		case 'h': front_help();
		default:  front_usage();
		}
	front_must(net, script_run(net, channels, height, width, 0, opt, options, &g));
	omp_set_num_threads((int)threads);
	front_must("library", dnnl_dev_open(&b.dev));
	front_must(NULL, dnnl_dev_describe(&line));
	front_must(NULL, buf_terminate(&line));
	printf("# %s, batch %u, %u threads\nshape\tdirection\tms\tGF/s\tlibrary ms\tGF/s\tratio\tlibrary's kernel\n",
	    (char *)line.p, batch, threads);
	measure_net(&b, g, batch, bf16);
	for (enum dnnl_direction w = 0; w < DNNL_DIRECTIONS; w++)
		printf("all\t%s\t%.1f\t\t%.1f\t\t%.2f\n", direction[w], b.total[w][0], b.total[w][1], b.total[w][1] / b.total[w][0]);
	buf_free(&line);
	graph_free(g);
	dnnl_dev_close(b.dev);
	return front_status();
}
