/* cpu_pool_bf16 - max pooling of bf16 in integers: serves cpu_pool. */
#include "engine/cpu/cpu_pool_bf16.h"

#define REGS	(2u * CPU_VEC / ISA_BYTES)	/* registers of CPU_VEC numbers */
#define EACH(k) for (size_t k = 0; k < REGS; k++)
#define MAGNITUDE 0x7fff	/* all bits but the sign */
#define INFINITE  0x7f80	/* the least magnitude that is not finite */

typedef int16_t shorts __attribute__((vector_size(ISA_BYTES), aligned(2), may_alias));
typedef uint16_t words __attribute__((vector_size(ISA_BYTES), aligned(2), may_alias));

/* The first of the greatest numbers of a window so far, in order, with their indices. */
struct maximum {
	shorts top[REGS], at[REGS];
};

bool
cpu_pool_bf16_fits(const struct pool_frame *f)
{
	return f->bf16 && f->pool == GRAPH_MAX && f->lanes >= CPU_VEC;
}

bool
cpu_pool_bf16_is_2x2(const struct pool_frame *f)
{
	return cpu_pool_bf16_fits(f) && f->r == 2 && f->s == 2 && f->stride[0] == 2 && f->stride[1] == 2;
}

/* Sets *order to integers that order as the numbers do.  Those of 0 and -0 are equal. */
ISA_INLINE void
order_numbers(const shorts *v, shorts *order)
{
	const shorts sign = *v >> 15;

	*order = ((*v & MAGNITUDE) ^ sign) - sign;
}

/* Sets *v to the numbers of these integers. */
ISA_INLINE void
restore_numbers(const shorts *order, shorts *v)
{
	const shorts sign = *order >> 15;

	*v = ((*order ^ sign) - sign) | (sign & ~MAGNITUDE);
}

/* Adds the number at p, which has index n.  The highest bit of *special is set if it is not finite. */
ISA_INLINE void
add_number(const uint16_t *p, int16_t n, struct maximum *m, words *special)
{
	EACH(k) {
		const shorts v = ((const shorts *)p)[k];
		shorts order, more;

		order_numbers(&v, &order);
		more = order > m->top[k];
		m->top[k] = (order & more) | (m->top[k] & ~more);
		m->at[k] = (n & more) | (m->at[k] & ~more);
		special[k] |= (words)(v & MAGNITUDE) + (0x8000 - INFINITE);
	}
}

/* Adds a window's pixels; the first has index n, and after each line of them `skipped` indices are left out. */
ISA_INLINE void
add_window(const uint16_t *p, size_t pitch, size_t w, size_t lines, size_t columns, int16_t n, int16_t skipped,
    struct maximum *m, words *special)
{
	#pragma GCC unroll 3
	for (size_t h = 0; h < lines; h++, n = (int16_t)(n + skipped))
		#pragma GCC unroll 3
		for (size_t j = 0; j < columns; j++, n++)
			add_number(p + (h * w + j) * pitch, n, m, special);
}

/* The channels c to c + CPU_VEC of a pixel.  The last vector of a pixel may overlap the one before it. */
#define EACH_CHANNELS(f, c) \
	for (size_t c = 0, next_ = 0; next_ < (f)->lanes && \
	    ((c = next_ + CPU_VEC <= (f)->lanes ? next_ : (f)->lanes - CPU_VEC), 1); next_ += CPU_VEC)

/* Computes the maxima of a window of so many pixels, of which the first is at p. */
ISA_INLINE void
compute_window(const struct pool_frame *f, const uint16_t *p, size_t pitch, size_t lines, size_t columns, int16_t n,
    uint16_t *y, uint16_t *argmax, words *special)
{
	EACH_CHANNELS(f, c) {
		struct maximum m = { .at = { { 0 } } };

		EACH(k) {
			order_numbers((const shorts *)(p + c) + k, &m.top[k]);
			m.at[k] += n;
		}
		add_window(p + c, pitch, f->w, lines, columns, n, (int16_t)(f->s - columns), &m, special);
		EACH(k) {
			restore_numbers(&m.top[k], (shorts *)(y + c) + k);
			((shorts *)(argmax + c))[k] = m.at[k];
		}
	}
}

ISA_CLONES(extern, bool, cpu_pool_bf16_forward, (const struct pool_frame *f, const struct cpu_ptr *x,
    const struct cpu_ptr *y, uint16_t *argmax),
    (f, x, y, argmax))
{
	words special[REGS] = { { 0 } };
	bool finite = true;

	for (size_t o = 0; o < f->oh * f->ow; o++) {
		const struct pool_window v = pool_clip_window(f, o / f->ow, o % f->ow);
		const size_t lines = v.h1 - v.h0, columns = v.w1 - v.w0;
		const int16_t n = (int16_t)(v.r0 * f->s + v.s0);
		const uint16_t *p = (const uint16_t *)x->p + (v.h0 * f->w + v.w0) * x->pitch;
		uint16_t *to = (uint16_t *)y->p + o * y->pitch, *at = argmax + o * f->lanes;

		if (lines == 2 && columns == 2)
			compute_window(f, p, x->pitch, 2, 2, n, to, at, special);
		else if (lines == 3 && columns == 3)
			compute_window(f, p, x->pitch, 3, 3, n, to, at, special);
		else
			compute_window(f, p, x->pitch, lines, columns, n, to, at, special);
	}
	for (size_t l = 0; l < CPU_VEC; l++)
		finite = finite && ((const uint16_t *)special)[l] < 0x8000;
	return finite;
}

/* Computes a pixel of dx: dy where the maximum has this index, else 0.  dy NULL: no window has the pixel. */
ISA_INLINE void
spread_pixel(const struct pool_frame *f, const uint16_t *dy, const uint16_t *argmax, int16_t index, uint16_t *dx)
{
	EACH_CHANNELS(f, c)
		EACH(k) {
			shorts d = { 0 };

			if (dy != NULL)
				d = ((const shorts *)(dy + c))[k] & (((const shorts *)(argmax + c))[k] == index);
			if (f->stream) {
				const isa_floats bits = (isa_floats)d;

				isa_stream(&bits, (shorts *)(dx + c) + k);
			} else {
				((shorts *)(dx + c))[k] = d;
			}
		}
}

ISA_CLONES(extern, void, cpu_pool_bf16_backward, (const struct pool_frame *f, const struct cpu_ptr *dy,
    const struct cpu_ptr *dx, const uint16_t *argmax),
    (f, dy, dx, argmax))
{
	for (size_t h = 0; h < f->h; h++) {
		const size_t i = pool_first_window(h, f->pad[0], 2, 2), end = pool_end_window(h, f->pad[0], 2, f->oh);

		for (size_t w = 0; w < f->w; w++) {
			const size_t j = (w + f->pad[1]) / 2, o = i * f->ow + j;
			const int16_t index = (int16_t)((h + f->pad[0] - i * 2) * 2 + (w + f->pad[1]) % 2);
			uint16_t *to = (uint16_t *)dx->p + (h * f->w + w) * dx->pitch;

			if (i < end && j < f->ow)
				spread_pixel(f, (const uint16_t *)dy->p + o * dy->pitch, argmax + o * f->lanes, index,
				    to);
			else
				spread_pixel(f, NULL, NULL, 0, to);
		}
	}
	if (f->stream)
		isa_streamed();
}
