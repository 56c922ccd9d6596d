/*
 * learn_muon - net/optim/muon.h on the GPU, with one batched product for all matrices of a shape.
 *
 * An iteration is three products, which also add the terms beside them:
 *
 *	A = X X^T,  B = b A + c A A,  X' = B X + a X
 *
 * If X has more rows than columns, A is X^T X and X' is X B + a X.  The products transpose factors, so
 * that no matrix is transposed.  An iteration reads one of two work areas and writes the other.
 * Sums are f32, in the library's order.  Factors are rounded to TF32 in all plans except f32.
 */
#include "engine/cuda/learn.h"

#include "base/err.h"

#include <stdlib.h>

/* Sorts larger shapes first, and matrices of one shape in their order. */
static int
compare_by_shape(const void *a, const void *b)
{
	const struct engine_group *x = *(const struct engine_group *const *)a;
	const struct engine_group *y = *(const struct engine_group *const *)b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	if (x->rows != y->rows)
		return x->rows < y->rows ? 1 : -1;
	return x < y ? -1 : x > y;
}

static uint32_t
get_short_side(const struct learn_shape *s)
{
	return s->rows < s->cols ? s->rows : s->cols;
}

/* Places the matrices order [n] in the work area.  The first of a shape is aligned. */
static void
place_matrices(struct learn *l, const struct engine_group *const *order)
{
	struct learn_muon *m = &l->muon;
	struct learn_shape *s = NULL;

	for (uint32_t i = 0; i < m->n; i++) {
		const struct engine_group *r = order[i];
		uint32_t cols = (uint32_t)(r->count / r->rows);

		if (s == NULL || s->rows != r->rows || s->cols != cols) {
			s = &m->shape[m->nshape++];
			m->numbers = memplan_round(m->numbers * sizeof(float)) / sizeof(float);
			*s = (struct learn_shape){ .rows = r->rows, .cols = cols, .at = m->numbers };
		}
		s->count++;
		m->matrix[i] = (struct kernel_matrix){ (uint32_t)m->numbers, (uint32_t)r->first,
			(uint32_t)r->count, (uint32_t)(r - l->group), (float)r->rows,
			sqrtf(r->rows > cols ? (float)r->rows / (float)cols : 1) };
		m->numbers += r->count;
	}
}

/* Finds and places the matrices. */
static int
find_matrices(struct engine_plan *p, struct learn *l)
{
	struct learn_muon *m = &l->muon;
	const struct engine_group **order = calloc(l->ngroup + 1, sizeof(*order));

	m->matrix = calloc(l->ngroup + 1, sizeof(*m->matrix));
	m->shape = calloc(l->ngroup + 1, sizeof(*m->shape));
	if (order == NULL || m->matrix == NULL || m->shape == NULL) {
		free(order);
		return device_nomem(p->dev->host);
	}
	for (uint32_t i = 0; i < l->ngroup; i++)
		if (learn_is_matrix(l, &l->group[i]))
			order[m->n++] = &l->group[i];
	qsort(order, m->n, sizeof(*order), compare_by_shape);
	place_matrices(l, order);
	free(order);
	return 0;
}

/* Opens the products of a shape, and raises *most to the scratch that they need. */
static int
open_one(struct engine_plan *p, struct learn_shape *s, size_t *most)
{
	const uint32_t n = get_short_side(s), k = s->rows + s->cols - n;
	const bool wide = s->rows <= s->cols;
	const int f32 = KERNEL_F32;
	const struct blas_shape gram = { n, n, k, !wide, wide, f32, f32, p->tf32, 1, 0, s->count };
	const struct blas_shape square = { n, n, n, false, false, f32, f32, p->tf32, 2.0315f, -4.7750f, s->count };
	const struct blas_shape update = { s->rows, s->cols, n, false, !wide, f32, f32, p->tf32, 1, 3.4445f, s->count };
	size_t bytes[3] = { 0 };
	int e;

	if ((e = blas_open(p->dev->d, &gram, &s->gram, &bytes[0])) < 0 ||
	    (e = blas_open(p->dev->d, &square, &s->square, &bytes[1])) < 0 ||
	    (e = blas_open(p->dev->d, &update, &s->update, &bytes[2])) < 0)
		return e;
	for (int i = 0; i < 3; i++)
		*most = bytes[i] > *most ? bytes[i] : *most;
	return 0;
}

/* Allocates the GPU memory, and uploads the table of matrices. */
static int
alloc_muon_memory(struct engine_plan *p, struct learn_muon *m)
{
	size_t all = 0, gram = 0, most = 0;
	void *at;
	int e;

	for (uint32_t i = 0; i < m->nshape; i++) {
		const size_t n = get_short_side(&m->shape[i]), here = n * n * m->shape[i].count * sizeof(float);

		if ((e = open_one(p, &m->shape[i], &most)) < 0)
			return e;
		gram = here > gram ? here : gram;
	}
	m->table = learn_reserve(&all, m->n * sizeof(*m->matrix));
	m->u = learn_reserve(&all, m->n * sizeof(double));
	m->w = learn_reserve(&all, m->n * sizeof(double));
	m->work[0] = learn_reserve(&all, m->numbers * sizeof(float));
	m->work[1] = learn_reserve(&all, m->numbers * sizeof(float));
	m->a = learn_reserve(&all, gram);
	m->b = learn_reserve(&all, gram);
	m->scratch = learn_reserve(&all, most);
	if ((e = device_alloc(p->dev->d, all, &at)) < 0)
		return e;
	m->base = at;
	if ((e = device_upload(p->dev->d, DEVICE_MAIN, m->base + m->table, m->matrix, m->n * sizeof(*m->matrix))) < 0)
		return e;
	return device_wait(p->dev->d);
}

