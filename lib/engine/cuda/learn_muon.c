/*
 * learn_muon - net/optim/muon.h on the GPU: matrices of one shape in one product.
 *
 * Nothing is transposed, but factors are: a matrix X of more columns than rows turns by
 * A = X X^T and (b A + c A A) X, another by A = X^T X and X (b A + c A A)^T.  Each product
 * adds what stands beside it: three of them are a turn.  A turn reads one of two rooms and
 * writes the other.  Sums are f32, in an order that is the library's, of factors that are
 * rounded to TF32 where the plan's are.
 */
#include "engine/cuda/learn.h"

#include "base/err.h"

#include <stdlib.h>

/* Larger shapes first; matrices of one shape in their order. */
static int
by_shape(const void *a, const void *b)
{
	const struct engine_group *x = *(const struct engine_group *const *)a,
	    *y = *(const struct engine_group *const *)b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	if (x->rows != y->rows)
		return x->rows < y->rows ? 1 : -1;
	return x < y ? -1 : x > y;
}

static uint32_t
short_side(const struct learn_shape *s)
{
	return s->rows < s->cols ? s->rows : s->cols;
}

/* Where each of the matrices order [n] is worked on; what begins a shape is aligned. */
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
		m->matrix[i] = (struct kernel_matrix){ (uint32_t)m->numbers, (uint32_t)r->first, (uint32_t)r->count,
			(uint32_t)(r - l->group), (float)r->rows,
			    sqrtf(r->rows > cols ? (float)r->rows / (float)cols : 1) };
		m->numbers += r->count;
	}
}

/* Counts and places the matrices. */
static int
gather_matrices(struct engine_plan *p, struct learn *l)
{
	struct learn_muon *m = &l->muon;
	const struct engine_group **order = calloc(l->ngroup + 1, sizeof(*order));

	m->matrix = calloc(l->ngroup + 1, sizeof(*m->matrix));
	m->shape = calloc(l->ngroup + 1, sizeof(*m->shape));
	if (order == NULL || m->matrix == NULL || m->shape == NULL) {
		free(order);
		return plan_nomem(p);
	}
	for (uint32_t i = 0; i < l->ngroup; i++)
		if (learn_matrix(l, &l->group[i]))
			order[m->n++] = &l->group[i];
	qsort(order, m->n, sizeof(*order), by_shape);
	place_matrices(l, order);
	free(order);
	return 0;
}

/* The products of a shape; *most bytes of scratch are enough for all. */
static int
open_one(struct engine_plan *p, struct learn_shape *s, size_t *most)
{
	const uint32_t n = short_side(s), k = s->rows + s->cols - n;
	const bool wide = s->rows <= s->cols;
	const int f32 = KERNEL_F32;
	const struct blas_shape gram = { n, n, k, !wide, wide, f32, f32, p->tf32, 1, 0, s->count };
	const struct blas_shape square = { n, n, n, false, false, f32, f32, p->tf32, 2.0315f, -4.7750f, s->count };
	const struct blas_shape turn = { s->rows, s->cols, n, false, !wide, f32, f32, p->tf32, 1, 3.4445f, s->count };
	size_t bytes[3] = { 0 };
	int e;

	if ((e = blas_open(p->dev->d, &gram, &s->gram, &bytes[0])) < 0 ||
	    (e = blas_open(p->dev->d, &square, &s->square, &bytes[1])) < 0 ||
	    (e = blas_open(p->dev->d, &turn, &s->turn, &bytes[2])) < 0)
		return e;
	for (int i = 0; i < 3; i++)
		*most = bytes[i] > *most ? bytes[i] : *most;
	return 0;
}

/* What all of it takes of the GPU's memory, and the table up there. */
static int
take_muon_memory(struct engine_plan *p, struct learn_muon *m)
{
	size_t all = 0, gram = 0, most = 0;
	void *at;
	int e;

	for (uint32_t i = 0; i < m->nshape; i++) {
		const size_t n = short_side(&m->shape[i]), here = n * n * m->shape[i].count * sizeof(float);

		if ((e = open_one(p, &m->shape[i], &most)) < 0)
			return e;
		gram = here > gram ? here : gram;
	}
	m->table = learn_room(&all, m->n * sizeof(*m->matrix));
	m->u = learn_room(&all, m->n * sizeof(double));
	m->w = learn_room(&all, m->n * sizeof(double));
	m->room[0] = learn_room(&all, m->numbers * sizeof(float));
	m->room[1] = learn_room(&all, m->numbers * sizeof(float));
	m->a = learn_room(&all, gram);
	m->b = learn_room(&all, gram);
	m->scratch = learn_room(&all, most);
	if ((e = device_take(p->dev->d, all, &at)) < 0)
		return e;
	m->held = at;
	if ((e = device_up(p->dev->d, DEVICE_MAIN, m->held + m->table, m->matrix, m->n * sizeof(*m->matrix))) < 0)
		return e;
	return device_wait(p->dev->d);
}

