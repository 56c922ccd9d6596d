/* exec_set - the libraries' products and convolutions for one batch size, and the scratch memory that they share. */
#include "engine/cuda/exec_plan.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct dnn_shape) == 19 * sizeof(uint32_t) + 4 * sizeof(bool),
    "no padding: shapes are compared as bytes");

static const struct graph_node *
product_node(const struct engine_plan *p, const struct exec_product *m)
{
	return &p->graph->node[m->node];
}

/* The alignment that the libraries distinguish. */
static uint32_t
find_alignment(const void *at)
{
	return (uintptr_t)at % 16 == 0 ? 16 : sizeof(float);
}

static struct dnn_shape
describe_conv(const struct engine_plan *p, const struct exec_product *m, uint32_t n, enum dnn_way way)
{
	const struct graph_node *l = product_node(p, m);

	return (struct dnn_shape){
		.way = way, .type = m->type, .n = n,
		.c = m->x.c, .h = m->x.h, .w = m->x.w, .k = m->y.c, .oh = m->y.h, .ow = m->y.w,
		.r = l->r, .s = l->s, .stride = { l->stride[0], l->stride[1] }, .pad = { l->pad[0], l->pad[1] },
		.dilate = { l->dilate[0] > 0 ? l->dilate[0] : 1, l->dilate[1] > 0 ? l->dilate[1] : 1 },
		.groups = l->groups > 0 ? l->groups : 1, .tf32 = p->tf32, .any_order = p->any_order,
	};
}

/* Forward, with what follows the convolution.  cuDNN adds a sum or applies a ReLU only after a bias, here of zeros. */
static struct dnn_shape
describe_fused(const struct engine_plan *p, const struct exec_product *m, uint32_t n, bool addend, bool relu)
{
	struct dnn_shape s = describe_conv(p, m, n, DNN_FORWARD);

	s.bias = find_alignment(run_typed_bias(p, (uint32_t)(m - p->product)));
	s.addend = addend;
	s.relu = relu;
	return s;
}

/* Forward, with the product's EXEC_BIAS. */
static struct dnn_shape
describe_bias(const struct engine_plan *p, const struct exec_product *m, uint32_t n)
{
	return describe_fused(p, m, n, m->addend.c > 0, m->relu);
}

/* y = x w^T, dx = dy w, dw = dy^T x; x [n, d], y [n, k], w [k, d]. */
static struct blas_shape
describe_fc(const struct engine_plan *p, const struct exec_product *m, uint32_t n, enum dnn_way way)
{
	uint32_t d = m->x.c * m->x.h * m->x.w, k = m->y.c;

	switch (way) {
	case DNN_FORWARD:
		return (struct blas_shape){ n, k, d, false, true, m->type, m->y.type, p->tf32, 1, 0, 1 };
	case DNN_DATA:
		return (struct blas_shape){ n, d, k, false, false, m->type, m->type, p->tf32, 1, 0, 1 };
	default:
		return (struct blas_shape){ k, d, n, true, false, m->type, KERNEL_F32, p->tf32, 1, 0, 1 };
	}
}

static bool
is_way_wanted(const struct exec_product *m, enum dnn_way way)
{
	return way == DNN_FORWARD || (way == DNN_DATA ? m->dx.c > 0 : m->learns);
}

static void *
get_view_address(const struct engine_plan *p, const struct exec_view *v)
{
	return v->c > 0 ? run_view(p, v).p : NULL;
}

static int
bind_one(struct engine_plan *p, struct exec_set *set, uint32_t i, enum dnn_way way)
{
	const struct exec_product *m = &p->product[i];
	void *x = get_view_address(p, way == DNN_DATA ? &m->dx : &m->x);
	void *y = get_view_address(p, way == DNN_FORWARD ? &m->y : &m->dy);
	void *w = p->kept_base + (way == DNN_WEIGHT ? m->grad_at : m->weight_at);

	if (set->dnn[EXEC_WAYS * i + way] != NULL)
		return dnn_bind(set->dnn[EXEC_WAYS * i + way], &(struct dnn_places){ x, w, y, p->scratch,
		    run_typed_bias(p, i), get_view_address(p, &m->addend) });
	if (set->blas[EXEC_WAYS * i + way] != NULL)
		blas_bind(set->blas[EXEC_WAYS * i + way], &(struct blas_places){ .scratch = p->scratch,
		    .a = way == DNN_FORWARD ? x : y, .b = way == DNN_WEIGHT ? x : w,
		    .c = way == DNN_FORWARD ? y : way == DNN_DATA ? x : w });
	return 0;
}