static int
make_muon_squares(struct engine_plan *p, struct learn_muon *m, bool unit)
{
	struct kernel_strip *part = calloc(m->n, sizeof(*part));
	int e;

	if (part == NULL)
		return device_nomem(p->dev->host);
	for (uint32_t i = 0; i < m->n; i++)
		part[i] = (struct kernel_strip){ m->matrix[i].at, m->matrix[i].count };
	e = learn_squares_make(p, &m->in_work, part, m->n);
	for (uint32_t i = 0; i < m->n; i++)
		part[i].first = m->matrix[i].first;
	if (e == 0 && unit)
		e = learn_squares_make(p, &m->in_w, part, m->n);
	free(part);
	return e;
}

int
learn_muon_make(struct engine_plan *p, struct learn *l)
{
	struct learn_muon *m = &l->muon;
	int e = l->hyper.rule == OPT_MUON ? find_matrices(p, l) : 0;

	if (e < 0 || m->n == 0)
		return e;
	return (e = alloc_muon_memory(p, m)) < 0 ? e : make_muon_squares(p, m, l->hyper.unit);
}

void
learn_muon_free(struct engine_plan *p, struct learn *l)
{
	struct learn_muon *m = &l->muon;

	for (uint32_t i = 0; i < m->nshape; i++) {
		blas_close(m->shape[i].gram);
		blas_close(m->shape[i].square);
		blas_close(m->shape[i].update);
	}
	learn_squares_free(p, &m->in_work);
	learn_squares_free(p, &m->in_w);
	device_free(p->dev->d, m->base);
	free(m->matrix);
	free(m->shape);
}

static int
run_muon_product(struct blas *b, const void *x, const void *y, const void *d, void *to, void *scratch)
{
	blas_bind(b, &(struct blas_places){ x, y, d, to, scratch });
	return blas_run(b);
}

/* One iteration of the matrices of a shape, from x to y. */
static int
run_iteration(const struct learn_muon *m, const struct learn_shape *s, const float *x, float *y)
{
	void *a = m->base + m->a, *b = m->base + m->b, *scratch = m->base + m->scratch;
	const bool wide = s->rows <= s->cols;
	int e;

	if ((e = run_muon_product(s->gram, x, x, NULL, a, scratch)) < 0 ||
	    (e = run_muon_product(s->square, a, a, a, b, scratch)) < 0)
		return e;
	return wide ? run_muon_product(s->update, b, x, x, y, scratch) :
	    run_muon_product(s->update, x, b, x, y, scratch);
}

/* All iterations; *x gets the work area of the result. */
static int
run_iterations(const struct learn_muon *m, uint32_t n, float **x)
{
	float *work[] = { (float *)(m->base + m->work[0]), (float *)(m->base + m->work[1]) };
	int e = 0;

	for (uint32_t k = 0; k < m->nshape; k++)
		for (uint32_t i = 0; i < n && e == 0; i++)
			e = run_iteration(m, &m->shape[k], work[i % 2] + m->shape[k].at,
			    work[(i + 1) % 2] + m->shape[k].at);
	*x = work[n % 2];
	return e;
}

int
learn_muon_run(struct engine_plan *p, const struct learn *l, const float *g)
{
	const struct learn_muon *m = &l->muon;
	const struct kernel_matrix *table = (const struct kernel_matrix *)(m->base + m->table);
	const struct kernel_rates *rates = (const struct kernel_rates *)(l->base + l->rates);
	const uint32_t *bad = (const uint32_t *)(l->base + l->bad);
	float *u = (float *)(m->base + m->work[0]), *w = exec_floats(p, p->kept.w), *x;
	double *of_u = (double *)(m->base + m->u), *of_w = (double *)(m->base + m->w);
	const struct kernel_muon_momentum gathered = { table, m->n, u, (float *)(l->base + l->state), g, rates, bad,
		l->hyper.momentum, l->hyper.clip > 0 ? l->hyper.clip : INFINITY };
	const struct kernel_muon_scale scaled = { table, m->n, u, of_u, l->hyper.eps };
	int e;

	if (m->n == 0)
		return 0;
	if ((e = kernel_run_muon_momentum(p->dev->d, &gathered, (uint32_t)m->numbers, KERNEL_F32)) < 0 ||
	    (e = learn_squares_run(p, &m->in_work, u, of_u)) < 0 ||
	    (e = kernel_run_muon_scale(p->dev->d, &scaled, (uint32_t)m->numbers, KERNEL_F32)) < 0 ||
	    (l->hyper.unit && (e = learn_squares_run(p, &m->in_w, w, of_w)) < 0) ||
	    (e = run_iterations(m, l->hyper.turns, &x)) < 0)
		return e;
	return kernel_run_muon(p->dev->d, &(struct kernel_muon){ table, m->n, w, x, l->hyper.unit ? of_w : NULL,
	    rates, bad }, (uint32_t)m->numbers, KERNEL_F32);
}
