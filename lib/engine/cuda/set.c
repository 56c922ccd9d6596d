/* set - the libraries' products and convolutions for one number of samples, and the scratch memory that they share. */
#include "engine/cuda/plan.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct dnn_shape) == 19 * sizeof(uint32_t) + 4 * sizeof(bool),
    "without a hole: two are compared as bytes");

static const struct graph_node *
mul_node(const struct engine_plan *p, const struct plan_mul *m)
{
	return &p->graph->node[m->node];
}

/* What of an address the libraries make a difference of. */
static uint32_t
address_alignment(const void *at)
{
	return (uintptr_t)at % 16 == 0 ? 16 : sizeof(float);
}

static struct dnn_shape
transcode_shape(const struct engine_plan *p, const struct plan_mul *m, uint32_t n, enum dnn_way way)
{
	const struct graph_node *l = mul_node(p, m);

	return (struct dnn_shape){
		.way = way, .type = p->type, .n = n,
		.c = m->x.c, .h = m->x.h, .w = m->x.w, .k = m->y.c, .oh = m->y.h, .ow = m->y.w,
		.r = l->r, .s = l->s, .stride = { l->stride[0], l->stride[1] }, .pad = { l->pad[0], l->pad[1] },
		.dilate = { l->dilate[0] > 0 ? l->dilate[0] : 1, l->dilate[1] > 0 ? l->dilate[1] : 1 },
		.groups = l->groups > 0 ? l->groups : 1, .tf32 = p->tf32, .any_order = p->any_order,
	};
}

/* Forward, and what follows. */
static struct dnn_shape
fused_shape(const struct engine_plan *p, const struct plan_mul *m, uint32_t n)
{
	struct dnn_shape s = transcode_shape(p, m, n, DNN_FORWARD);

	if (mul_node(p, m)->bias_at >= 0)
		s.bias = address_alignment(run_added(p, (uint32_t)(m - p->mul)));
	s.more = m->more.c > 0;
	s.relu = m->relu;
	return s;
}

/* Forward, and the batch norm behind it. */
static struct dnn_shape
eval_shape(const struct engine_plan *p, const struct plan_mul *m, uint32_t n)
{
	const struct plan_step *bn = &p->step[m->bn];
	struct dnn_shape s = transcode_shape(p, m, n, DNN_FORWARD);

	s.bias = address_alignment(run_added(p, (uint32_t)(m - p->mul)));
	s.more = bn->parts > 0;
	s.relu = bn->relu;
	return s;
}

/* y = x w^T, dx = dy w, dw = dy^T x; x [n, d], y [n, k], w [k, d]. */
static struct blas_shape
full_shape(const struct engine_plan *p, const struct plan_mul *m, uint32_t n, enum dnn_way way)
{
	uint32_t d = m->x.c * m->x.h * m->x.w, k = m->y.c;

	switch (way) {
	case DNN_FORWARD:
		return (struct blas_shape){ n, k, d, false, true, p->type, p->type, p->tf32, 1, 0, 1 };
	case DNN_DATA:
		return (struct blas_shape){ n, d, k, false, false, p->type, p->type, p->tf32, 1, 0, 1 };
	default:
		return (struct blas_shape){ k, d, n, true, false, p->type, KERNEL_F32, p->tf32, 1, 0, 1 };
	}
}

static bool
way_wanted(const struct plan_mul *m, enum dnn_way way)
{
	return way == DNN_FORWARD || (way == DNN_DATA ? m->dx.c > 0 : m->learns);
}

static void *
view_address(const struct engine_plan *p, const struct plan_view *v)
{
	return p->arena + p->buf[v->buf].at;
}

static int
bind_one(struct engine_plan *p, struct plan_set *set, uint32_t i, enum dnn_way way)
{
	const struct plan_mul *m = &p->mul[i];
	void *x = view_address(p, way == DNN_DATA ? &m->dx : &m->x),
	    *y = view_address(p, way == DNN_FORWARD ? &m->y : &m->dy);
	void *w = way == DNN_WEIGHT ? run_weight(p) : p->held + m->held;

	if (set->dnn[3 * i + way] != NULL)
		return dnn_bind(set->dnn[3 * i + way], &(struct dnn_places){ x, w, y, p->scratch, run_added(p, i),
		    m->more.c > 0 ? view_address(p, &m->more) : NULL });
	if (set->blas[3 * i + way] == NULL)
		return 0;
	return blas_bind(set->blas[3 * i + way], &(struct blas_places){ .scratch = p->scratch,
	    .a = way == DNN_FORWARD ? x : y, .b = way == DNN_WEIGHT ? x : w,
	    .c = way == DNN_FORWARD ? y : way == DNN_DATA ? x : w });
}