/* A convolution with the batch norm after it. */
static int
bind_eval(struct engine_plan *p, struct exec_set *set, uint32_t i)
{
	const struct exec_product *m = &p->product[i];
	const struct exec_step *bn = &p->step[m->bn];

	return dnn_bind(set->dnn[EXEC_WAYS * i + EXEC_EVAL], &(struct dnn_places){ get_view_address(p, &m->x),
	    p->kept_base + m->weight_at, get_view_address(p, &bn->y), p->scratch, run_typed_bias(p, i),
	    run_addend(p, bn).p });
}

static int
bind_products(struct engine_plan *p, struct exec_set *set)
{
	int e = 0;

	for (uint32_t i = 0; i < p->nproducts && e == 0; i++) {
		for (enum dnn_way way = DNN_FORWARD; way <= DNN_WEIGHT && e == 0; way++)
			e = bind_one(p, set, i, way);
		if (e == 0 && set->dnn[EXEC_WAYS * i + EXEC_EVAL] != NULL)
			e = bind_eval(p, set, i);
	}
	return e;
}

/* Graphs contain addresses and must not be launched after these change. */
static void
forget_graphs(struct exec_set *set)
{
	for (int t = 0; t < EXEC_GRAPHS; t++) {
		device_graph_free(set->graph[t]);
		set->graph[t] = NULL;
		set->seen[t] = set->seen[t] > 1 ? 1 : set->seen[t];
	}
}

void
exec_set_forget_backward(struct engine_plan *p)
{
	for (int k = 0; k < EXEC_SETS; k++) {
		device_graph_free(p->set[k].graph[EXEC_GRAPH_BACKWARD]);
		p->set[k].graph[EXEC_GRAPH_BACKWARD] = NULL;
		p->set[k].seen[EXEC_GRAPH_BACKWARD] = 0;
	}
}

/* Makes scratch large enough for the libraries to take bytes of it.  If it moves, other sets bind to it again. */
static int
grow_scratch(struct engine_plan *p, const struct exec_set *but, size_t bytes)
{
	size_t all = memplan_round(bytes > p->sums_bytes ? bytes : p->sums_bytes);
	void *memory;
	int e;

	if (p->scratch != NULL && all <= p->scratch_bytes)
		return 0;
	if ((e = device_wait(p->dev->d)) < 0 || (e = device_alloc(p->dev->d, all, &memory)) < 0)
		return e;
	device_free(p->dev->d, p->scratch);
	p->scratch = memory;
	p->scratch_bytes = all;
	for (int k = 0; k < EXEC_SETS && e == 0; k++)
		if (&p->set[k] != but && p->set[k].n > 0) {
			forget_graphs(&p->set[k]);
			e = bind_products(p, &p->set[k]);
		}
	return e;
}

/*
 * A convolution of the set that has this shape already, or NULL.  Nets repeat shapes, and asking a
 * library is slow.
 */
static const struct dnn *
find_like(const struct engine_plan *p, const struct exec_set *set, const struct dnn_shape *shape)
{
	for (uint32_t k = 0; k < EXEC_WAYS * p->nproducts; k++)
		if (set->dnn[k] != NULL && memcmp(dnn_get_shape(set->dnn[k]), shape, sizeof(*shape)) == 0)
			return set->dnn[k];
	return NULL;
}

/* Has the library refused this fused shape for a product before i?  A refusal takes as long as a plan. */
static bool
was_refused(const struct engine_plan *p, const struct exec_set *set, uint32_t i, const struct dnn_shape *shape)
{
	for (uint32_t k = 0; k < i; k++) {
		const struct dnn_shape other = describe_bias(p, &p->product[k], set->n);

		if (p->product[k].fuses && !set->fused[k] && memcmp(&other, shape, sizeof(other)) == 0)
			return true;
	}
	return false;
}

static int
open_shape(struct engine_plan *p, const struct exec_set *set, const struct dnn_shape *shape, struct dnn **c,
	size_t *bytes)
{
	const struct dnn *of = find_like(p, set, shape);

	return of != NULL ? dnn_like(of, c) : dnn_open(p->dev->d, shape, &p->dev->tune, c, bytes);
}

/* Opens a convolution, with its bias, sum and ReLU if the library has such a kernel. */
static int
open_conv(struct engine_plan *p, struct exec_set *set, uint32_t i, enum dnn_way way, size_t *bytes)
{
	const struct exec_product *m = &p->product[i];
	const struct dnn_shape plain = describe_conv(p, m, set->n, way), fused = describe_bias(p, m, set->n);
	struct dnn **c = &set->dnn[EXEC_WAYS * i + way];
	int e;

	if (way == DNN_FORWARD && m->fuses && !was_refused(p, set, i, &fused)) {
		e = open_shape(p, set, &fused, c, bytes);
		set->fused[i] = e == 0;
		if (e != ERR_NOTSUP)
			return e;
	}
	return open_shape(p, set, &plain, c, bytes);
}

