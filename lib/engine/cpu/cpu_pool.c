/*
 * cpu_pool - max and average pooling.
 *
 * The window of output i begins at line i*stride - pad and is clipped to the sample.  ref_pool.c defines the divisor
 * of an average.  The maximum is the first of equal values, row by row.  argmax keeps its index in the window for the
 * backward pass, in which each pixel adds the gradients of its windows column by column.  Units are independent.
 *
 * Comparisons skip NaN, but a sum does not.  The forward pass therefore adds up each window too: its maximum is NaN
 * if the sum is, which also holds for infinities of both signs.
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_pool_bf16.h"
#include "engine/cpu/cpu_vec.h"
#include "engine/share.h"

#include <omp.h>
#include <string.h>

/* 1 / the divisor of the average of window v, at (i, j). */
ISA_INLINE float
get_reciprocal(const struct pool_frame *f, size_t i, size_t j, const struct pool_window *v)
{
	size_t r = f->r, s = f->s;

	if (f->divide == GRAPH_PADDED) {
		r = pool_min(r, f->h + 2 * f->pad[0] - i * f->stride[0]);
		s = pool_min(s, f->w + 2 * f->pad[1] - j * f->stride[1]);
	} else if (f->divide == GRAPH_INSIDE) {
		r = v->h1 - v->h0;
		s = v->w1 - v->w0;
	}
	return 1.0f / (float)(r * s);
}

/* Stores indices, which are in the registers in the order of bf16 or f32. */
ISA_INLINE void
store_argmax(const struct cpu_mask *at, bool bf16, size_t lanes, uint16_t *to)
{
	cpu_shorts out[CPU_REGS / 2];

	for (size_t k = 0; k < CPU_REGS; k += 2)
		out[k / 2] = bf16 ? (cpu_shorts)((cpu_words)at->v[k] | (cpu_words)at->v[k + 1] << 16) :
		    (cpu_shorts)ISA_EVEN((cpu_shorts)at->v[k], (cpu_shorts)at->v[k + 1]);
	memcpy(to, out, lanes * sizeof(*to));
}

ISA_INLINE void
load_argmax(const uint16_t *from, bool bf16, size_t lanes, struct cpu_mask *at)
{
	const cpu_shorts none = { 0 };
	cpu_shorts in[CPU_REGS / 2] = { { 0 } };

	memcpy(in, from, lanes * sizeof(*from));
	for (size_t k = 0; k < CPU_REGS; k += 2) {
		const cpu_words both = (cpu_words)in[k / 2];

		at->v[k] = bf16 ? (cpu_ints)(both & 0xffff) : (cpu_ints)ISA_MIX_LOW(in[k / 2], none);
		at->v[k + 1] = bf16 ? (cpu_ints)(both >> 16) : (cpu_ints)ISA_MIX_HIGH(in[k / 2], none);
	}
}

/* Adds pixel p, at index n of the window, to the maximum and the sum. */
ISA_INLINE void
add_max_pixel(const struct cpu_vec *p, int32_t n, struct cpu_vec *top, struct cpu_mask *at, struct cpu_vec *sum)
{
	CPU_EACH(k) {
		cpu_ints more = p->v[k] > top->v[k];

		top->v[k] = (cpu_floats)(((cpu_ints)p->v[k] & more) | ((cpu_ints)top->v[k] & ~more));
		at->v[k] = (n & more) | (at->v[k] & ~more);
		sum->v[k] += p->v[k];
	}
}

/* Adds a window's pixels.  The first is at p and has index n in the window; a line of the sample has w pixels. */
ISA_INLINE void
add_max_window(const void *p, size_t pitch, size_t w, size_t lines, size_t columns, int32_t n, int32_t skipped,
    bool bf16, size_t lanes, struct cpu_vec *top, struct cpu_mask *at, struct cpu_vec *sum)
{
	struct cpu_vec v = { 0 };

	#pragma GCC unroll 3
	for (size_t h = 0; h < lines; h++, n += skipped)
		#pragma GCC unroll 3
		for (size_t j = 0; j < columns; j++, n++) {
			cpu_load_some(p, (h * w + j) * pitch, bf16, lanes, &v);
			add_max_pixel(&v, n, top, at, sum);
		}
}