static int
make_muon_squares(struct engine_plan *p, struct learn_muon *m, bool unit)
{
	struct kernel_strip *part = calloc(m->n, sizeof(*part));
	int e;

	if (part == NULL)
		return plan_nomem(p);
	for (uint32_t i = 0; i < m->n; i++)
		part[i] = (struct kernel_strip){ m->matrix[i].at, m->matrix[i].count };
	e = learn_squares_make(p, &m->in_room, part, m->n);
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
	int e = l->hyper.rule == OPT_MUON ? gather_matrices(p, l) : 0;

	if (e < 0 || m->n == 0)
		return e;
	return (e = take_muon_memory(p, m)) < 0 ? e : make_muon_squares(p, m, l->hyper.unit);
}

void
learn_muon_free(struct engine_plan *p, struct learn *l)
{
	struct learn_muon *m = &l->muon;

	for (uint32_t i = 0; i < m->nshape; i++) {
		blas_close(m->shape[i].gram);
		blas_close(m->shape[i].square);
		blas_close(m->shape[i].turn);
	}
	learn_squares_free(p, &m->in_room);
	learn_squares_free(p, &m->in_w);
	device_give(p->dev->d, m->held);
	free(m->matrix);
	free(m->shape);
}

static int
run_gram_product(struct blas *b, const void *x, const void *y, const void *d, void *to, void *scratch)
{
	int e = blas_bind(b, &(struct blas_places){ x, y, d, to, scratch });

	return e < 0 ? e : blas_run(b);
}

/* One turn of the matrices of a shape, from x to y. */
static int
run_iteration(const struct learn_muon *m, const struct learn_shape *s, const float *x, float *y)
{
	void *a = m->held + m->a, *b = m->held + m->b, *scratch = m->held + m->scratch;
	const bool wide = s->rows <= s->cols;
	int e;

	if ((e = run_gram_product(s->gram, x, x, NULL, a, scratch)) < 0 ||
	    (e = run_gram_product(s->square, a, a, a, b, scratch)) < 0)
		return e;
	return wide ? run_gram_product(s->turn, b, x, x, y, scratch) : run_gram_product(s->turn, x, b, x, y, scratch);
}

/* All turns; *x is where the last of them is. */
static int
run_iterations(const struct learn_muon *m, uint32_t n, float **x)
{
	float *room[] = { (float *)(m->held + m->room[0]), (float *)(m->held + m->room[1]) };
	int e = 0;

	for (uint32_t k = 0; k < m->nshape; k++)
		for (uint32_t i = 0; i < n && e == 0; i++)
			e = run_iteration(m, &m->shape[k], room[i % 2] + m->shape[k].at,
			    room[(i + 1) % 2] + m->shape[k].at);
	*x = room[n % 2];
	return e;
}

int
learn_muon_run(struct engine_plan *p, const struct learn *l, const float *g)
{
	const struct learn_muon *m = &l->muon;
	const struct kernel_matrix *table = (const struct kernel_matrix *)(m->held + m->table);
	const struct kernel_pace *pace = (const struct kernel_pace *)(l->held + l->pace);
	const uint32_t *bad = (const uint32_t *)(l->held + l->bad);
	float *u = (float *)(m->held + m->room[0]), *w = (float *)(p->held + p->kept.w), *x;
	double *of_u = (double *)(m->held + m->u), *of_w = (double *)(m->held + m->w);
	const struct kernel_muon_gather gathered = { table, m->n, u, (float *)(l->held + l->state), g, pace, bad,
		l->hyper.momentum, l->hyper.clip > 0 ? l->hyper.clip : INFINITY };
	const struct kernel_muon_scale scaled = { table, m->n, u, of_u, l->hyper.eps };
	int e;

	if (m->n == 0)
		return 0;
	if ((e = kernel_run_muon_gather(p->dev->d, &gathered, (uint32_t)m->numbers, KERNEL_F32)) < 0 ||
	    (e = learn_squares_run(p, &m->in_room, u, of_u)) < 0 ||
	    (e = kernel_run_muon_scale(p->dev->d, &scaled, (uint32_t)m->numbers, KERNEL_F32)) < 0 ||
	    (l->hyper.unit && (e = learn_squares_run(p, &m->in_w, w, of_w)) < 0) ||
	    (e = run_iterations(m, l->hyper.turns, &x)) < 0)
		return e;
	return kernel_run_muon(p->dev->d, &(struct kernel_muon){ table, m->n, w, x, l->hyper.unit ? of_w : NULL, pace,
	    bad },
	    (uint32_t)m->numbers, KERNEL_F32);
}