static int
make_set(struct engine_plan *p, struct exec_set *set, uint32_t n)
{
	size_t most = 0, bytes;
	int e = 0;

	set->n = n;
	set->dnn = calloc(EXEC_WAYS * (size_t)p->nproducts + 1, sizeof(*set->dnn));
	set->blas = calloc(EXEC_WAYS * (size_t)p->nproducts + 1, sizeof(*set->blas));
	set->fused = calloc((size_t)p->nproducts + 1, sizeof(*set->fused));
	if (set->dnn == NULL || set->blas == NULL || set->fused == NULL)
		return device_nomem(p->dev->host);
	for (uint32_t i = 0; i < p->nproducts && e == 0; i++)
		for (enum dnn_way way = DNN_FORWARD; way <= DNN_WEIGHT && e == 0; way++) {
			const struct exec_product *m = &p->product[i];
			const struct blas_shape full = describe_fc(p, m, n, way);

			if (!is_way_wanted(m, way))
				continue;
			bytes = 0;
			e = product_node(p, m)->op == GRAPH_CONV ? open_conv(p, set, i, way, &bytes) :
			    blas_open(p->dev->d, &full, &set->blas[EXEC_WAYS * i + way], &bytes);
			most = bytes > most ? bytes : most;
			if (e < 0)
				p->dev->host->within("%s", product_node(p, m)->name);
		}
	if (e == 0 && (e = grow_scratch(p, set, most)) == 0)
		e = bind_products(p, set);
	return e;
}

/* A kernel that stayed would be found again without its scratch. */
static void
close_eval(const struct engine_plan *p, struct exec_set *set)
{
	for (uint32_t i = 0; i < p->nproducts; i++) {
		dnn_close(set->dnn[EXEC_WAYS * i + EXEC_EVAL]);
		set->dnn[EXEC_WAYS * i + EXEC_EVAL] = NULL;
	}
}

int
exec_set_prepare_eval(struct engine_plan *p, struct exec_set *set)
{
	const void *was = p->scratch;
	size_t most = 0;
	int e = 0;

	if (set->evals)
		return 0;
	for (uint32_t i = 0; i < p->nproducts && e == 0; i++) {
		const struct exec_step *bn = p->product[i].bn != EXEC_NONE ? &p->step[p->product[i].bn] : NULL;
		struct dnn_shape shape;
		size_t bytes = 0;

		if (bn == NULL || bn->type != p->product[i].type || !exec_view_is_dense(&bn->y) ||
		    (bn->parts > 0 && !exec_view_is_dense(&bn->part[0])))
			continue;
		shape = describe_fused(p, &p->product[i], set->n, bn->parts > 0, bn->relu);
		e = open_shape(p, set, &shape, &set->dnn[EXEC_WAYS * i + EXEC_EVAL], &bytes);
		most = bytes > most ? bytes : most;
		e = e == ERR_NOTSUP ? 0 : e;
	}
	if (e < 0 || (e = grow_scratch(p, set, most)) < 0) {
		close_eval(p, set);
		return e;
	}
	if (p->scratch != was)
		forget_graphs(set);
	set->evals = true;
	return bind_products(p, set);
}

int
exec_set_get(struct engine_plan *p, uint32_t n, struct exec_set **set)
{
	struct exec_set *oldest = &p->set[n == p->batch ? 0 : 1];
	int e = device_make_current(p->dev->d);

	if (e < 0)
		return e;
	for (int k = 0; k < EXEC_SETS; k++) {
		if (p->set[k].n == n) {
			p->set[k].used = ++p->clock;
			*set = &p->set[k];
			return 0;
		}
		if (k > 1 && n != p->batch && p->set[k].used < oldest->used)
			oldest = &p->set[k];
	}
	if ((e = device_wait(p->dev->d)) < 0)
		return e;
	exec_set_free(p, oldest);
	if ((e = make_set(p, oldest, n)) < 0) {
		exec_set_free(p, oldest);
		return e;
	}
	oldest->used = ++p->clock;
	*set = oldest;
	return 0;
}

void
exec_set_free(struct engine_plan *p, struct exec_set *set)
{
	forget_graphs(set);
	for (uint32_t i = 0; set->dnn != NULL && i < EXEC_WAYS * p->nproducts; i++)
		dnn_close(set->dnn[i]);
	for (uint32_t i = 0; set->blas != NULL && i < EXEC_WAYS * p->nproducts; i++)
		blas_close(set->blas[i]);
	free(set->dnn);
	free(set->blas);
	free(set->fused);
	memset(set, 0, sizeof(*set));
}
