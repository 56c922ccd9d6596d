/* pool_test - a maximum is the first of its window, and its gradient goes to that pixel, however windows overlap. */
#include "base/rng.h"
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_vec.h"
#include "levels.h"

#include <math.h>

#define SAMPLES	2u
#define SIDE	9u
#define MOST	64u					/* channels */
#define ROOM	(SAMPLES * 11 * 11 * MOST)		/* elements of a buffer; padding makes outputs of 11x11 */

static float	numbers[4][ROOM] __attribute__((aligned(64)));
static uint16_t argmax[ROOM];

static const struct {
	uint32_t c, block;
	bool	 bf16;
} layouts[] = { { 32, 16, false }, { 24, 8, false }, { 3, 1, false }, { 37, 37, false }, { 37, 37, true },
	{ 64, 64, true } };

/* Windows of r x s, a stride apart: some of each loop that knows its sides, and some of the one for all others. */
static const struct {
	uint32_t r, s, stride, pad;	/* r and s may differ if the output has as many lines as columns */
} windows[] = { { 3, 3, 2, 0 }, { 3, 3, 2, 1 }, { 3, 3, 1, 1 }, { 3, 3, 1, 2 }, { 2, 2, 2, 0 }, { 2, 2, 2, 1 },
	{ 2, 3, 2, 1 }, { 3, 2, 2, 1 }, { 2, 2, 1, 1 }, { 2, 2, 3, 0 }, { 3, 3, 3, 1 }, { 4, 4, 2, 1 } };

/* Buffer k as a view.  The values are small integers, whose sums are exact. */
static struct cpu_view
view(size_t layout, uint32_t side, int k)
{
	struct cpu_view v = { .p = numbers[k], .c = layouts[layout].c, .h = side, .w = side,
		.block = layouts[layout].block, .pitch = layouts[layout].block, .bf16 = layouts[layout].bf16 };
	struct rng r = rng_start((uint64_t)k, side, layout);

	v.step = cpu_blocks(&v) * cpu_unit(&v);
	for (size_t i = 0; i < SAMPLES * v.step; i++)
		cpu_write(v.p, i, v.bf16, (float)rng_below(&r, 17) - 8);
	return v;
}

/* The pooling layer with these windows on maps of SIDE x SIDE. */
static struct graph_node
describe_layer(size_t window)
{
	const uint32_t stride = windows[window].stride, pad = windows[window].pad;
	struct graph_node node = { .op = GRAPH_POOL, .pool = GRAPH_MAX, .r = windows[window].r, .s = windows[window].s,
		.stride = { stride, stride }, .pad = { pad, pad } };

	node.h = (SIDE + 2 * node.pad[0] - node.r) / node.stride[0] + 1;
	node.w = (SIDE + 2 * node.pad[1] - node.s) / node.stride[1] + 1;
	return node;
}

/* The outputs that are not the first maximum of their window, with its index, or NaN if a number of it is. */
static uint64_t
count_wrong_maxima(const struct graph_node *l, const struct cpu_view *x, const struct cpu_view *y, uint32_t samples)
{
	const size_t outs = (size_t)l->h * l->w;
	uint64_t wrong = 0;

	for (size_t e = 0; e < samples * y->step; e++) {
		const size_t u = e / cpu_unit(y), o = e % cpu_unit(y) / y->block, c = e % y->block;
		const void *map = cpu_at(x, u / cpu_blocks(x), u % cpu_blocks(x));
		const float got = cpu_read(y->p, e, y->bf16);
		float top = -INFINITY;
		uint32_t at = 0;
		bool nan = false;

		for (uint32_t n = l->r * l->s; n-- > 0;) {
			const size_t h = o / l->w * l->stride[0] + n / l->s - l->pad[0];
			const size_t w = o % l->w * l->stride[1] + n % l->s - l->pad[1];
			const float v = h < SIDE && w < SIDE ? cpu_read(map, (h * SIDE + w) * x->block + c, x->bf16) :
			    -INFINITY;

			nan = nan || v != v;
			if (h < SIDE && w < SIDE && v >= top) {
				top = v;
				at = n;
			}
		}
		wrong += nan ? got == got : got != top || argmax[u * outs * y->block + o * y->block + c] != at;
	}
	return wrong;
}

