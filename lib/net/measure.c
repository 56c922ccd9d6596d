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
	double sum = 0, squares = 0, count;
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
			squares += v * v;
		}
	}
	free(r);
	count = (double)(x->count - m->nonfinite);
	if (count > 0) {
		m->mean = sum / count;
		m->rms = sqrt(squares / count);
	} else {
		m->min = m->max = 0;
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
	double off = 0, all = 0;
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
			off += by * by;
			all += isfinite(u) ? u * u : 0;
		}
	}
	free(r);
	d->relative = off == 0 ? 0 : sqrt(off / all);
	return e;
}
