/* resize_axis - a filter and the sizes of one axis in, how each pixel of it is made out: serves resize. */
#include "image/resize_axis.h"

#include <math.h>

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

/* The weights of pixels lo to end, for a pixel whose centre lies at `centre`.  Returns their sum. */
static double
weigh(const struct resize_axis_key *k, double centre, double lo, double end, float *w)
{
	double scale = k->size / k->out, per = 1 / fmax(scale, 1), sum = 0;

	for (double j = lo; j < end; j++) {
		double v = k->inter == RESIZE_AREA ? fmin(j + 1, centre + scale / 2) - fmax(j, centre - scale / 2)
		    : kernel(k->inter, (j + 0.5 - centre) * per);

		*w++ = (float)v;
		sum += v;
	}
	return sum;
}

/* What to take of weights' second difference so that a wave of 4 pixels, the middle of what they can show, is as high again. */
static float
blur_of(const struct resize_axis_key *k)
{
	double mean = k->mean > 1 && k->inter != RESIZE_NEAREST && k->inter != RESIZE_AREA ? k->mean : 1;

	return (float)((mean * sin(M_PI / 4 / mean) / sin(M_PI / 4) - 1) / 2);
}

/* Takes from n weights their own second difference; beyond the ends are more of the same. */
static void
sharpen(float *w, uint32_t n, float blur)
{
	float before = w[0];

	for (uint32_t j = 0; j < n; j++) {
		float now = w[j], after = j + 1 < n ? w[j + 1] : now;

		w[j] = now - blur * (before - 2 * now + after);
		before = now;
	}
}

/*
 * The sum for pixel i, in w; returns how many weights it has.  It falls on one pixel alone when the filter finds none, or
 * too little of itself, as beyond an edge.
 */
static uint32_t
sum_for(const struct resize_axis_key *k, uint32_t i, uint32_t most, uint32_t *first, float *w)
{
	double scale = k->size / k->out, wide = fmax(scale, 1), centre = k->at + (i + 0.5) * scale;
	double reach = k->inter == RESIZE_AREA ? scale / 2 + 0.5 : radius(k->inter) * wide;
	float blur = blur_of(k);
	double more = blur > 0 ? 1 : 0, lo = fmax(ceil(centre - reach - 0.5) - more, 0);
	double end = fmin(floor(centre + reach - 0.5) + 1 + more, k->in), sum = 0;
	uint32_t n = end - lo < most ? end > lo ? (uint32_t)(end - lo) : 0 : most;

	if (k->inter != RESIZE_NEAREST)
		sum = weigh(k, centre, lo, lo + n, w);
	if (sum < (k->inter == RESIZE_AREA ? scale : wide) * 0.4) {
		*first = (uint32_t)fmin(fmax(floor(centre), 0), k->in - 1.0);
		w[0] = 1;
		return 1;
	}
	*first = (uint32_t)lo;
	for (uint32_t j = 0; j < n; j++)
		w[j] = (float)(w[j] / sum);
	sharpen(w, n, blur);
	return n;
}

/* Gives each sum of up to `most` pixels the same number, by weights of 0, none of them beyond the last pixel. */
static void
even_out(struct resize_axis *a, const uint32_t *n, uint32_t most)
{
	uint32_t taps = 1;

	for (uint32_t i = 0; i < a->key.out; i++)
		taps = n[i] > taps ? n[i] : taps;
	for (uint32_t i = 0; i < a->key.out; i++) {
		float *to = a->weight + (size_t)i * taps;
		uint32_t back = a->first[i] + taps > a->key.in ? a->first[i] + taps - a->key.in : 0;

		memmove(to + back, a->weight + (size_t)i * most, n[i] * sizeof(*to));
		memset(to, 0, back * sizeof(*to));
		memset(to + back + n[i], 0, (taps - back - n[i]) * sizeof(*to));
		a->first[i] -= back;
	}
	a->taps = taps;
}

/* What rounding takes from one weight goes to the next, so that they stay 1 together. */
static void
make_whole(struct resize_axis *a)
{
	for (uint32_t i = 0; i < a->key.out; i++) {
		const float *w = a->weight + (size_t)i * a->taps;
		int16_t *to = a->whole + (size_t)i * a->taps;
		float sum = 0;
		int done = 0;

		for (uint32_t j = 0; j < a->taps; j++) {
			int now = (int)((2 + (sum += w[j])) * RESIZE_AXIS_ONE + 0.5f) - 2 * RESIZE_AXIS_ONE;

			to[j] = (int16_t)(now - done);
			done = now;
		}
	}
}

/* The most pixels of a sum. */
static uint32_t
most_of(const struct resize_axis_key *k)
{
	double scale = k->size / k->out;

	return (uint32_t)fmin(k->inter == RESIZE_AREA ? scale + 3 : 2 * radius(k->inter) * fmax(scale, 1) + 4, k->in);
}

int
resize_axis_make(struct resize_axis *a, const struct resize_axis_key *k)
{
	uint32_t most = most_of(k), *n;
	size_t sums = k->out, weights = sums * most;
	int e;

	a->key = (struct resize_axis_key){ 0 };
	a->room.n = 0;
	if ((e = buf_room(&a->room, sums * 2 * sizeof(*n) + weights * (sizeof(float) + sizeof(int16_t)))) < 0)
		return e;
	a->key = *k;
	a->first = (uint32_t *)(void *)a->room.p;
	n = a->first + sums;
	a->weight = (float *)(void *)(n + sums);
	for (uint32_t i = 0; i < sums; i++)
		n[i] = sum_for(k, i, most, &a->first[i], a->weight + (size_t)i * most);
	even_out(a, n, most);
	a->whole = a->taps <= RESIZE_AXIS_FEW ? (int16_t *)(void *)(a->weight + weights) : NULL;
	if (a->whole != NULL)
		make_whole(a);
	return 0;
}

void
resize_axis_free(struct resize_axis *a)
{
	buf_free(&a->room);
}