/* A convolution and the batch norm behind it. */
static int
bind_eval(struct engine_plan *p, struct plan_set *set, uint32_t i)
{
	const struct plan_mul *m = &p->mul[i];
	const struct plan_step *bn = &p->step[m->bn];

	return dnn_bind(set->eval[i], &(struct dnn_places){ view_address(p, &m->x), p->held + m->held,
	    view_address(p, &bn->y), p->scratch,
	    run_added(p, i), bn->parts > 0 ? view_address(p, &bn->part[0]) : NULL });
}

static int
bind_set_muls(struct engine_plan *p, struct plan_set *set)
{
	int e = 0;

	for (uint32_t i = 0; i < p->nmul && e == 0; i++)
		if (set->eval[i] != NULL)
			e = bind_eval(p, set, i);

	for (uint32_t i = 0; i < p->nmul; i++)
		for (enum dnn_way way = DNN_FORWARD; way <= DNN_WEIGHT && e == 0; way++)
			if (way_wanted(&p->mul[i], way))
				e = bind_one(p, set, i, way);
	return e;
}

/* What was recorded knows addresses and is of no use after they changed. */
static void
forget_tapes(struct plan_set *set)
{
	for (int t = 0; t < PLAN_TAPES; t++) {
		device_tape_free(set->tape[t]);
		set->tape[t] = NULL;
		set->seen[t] = set->seen[t] > 1 ? 1 : set->seen[t];
	}
}

/* Scratch of which the libraries may take bytes; other sets follow when it moves. */
static int
grow_scratch(struct engine_plan *p, const struct plan_set *but, size_t bytes)
{
	size_t all = memplan_round(bytes > p->sums_bytes ? bytes : p->sums_bytes) + p->weight_bytes;
	void *was = p->scratch, *now;
	int e;

	if (was != NULL && all <= p->scratch_bytes)
		return 0;
	if ((e = device_wait(p->dev->d)) < 0 || (e = device_take(p->dev->d, all, &now)) < 0)
		return e;
	device_give(p->dev->d, was);
	p->scratch = now;
	p->scratch_bytes = all;
	for (int k = 0; k < PLAN_SETS && e == 0; k++)
		if (&p->set[k] != but && p->set[k].n > 0) {
			forget_tapes(&p->set[k]);
			e = bind_set_muls(p, &p->set[k]);
		}
	return e;
}

/*
 * A convolution as one of the set that was asked for before, if there is one: nets repeat
 * themselves, and libraries are slow.
 */
static const struct dnn *
find_like(const struct engine_plan *p, const struct plan_set *set, const struct dnn_shape *shape)
{
	for (uint32_t k = 0; k < p->nmul; k++) {
		const struct dnn *of = set->dnn[3 * k + shape->way];
		struct dnn_shape other = shape->way == DNN_FORWARD &&
		    set->fused[k] ? fused_shape(p, &p->mul[k], set->n) :
		    transcode_shape(p, &p->mul[k], set->n, shape->way);

		if (of != NULL && memcmp(&other, shape, sizeof(other)) == 0)
			return of;
		if (shape->way != DNN_FORWARD || set->eval[k] == NULL)
			continue;
		other = eval_shape(p, &p->mul[k], set->n);
		if (memcmp(&other, shape, sizeof(other)) == 0)
			return set->eval[k];
	}
	return NULL;
}

/* Was one like mul i's asked for before, with what follows it, and is there none?  A no takes as long as a yes. */
static bool
known_refused(const struct engine_plan *p, const struct plan_set *set, uint32_t i, const struct dnn_shape *shape)
{
	for (uint32_t k = 0; k < i; k++) {
		struct dnn_shape other;

		if (!p->mul[k].fuses || set->fused[k])
			continue;
		other = fused_shape(p, &p->mul[k], set->n);
		if (memcmp(&other, shape, sizeof(other)) == 0)
			return true;
	}
	return false;
}

static int
open_as(struct engine_plan *p, const struct plan_set *set, const struct dnn_shape *shape, struct dnn **c, size_t *bytes)
{
	const struct dnn *of = find_like(p, set, shape);

	return of != NULL ? dnn_like(of, c) : dnn_open(p->dev->d, shape, &p->dev->tune, c, bytes);
}