/* Computes channels [c, c + lanes) of line i of a unit's output. */
ISA_INLINE void
compute_max(const struct pool_frame *f, const struct cpu_ptr *x, size_t i, size_t c, size_t lanes, bool bf16,
    const struct cpu_ptr *y, uint16_t *restrict argmax)
{
	for (size_t j = 0; j < f->ow; j++) {
		const size_t o = i * f->ow + j;
		struct pool_window v = pool_clip_window(f, i, j);
		int32_t skipped = (int32_t)(f->s - (v.w1 - v.w0));
		int32_t n = (int32_t)(v.r0 * f->s + v.s0);
		const size_t lines = v.h1 - v.h0, columns = v.w1 - v.w0;
		struct cpu_vec top = { 0 }, sum = { 0 };
		struct cpu_mask at = { 0 };
		const char *p = (const char *)x->p + ((v.h0 * f->w + v.w0) * x->pitch + c) * (bf16 ? 2 : sizeof(float));

		CPU_EACH(k)
			at.v[k] += n;
		cpu_load_some(p, 0, bf16, lanes, &top);
		if (lines == 3 && columns == 3)
			add_max_window(p, x->pitch, f->w, 3, 3, n, skipped, bf16, lanes, &top, &at, &sum);
		else
			add_max_window(p, x->pitch, f->w, lines, columns, n, skipped, bf16, lanes, &top, &at, &sum);
		CPU_EACH(k) {
			cpu_ints nan = sum.v[k] != sum.v[k];

			top.v[k] = (cpu_floats)(((cpu_ints)sum.v[k] & nan) | ((cpu_ints)top.v[k] & ~nan));
		}
		cpu_store_some(&top, y->p, o * y->pitch + c, bf16, lanes);
		store_argmax(&at, bf16, lanes, argmax + o * f->lanes + c);
	}
}

ISA_INLINE void
compute_average(const struct pool_frame *f, const struct cpu_ptr *x, size_t i, size_t c, size_t lanes, bool bf16,
    const struct cpu_ptr *y)
{
	for (size_t j = 0; j < f->ow; j++) {
		struct pool_window v = pool_clip_window(f, i, j);
		struct cpu_vec sum = { 0 }, p = { 0 };
		float share = get_reciprocal(f, i, j, &v);

		for (size_t h = v.h0; h < v.h1; h++)
			for (size_t w = v.w0; w < v.w1; w++) {
				cpu_load_some(x->p, (h * f->w + w) * x->pitch + c, bf16, lanes, &p);
				CPU_EACH(k)
					sum.v[k] += p.v[k];
			}
		CPU_EACH(k)
			sum.v[k] *= share;
		cpu_store_some(&sum, y->p, (i * f->ow + j) * y->pitch + c, bf16, lanes);
	}
}

/* Loads the gradient of output o. */
ISA_INLINE void
load_gradient(const struct cpu_ptr *d0, const struct cpu_ptr *d1, size_t o, size_t c, size_t lanes, bool bf16,
    struct cpu_vec *d)
{
	struct cpu_vec more = { 0 };

	cpu_load_some(d0->p, o * d0->pitch + c, bf16, lanes, d);
	if (d1->p == NULL)
		return;
	cpu_load_some(d1->p, o * d1->pitch + c, bf16, lanes, &more);
	CPU_EACH(k)
		d->v[k] += more.v[k];
}

/* Adds d to the channels of *sum whose maximum has index n. */
ISA_INLINE void
add_where_max(const struct cpu_vec *d, const struct cpu_mask *at, int32_t n, struct cpu_vec *sum)
{
	CPU_EACH(k)
		sum->v[k] += (cpu_floats)((cpu_ints)d->v[k] & (at->v[k] == n));
}

