/*
 * cpu_pool_lanes - the pooling of one unit, for LANES channels side by side.
 *
 * Included by cpu_pool.c once for each LANES, which it undefines; NAME(x) is x
 * with LANES behind.  A vector of LANES floats is the size of the layout's block,
 * so that no lane is wasted and nothing is read past a pixel.
 */
#define JOIN_(a, b)	a##b
#define JOIN(a, b)	JOIN_(a, b)
#define NAME(x)		JOIN(x##_, LANES)
#define VEC		NAME(vec)
#define INT		NAME(int)
#define SHORT		NAME(short)

typedef float VEC __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t INT __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint16_t SHORT __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

CPU_CLONES static void
NAME(max_unit)(const struct frame *f, const float *restrict x, float *restrict y, uint16_t *restrict which)
{
	const VEC *in = (const VEC *)x;

	for (size_t i = 0; i < f->oh; i++)
		for (size_t j = 0; j < f->ow; j++, y += LANES, which += LANES) {
			struct window v = window(f, i, j);
			VEC top = in[v.h0 * f->w + v.w0];
			INT at = { 0 }, k;

			at += (int32_t)(v.r0 * f->s + v.s0);
			k = at;
			for (size_t h = v.h0; h < v.h1; h++, k += (int32_t)(f->s - (v.w1 - v.w0)))
				for (size_t w = v.w0; w < v.w1; w++, k += 1) {
					VEC p = in[h * f->w + w];
					INT more = p > top;

					top = (VEC)(((INT)p & more) | ((INT)top & ~more));
					at = (k & more) | (at & ~more);
				}
			*(VEC *)y = top;
			*(SHORT *)which = __builtin_convertvector(at, SHORT);
		}
}

CPU_CLONES static void
NAME(avg_unit)(const struct frame *f, const float *restrict x, float *restrict y)
{
	const VEC *in = (const VEC *)x;
	float share = 1.0f / (float)(f->r * f->s);

	for (size_t i = 0; i < f->oh; i++)
		for (size_t j = 0; j < f->ow; j++, y += LANES) {
			struct window v = window(f, i, j);
			VEC sum = { 0 };

			for (size_t h = v.h0; h < v.h1; h++)
				for (size_t w = v.w0; w < v.w1; w++)
					sum += in[h * f->w + w];
			*(VEC *)y = sum * share;
		}
}

/* Adds the gradient of each window to where its maximum was; d1 may be NULL. */
CPU_CLONES static void
NAME(max_back)(const struct frame *f, const float *restrict d0, const float *restrict d1, float *restrict dx,
    const uint16_t *restrict which)
{
	VEC *out = (VEC *)dx;

	for (size_t o = 0; o < f->oh * f->ow; o++) {
		struct window v = window(f, o / f->ow, o % f->ow);
		VEC d = ((const VEC *)d0)[o];
		INT at = __builtin_convertvector(((const SHORT *)which)[o], INT), k = { 0 };

		if (d1 != NULL)
			d += ((const VEC *)d1)[o];
		k += (int32_t)(v.r0 * f->s + v.s0);
		for (size_t h = v.h0; h < v.h1; h++, k += (int32_t)(f->s - (v.w1 - v.w0)))
			for (size_t w = v.w0; w < v.w1; w++, k += 1)
				out[h * f->w + w] += (VEC)((INT)d & (k == at));
	}
}

CPU_CLONES static void
NAME(avg_back)(const struct frame *f, const float *restrict d0, const float *restrict d1, float *restrict dx)
{
	VEC *out = (VEC *)dx;
	float share = 1.0f / (float)(f->r * f->s);

	for (size_t o = 0; o < f->oh * f->ow; o++) {
		struct window v = window(f, o / f->ow, o % f->ow);
		VEC d = ((const VEC *)d0)[o];

		if (d1 != NULL)
			d += ((const VEC *)d1)[o];
		d *= share;
		for (size_t h = v.h0; h < v.h1; h++)
			for (size_t w = v.w0; w < v.w1; w++)
				out[h * f->w + w] += d;
	}
}

static void
NAME(unit_forward)(enum graph_pool pool, const struct frame *f, const float *x, float *y, uint16_t *which)
{
	if (pool == GRAPH_MAX)
		NAME(max_unit)(f, x, y, which);
	else
		NAME(avg_unit)(f, x, y);
}

static void
NAME(unit_backward)(enum graph_pool pool, const struct frame *f, const float *d0, const float *d1, float *dx,
    const uint16_t *which)
{
	if (pool == GRAPH_MAX)
		NAME(max_back)(f, d0, d1, dx, which);
	else
		NAME(avg_back)(f, d0, d1, dx);
}

#undef SHORT
#undef INT
#undef VEC
#undef NAME
#undef JOIN
#undef JOIN_
#undef LANES
