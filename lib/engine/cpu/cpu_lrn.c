/*
 * cpu_lrn - local response normalization; the formulas are in ref_lrn.c.
 *
 * A pixel's channels are copied to a row with zeros on both sides, so that sums over neighbours are loops over
 * shifted rows.  Each thread has five rows of scratch.
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_vec.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#define ROWS 5

struct layer {
	size_t c, size, left, right, row;	/* row: floats of a row, with its zeros */
	float  knorm, share, power;		/* share = alpha / size */
};

static struct layer
describe_layer(const struct graph_node *node)
{
	size_t side = (size_t)node->size;

	return (struct layer) { .c = node->c, .size = side, .left = side / 2, .right = (side - 1) / 2,
	    .row = node->c + 2 * side, .knorm = node->knorm, .share = node->alpha / (float)side, .power = node->power };
}

size_t
cpu_lrn_scratch(const struct graph_node *node)
{
	return ROWS * describe_layer(node).row;
}

/* The first channel of a row. */
static float *
get_row(const struct layer *l, float *scratch, size_t k)
{
	return scratch + (size_t)omp_get_thread_num() * ROWS * l->row + k * l->row + l->size;
}

/* Copies pixel q of sample i to a row. */
ISA_CLONES(static, void, load_pixel, (const struct cpu_view *v, size_t i, size_t q, float *row), (v, i, q, row))
{
	for (size_t c = 0; c < v->c; c += v->block) {
		size_t some = v->c - c < v->block ? v->c - c : v->block;
		const void *at = cpu_at(v, i, c / v->block);

		for (size_t k = 0; k < some; k++)
			row[c + k] = cpu_read(at, q * v->pitch + k, v->bf16);
	}
}

/* Copies a row to pixel q of sample i. */
ISA_CLONES(static, void, store_pixel, (const float *row, const struct cpu_view *v, size_t i, size_t q),
    (row, v, i, q))
{
	for (size_t c = 0; c < v->c; c += v->block) {
		size_t some = v->c - c < v->block ? v->c - c : v->block;
		void *to = cpu_at(v, i, c / v->block);

		for (size_t k = 0; k < v->block; k++)
			cpu_write(to, q * v->pitch + k, v->bf16, k < some ? row[c + k] : 0);
	}
}

/* s^-power, without a logarithm for the usual power. */
ISA_INLINE float
compute_negative_power(float s, float power)
{
	return power == 0.75f ? 1 / (sqrtf(s) * sqrtf(sqrtf(s))) : powf(s, -power);
}

/* sum[k] = the sum of row[k - left .. k + right]. */
ISA_INLINE void
sum_neighbours(const float *restrict row, size_t left, size_t right, float *restrict sum, size_t c)
{
	for (size_t k = 0; k < c; k++)
		sum[k] = 0;
	for (size_t a = 0; a <= left + right; a++)
		for (size_t k = 0; k < c; k++)
			sum[k] += (row - left)[k + a];
}

/* s and f = s^-power of the channels in x; square is a row with zeros on both sides. */
ISA_INLINE void
sum_squares(const struct layer *l, const float *restrict x, float *restrict square, float *restrict s,
    float *restrict f)
{
	for (size_t k = 0; k < l->c; k++)
		square[k] = x[k] * x[k];
	sum_neighbours(square, l->left, l->right, s, l->c);
	for (size_t k = 0; k < l->c; k++) {
		s[k] = l->knorm + l->share * s[k];
		f[k] = compute_negative_power(s[k], l->power);
	}
}

ISA_CLONES(static, void, pixel_forward, (const struct layer *l, float *restrict x, float *restrict square,
    float *restrict s, float *restrict f),
    (l, x, square, s, f))
{
	sum_squares(l, x, square, s, f);
	for (size_t k = 0; k < l->c; k++)
		x[k] *= f[k];
}

/* Overwrites x with dx. */
ISA_CLONES(static, void, pixel_backward, (const struct layer *l, float *restrict x, const float *restrict dy,
    float *restrict row, float *restrict s, float *restrict f),
    (l, x, dy, row, s, f))
{
	sum_squares(l, x, row, s, f);
	for (size_t k = 0; k < l->c; k++)
		row[k] = dy[k] * x[k] * f[k] / s[k];
	sum_neighbours(row, l->right, l->left, s, l->c);
	for (size_t k = 0; k < l->c; k++)
		x[k] = dy[k] * f[k] - 2 * l->power * l->share * x[k] * s[k];
}

void
cpu_lrn_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, float *scratch,
    uint32_t n)
{
	struct layer l = describe_layer(node);
	size_t pixels = (size_t)x->h * x->w;

	memset(scratch, 0, (size_t)omp_get_max_threads() * ROWS * l.row * sizeof(*scratch));
	#pragma omp parallel for
	for (size_t j = 0; j < n * pixels; j++) {
		float *row = get_row(&l, scratch, 0);

		load_pixel(x, j / pixels, j % pixels, row);
		pixel_forward(&l, row, get_row(&l, scratch, 1), get_row(&l, scratch, 2), get_row(&l, scratch, 3));
		store_pixel(row, y, j / pixels, j % pixels);
	}
}

void
cpu_lrn_backward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *dy, uint32_t ndy,
    const struct cpu_view *dx, float *scratch, uint32_t n)
{
	struct layer l = describe_layer(node);
	size_t pixels = (size_t)x->h * x->w;

	memset(scratch, 0, (size_t)omp_get_max_threads() * ROWS * l.row * sizeof(*scratch));
	#pragma omp parallel for
	for (size_t j = 0; j < n * pixels; j++) {
		float *row = get_row(&l, scratch, 0), *d = get_row(&l, scratch, 4), *more = get_row(&l, scratch, 2);

		load_pixel(&dy[0], j / pixels, j % pixels, d);
		if (ndy > 1) {
			load_pixel(&dy[1], j / pixels, j % pixels, more);
			for (size_t k = 0; k < l.c; k++)
				d[k] += more[k];
		}
		load_pixel(x, j / pixels, j % pixels, row);
		pixel_backward(&l, row, d, get_row(&l, scratch, 1), more, get_row(&l, scratch, 3));
		store_pixel(row, dx, j / pixels, j % pixels);
	}
}
