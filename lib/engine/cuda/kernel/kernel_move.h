/* kernel_move - copies between places, layouts and types. */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_MOVE_H
#define ENGINE_CUDA_KERNEL_KERNEL_MOVE_H

/*
 * to [a, c, b] = x [a, b, c], times *scale, times row[a]. NCHW to NHWC and back; a weight's [K, C,
 * R S] to [K, R S, C] and back. Index: the element of `to`, whose rows are ld apart.
 */
struct kernel_permute {
	const void *x;
	void	*to;
	uint32_t b, c, ld;
	int	 from_type, to_type;
	const float *scale;	/* NULL: 1 */
	const float *row;	/* [a], or NULL: 1 */
};

KERNEL_BODY void
kernel_permute_at(const struct kernel_permute *a, uint32_t i, KERNEL_ANY_TYPE)
{
	uint32_t b = i % a->b, row = i / a->b, c = row % a->c, at = row / a->c;
	float v = kernel_get(a->x, ((size_t)at * a->b + b) * a->c + c, a->from_type);

	if (a->row != NULL)
		v *= a->row[at];
	kernel_put(a->to, (size_t)row * a->ld + b, a->scale != NULL ? v * *a->scale : v, a->to_type);
}

/* One of several permutations: indices [at, at of the next one). */
struct kernel_move {
	uint32_t at;
	struct kernel_permute a;
};

/* Permutations [n], sorted by `at` from `from` on, none of which reads what another one writes. */
struct kernel_moves {
	const struct kernel_move *move;
	uint32_t n, from;
};

KERNEL_BODY void
kernel_moves_at(const struct kernel_moves *a, uint32_t i, KERNEL_ANY_TYPE)
{
	const struct kernel_move *m = &a->move[kernel_find(a->move, sizeof(*m), a->n, a->from + i)];

	kernel_permute_at(&m->a, a->from + i - m->at, KERNEL_F32);
}

/* The normalization of pixels, as struct samples_norm, in GPU memory. */
struct kernel_norm {
	float	 flat[3], by[3];
	uint32_t by_mean;	/* 1: use the mean image instead of flat */
	uint32_t fill;		/* the pixel value outside an image */
	uint32_t reflect;	/* 1: what is outside is img_reflect() of the image instead */
};

/* An image u8 [h, w, c], and the sample's upper left corner in it, which may lie outside. */
struct kernel_image {
	const uint8_t *pixel;
	uint32_t h, w;
	int32_t	 y, x;
	uint32_t mirror;	/* 1: each row from right to left */
};

/* y = (pixel - mean) by, for samples [h, w] cut from images. */
struct kernel_pixels {
	const struct kernel_image *image;	/* [n] */
	const struct kernel_norm *norm;
	const float *mean;		/* f32 [c, h, w] */
	uint32_t h, w;
	struct kernel_view y;
};

/* As img_reflect(). */
KERNEL_BODY int32_t
kernel_reflect(int32_t i, uint32_t n)
{
	int32_t period = n > 1 ? 2 * ((int32_t)n - 1) : 1, at = i % period;

	at += at < 0 ? period : 0;
	return at < (int32_t)n ? at : period - at;
}

KERNEL_BODY void
kernel_pixels_at(const struct kernel_pixels *a, uint32_t i, int type)
{
	uint32_t c = a->y.c, m = i / c, ch = i % c, column = m % a->w, row = m / a->w;
	const struct kernel_norm *norm = a->norm;
	const struct kernel_image *p = &a->image[row / a->h];
	int32_t at_y, at_x;
	uint32_t pixel = norm->fill;
	float mean;

	if (p->mirror)
		column = a->w - 1 - column;
	at_y = p->y + (int32_t)(row % a->h);
	at_x = p->x + (int32_t)column;
	if (norm->reflect) {
		at_y = kernel_reflect(at_y, p->h);
		at_x = kernel_reflect(at_x, p->w);
	}
	if (at_y >= 0 && at_x >= 0 && (uint32_t)at_y < p->h && (uint32_t)at_x < p->w)
		pixel = p->pixel[((size_t)at_y * p->w + (size_t)at_x) * c + ch];
	mean = norm->by_mean ? a->mean[(ch * a->h + row % a->h) * a->w + column] : norm->flat[ch];
	kernel_set(a->y, m, ch, ((float)pixel - mean) * norm->by[ch], type);
}

/*
 * A border of zeros, or of the image reflected at its edge: x [h, w], y [h + 2 pad_h, w + 2 pad_w].
 */
struct kernel_pad {
	struct kernel_view x, y;
	uint32_t h, w, pad_h, pad_w;
	int	 reflect;
};

/* The place that place i of a padded side is copied from, or -1 for a zero. */
KERNEL_BODY int
kernel_pad_from(uint32_t i, uint32_t pad, uint32_t size, int reflect)
{
	int at = (int)i - (int)pad;

	if (reflect)
		return kernel_reflect(at, size);
	return at >= 0 && at < (int)size ? at : -1;
}

KERNEL_BODY void
kernel_pad_at(const struct kernel_pad *a, uint32_t i, int type)
{
	uint32_t m = i / a->y.c, ch = i % a->y.c, width = a->w + 2 * a->pad_w, height = a->h + 2 * a->pad_h;
	int x = kernel_pad_from(m % width, a->pad_w, a->w, a->reflect);
	int y = kernel_pad_from(m / width % height, a->pad_h, a->h, a->reflect);
	uint32_t from = (m / (width * height) * a->h + (uint32_t)y) * a->w + (uint32_t)x;

	kernel_set(a->y, m, ch, x >= 0 && y >= 0 ? kernel_at(a->x, from, ch, type) : 0, type);
}

/* dx: the sum over all copies of x. */
struct kernel_pad_back {
	struct kernel_view dy, dx;
	uint32_t h, w, pad_h, pad_w;
	int	 reflect;
};

/* The places of a padded side that are copies of place i, at most 3. */
KERNEL_BODY uint32_t
kernel_pad_places(uint32_t i, uint32_t pad, uint32_t size, int reflect, uint32_t place[3])
{
	uint32_t n = 0, end = size - 1;

	place[n++] = i + pad;
	if (reflect && i > 0 && i <= pad)
		place[n++] = pad - i;
	if (reflect && i < end && end - i <= pad)
		place[n++] = pad + 2 * end - i;
	return n;
}

KERNEL_BODY void
kernel_pad_back_at(const struct kernel_pad_back *a, uint32_t i, int type)
{
	uint32_t c = a->dx.c, m = i / c, ch = i % c, width = a->w + 2 * a->pad_w, height = a->h + 2 * a->pad_h;
	uint32_t row[3], column[3], image = m / (a->w * a->h);
	uint32_t rows = kernel_pad_places(m / a->w % a->h, a->pad_h, a->h, a->reflect, row);
	uint32_t columns = kernel_pad_places(m % a->w, a->pad_w, a->w, a->reflect, column);
	float sum = 0;

	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t s = 0; s < columns; s++)
			sum += kernel_at(a->dy, (image * height + row[r]) * width + column[s], ch, type);
	kernel_set(a->dx, m, ch, sum, type);
}

#endif
