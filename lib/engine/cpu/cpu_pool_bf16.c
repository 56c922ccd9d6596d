/* cpu_pool_bf16 - max pooling of bf16 in integers: serves cpu_pool. */
#include "engine/cpu/cpu_pool_bf16.h"

#define REGS	(2u * CPU_VEC / ISA_BYTES)	/* registers of CPU_VEC numbers */
#define EACH(k) for (size_t k = 0; k < REGS; k++)
#define SIZE	0x7fff		/* all bits but the sign */
#define INFINITE 0x7f80

typedef int16_t shorts __attribute__((vector_size(ISA_BYTES), aligned(2), may_alias));

/* The first of the greatest numbers of a window so far, as they are and in order, with their indices. */
struct maximum {
	shorts top[REGS], order[REGS], at[REGS];
};

bool
cpu_pool_bf16_fits(const struct pool_frame *f)
{
	return f->bf16 && f->pool == GRAPH_MAX && f->lanes >= CPU_VEC;
}

bool
cpu_pool_bf16_has_pairs(const struct pool_frame *f)
{
	return f->r == 2 && f->s == 2 && f->stride[0] == 2 && f->stride[1] == 2;
}

/* Sets *order to integers that order as the numbers do; those of 0 and -0 are equal. */
ISA_INLINE void
order_numbers(const shorts *v, shorts *size, shorts *order)
{
	const shorts sign = *v >> 15;

	*size = *v & SIZE;
	*order = (*size ^ sign) - sign;
}

/* Adds the number at p, which has index n.  *most: the greatest size so far. */
ISA_INLINE void
add_number(const uint16_t *p, int16_t n, struct maximum *m, shorts *most)
{
	EACH(k) {
		const shorts v = ((const shorts *)p)[k];
		shorts size, order, more;

		order_numbers(&v, &size, &order);
		more = order > m->order[k];
		m->top[k] = (v & more) | (m->top[k] & ~more);
		m->order[k] = (order & more) | (m->order[k] & ~more);
		m->at[k] = (n & more) | (m->at[k] & ~more);
		more = size > most[k];
		most[k] = (size & more) | (most[k] & ~more);
	}
}

/* Adds a window's pixels; the first has index n, and after each line of them `skipped` indices are left out. */
ISA_INLINE void
add_window(const uint16_t *p, size_t pitch, size_t w, size_t lines, size_t columns, int16_t n, int16_t skipped,
    struct maximum *m, shorts *most)
{
	#pragma GCC unroll 3
	for (size_t h = 0; h < lines; h++, n = (int16_t)(n + skipped))
		#pragma GCC unroll 3
		for (size_t j = 0; j < columns; j++, n++)
			add_number(p + (h * w + j) * pitch, n, m, most);
}

/* Computes CPU_VEC channels from c on of a line i of y. */
ISA_INLINE void
compute_line(const struct pool_frame *f, const struct cpu_ptr *x, size_t i, size_t c, const struct cpu_ptr *y,
    uint16_t *restrict argmax, shorts *most)
{
	for (size_t j = 0; j < f->ow; j++) {
		const size_t o = i * f->ow + j;
		const struct pool_window v = pool_clip(f, i, j);
		const size_t lines = v.h1 - v.h0, columns = v.w1 - v.w0;
		const int16_t n = (int16_t)(v.r0 * f->s + v.s0), skipped = (int16_t)(f->s - columns);
		const uint16_t *p = (const uint16_t *)x->p + (v.h0 * f->w + v.w0) * x->pitch + c;
		struct maximum m = { .at = { { 0 } } };
		shorts size;

		EACH(k) {
			m.top[k] = ((const shorts *)p)[k];
			m.at[k] += n;
			order_numbers(&m.top[k], &size, &m.order[k]);
		}
		if (lines == 2 && columns == 2)
			add_window(p, x->pitch, f->w, 2, 2, n, skipped, &m, most);
		else if (lines == 3 && columns == 3)
			add_window(p, x->pitch, f->w, 3, 3, n, skipped, &m, most);
		else
			add_window(p, x->pitch, f->w, lines, columns, n, skipped, &m, most);
		EACH(k) {
			((shorts *)((uint16_t *)y->p + o * y->pitch + c))[k] = m.top[k];
			((shorts *)(argmax + o * f->lanes + c))[k] = m.at[k];
		}
	}
}

/* The last vector may overlap the one before it. */
#define EACH_CHANNEL(f, c) \
	for (size_t c = 0, next_ = 0; next_ < (f)->lanes && \
	    ((c = next_ + CPU_VEC <= (f)->lanes ? next_ : (f)->lanes - CPU_VEC), 1); next_ += CPU_VEC)

ISA_CLONES(extern, bool, cpu_pool_bf16_forward, (const struct pool_frame *f, const struct cpu_ptr *x,
    const struct cpu_ptr *y, uint16_t *argmax),
    (f, x, y, argmax))
{
	shorts most[REGS] = { { 0 } };
	bool finite = true;

	for (size_t i = 0; i < f->oh; i++)
		EACH_CHANNEL(f, c)
			compute_line(f, x, i, c, y, argmax, most);
	for (size_t l = 0; l < CPU_VEC; l++)
		finite = finite && ((const int16_t *)most)[l] < INFINITE;
	return finite;
}

/* Computes CPU_VEC channels from c on of line h of dx.  A pixel is in one window at most. */
ISA_INLINE void
spread_line(const struct pool_frame *f, const struct cpu_ptr *dy, size_t h, size_t c, const struct cpu_ptr *dx,
    const uint16_t *argmax)
{
	const size_t i = pool_first(h, f->pad[0], 2, 2);
	const size_t windows = i < pool_end(h, f->pad[0], 2, f->oh) ? f->ow : 0;
	const int16_t n = (int16_t)((h + f->pad[0] - i * 2) * 2);

	for (size_t j = 0; j * 2 < f->w + f->pad[1]; j++) {
		const size_t o = i * f->ow + j;

		#pragma GCC unroll 2
		for (size_t q = 0; q < 2; q++) {
			const size_t w = j * 2 + q - f->pad[1];
			shorts *to = (shorts *)((uint16_t *)dx->p + (h * f->w + w) * dx->pitch + c);
			const int16_t index = (int16_t)(n + (int16_t)q);

			if (w >= f->w)
				continue;
			EACH(k) {
				shorts d = { 0 };

				if (j < windows)
					d = ((const shorts *)((const uint16_t *)dy->p + o * dy->pitch + c))[k] &
					    (((const shorts *)(argmax + o * f->lanes + c))[k] == index);
				to[k] = d;
			}
		}
	}
}

ISA_CLONES(extern, void, cpu_pool_bf16_backward, (const struct pool_frame *f, const struct cpu_ptr *dy,
    const struct cpu_ptr *dx, const uint16_t *argmax),
    (f, dy, dx, argmax))
{
	for (size_t h = 0; h < f->h; h++)
		EACH_CHANNEL(f, c)
			spread_line(f, dy, h, c, dx, argmax);
}
