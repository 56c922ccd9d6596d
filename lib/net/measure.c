/* measure - summary statistics of a tensor, and the difference of two. */
#include "net/measure.h"
#include "base/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define CHUNK 16384u	/* elements per read */

/* A chunk of elements: as in the file, and as f64. */
struct room {
	double	raw[CHUNK];
	double	f[CHUNK];
};

/*
 * A sum of squares.  Squares of numbers beyond 1e120 and below 1e-120 have sums of their own, scaled by a power of two,
 * as they could overflow or vanish.
 */
struct squares {
	double	sum, large, small;
};

#define LARGE	0x1p400
#define SCALE	0x1p600

static void
add_square(struct squares *s, double v)
{
	double size = fabs(v);

	if (size > LARGE)
		s->large += size / SCALE * (size / SCALE);
	else if (size < 1 / LARGE)
		s->small += size * SCALE * (size * SCALE);
	else
		s->sum += v * v;
}

/* Returns the root of the mean square of n numbers. */
static double
root_squares(const struct squares *s, double n)
{
	if (s->large > 0)
		return sqrt((s->large + s->sum / SCALE / SCALE) / n) * SCALE;
	if (s->sum > 0)
		return sqrt((s->sum + s->small / SCALE / SCALE) / n);
	return sqrt(s->small / n) / SCALE;
}

static int
read_numbers(const struct tensors *t, const struct tensor *x, uint64_t at, size_t n, struct room *r)
{
	int e = tensors_read(t, x, at, n, r->raw);

	if (e == 0)
		tensors_to_f64(x->type, r->raw, n, r->f);
	return e;
}

static size_t
count_chunk(const struct tensor *x, uint64_t at)
{
	return x->count - at < CHUNK ? (size_t)(x->count - at) : CHUNK;
}

int
measure_tensor(const struct tensors *t, const struct tensor *x, struct measure *m)
{
	struct room *r = malloc(sizeof(*r));
	double sum = 0, scaled = 0, count;	/* scaled: the sum where that overflows */
	struct squares squares = { 0 };
	int e = r == NULL ? err_nomem() : 0;

	*m = (struct measure){ .min = INFINITY, .max = -INFINITY };
	for (uint64_t at = 0; e == 0 && at < x->count; at += CHUNK) {
		size_t n = count_chunk(x, at);

		e = read_numbers(t, x, at, n, r);
		for (size_t i = 0; e == 0 && i < n; i++) {
			double v = r->f[i];

			if (!isfinite(v)) {
				m->nonfinite++;
				continue;
			}
			m->min = v < m->min ? v : m->min;
			m->max = v > m->max ? v : m->max;
			sum += v;
			scaled += v / SCALE;
			add_square(&squares, v);
		}
	}
	free(r);
	count = (double)(x->count - m->nonfinite);
	if (count > 0) {
		m->mean = isfinite(sum) ? sum / count : scaled / count * SCALE;
		m->rms = root_squares(&squares, count);
	} else {
		m->min = m->max = m->mean = m->rms = (double)NAN;
	}
	return e;
}

static bool
is_long(enum tensors_type type)
{
	return type == TENSORS_I64 || type == TENSORS_U64;
}

/* 64-bit integers can differ by less than f64 resolves. */
static double
compare_integers(const struct room *a, const struct room *b, size_t i)
{
	int64_t u, v;

	memcpy(&u, &a->raw[i], sizeof(u));
	memcpy(&v, &b->raw[i], sizeof(v));
	return fabs((double)(int64_t)((uint64_t)u - (uint64_t)v));
}

int
measure_pair(const struct tensors *ta, const struct tensor *a, const struct tensors *tb, const struct tensor *b,
    struct measure_diff *d)
{
	struct room *r = malloc(2 * sizeof(*r));
	struct squares off = { 0 }, all = { 0 };
	double norm;
	int e = r == NULL ? err_nomem() : 0;

	assert(a->count == b->count);
	*d = (struct measure_diff){ 0 };
	for (uint64_t at = 0; e == 0 && at < a->count; at += CHUNK) {
		size_t n = count_chunk(a, at);

		if ((e = read_numbers(ta, a, at, n, &r[0])) == 0)
			e = read_numbers(tb, b, at, n, &r[1]);
		for (size_t i = 0; e == 0 && i < n; i++) {
			double u = r[0].f[i], v = r[1].f[i], by = fabs(u - v);

			if (u == v || (isnan(u) && isnan(v)))
				by = is_long(a->type) && b->type == a->type ? compare_integers(&r[0], &r[1], i) : 0;
			d->differ += by != 0;
			by = isnan(by) ? INFINITY : by;
			d->max = by > d->max ? by : d->max;
			add_square(&off, by);
			add_square(&all, isfinite(u) ? u : 0);
		}
	}
	free(r);
	norm = root_squares(&off, (double)a->count);
	d->relative = d->differ == 0 ? 0 : norm / root_squares(&all, (double)a->count);
	return e;
}