/* Adds the gradient of pixel (h, w) from window (i, j). */
ISA_INLINE void
add_window_gradient(const struct pool_frame *f, enum graph_pool pool, const struct cpu_ptr *d0,
    const struct cpu_ptr *d1, size_t c, size_t lanes, bool bf16, const uint16_t *restrict argmax, size_t i,
    size_t j, size_t h, size_t w, struct cpu_vec *sum)
{
	size_t o = i * f->ow + j;
	struct cpu_vec d = { 0 };
	struct cpu_mask at;

	load_gradient(d0, d1, o, c, lanes, bf16, &d);
	if (pool == GRAPH_MAX) {
		load_argmax(argmax + o * f->lanes + c, bf16, lanes, &at);
		add_where_max(&d, &at, (int32_t)((h + f->pad[0] - i * f->stride[0]) * f->s + w + f->pad[1] -
		    j * f->stride[1]), sum);
	} else {
		struct pool_window v = pool_clip_window(f, i, j);
		float share = get_reciprocal(f, i, j, &v);

		CPU_EACH(k)
			d.v[k] *= share;
		CPU_EACH(k)
			sum->v[k] += d.v[k];
	}
}

ISA_INLINE void
store_gradient(const struct pool_frame *f, const struct cpu_vec *sum, const struct cpu_ptr *dx, size_t pixel, size_t c,
    size_t lanes, bool bf16)
{
	if (!bf16 && lanes == CPU_VEC && f->stream)
		cpu_stream(sum, (float *)dx->p + pixel * dx->pitch + c);
	else
		cpu_store_some(sum, dx->p, pixel * dx->pitch + c, bf16, lanes);
}

/* Computes channels [c, c + lanes) of line h of a unit's input. */
ISA_INLINE void
gather_gradient(const struct pool_frame *f, enum graph_pool pool, const struct cpu_ptr *d0, const struct cpu_ptr *d1,
    size_t h, size_t c, size_t lanes, bool bf16, const struct cpu_ptr *dx, const uint16_t *restrict argmax)
{
	const size_t i0 = pool_first_window(h, f->pad[0], f->r, f->stride[0]);
	const size_t i1 = pool_end_window(h, f->pad[0], f->stride[0], f->oh);

	for (size_t w = 0; w < f->w; w++) {
		size_t j0 = pool_first_window(w, f->pad[1], f->s, f->stride[1]);
		size_t j1 = pool_end_window(w, f->pad[1], f->stride[1], f->ow);
		struct cpu_vec sum = { 0 };

		for (size_t j = j0; j < j1; j++)
			for (size_t i = i0; i < i1; i++)
				add_window_gradient(f, pool, d0, d1, c, lanes, bf16, argmax, i, j, h, w, &sum);
		store_gradient(f, &sum, dx, h * f->w + w, c, lanes, bf16);
	}
}

/*
 * The same for a maximum over `side` columns, at most 3, with this stride; both are constants of the caller.  Each
 * gradient is loaded once for a line, because registers hold the sums of a window's columns.
 */
ISA_INLINE void
gather_windows(const struct pool_frame *f, size_t side, size_t stride, const struct cpu_ptr *d0,
    const struct cpu_ptr *d1, size_t h, size_t c, size_t lanes, bool bf16, const struct cpu_ptr *dx,
    const uint16_t *restrict argmax)
{
	const size_t i0 = pool_first_window(h, f->pad[0], f->r, f->stride[0]);
	const size_t i1 = pool_end_window(h, f->pad[0], f->stride[0], f->oh);
	struct cpu_vec sum[3] = { { { { 0 } } } }, d = { 0 };
	struct cpu_mask at;

	/* After the last window follow the columns that only it has, and those that no window has. */
	for (size_t j = 0; j * stride < f->w + f->pad[1]; j++) {
		for (size_t i = i0; i < i1 && j < f->ow; i++) {
			const int32_t n = (int32_t)((h + f->pad[0] - i * f->stride[0]) * side);

			load_gradient(d0, d1, i * f->ow + j, c, lanes, bf16, &d);
			load_argmax(argmax + (i * f->ow + j) * f->lanes + c, bf16, lanes, &at);
			#pragma GCC unroll 3
			for (size_t q = 0; q < side; q++)
				add_where_max(&d, &at, n + (int32_t)q, &sum[q]);
		}
		#pragma GCC unroll 3
		for (size_t q = 0; q < stride; q++) {
			const size_t w = j * stride + q - f->pad[1];

			if (w < f->w)
				store_gradient(f, &sum[q], dx, h * f->w + w, c, lanes, bf16);
		}
		#pragma GCC unroll 3
		for (size_t q = 0; q < side; q++)
			sum[q] = q + stride < side ? sum[q + stride] : (struct cpu_vec){ 0 };
	}
}

