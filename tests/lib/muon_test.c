/*
 * muon_test - Muon's update of large matrices, which threads share, against the formulas of muon.h in f64.
 *
 * Any number of threads must give the same bits.
 */
#include "tap.h"

#include "base/rng.h"
#include "net/optim/muon.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* What an update reads and writes. */
struct state {
	size_t rows, cols, n;
	float *w, *m, *g;
};

static void *
room(size_t bytes)
{
	void *p = calloc(bytes + 1, 1);

	if (p == NULL) {
		printf("Bail out! out of memory\n");
		exit(1);
	}
	return p;
}

static float *
numbers(struct rng *r, size_t n)
{
	float *p = room(n * sizeof(*p));

	for (size_t i = 0; i < n; i++)
		p[i] = rng_normal(r);
	return p;
}

static struct state
state_new(size_t rows, size_t cols)
{
	struct rng r = rng_start(31, rows, cols);
	const size_t n = rows * cols;

	return (struct state){ rows, cols, n, numbers(&r, n), numbers(&r, n), numbers(&r, n) };
}

static void
state_free(struct state *s)
{
	free(s->w);
	free(s->m);
	free(s->g);
}

static struct opt_hyper
make_hyper(void)
{
	return (struct opt_hyper){ .lr = 0.1f, .wd = 0.01f, .momentum = 0.6f, .eps = 1e-7f, .turns = 3, .unit = true };
}

static void
update(struct state *s, int threads)
{
	const struct opt_hyper h = make_hyper();
	float *scratch = room(muon_room(s->rows, s->cols) * sizeof(*scratch));

	memset(scratch, 0xff, muon_room(s->rows, s->cols) * sizeof(*scratch));	/* must be written before it is read */
	omp_set_num_threads(threads);
	muon_step(s->w, s->m, s->g, s->rows, s->cols, 4, &h, scratch);
	free(scratch);
}

/* c [p, q] = a [p, k] b [k, q]; transposed: b is [q, k]. */
static double *
multiply(const double *a, const double *b, size_t p, size_t k, size_t q, bool transposed)
{
	double *c = room(p * q * sizeof(*c));

	for (size_t i = 0; i < p; i++)
		for (size_t l = 0; l < k; l++)
			for (size_t j = 0; j < q; j++)
				c[i * q + j] += a[i * k + l] * (transposed ? b[j * k + l] : b[l * q + j]);
	return c;
}

static double
norm(const double *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	return sqrt(sum);
}

/* One Newton-Schulz step of x [p, q]. */
static void
orthogonalize(double *x, size_t p, size_t q)
{
	double *a = multiply(x, x, p, q, p, true), *aa = multiply(a, a, p, p, p, false), *y;

	for (size_t i = 0; i < p * p; i++)
		aa[i] = -4.7750 * a[i] + 2.0315 * aa[i];
	y = multiply(aa, x, p, p, q, false);
	for (size_t i = 0; i < p * q; i++)
		x[i] = 3.4445 * x[i] + y[i];
	free(a);
	free(aa);
	free(y);
}

/* The weights after an update of s, in f64. */
static double *
compute_weights(const struct state *s)
{
	const struct opt_hyper h = make_hyper();
	const double step = (double)h.lr * sqrt(s->rows > s->cols ? (double)s->rows / (double)s->cols : 1);
	double *x = room(s->n * sizeof(*x)), *w = room(s->n * sizeof(*w)), size;

	for (size_t i = 0; i < s->n; i++) {
		const double d = (double)s->g[i] / 4, m = (double)h.momentum * s->m[i] + d;

		x[i] = d + (double)h.momentum * m;
		w[i] = (double)s->w[i];
	}
	size = norm(x, s->n) + (double)h.eps;
	for (size_t i = 0; i < s->n; i++)
		x[i] /= size;
	for (uint32_t i = 0; i < h.turns; i++)
		orthogonalize(x, s->rows, s->cols);
	size = norm(w, s->n);
	for (size_t i = 0; i < s->n; i++)
		w[i] = (1 - (double)(h.lr * h.wd)) * w[i] * sqrt((double)s->rows) / size - step * x[i];
	free(x);
	return w;
}

static void
check_threads(size_t rows, size_t cols)
{
	struct state one = state_new(rows, cols);

	update(&one, 1);
	for (int threads = 2; threads <= 3; threads++) {
		struct state more = state_new(rows, cols);

		update(&more, threads);
		ok(memcmp(one.w, more.w, one.n * sizeof(*one.w)) == 0 && memcmp(one.m, more.m, one.n * sizeof(*one.m)) == 0,
		    "%zux%zu: %d threads give the bits of one thread", rows, cols, threads);
		state_free(&more);
	}
	state_free(&one);
}

static void
check_weights(size_t rows, size_t cols)
{
	struct state s = state_new(rows, cols);
	double *want = compute_weights(&s), off = 0;

	update(&s, 2);
	for (size_t i = 0; i < s.n; i++)
		off += ((double)s.w[i] - want[i]) * ((double)s.w[i] - want[i]);
	off = sqrt(off) / norm(want, s.n);
	if (!ok(off < 1e-5, "%zux%zu: the weights are those of f64", rows, cols))
		printf("# relative error %.1e\n", off);
	free(want);
	state_free(&s);
}

int
main(void)
{
	check_threads(300, 700);
	check_threads(700, 300);
	check_weights(300, 701);
	check_weights(701, 300);
	check_weights(37, 70);
	return done();
}