/* Subtracts the parts of the gradient of output (i, j) from the pixel that argmax names, in block b of a sample. */
static void
take_back(const struct graph_node *l, const struct cpu_view *d, int parts, const struct cpu_view *dx, size_t sample,
    size_t b, size_t i, size_t j)
{
	const size_t o = i * l->w + j, unit = sample * cpu_blocks(dx) + b;

	for (size_t c = 0; c < dx->block; c++) {
		const uint32_t n = argmax[(unit * l->h * l->w + o) * dx->block + c];
		const size_t h = i * l->stride[0] + n / l->s - l->pad[0], w = j * l->stride[1] + n % l->s - l->pad[1];
		const size_t at = (h * SIDE + w) * dx->block + c;
		float left;

		if (h >= SIDE || w >= SIDE) {
			cpu_write(dx->p, 0, dx->bf16, NAN);	/* counts as wrong */
			continue;
		}
		left = cpu_read(cpu_at(dx, sample, b), at, dx->bf16);
		for (int k = 0; k < parts; k++)
			left -= cpu_read(cpu_at(&d[k], sample, b), o * dx->block + c, dx->bf16);
		cpu_write(cpu_at(dx, sample, b), at, dx->bf16, left);
	}
}

/* The pixels of dx that are not the sums of the gradients of their maxima. */
static uint64_t
count_wrong(size_t layout, size_t window, int parts, bool stream)
{
	const struct graph_node l = describe_layer(window);
	struct cpu_view x = view(layout, SIDE, 0), y = view(layout, l.h, 1);
	struct cpu_view d[2] = { view(layout, l.h, 2), view(layout, l.h, 3) };
	const uint32_t samples = stream ? 1 : SAMPLES;
	const size_t elements = samples * x.step;
	uint64_t wrong = 0;

	cpu_pool_forward(&l, &x, &y, argmax, samples);
	wrong += count_wrong_maxima(&l, &x, &y, samples);
	memset(x.p, 0xff, elements * cpu_size(&x));
	if (stream)
		x.step = CPU_STREAM_BYTES;	/* as of a large map */
	cpu_pool_backward(&l, d, (uint32_t)parts, &x, argmax, samples);
	for (size_t u = 0; u < samples * cpu_blocks(&x); u++)
		for (size_t o = 0; o < (size_t)l.h * l.w; o++)
			take_back(&l, d, parts, &x, u / cpu_blocks(&x), u % cpu_blocks(&x), o / l.w, o % l.w);
	for (size_t i = 0; i < elements; i++)
		wrong += cpu_read(x.p, i, x.bf16) != 0;
	return wrong;
}

static void
count_all(uint64_t *wrong)
{
	*wrong = 0;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		for (size_t j = 0; j < sizeof(windows) / sizeof(windows[0]); j++)
			for (int k = 0; k < 4; k++)
				*wrong += count_wrong(i, j, 1 + k / 2, k % 2 == 1);
}

/* Some numbers are `special`, and some are 0 or -0, which are equal. */
static uint64_t
count_wrong_special(size_t layout, size_t window, float special)
{
	const struct graph_node l = describe_layer(window);
	struct cpu_view x = view(layout, SIDE, 0), y = view(layout, l.h, 1);

	for (size_t i = 0; i < SAMPLES * x.step; i++)
		if (i % 7 < 4)
			cpu_write(x.p, i, x.bf16, i % 61 == 0 ? special : i % 2 == 0 ? 0.0f : -0.0f);
	/* The sign of a NaN must not matter, nor that the rest of a window is below 0. */
	for (size_t i = 0; i < SAMPLES * x.step; i += 97)
		if (x.bf16 && special != special)
			((uint16_t *)x.p)[i] = 0xffc0;
	cpu_pool_forward(&l, &x, &y, argmax, SAMPLES);
	return count_wrong_maxima(&l, &x, &y, SAMPLES);
}

static void
count_all_special(uint64_t *wrong)
{
	static const float special[] = { 0, INFINITY, -INFINITY, NAN };

	*wrong = 0;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		for (size_t j = 0; j < sizeof(windows) / sizeof(windows[0]); j++)
			for (size_t k = 0; k < sizeof(special) / sizeof(special[0]); k++)
				*wrong += count_wrong_special(i, j, special[k]);
}

int
main(void)
{
	static const char *const limits[] = { "sse41", "avx2", "avx512_core" };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct levels_result r = levels_run(limits[i], count_all);

		ok(r.level > 0 && r.hash == 0, "%s: an output is its window's first maximum, which gets the gradient", limits[i]);
		r = levels_run(limits[i], count_all_special);
		ok(r.level > 0 && r.hash == 0, "%s: a maximum is correct among infinities, NaN and zeros of both signs", limits[i]);
	}
	return done();
}
