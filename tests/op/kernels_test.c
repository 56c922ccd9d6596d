/* kernels_test - the cpu engine's own kernels give the same bits under each instruction set, in every layout. */
#include "base/rng.h"
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_half.h"
#include "levels.h"
#include "op/nets.h"

#include <omp.h>

#define PICTURES	2u
#define SIDE		9u
#define ROOM		(PICTURES * SIDE * SIDE * 64u)	/* numbers */

/* Block and channels of the views: all that a plan makes, the last block full and not. */
static const struct layout {
	uint32_t block, c;
	bool	 half;
} layouts[] = { { 16, 48, false }, { 16, 40, false }, { 8, 24, false }, { 8, 20, false }, { 1, 5, false },
	{ 37, 37, false }, { 37, 37, true }, { 64, 64, true } };

static float	numbers[4][ROOM] __attribute__((aligned(64)));
static uint16_t which[ROOM];

/* Buffer k as a view; the lanes behind the last channel are zero, as they are between kernels. */
static struct cpu_view
view(const struct layout *l, uint32_t side, int k)
{
	struct cpu_view v = { .p = numbers[k], .c = l->c, .h = side, .w = side, .block = l->block, .pitch = l->block,
		.half = l->half };
	struct rng r = rng_start((uint64_t)k, side, l->c);

	v.step = cpu_blocks(&v) * cpu_unit(&v);
	for (size_t i = 0; i < PICTURES; i++)
		for (size_t c = 0; c < cpu_blocks(&v) * v.block; c++)
			for (size_t j = 0; j < (size_t)side * side; j++)
				cpu_put(cpu_at(&v, i, c / v.block), j * v.pitch + c % v.block, v.half,
				    c < v.c ? rng_normal(&r) : 0);
	return v;
}

static void
add(uint64_t *hash, const struct cpu_view *v)
{
	*hash = hash_update(*hash, v->p, PICTURES * v->step * cpu_size(v));
}

static void
act(uint64_t *hash)
{
	struct graph_node node = { .op = GRAPH_ACT, .alpha = 0.2f };

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		for (node.act = GRAPH_RELU; node.act <= GRAPH_SWISH; node.act++) {
			struct cpu_view x = view(&layouts[i], SIDE, 0), y = view(&layouts[i], SIDE, 1), d[2];

			cpu_act_forward(&node, &x, &y, PICTURES);
			add(hash, &y);
			d[0] = view(&layouts[i], SIDE, 2);
			d[1] = view(&layouts[i], SIDE, 3);
			cpu_act_backward(&node, cpu_act_wants_x(&node) ? &x : &y, d, 2, &d[0], PICTURES);
			add(hash, &d[0]);
		}
}

static void
bn(uint64_t *hash)
{
	float c[10][64], scratch[PICTURES * 2 * 64];
	struct cpu_bn b = { .lanes = 64, .gamma = c[0], .beta = c[1], .mean = c[2], .var = c[3], .scale = c[4], .shift = c[5],
		.dgamma = c[6], .dbeta = c[7], .k1 = c[8], .k0 = c[9] };

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		struct cpu_view x = view(&layouts[i], SIDE, 0), y = view(&layouts[i], SIDE, 1), d[2];

		memset(c, 0, sizeof(c));
		for (int j = 0; j < 64; j++)
			c[0][j] = 1 + 0.01f * (float)j;
		cpu_bn_moments(&x, PICTURES, scratch, &b);
		cpu_bn_coefficients(&b, b.mean, b.var, layouts[i].c, 1e-5f);
		for (int relu = 0; relu < 2; relu++) {
			cpu_bn_forward(&x, &y, PICTURES, &b, relu == 1);
			add(hash, &y);
			d[0] = view(&layouts[i], SIDE, 2);
			d[1] = view(&layouts[i], SIDE, 3);
			cpu_bn_backward(&x, d, 2, &y, PICTURES, scratch, &b, relu == 1, false, 1e-5f);
			add(hash, &y);
			*hash = hash_update(*hash, c, sizeof(c));
		}
	}
}

static void
pool(uint64_t *hash)
{
	struct graph_node node = { .op = GRAPH_POOL, .h = 5, .w = 5, .r = 3, .s = 3, .stride = { 2, 2 }, .pad = { 1, 1 },
		.divide = GRAPH_INSIDE };

	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		for (node.pool = GRAPH_MAX; node.pool <= GRAPH_AVG; node.pool++) {
			struct cpu_view x = view(&layouts[i], SIDE, 0), y = view(&layouts[i], 5, 1), d[2];

			cpu_pool_forward(&node, &x, &y, which, PICTURES);
			add(hash, &y);
			d[0] = view(&layouts[i], 5, 2);
			d[1] = view(&layouts[i], 5, 3);
			cpu_pool_backward(&node, d, 2, &x, which, PICTURES);
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
		cpu_lrn_forward(&lrn, &x, &y, scratch, PICTURES);
		add(hash, &y);
		cpu_lrn_backward(&lrn, &x, &y, 1, &y, scratch, PICTURES);
		add(hash, &y);
		free(scratch);
		cpu_drop(&drop, 7, &draw, &x, 1, &y, PICTURES);
		add(hash, &y);
		d[0] = view(&layouts[i], SIDE, 2);
		d[1] = view(&layouts[i], SIDE, 3);
		cpu_sum(d, 2, &y, true, PICTURES);
		add(hash, &y);
		cpu_sum_times(d, 2, &y, PICTURES);
		add(hash, &y);
		x = view(&layouts[i], SIDE - 4, 0);
		cpu_pad_backward(&pad, d, 2, &x, PICTURES);
		add(hash, &x);
	}
}

/* What the engine says of itself under a limit. */
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
	levels_same("LRN, dropout, sums, products, borders", others);
	if (any.level == ISA_AVX512) {
		is(any.hash, 0, "without a limit oneDNN takes AVX-512");
		is(two.hash, 1, "TALLY_MAX_ISA=avx2 limits it, too");
	} else
		skip("TALLY_MAX_ISA=avx2 limits oneDNN, too", "no AVX-512 here");
	is(levels_run("sse5", refuse).hash, 1, "a name that is none opens no engine");
	return done();
}
