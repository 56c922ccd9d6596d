/* planes - converts interleaved pixels to planes of floats. */
#include "batch/planes.h"
#include "base/isa.h"

#include <string.h>

#define WIDE	16u	/* pixels of a vector */
#define SPAN	4096u	/* pixels of a block: rows, or a part of one, that stay in the first cache */

typedef uint8_t wide __attribute__((vector_size(WIDE), aligned(1), may_alias));

/* The next step along a row.  The last step of a row overlaps the one before if n is not a multiple of WIDE. */
ISA_INLINE uint32_t
next_step(uint32_t i, uint32_t n)
{
	i += WIDE;
	return i < n && n - i < WIDE ? n - WIDE : i;
}

/* Splits interleaved RGB into three planes: shuffles the first two of three registers, then adds the third. */
ISA_INLINE void
split_rgb(const uint8_t *restrict p, uint32_t n, uint8_t *restrict r, uint8_t *restrict g, uint8_t *restrict b)
{
	uint32_t i = 0;

	for (; n >= WIDE && i < n; i = next_step(i, n)) {
		const uint8_t *q = p + 3 * i;
		wide u = *(const wide *)q, v = *(const wide *)(q + WIDE), w = *(const wide *)(q + 2 * WIDE), t;

		t = __builtin_shufflevector(u, v, 0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0, 0, 0, 0, 0);
		*(wide *)(r + i) = __builtin_shufflevector(t, w, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17, 20, 23, 26, 29);
		t = __builtin_shufflevector(u, v, 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 0, 0, 0, 0, 0);
		*(wide *)(g + i) = __builtin_shufflevector(t, w, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 18, 21, 24, 27, 30);
		t = __builtin_shufflevector(u, v, 2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 0, 0, 0, 0, 0, 0);
		*(wide *)(b + i) = __builtin_shufflevector(t, w, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 19, 22, 25, 28, 31);
	}
	for (; i < n; i++) {
		r[i] = p[3 * i];
		g[i] = p[3 * i + 1];
		b[i] = p[3 * i + 2];
	}
}

/* to[n - 1 - i] = p[i]. */
ISA_INLINE void
reverse_row(const uint8_t *restrict p, uint32_t n, uint8_t *restrict to)
{
	uint32_t i = 0;

	for (; n >= WIDE && i < n; i = next_step(i, n)) {
		wide v = *(const wide *)(p + i);

		*(wide *)(to + n - WIDE - i) = __builtin_shufflevector(v, v, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4,
		    3, 2, 1, 0);
	}
	for (; i < n; i++)
		to[n - 1 - i] = p[i];
}

/* Converts n pixels of a plane, in the order of x.  Mirrored pixels have the mean in its own order. */
ISA_INLINE void
convert_plane(const struct planes_line *l, const uint8_t *restrict p, uint32_t n, const float *mean, bool mirror,
    float *restrict x)
{
	float flat = l->flat, by = l->by, add = l->add;

	if (mean == NULL)
		for (uint32_t i = 0; i < n; i++)
			x[i] = ((float)p[i] - flat) * by + add;
	else if (mirror)
		for (uint32_t i = 0; i < n; i++)
			x[i] = ((float)p[i] - mean[n - 1 - i]) * by + add;
	else
		for (uint32_t i = 0; i < n; i++)
			x[i] = ((float)p[i] - mean[i]) * by + add;
}

/* A block of the image: h rows of w pixels from (y, x); whole rows if h > 1. */
struct block {
	uint32_t y, x, h, w;
};

/* The image and its conversion. */
struct work {
	const struct planes_line *line;
	const struct planes_view *v;
	uint32_t c, h, w;
	bool mirror;
};

/* Splits a block's pixels into planes of u8, in the order of x. */
ISA_INLINE void
sort_channels(const struct work *k, const struct block *q, uint8_t part[3][SPAN])
{
	uint8_t row[3][SPAN];

	for (uint32_t i = 0; i < q->h; i++) {
		const uint8_t *p = k->v->p + (q->y + i) * k->v->stride + (size_t)q->x * k->c;
		size_t at = (size_t)i * q->w;

		if (k->c == 3 && !k->mirror)
			split_rgb(p, q->w, part[0] + at, part[1] + at, part[2] + at);
		else if (k->c == 3)
			split_rgb(p, q->w, row[0], row[1], row[2]);
		else if (!k->mirror)
			memcpy(part[0] + at, p, q->w);
		for (uint32_t c = 0; k->mirror && c < k->c; c++)
			reverse_row(k->c == 3 ? row[c] : p, q->w, part[c] + at);
	}
}

ISA_CLONES(static, void, convert_rows, (const struct work *k, float *x), (k, x))
{
	uint32_t most = k->w < SPAN ? SPAN / k->w : 1;
	uint8_t part[3][SPAN];
	struct block q;

	for (q.y = 0; q.y < k->h; q.y += q.h)
		for (q.x = 0; q.x < k->w; q.x += q.w) {
			uint32_t at = 0;

			q.h = k->h - q.y < most ? k->h - q.y : most;
			q.w = k->w - q.x < SPAN ? k->w - q.x : SPAN;
			sort_channels(k, &q, part);
			at = k->mirror ? k->w - q.x - q.w : q.x;
			for (uint32_t c = 0; c < k->c; c++) {
				const float *mean = k->line[c].mean;
				float *to = x + ((size_t)c * k->h + q.y) * k->w + at;
				/* The mean differs from row to row. */
				uint32_t n = mean != NULL ? 1 : q.h;

				for (uint32_t i = 0; i < q.h; i += n)
					convert_plane(&k->line[c], part[c] + (size_t)i * q.w, n * q.w,
					    mean != NULL ? mean + (size_t)(q.y + i) * k->w + q.x : NULL, k->mirror,
					    to + (size_t)i * k->w);
			}
		}
}

void
planes_f32(const struct planes_line *line, const struct planes_view *v, uint32_t c, uint32_t h, uint32_t w, bool mirror,
    float *x)
{
	convert_rows(&(struct work){ line, v, c, h, w, mirror }, x);
}