/* With its bias, sum and ReLU where the library has that. */
static int
open_conv(struct engine_plan *p, struct plan_set *set, uint32_t i, enum dnn_way way, size_t *bytes)
{
	const struct plan_mul *m = &p->mul[i];
	const struct dnn_shape plain = transcode_shape(p, m, set->n, way), fused = fused_shape(p, m, set->n);
	struct dnn **c = &set->dnn[3 * i + way];
	int e;

	if (way == DNN_FORWARD && m->fuses && !known_refused(p, set, i, &fused)) {
		e = open_as(p, set, &fused, c, bytes);
		set->fused[i] = e == 0;
		if (e != ERR_NOTSUP)
			return e;
	}
	return open_as(p, set, &plain, c, bytes);
}

static int
make_set(struct engine_plan *p, struct plan_set *set, uint32_t n)
{
	size_t most = 0, bytes;
	int e = 0;

	set->n = n;
	set->dnn = calloc(3 * (size_t)p->nmul + 1, sizeof(*set->dnn));
	set->blas = calloc(3 * (size_t)p->nmul + 1, sizeof(*set->blas));
	set->fused = calloc((size_t)p->nmul + 1, sizeof(*set->fused));
	set->eval = calloc((size_t)p->nmul + 1, sizeof(*set->eval));
	if (set->dnn == NULL || set->blas == NULL || set->fused == NULL || set->eval == NULL)
		return plan_nomem(p);
	for (uint32_t i = 0; i < p->nmul && e == 0; i++)
		for (enum dnn_way way = DNN_FORWARD; way <= DNN_WEIGHT && e == 0; way++) {
			const struct plan_mul *m = &p->mul[i];
			const struct blas_shape full = full_shape(p, m, n, way);

			if (!way_wanted(m, way))
				continue;
			bytes = 0;
			e = mul_node(p, m)->op == GRAPH_FC ? blas_open(p->dev->d, &full, &set->blas[3 * i + way],
			    &bytes) :
			    open_conv(p, set, i, way, &bytes);
			most = bytes > most ? bytes : most;
			if (e < 0)
				p->dev->host->within("%s", mul_node(p, m)->name);
		}
	if (e == 0 && (e = grow_scratch(p, set, most)) == 0)
		e = bind_set_muls(p, set);
	return e;
}

int
set_evaluates(struct engine_plan *p, struct plan_set *set)
{
	const void *was = p->scratch;
	size_t most = 0;
	int e = 0;

	if (set->evals)
		return 0;
	for (uint32_t i = 0; i < p->nmul && e == 0; i++) {
		const struct plan_step *bn = p->mul[i].bn != PLAN_NONE ? &p->step[p->mul[i].bn] : NULL;
		struct dnn_shape shape;
		size_t bytes = 0;

		if (bn == NULL || !plan_dense(&bn->y) || (bn->parts > 0 && !plan_dense(&bn->part[0])))
			continue;
		shape = eval_shape(p, &p->mul[i], set->n);
		e = open_as(p, set, &shape, &set->eval[i], &bytes);
		most = bytes > most ? bytes : most;
		e = e == ERR_NOTSUP ? 0 : e;
	}
	if (e < 0 || (e = grow_scratch(p, set, most)) < 0)
		return e;
	if (p->scratch != was)
		forget_tapes(set);
	set->evals = true;
	return bind_set_muls(p, set);
}

int
set_get(struct engine_plan *p, uint32_t n, struct plan_set **set)
{
	struct plan_set *oldest = &p->set[n == p->batch ? 0 : 1];
	int e = device_enter(p->dev->d);

	if (e < 0)
		return e;
	for (int k = 0; k < PLAN_SETS; k++) {
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
	set_free(p, oldest);
	if ((e = make_set(p, oldest, n)) < 0) {
		set_free(p, oldest);
		return e;
	}
	oldest->used = ++p->clock;
	*set = oldest;
	return 0;
}

void
set_free(struct engine_plan *p, struct plan_set *set)
{
	forget_tapes(set);
	for (uint32_t i = 0; set->dnn != NULL && i < 3 * p->nmul; i++)
		dnn_close(set->dnn[i]);
	for (uint32_t i = 0; set->eval != NULL && i < p->nmul; i++)
		dnn_close(set->eval[i]);
	for (uint32_t i = 0; set->blas != NULL && i < 3 * p->nmul; i++)
		blas_close(set->blas[i]);
	free(set->dnn);
	free(set->blas);
	free(set->fused);
	free(set->eval);
	memset(set, 0, sizeof(*set));
}
