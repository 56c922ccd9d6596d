/* resize_axis - computes the weights that resize one axis.  For resize. */
#include "image/resize_axis.h"
#include "base/err.h"

#include <math.h>

#define MANY	4096u		/* taps from which the rounding errors of weights are carried on */

/* Half the width of the filter in pixels when it does not shrink. */
static double
filter_radius(enum resize_inter inter)
{
	switch (inter) {
	case RESIZE_BILINEAR: return 1;
	case RESIZE_CUBIC: return 2;
	case RESIZE_LANCZOS: return 3;
	default: return 0.5;
	}
}

static double
compute_sinc(double x)
{
	return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x);
}

static double
filter_value(enum resize_inter inter, double x)
{
	x = fabs(x);
	if (x >= filter_radius(inter))
		return 0;
	switch (inter) {
	case RESIZE_BILINEAR: return 1 - x;
	case RESIZE_CUBIC: return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : (((x - 5) * x + 8) * x - 4) * -0.5;
	case RESIZE_LANCZOS: return compute_sinc(x) * compute_sinc(x / 3);
	default: return 1;
	}
}

/* Computes the weights of pixels lo to end for a result pixel at `centre`.  Returns their sum. */
static double
weigh_pixels(const struct resize_axis_key *k, double centre, double lo, double end, double *w)
{
	double scale = k->size / k->out, per = 1 / fmax(scale, 1), sum = 0;

	for (double j = lo; j < end; j++) {
		double v = k->inter == RESIZE_AREA ? fmin(j + 1, centre + scale / 2) - fmax(j, centre - scale / 2)
		    : filter_value(k->inter, (j - centre + 0.5) * per);

		*w++ = v;
		sum += v;
	}
	return sum;
}

/*
 * Rounds n weights as Pillow does.  The errors of a few are far below half a pixel; those of many would add up, so that
 * each is carried to the next weight.
 */
static void
round_weights(const double *w, uint32_t n, double sum, int32_t *to)
{
	double carry = 0;

	for (uint32_t j = 0; j < n; j++) {
		double v = w[j] / sum * RESIZE_AXIS_ONE + carry;

		to[j] = (int32_t)(v < 0 ? v - 0.5 : v + 0.5);
		carry = n < MANY ? 0 : v - to[j];
	}
}

/*
 * Computes the weights of result pixel i, with w as room.  Returns their number.  If the filter covers too few pixels,
 * as beyond an edge, the nearest pixel alone counts.
 */
static uint32_t
weigh_pixel(const struct resize_axis_key *k, uint32_t i, uint32_t most, double *w, uint32_t *first, int32_t *to)
{
	double scale = k->size / k->out, widening = fmax(scale, 1), centre = k->at + (i + 0.5) * scale;
	double reach = k->inter == RESIZE_AREA ? scale / 2 + 0.5 : filter_radius(k->inter) * widening;
	double lo = fmax(ceil(centre - reach - 0.5), 0), end = fmin(floor(centre + reach - 0.5) + 1, k->in), sum = 0;
	uint32_t n = end - lo < most ? end > lo ? (uint32_t)(end - lo) : 0 : most;

	if (k->inter != RESIZE_NEAREST)
		sum = weigh_pixels(k, centre, lo, lo + n, w);
	if (sum < (k->inter == RESIZE_AREA ? scale : widening) * 0.4) {
		*first = (uint32_t)fmin(fmax(floor(centre), 0), k->in - 1.0);
		to[0] = RESIZE_AXIS_ONE;
		return 1;
	}
	*first = (uint32_t)lo;
	round_weights(w, n, sum, to);
	return n;
}

/* Pads all sums with weights of 0 to the same number of taps, without passing the last pixel. */
static void
pad_weights(struct resize_axis *a, const uint32_t *n, uint32_t most)
{
	uint32_t taps = 1;

	for (uint32_t i = 0; i < a->key.out; i++)
		taps = n[i] > taps ? n[i] : taps;
	for (uint32_t i = 0; i < a->key.out; i++) {
		int32_t *to = a->weight + (size_t)i * taps;
		uint32_t back = a->first[i] + taps > a->key.in ? a->first[i] + taps - a->key.in : 0;

		memmove(to + back, a->weight + (size_t)i * most, n[i] * sizeof(*to));
		memset(to, 0, back * sizeof(*to));
		memset(to + back + n[i], 0, (taps - back - n[i]) * sizeof(*to));
		a->first[i] -= back;
	}
	a->taps = taps;
}

/* A bound of the number of pixels of a sum. */
static uint32_t
bound_taps(const struct resize_axis_key *k)
{
	double scale = k->size / k->out;

	return (uint32_t)fmin(k->inter == RESIZE_AREA ? scale + 3 : 2 * filter_radius(k->inter) * fmax(scale, 1) + 2,
	    k->in);
}

int
resize_axis_make(struct resize_axis *a, const struct resize_axis_key *k)
{
	uint32_t most = bound_taps(k), *n;
	size_t sums = k->out, weights = sums * most;
	double *w;

	a->key = (struct resize_axis_key){ 0 };
	a->room.n = 0;
	ERR_TRY(buf_room(&a->room, most * sizeof(*w) + sums * 2 * sizeof(*n) + weights * sizeof(*a->weight)));
	a->key = *k;
	w = (double *)(void *)a->room.p;
	a->first = (uint32_t *)(void *)(w + most);
	n = a->first + sums;
	a->weight = (int32_t *)(void *)(n + sums);
	for (uint32_t i = 0; i < sums; i++)
		n[i] = weigh_pixel(k, i, most, w, &a->first[i], a->weight + (size_t)i * most);
	pad_weights(a, n, most);
	return 0;
}

void
resize_axis_free(struct resize_axis *a)
{
	buf_free(&a->room);
}
