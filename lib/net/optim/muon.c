/* muon - updates a whole matrix by its orthogonalised momentum. */
#include "net/optim/muon.h"
#include "base/isa.h"
#include "net/optim/norm.h"

#include <math.h>
#include <string.h>

#define ROWS	4u	/* rows of a product that are summed at the same time, in registers */
#define COLS	32u	/* columns of a product that are summed at the same time, in registers */
#define BAND	32u	/* rows of a product per unit of work of a thread */
#define MIRRORED 16u	/* rows of a symmetric matrix per unit of work */
#define PACKED	16u	/* rows that are transposed at the same time */
#define NORMED	16384u	/* values of a norm per unit of work */
#define SHARED	(1u << 20)	/* multiply-adds above which threads share a product */
#define SHARED_VALUES (1u << 16)	/* values above which threads share the other loops */

/* Rows [0, n) of a panel: c [., q] = a [., k] b [k, COLS], of which the first `some` columns exist. */
ISA_INLINE void
multiply_rows(float *restrict c, const float *restrict a, const float *restrict b, size_t n, size_t k, size_t q,
    size_t some)
{
	float sum[ROWS][COLS] = { { 0 } };

	for (size_t l = 0; l < k; l++)
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < COLS; j++)
				sum[i][j] = fmaf(a[i * k + l], b[l * COLS + j], sum[i][j]);
	for (size_t i = 0; i < n; i++)
		memcpy(c + i * q, sum[i], some * sizeof(float));
}

/* multiply_rows() for any n. */
ISA_CLONES(static, void, multiply_band, (float *restrict c, const float *restrict a, const float *restrict b, size_t n,
    size_t k,
    size_t q, size_t some),
    (c, a, b, n, k, q, some))
{
	size_t i = 0;

	for (; i + ROWS <= n; i += ROWS)
		multiply_rows(c + i * q, a + i * k, b, ROWS, k, q, some);
	for (; i < n; i++)
		multiply_rows(c + i * q, a + i * k, b, 1, k, q, some);
}

static size_t
count_panels(size_t cols)
{
	return (cols + COLS - 1) / COLS;
}

/* to [k, COLS] = the transpose of x [some, k], several rows at a time, which fill a line of the cache. */
static void
pack_rows(float *restrict to, const float *restrict x, size_t k, size_t some)
{
	for (size_t first = 0; first < some; first += PACKED) {
		const size_t rows = some - first < PACKED ? some - first : PACKED;

		for (size_t l = 0; l < k; l++)
			for (size_t j = 0; j < rows; j++)
				to[l * COLS + first + j] = x[(first + j) * k + l];
	}
}

/* Copies what is above the diagonal of c [p, p] to what is below it. */
static void
mirror_upper_half(float *c, size_t p)
{
	#pragma omp parallel for schedule(dynamic) if (p * p > SHARED_VALUES)
	for (size_t first = 0; first < p; first += MIRRORED)
		for (size_t j = 0; j < first + MIRRORED && j < p; j++)
			for (size_t i = j < first ? first : j + 1; i < first + MIRRORED && i < p; i++)
				c[i * p + j] = c[j * p + i];
}

/* A matrix, or its transpose. */
struct factor {
	const float *p;
	bool	     transpose;
};

/* to [k, COLS] = columns [first, first + some) of b [k, q], and zeros up to COLS. */
static void
pack_panel(float *restrict to, const struct factor *b, size_t k, size_t q, size_t first, size_t some)
{
	if (some < COLS)
		memset(to, 0, k * COLS * sizeof(float));
	if (b->transpose) {
		pack_rows(to, b->p + first * k, k, some);
		return;
	}
	for (size_t l = 0; l < k; l++)
		memcpy(to + l * COLS, b->p + l * q + first, some * sizeof(float));
}

/*
 * c [p, q] = a [p, k] b [k, q]; panel [count_panels(q), k, COLS] gets the columns of b side by side.  symmetric: c is
 * its own transpose to the bit, as its products are the same in the same order.  Then only blocks that reach above the
 * diagonal are computed.
 */
static void
multiply_matrices(float *c, const float *a, struct factor b, size_t p, size_t k, size_t q, bool symmetric, float *panel)
{
	size_t panels = count_panels(q);

	#pragma omp parallel if (p * k * q > SHARED)
	{
		#pragma omp for
		for (size_t at = 0; at < panels; at++)
			pack_panel(panel + at * k * COLS, &b, k, q, at * COLS,
			    q - at * COLS < COLS ? q - at * COLS : COLS);
		#pragma omp for collapse(2) schedule(dynamic)
		for (size_t at = 0; at < panels; at++)
			for (size_t i = 0; i < p; i += BAND)
				if (!symmetric || i < (at + 1) * COLS)
					multiply_band(c + i * q + at * COLS, a + i * k, panel + at * k * COLS,
					    p - i < BAND ? p - i : BAND, k, q,
					    q - at * COLS < COLS ? q - at * COLS : COLS);
	}
	if (symmetric)
		mirror_upper_half(c, p);
}