ISA_INLINE void
gather_maximum(const struct pool_frame *f, const struct cpu_ptr *d0, const struct cpu_ptr *d1, size_t h, size_t c,
    size_t lanes, bool bf16, const struct cpu_ptr *dx, const uint16_t *restrict argmax)
{
	if (f->s == 3 && f->stride[1] == 2)
		gather_windows(f, 3, 2, d0, d1, h, c, lanes, bf16, dx, argmax);
	else if (f->s == 3 && f->stride[1] == 1)
		gather_windows(f, 3, 1, d0, d1, h, c, lanes, bf16, dx, argmax);
	else if (f->s == 2 && f->stride[1] == 2)
		gather_windows(f, 2, 2, d0, d1, h, c, lanes, bf16, dx, argmax);
	else
		gather_gradient(f, GRAPH_MAX, d0, d1, h, c, lanes, bf16, dx, argmax);
}

/* Is there one window, of all pixels? */
ISA_INLINE bool
is_global(const struct pool_frame *f)
{
	return f->oh * f->ow == 1 && f->r >= f->h + f->pad[0] && f->s >= f->w + f->pad[1];
}

/* Computes channels [c, c + lanes) of line h of a unit's input, whose pixels are all in the one window. */
ISA_INLINE void
spread_average(const struct pool_frame *f, const struct cpu_ptr *d0, const struct cpu_ptr *d1, size_t h, size_t c,
    size_t lanes, bool bf16, const struct cpu_ptr *dx)
{
	const struct pool_window v = pool_clip_window(f, 0, 0);
	const float share = get_reciprocal(f, 0, 0, &v);
	struct cpu_vec d = { 0 };

	load_gradient(d0, d1, 0, c, lanes, bf16, &d);
	CPU_EACH(k)
		d.v[k] *= share;
	for (size_t w = 0; w < f->w; w++)
		store_gradient(f, &d, dx, h * f->w + w, c, lanes, bf16);
}

/*
 * DO(c, lanes, bf16) for a unit's channels, with constants for whole vectors.  The last vector may overlap the one
 * before it.  Callers go line by line, so that a line is in the cache after its first channels.
 */
#define EACH_LANES(f, DO) \
	if ((f)->lanes >= CPU_VEC) \
		for (size_t c_ = 0; c_ < (f)->lanes; c_ += CPU_VEC) { \
			size_t at_ = c_ + CPU_VEC <= (f)->lanes ? c_ : (f)->lanes - CPU_VEC; \
			if ((f)->bf16) \
				DO(at_, CPU_VEC, true); \
			else \
				DO(at_, CPU_VEC, false); \
		} \
	else if ((f)->lanes == 8 && !(f)->bf16) \
		DO(0, 8, false); \
	else if ((f)->lanes == 1 && !(f)->bf16) \
		DO(0, 1, false); \
	else \
		DO(0, (f)->lanes, (f)->bf16)

ISA_CLONES(static, void, unit_forward, (const struct pool_frame *f, const struct cpu_ptr *x, const struct cpu_ptr *y,
    uint16_t *restrict argmax),
    (f, x, y, argmax))
{
#define MAX(c, lanes, bf16) compute_max(f, x, i, c, lanes, bf16, y, argmax)
#define AVG(c, lanes, bf16) compute_average(f, x, i, c, lanes, bf16, y)
	for (size_t i = 0; i < f->oh; i++)
		if (f->pool == GRAPH_MAX)
			EACH_LANES(f, MAX);
		else
			EACH_LANES(f, AVG);
}

