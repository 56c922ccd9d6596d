/* kernel_pool - maximum and average pooling; formulas and sources as in ref_pool.c. */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_POOL_H
#define ENGINE_CUDA_KERNEL_KERNEL_POOL_H

enum kernel_divide { KERNEL_WINDOW, KERNEL_PADDED, KERNEL_INSIDE };	/* as enum graph_divide */

struct kernel_window {
	uint32_t h, w, oh, ow;		/* sides of the input and of the output */
	uint32_t r, s, stride_h, stride_w, pad_h, pad_w;
	int	 average, divide;
};

/* which [output pixels, c]: the place r s + s of the maximum in its window; m output pixels. */
struct kernel_pool {
	struct kernel_window w;
	struct kernel_view x, y;
	uint32_t m;
	uint32_t *which;	/* NULL: not kept */
};

/* m: pixels of dx. */
struct kernel_pool_back {
	struct kernel_window w;
	struct kernel_view dy, dx;
	uint32_t m;
	const uint32_t *which;
};

/* The length of the window that begins at `at`, in a side with padding. */
KERNEL_BODY uint32_t
kernel_pool_length(uint32_t at, uint32_t size, uint32_t side, uint32_t pad)
{
	return at + size < side + 2 * pad ? size : side + 2 * pad - at;
}

/* The part of the window at `at` that is within [0, side). */
KERNEL_BODY void
kernel_pool_cut(uint32_t at, uint32_t pad, uint32_t size, uint32_t side, uint32_t *from, uint32_t *to)
{
	*from = at > pad ? at - pad : 0;
	*to = at + size - pad < side ? at + size - pad : side;
}

/* The divisor of the average of window (i, j). */
KERNEL_BODY float
kernel_pool_divisor(const struct kernel_window *w, uint32_t i, uint32_t j)
{
	uint32_t h0, h1, w0, w1;

	if (w->divide == KERNEL_WINDOW)
		return (float)w->r * (float)w->s;
	if (w->divide == KERNEL_PADDED)
		return (float)kernel_pool_length(i * w->stride_h, w->r, w->h, w->pad_h) *
		    (float)kernel_pool_length(j * w->stride_w, w->s, w->w, w->pad_w);
	kernel_pool_cut(i * w->stride_h, w->pad_h, w->r, w->h, &h0, &h1);
	kernel_pool_cut(j * w->stride_w, w->pad_w, w->s, w->w, &w0, &w1);
	return (float)(h1 - h0) * (float)(w1 - w0);
}

/* The places of the channels of an index, from p, which is aligned if width is KERNEL_WIDTH; and to p. */
KERNEL_BODY void
kernel_get_places(const uint32_t *p, uint32_t width, uint32_t which[KERNEL_WIDTH])
{
	if (width == 1) {
		which[0] = *p;
		return;
	}
	KERNEL_UNROLL
	for (uint32_t k = 0; k < KERNEL_WIDTH; k += 4) {
		const struct kernel_words words = kernel_read_words(p + k);

		KERNEL_UNROLL
		for (uint32_t j = 0; j < 4; j++)
			which[k + j] = words.w[j];
	}
}

KERNEL_BODY void
kernel_put_places(uint32_t *p, uint32_t width, const uint32_t which[KERNEL_WIDTH])
{
	if (width == 1) {
		*p = which[0];
		return;
	}
	KERNEL_UNROLL
	for (uint32_t k = 0; k < KERNEL_WIDTH; k += 4) {
		const struct kernel_words words = { { which[k], which[k + 1], which[k + 2], which[k + 3] } };

		kernel_write_words(p + k, words);
	}
}

KERNEL_BODY struct kernel_grid
kernel_pool_grid(const struct kernel_pool *a)
{
	return kernel_grid(a->m, a->y.c, kernel_is_wide(a->x) && kernel_is_wide(a->y));
}

