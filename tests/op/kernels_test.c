/* kernels_test - the cpu engine's own kernels give the same bits under each instruction set, in every layout. */
#include "base/rng.h"
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_vec.h"
#include "engine/cpu/wino/wino_tile.h"
#include "levels.h"
#include "op/nets.h"

#include <math.h>
#include <omp.h>

#define SAMPLES		2u
#define SIDE		9u
#define CHANNELS	528u	/* most, and more than a unit of batch norm has */
#define ROOM		(SAMPLES * SIDE * SIDE * CHANNELS)	/* elements of a buffer */

/*
 * Block and channels of the views: each layout that a plan makes, with a full and a partial last block.  before and
 * after: channels of others around a pixel, as in a concatenation.
 */
static const struct layout {
	uint32_t block, c;
	bool	 bf16;
	uint32_t before, after;
} layouts[] = { { .block = 16, .c = 48 }, { .block = 16, .c = 40 }, { .block = 8, .c = 24 }, { .block = 8, .c = 20 },
	{ .block = 1, .c = 5 }, { .block = 37, .c = 37 }, { .block = 37, .c = 37, .bf16 = true },
	{ .block = 64, .c = 64, .bf16 = true }, { .block = 144, .c = 144, .bf16 = true },
	{ .block = 528, .c = 528, .bf16 = true }, { 48, 48, true, 16, 16 } };

static float	numbers[4][ROOM] __attribute__((aligned(64)));
static uint16_t argmax[ROOM];

/* Buffer k as a view, with random values and zeros in the lanes after the last channel. */
static struct cpu_view
view(const struct layout *l, uint32_t side, int k)
{
	struct cpu_view v = { .p = numbers[k], .c = l->c, .h = side, .w = side, .block = l->block,
		.pitch = l->before + l->block + l->after, .bf16 = l->bf16 };
	struct rng r = rng_start((uint64_t)k, side, l->c);

	v.step = cpu_blocks(&v) * cpu_unit(&v);
	v.p = cpu_elem(&v, 0, l->before);
	for (size_t i = 0; i < SAMPLES; i++)
		for (size_t c = 0; c < cpu_blocks(&v) * v.block; c++)
			for (size_t j = 0; j < (size_t)side * side; j++)
				cpu_write(cpu_at(&v, i, c / v.block), j * v.pitch + c % v.block, v.bf16,
				    c < v.c ? rng_normal(&r) : 0);
	return v;
}

static void
add(uint64_t *hash, const struct cpu_view *v)
{
	*hash = hash_update(*hash, v->p, SAMPLES * v->step * cpu_size(v));
}

static void
act(uint64_t *hash)
{
	struct graph_node node = { .op = GRAPH_ACT, .alpha = 0.2f };

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		for (node.act = GRAPH_RELU; node.act <= GRAPH_SWISH; node.act++) {
			struct cpu_view x = view(&layouts[i], SIDE, 0), y = view(&layouts[i], SIDE, 1), d[2];

			cpu_act_forward(&node, &x, &y, SAMPLES);
			add(hash, &y);
			d[0] = view(&layouts[i], SIDE, 2);
			d[1] = view(&layouts[i], SIDE, 3);
			cpu_act_backward(&node, cpu_act_wants_x(&node) ? &x : &y, d, 2, &d[0], SAMPLES);
			add(hash, &d[0]);
		}
}

/* A batch norm over c, whose gamma has a value for each channel. */
static struct cpu_bn
make_bn(float (*c)[CHANNELS])
{
	memset(c, 0, 10 * sizeof(*c));
	for (uint32_t j = 0; j < CHANNELS; j++)
		c[0][j] = 1 + 0.01f * (float)j;
	return (struct cpu_bn) { .lanes = CHANNELS, .gamma = c[0], .beta = c[1], .mean = c[2], .var = c[3],
		.scale = c[4], .shift = c[5], .dgamma = c[6], .dbeta = c[7], .k1 = c[8], .k0 = c[9] };
}