/* to [q, p] = x [p, q]^T */
static void
transpose_matrix(float *restrict to, const float *restrict x, size_t p, size_t q)
{
	#pragma omp parallel for if (p * q > SHARED_VALUES)
	for (size_t i = 0; i < p; i++)
		for (size_t j = 0; j < q; j++)
			to[j * p + i] = x[i * q + j];
}

/* One Newton-Schulz step of x [p, q], p <= q; t [p, q], a and b [p, p] are scratch memory. */
static void
orthogonalize_once(float *restrict x, float *restrict t, float *restrict a, float *restrict b, size_t p, size_t q,
    float *panel)
{
	multiply_matrices(a, x, (struct factor) { x, true }, p, q, p, true, panel);
	multiply_matrices(b, a, (struct factor) { a, false }, p, p, p, true, panel);
	#pragma omp parallel for if (p * p > SHARED_VALUES)
	for (size_t i = 0; i < p * p; i++)
		b[i] = -4.7750f * a[i] + 2.0315f * b[i];
	multiply_matrices(t, b, (struct factor) { x, false }, p, p, q, false, panel);
	#pragma omp parallel for if (p * q > SHARED_VALUES)
	for (size_t i = 0; i < p * q; i++)
		x[i] = 3.4445f * x[i] + t[i];
}

size_t
muon_room(size_t rows, size_t cols)
{
	size_t p = rows < cols ? rows : cols, q = rows < cols ? cols : rows;

	/* The panels of the widest product. */
	return 2 * p * q + 2 * p * p + (q * count_panels(p) > p * count_panels(q) ? q * count_panels(p) :
	    p * count_panels(q)) * COLS;
}

/* A struct norm adds without rounding, so the order of the threads changes no bit. */
static double
compute_frobenius_norm(const float *x, size_t n)
{
	struct norm all = { { 0 } };

	#pragma omp parallel if (n > SHARED_VALUES)
	{
		struct norm part = { { 0 } };

		#pragma omp for nowait
		for (size_t at = 0; at < n; at += NORMED)
			norm_add(&part, x + at, n - at < NORMED ? n - at : NORMED);
		#pragma omp critical
		norm_add_sum(&all, &part);
	}
	return norm_root(&all);
}

static void
scale_matrix(float *x, size_t n, double by)
{
	const float f = (float)by;

	#pragma omp parallel for if (n > SHARED_VALUES)
	for (size_t i = 0; i < n; i++)
		x[i] *= f;
}

/* Adds the gradient to the momentum and sets u to the matrix to orthogonalise. */
static void
gather_momentum(float *restrict u, float *restrict m, const float *restrict g, size_t count, double n,
    const struct opt_hyper *h)
{
	const float by = (float)(1 / n), clip = h->clip > 0 ? h->clip : INFINITY, momentum = h->momentum;

	#pragma omp parallel for if (count > SHARED_VALUES)
	for (size_t i = 0; i < count; i++) {
		float d = g[i] * by;

		d = d > clip ? clip : d;
		d = d < -clip ? -clip : d;
		m[i] = momentum * m[i] + d;
		u[i] = d + momentum * m[i];
	}
	scale_matrix(u, count, 1 / (compute_frobenius_norm(u, count) + (double)h->eps));
}

void
muon_step(float *w, float *m, const float *g, size_t rows, size_t cols, double n, const struct opt_hyper *h,
    float *room)
{
	size_t count = rows * cols, p = rows < cols ? rows : cols, q = rows < cols ? cols : rows;
	float *x = room, *t = room + count, *a = t + count, *b = a + p * p, *panel = b + p * p;
	float keep = 1 - h->lr * h->wd, step = h->lr * sqrtf(rows > cols ? (float)rows / (float)cols : 1);
	double norm = h->unit ? compute_frobenius_norm(w, count) : 0;

	gather_momentum(rows > cols ? t : x, m, g, count, n, h);
	if (rows > cols)
		transpose_matrix(x, t, rows, cols);
	for (uint32_t i = 0; i < h->turns; i++)
		orthogonalize_once(x, t, a, b, p, q, panel);
	if (rows > cols) {
		transpose_matrix(t, x, cols, rows);
		x = t;
	}
	if (norm > 0)
		scale_matrix(w, count, sqrt((double)rows) / norm);
	#pragma omp parallel for if (count > SHARED_VALUES)
	for (size_t i = 0; i < count; i++)
		w[i] = keep * w[i] - step * x[i];
}