ISA_CLONES(static, void, unit_backward, (const struct pool_frame *f, const struct cpu_ptr *d0, const struct cpu_ptr *d1,
    const struct cpu_ptr *dx, const uint16_t *restrict argmax),
    (f, d0, d1, dx, argmax))
{
#define MAX_BACK(c, lanes, bf16) gather_maximum(f, d0, d1, h, c, lanes, bf16, dx, argmax)
#define AVG_BACK(c, lanes, bf16) gather_gradient(f, GRAPH_AVG, d0, d1, h, c, lanes, bf16, dx, argmax)
#define SPREAD(c, lanes, bf16) spread_average(f, d0, d1, h, c, lanes, bf16, dx)
	const bool whole = f->pool == GRAPH_AVG && is_global(f);

	for (size_t h = 0; h < f->h; h++)
		if (f->pool == GRAPH_MAX)
			EACH_LANES(f, MAX_BACK);
		else if (whole)
			EACH_LANES(f, SPREAD);
		else
			EACH_LANES(f, AVG_BACK);
	if (f->stream)
		isa_streamed();
}

static struct pool_frame
describe_pool_frame(const struct graph_node *node, const struct cpu_view *in)
{
	return (struct pool_frame) { in->h, in->w, node->h, node->w, node->r, node->s,
	    { node->stride[0], node->stride[1] }, { node->pad[0], node->pad[1] }, in->block, in->bf16, node->divide,
	    node->pool, false };
}

/* Elements of argmax for a unit. */
static size_t
count_maxima(const struct graph_node *node, const struct cpu_view *y)
{
	return node->pool == GRAPH_MAX ? (size_t)y->h * y->w * y->block : 0;
}

void
cpu_pool_forward(const struct graph_node *node, const struct cpu_view *x, const struct cpu_view *y, uint16_t *argmax,
    uint32_t n)
{
	struct pool_frame f = describe_pool_frame(node, x);
	size_t blocks = cpu_blocks(x), outs = count_maxima(node, y);
	struct share all = share_start(n * blocks);

	#pragma omp parallel
	SHARE_EACH(&all, u) {
		struct cpu_ptr from = cpu_ptr(x, u / blocks, u % blocks),
		    to = cpu_ptr(y, u / blocks, u % blocks);

		if (!cpu_pool_bf16_fits(&f) || !cpu_pool_bf16_forward(&f, &from, &to, argmax + u * outs))
			unit_forward(&f, &from, &to, argmax + u * outs);
	}
}

void
cpu_pool_backward(const struct graph_node *node, const struct cpu_view *dy, uint32_t ndy, const struct cpu_view *dx,
    const uint16_t *argmax, uint32_t n)
{
	struct pool_frame f = describe_pool_frame(node, dx);
	size_t blocks = cpu_blocks(dx), outs = count_maxima(node, &dy[0]);
	const bool is_2x2 = cpu_pool_bf16_is_2x2(&f);
	struct share all = share_start(n * blocks);

	f.stream = (dx->bf16 ? is_2x2 && (dx->block | dx->pitch | dx->step) % 32 == 0 : dx->block == CPU_VEC) &&
	    (uintptr_t)dx->p % 64 == 0 && cpu_arena_large(dx, n);
	#pragma omp parallel
	SHARE_EACH(&all, u) {
		size_t i = u / blocks, b = u % blocks;
		struct cpu_ptr d0 = cpu_ptr(dy, i, b), d1 = cpu_ptr_second(dy, ndy, i, b),
		    to = cpu_ptr(dx, i, b);

		if (is_2x2 && d1.p == NULL)
			cpu_pool_bf16_backward(&f, &d0, &to, argmax + u * outs);
		else
			unit_backward(&f, &d0, &d1, &to, argmax + u * outs);
	}
}