static void
bn(uint64_t *hash)
{
	float c[10][CHANNELS], scratch[SAMPLES * 2 * CHANNELS];

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		struct cpu_view x = view(&layouts[i], SIDE, 0), y = view(&layouts[i], SIDE, 1), d[2];
		struct cpu_bn b = make_bn(c);

		cpu_bn_moments(&x, SAMPLES, scratch, &b);
		cpu_bn_coefficients(&b, b.mean, b.var, layouts[i].c, 1e-5f);
		for (int relu = 0; relu < 2; relu++) {
			cpu_bn_forward(&x, &y, SAMPLES, &b, relu == 1 ? BN_RELU : BN_PLAIN);
			add(hash, &y);
			d[0] = view(&layouts[i], SIDE, 2);
			d[1] = view(&layouts[i], SIDE, 3);
			cpu_bn_backward(&x, d, 2, relu == 1 ? &d[0] : NULL, &y, SAMPLES, scratch, &b,
			    relu == 1 ? BN_RELU : BN_PLAIN, false, 1e-5f);
			add(hash, &y);
			cpu_bn_backward(&x, d, 1, NULL, relu == 1 ? &x : &d[0], SAMPLES, scratch, &b, BN_RELU, false, 1e-5f);
			add(hash, relu == 1 ? &x : &d[0]);
			*hash = hash_update(*hash, c, sizeof(c));
		}
	}
}

/* With ReLU the output of NaN is NaN; its gradient does not count in a batch norm's dbeta. */
static void
not_a_number(void)
{
	float c[10][CHANNELS], scratch[2 * CHANNELS];
	size_t wrong = 0;

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		struct cpu_view in[2] = { view(&layouts[i], SIDE, 0), view(&layouts[i], SIDE, 2) };
		struct cpu_view y = view(&layouts[i], SIDE, 1);
		struct cpu_bn b = make_bn(c);

		for (uint32_t j = 0; j < y.c; j++)
			b.scale[j] = 1;
		for (uint32_t j = 0; j < SIDE * SIDE; j++)
			cpu_write(in[0].p, j * y.pitch, y.bf16, NAN);
		cpu_sum(in, 2, &y, true, 1);
		wrong += !isnan(cpu_read(y.p, 0, y.bf16));
		cpu_bn_forward(&in[0], &y, 1, &b, BN_RELU);
		wrong += !isnan(cpu_read(y.p, 0, y.bf16));
		cpu_bn_backward(&in[0], &in[1], 1, NULL, NULL, 1, scratch, &b, BN_RELU, false, 1e-5f);
		wrong += b.dbeta[0] != 0;
	}
	is((int)wrong, 0, "batch norm and sums with ReLU keep NaN, and batch norm drops its gradient");
}

