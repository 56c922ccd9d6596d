/* measure - the numbers of a tensor, as a few numbers. */
#include "net/measure.h"
#include "base/err.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define CHUNK 16384u	/* elements in work at a time */

/* Elements of any type, raw and as f32. */
struct room {
	double	raw[CHUNK];
	float	f[CHUNK];
};

static int
read_floats(const struct tensors *t, const struct tensor *x, uint64_t at, size_t n, struct room *r)
{
	int e = tensors_read(t, x, at, n, r->raw);

	if (e == 0)
		tensors_to_f32(x->type, r->raw, n, r->f);
	return e;
}

static size_t
left(const struct tensor *x, uint64_t at)
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
		size_t n = left(x, at);

		e = read_floats(t, x, at, n, r);
		for (size_t i = 0; e == 0 && i < n; i++) {
			double v = (double)r->f[i];

			if (!isfinite(v)) {
				m->odd++;
				continue;
			}
			m->min = v < m->min ? v : m->min;
			m->max = v > m->max ? v : m->max;
			sum += v;
			squares += v * v;
		}
	}
	free(r);
	count = (double)(x->count - m->odd);
	if (count > 0) {
		m->mean = sum / count;
		m->rms = sqrt(squares / count);
	} else {
		m->min = m->max = 0;
	}
	return e;
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
		size_t n = left(a, at);

		if ((e = read_floats(ta, a, at, n, &r[0])) == 0)
			e = read_floats(tb, b, at, n, &r[1]);
		for (size_t i = 0; e == 0 && i < n; i++) {
			double u = (double)r[0].f[i], v = (double)r[1].f[i], by = fabs(u - v);

			if (u == v || (isnan(u) && isnan(v)))
				by = 0;
			else
				d->differ++;
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
