/* resize_sum - a plane resized by plain sums, any filter, any size: serves resize. */
#include "image/resize_sum.h"
#include "base/err.h"

#include <math.h>

/* How each pixel of one axis is made: the sum of `n` pixels from `first` on, each by its weight. */
struct axis {
	uint32_t	*first, *n;
	float		*weight;	/* [out, most] */
	size_t		 most;
};

/* Half the width of a filter that does not shrink, pixels. */
static double
radius(enum resize_inter inter)
{
	switch (inter) {
	case RESIZE_BILINEAR: return 1;
	case RESIZE_CUBIC: return 2;
	case RESIZE_LANCZOS: return 3;
	default: return 0.5;
	}
}

static double
sinc(double x)
{
	return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
}

static double
kernel(enum resize_inter inter, double x)
{
	x = fabs(x);
	if (x >= radius(inter))
		return 0;
	switch (inter) {
	case RESIZE_BILINEAR: return 1 - x;
	case RESIZE_CUBIC: return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : ((-0.5 * x + 2.5) * x - 4) * x + 2;
	case RESIZE_LANCZOS: return sinc(x) * sinc(x / 3);
	default: return 1;
	}
}

/* The weight of pixel j for one whose centre lies at `centre`, and that is `scale` pixels wide. */
static double
weight(enum resize_inter inter, double centre, double scale, uint32_t j)
{
	double lo = fmax(j, centre - scale / 2), hi = fmin(j + 1.0, centre + scale / 2);

	if (inter == RESIZE_AREA)
		return fmax(hi - lo, 0);
	return kernel(inter, (j + 0.5 - centre) / fmax(scale, 1));
}

/* A pixel's sum; it falls on one pixel alone when the filter finds none, as beyond an edge. */
static void
weigh(struct axis *a, uint32_t i, enum resize_inter inter, double centre, double scale, uint32_t in)
{
	double reach = inter == RESIZE_AREA ? scale / 2 : radius(inter) * fmax(scale, 1), sum = 0;
	double lo = fmax(floor(centre - reach), 0), hi = fmin(ceil(centre + reach), in);
	float *w = a->weight + i * a->most;

	a->n[i] = 0;
	if (inter != RESIZE_NEAREST && hi > lo) {
		a->first[i] = (uint32_t)lo;
		a->n[i] = (uint32_t)(hi - lo) < a->most ? (uint32_t)(hi - lo) : (uint32_t)a->most;
		for (uint32_t j = 0; j < a->n[i]; j++)
			sum += weight(inter, centre, scale, a->first[i] + j);
	}
	if (sum > 0) {
		for (uint32_t j = 0; j < a->n[i]; j++)
			w[j] = (float)(weight(inter, centre, scale, a->first[i] + j) / sum);
		return;
	}
	a->first[i] = (uint32_t)fmin(fmax(floor(centre), 0), in - 1.0);
	a->n[i] = 1;
	w[0] = 1;
}

/* The most pixels of a sum. */
static size_t
taps(enum resize_inter inter, double scale, uint32_t in)
{
	return (size_t)fmin(2 * radius(inter) * fmax(scale, 1) + 2, in);
}

static void
fill(struct axis *a, enum resize_inter inter, double from, double scale, uint32_t in, uint32_t out)
{
	for (uint32_t i = 0; i < out; i++)
		weigh(a, i, inter, from + (i + 0.5) * scale, scale, in);
}

static size_t
axis_bytes(uint32_t out, size_t most)
{
	return out * (2 * sizeof(uint32_t) + most * sizeof(float));
}

static uint8_t *
axis_place(struct axis *a, uint8_t *p, uint32_t out, size_t most)
{
	a->most = most;
	a->first = (uint32_t *)(void *)p;
	a->n = a->first + out;
	a->weight = (float *)(void *)(a->n + out);
	return p + axis_bytes(out, most);
}

static void
rows(const struct axis *a, uint32_t i, const struct resize_plane *from, float *restrict sum)
{
	for (uint32_t x = 0; x < from->w; x++)
		sum[x] = 0.5f;
	for (uint32_t j = 0; j < a->n[i]; j++) {
		const uint8_t *restrict p = from->p + (a->first[i] + j) * from->stride;
		float w = a->weight[i * a->most + j];

		for (uint32_t x = 0; x < from->w; x++)
			sum[x] += w * (float)p[x];
	}
}

static void
row(const struct axis *a, const float *sum, uint32_t out, uint8_t *p)
{
	for (uint32_t i = 0; i < out; i++) {
		const float *w = a->weight + i * a->most, *s = sum + a->first[i];
		float v = 0;

		for (uint32_t j = 0; j < a->n[i]; j++)
			v += w[j] * s[j];
		p[i] = v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
	}
}

int
resize_sum(enum resize_inter inter, const struct resize_plane *from, const struct resize_part *part,
    const struct resize_plane *to, struct buf *room)
{
	double sy = part->h / to->h, sx = part->w / to->w;
	size_t my = taps(inter, sy, from->h), mx = taps(inter, sx, from->w);
	struct axis y, x;
	float *sum;
	int e;

	room->n = 0;
	if ((e = buf_room(room, axis_bytes(to->h, my) + axis_bytes(to->w, mx) + from->w * sizeof(*sum))) < 0)
		return e;
	sum = (float *)(void *)axis_place(&x, axis_place(&y, room->p, to->h, my), to->w, mx);
	fill(&y, inter, part->y, sy, from->h, to->h);
	fill(&x, inter, part->x, sx, from->w, to->w);
	for (uint32_t i = 0; i < to->h; i++) {
		rows(&y, i, from, sum);
		row(&x, sum, to->w, to->p + i * to->stride);
	}
	return 0;
}