/* A step as of a large map makes the stores of one sample non-temporal. */
static void
stream(void)
{
	const struct graph_node all = { .op = GRAPH_POOL, .h = 1, .w = 1, .r = SIDE, .s = SIDE, .stride = { 1, 1 },
		.divide = GRAPH_INSIDE, .pool = GRAPH_AVG };
	const struct graph_node three = { .op = GRAPH_POOL, .h = 5, .w = 5, .r = 3, .s = 3, .stride = { 2, 2 },
		.pad = { 1, 1 }, .divide = GRAPH_INSIDE, .pool = GRAPH_AVG };
	float c[10][CHANNELS], scratch[2 * CHANNELS], cached[ROOM];
	size_t wrong = 0;

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		for (int how = 0; how < 5 && layouts[i].before == 0; how++) {
			struct cpu_view x = view(&layouts[i], SIDE, 0), y = view(&layouts[i], SIDE, 1), d[2];
			const size_t bytes = y.step * cpu_size(&y);
			struct cpu_bn b = make_bn(c);

			d[0] = view(&layouts[i], how == 4 ? 1 : how == 3 ? 5 : SIDE, 2);
			d[1] = view(&layouts[i], SIDE, 3);
			cpu_bn_moments(&x, 1, scratch, &b);
			cpu_bn_coefficients(&b, b.mean, b.var, layouts[i].c, 1e-5f);
			for (int streams = 0; streams < 2; streams++) {
				if (how > 2)
					cpu_pool_backward(how == 4 ? &all : &three, d, 1, &y, NULL, 1);
				else if (how == 2)
					cpu_sum(d, 2, &y, true, 1);
				else if (how == 1)
					cpu_bn_backward(&x, d, 1, &d[1], &y, 1, scratch, &b, BN_RELU, false, 1e-5f);
				else
					cpu_bn_forward(&x, &y, 1, &b, BN_RELU);
				if (streams == 0) {
					memcpy(cached, y.p, bytes);
					memset(y.p, 0xff, bytes);
				}
				y.step = CPU_STREAM_BYTES;
			}
			wrong += memcmp(cached, y.p, bytes) != 0;
		}
	is(wrong, 0, "batch norm, sums and pooling write the same bits with non-temporal stores");
}

static void
pool(uint64_t *hash)
{
	struct graph_node node = { .op = GRAPH_POOL, .h = 5, .w = 5, .r = 3, .s = 3, .stride = { 2, 2 },
		.pad = { 1, 1 }, .divide = GRAPH_INSIDE };

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		for (node.pool = GRAPH_MAX; node.pool <= GRAPH_AVG; node.pool++) {
			struct cpu_view x = view(&layouts[i], SIDE, 0), y = view(&layouts[i], 5, 1), d[2];

			cpu_pool_forward(&node, &x, &y, argmax, SAMPLES);
			add(hash, &y);
			d[0] = view(&layouts[i], 5, 2);
			d[1] = view(&layouts[i], 5, 3);
			cpu_pool_backward(&node, d, 2, &x, argmax, SAMPLES);
			add(hash, &x);
		}
}

static void
others(uint64_t *hash)
{
	struct graph_node lrn = { .op = GRAPH_LRN, .c = 0, .size = 5, .alpha = 1e-2f, .power = 0.75f, .knorm = 2 };
	struct graph_node pad = { .op = GRAPH_PAD, .h = SIDE, .w = SIDE, .pad = { 2, 2 }, .reflect = true };
	struct graph_node drop = { .op = GRAPH_DROPOUT, .drop = 0.3f };
	const struct engine_draw draw = { 1, 2, 3 };
	float *scratch;

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		struct cpu_view x = view(&layouts[i], SIDE, 0), y = view(&layouts[i], SIDE, 1), d[2];

		lrn.c = layouts[i].c;
		scratch = calloc((size_t)omp_get_max_threads() * cpu_lrn_scratch(&lrn), sizeof(*scratch));
		cpu_lrn_forward(&lrn, &x, &y, scratch, SAMPLES);
		add(hash, &y);
		cpu_lrn_backward(&lrn, &x, &y, 1, &y, scratch, SAMPLES);
		add(hash, &y);
		free(scratch);
		cpu_drop(&drop, 7, &draw, &x, 1, &y, SAMPLES);
		add(hash, &y);
		d[0] = view(&layouts[i], SIDE, 2);
		d[1] = view(&layouts[i], SIDE, 3);
		cpu_sum(d, 2, &y, true, SAMPLES);
		add(hash, &y);
		cpu_sum_product(d, 2, &y, SAMPLES);
		add(hash, &y);
		x = view(&layouts[i], SIDE - 4, 0);
		cpu_pad_backward(&pad, d, 2, &x, SAMPLES);
		add(hash, &x);
	}
}