KERNEL_BODY void
kernel_pool_at(const struct kernel_pool *a, uint32_t i, int type, uint32_t width)
{
	const struct kernel_window *w = &a->w;
	uint32_t c = a->y.c, m = i / (c / width), ch = i % (c / width) * width, row = m / w->ow % w->oh;
	uint32_t column = m % w->ow, base = m / (w->ow * w->oh) * w->h, h0, h1, w0, w1, which[KERNEL_WIDTH] = { 0 };
	float best[KERNEL_WIDTH] = { 0 }, sum[KERNEL_WIDTH] = { 0 };
	int any = 0;

	kernel_pool_cut(row * w->stride_h, w->pad_h, w->r, w->h, &h0, &h1);
	kernel_pool_cut(column * w->stride_w, w->pad_w, w->s, w->w, &w0, &w1);
	for (uint32_t y = h0; y < h1; y++) {
		float line[KERNEL_WIDTH] = { 0 }, v[KERNEL_WIDTH];

		for (uint32_t x = w0; x < w1; x++) {
			uint32_t place = (y + w->pad_h - row * w->stride_h) * w->s + x + w->pad_w -
			    column * w->stride_w;

			kernel_get_channels(a->x, (base + y) * w->w + x, ch, type, width, v);
			KERNEL_UNROLL
			for (uint32_t k = 0; k < width; k++) {
				line[k] += v[k];
				if (any && !(v[k] > best[k] || v[k] != v[k]))
					continue;
				best[k] = v[k];
				which[k] = place;
			}
			any = 1;
		}
		KERNEL_UNROLL
		for (uint32_t k = 0; k < width; k++)
			sum[k] += line[k];
	}
	if (a->which != NULL)
		kernel_put_places(a->which + (size_t)m * c + ch, width, which);
	KERNEL_UNROLL
	for (uint32_t k = 0; k < width; k++)
		if (w->average)
			best[k] = sum[k] / kernel_pool_divisor(w, row, column);
	kernel_set_channels(a->y, m, ch, type, width, best);
}

/* The windows [from, to) along a side that contain place `at`. */
KERNEL_BODY void
kernel_pool_covers(uint32_t at, uint32_t pad, uint32_t size, uint32_t stride, uint32_t windows, uint32_t *from,
    uint32_t *to)
{
	*from = at + pad >= size ? (at + pad - size) / stride + 1 : 0;
	*to = (at + pad) / stride + 1 < windows ? (at + pad) / stride + 1 : windows;
}

KERNEL_BODY struct kernel_grid
kernel_pool_back_grid(const struct kernel_pool_back *a)
{
	return kernel_grid(a->m, a->dx.c, kernel_is_wide(a->dy) && kernel_is_wide(a->dx));
}

KERNEL_BODY void
kernel_pool_back_at(const struct kernel_pool_back *a, uint32_t i, int type, uint32_t width)
{
	const struct kernel_window *w = &a->w;
	uint32_t c = a->dx.c, m = i / (c / width), ch = i % (c / width) * width, y = m / w->w % w->h, x = m % w->w;
	uint32_t base = m / (w->w * w->h) * w->oh, r0, r1, s0, s1;
	uint32_t which[KERNEL_WIDTH] = { 0 };
	float sum[KERNEL_WIDTH] = { 0 }, dy[KERNEL_WIDTH];

	kernel_pool_covers(y, w->pad_h, w->r, w->stride_h, w->oh, &r0, &r1);
	kernel_pool_covers(x, w->pad_w, w->s, w->stride_w, w->ow, &s0, &s1);
	for (uint32_t row = r0; row < r1; row++)
		for (uint32_t column = s0; column < s1; column++) {
			uint32_t at = (base + row) * w->ow + column;
			uint32_t place = (y + w->pad_h - row * w->stride_h) * w->s + x + w->pad_w -
			    column * w->stride_w;

			kernel_get_channels(a->dy, at, ch, type, width, dy);
			if (!w->average)
				kernel_get_places(a->which + (size_t)at * c + ch, width, which);
			KERNEL_UNROLL
			for (uint32_t k = 0; k < width; k++) {
				if (w->average)
					sum[k] += dy[k] / kernel_pool_divisor(w, row, column);
				else if (which[k] == place)
					sum[k] += dy[k];
			}
		}
	kernel_set_channels(a->dx, m, ch, type, width, sum);
}

#endif