/* The transforms of Winograd's algorithm, on a map whose sides are no multiples of a tile's. */
static void
winograd(uint64_t *hash)
{
	static float tiles[WINO_POSITIONS * SAMPLES * 9 * 16], u[WINO_POSITIONS * 16];
	const struct wino_tiles v = { tiles, 0, 16, SAMPLES * 9 * 16, WINO_FLOATS };
	const struct wino_grid grids[] = { { 0, 0, 3, 3, 6, 6 }, { 0, 2, 2, 1, 6, 5 }, { 2, 2, 1, 1, 4, 4 } };

	for (uint32_t i = 0; i < 2 * sizeof(grids) / sizeof(grids[0]); i++) {
		const uint32_t lanes = 8 + i % 2 * 8;
		const struct wino_grid grid = grids[i / 2];
		const struct wino_run run = { 0, 0, (size_t)SAMPLES * grid.th * grid.tw, 0, 6 };
		const struct layout l = { .block = lanes, .c = lanes };
		const struct wino_map map = { .h = SIDE, .w = SIDE, .blocks = 1, .pixel = lanes,
			.block = (size_t)SIDE * SIDE * lanes, .step = (size_t)SIDE * SIDE * lanes };
		struct cpu_view x = view(&l, SIDE, 0), y = view(&l, SIDE, 1);
		const struct wino_weights w = { numbers[2], 9, 9, lanes, true, false };
		const struct wino_sums sums = { u, 0, lanes, 0, 1 };
		float sum[16] = { 0 };

		view(&l, SIDE, 2);
		wino_tile_x(lanes, &map, &grid, &run, x.p, &v);
		*hash = hash_update(*hash, tiles, sizeof(tiles));
		for (int way = 0; way < 4; way++) {
			const struct wino_after after = { numbers[2], way < 2 ? NULL : numbers[1], numbers[0],
				way % 2 == 1, NULL };

			wino_tile_y(lanes, &map, &grid, &run, &v, &after, y.p);
			add(hash, &y);
		}
		wino_tile_dy(lanes, &map, &grid, &run, x.p, &v, sum);
		*hash = hash_update(hash_update(*hash, tiles, sizeof(tiles)), sum, sizeof(sum));
		wino_tile_w(lanes, &w, 0, 0, lanes, u);
		*hash = hash_update(*hash, u, sizeof(u));
		wino_tile_dw(lanes, &sums, &w, 0, 0, numbers[3]);
		*hash = hash_update(*hash, numbers[3], 9 * lanes * sizeof(float));
	}
}

/* Does the engine's description show the limit? */
static void
describe(uint64_t *hash)
{
	const struct engine *e = engine_find("cpu");
	struct engine_dev *dev;
	struct buf text = { 0 };

	nets_must(e->open(0, 1, &dev));
	nets_must(e->describe(dev, &text));
	nets_must(buf_terminate(&text));
	*hash = strstr((char *)text.p, ", avx2") != NULL;
	e->close(dev);
	buf_free(&text);
}

static void
refuse(uint64_t *hash)
{
	struct engine_dev *dev;

	*hash = engine_find("cpu")->open(0, 1, &dev) == ERR_ARG;
}

int
main(void)
{
	struct levels_result any = levels_run("avx512_core_amx", describe), two = levels_run("avx2", describe);

	levels_same("activations", act);
	levels_same("batch norm", bn);
	levels_same("pooling", pool);
	levels_same("Winograd's transforms", winograd);
	levels_same("LRN, dropout, sums, products, padding", others);
	if (any.level >= ISA_AVX512) {
		is(any.hash, 0, "oneDNN uses AVX-512 without a limit");
		is(two.hash, 1, "TALLY_MAX_ISA=avx2 limits oneDNN too");
	} else
		skip("TALLY_MAX_ISA=avx2 limits oneDNN too", "no AVX-512 here");
	is(levels_run("sse5", refuse).hash, 1, "TALLY_MAX_ISA with an unknown name: the engine does not open");
	not_a_number();	/* last: a process that has had parallel loops cannot fork another */
	stream();
	return done();
}
