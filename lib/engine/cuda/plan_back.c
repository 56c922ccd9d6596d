/*
 * plan_back - a graph into the steps of a pass backward: each layer's gradients from the parts that
 * its readers left.
 */
#include "engine/cuda/plan.h"

#include "base/err.h"

static const struct graph_node *
plan_node_at(const struct engine_plan *p, uint32_t i)
{
	return &p->graph->node[i];
}

/* The node whose output the step of i writes: the ReLU that is part of it, or i. */
static uint32_t
out_of(const struct engine_plan *p, uint32_t i)
{
	const struct plan_node *n = &p->node[i];

	return n->readers == 1 && p->node[n->reader].fused ? n->reader : i;
}

/* A part of the gradient of node i, if one is wanted. */
static void
push_gradient(struct engine_plan *p, uint32_t i, const struct plan_view *dy)
{
	if (p->node[i].wants)
		p->node[i].part[p->node[i].parts++] = *dy;
}

/* The sum of the parts of node i. */
static int
gather_gradient(struct engine_plan *p, uint32_t i, struct plan_view *dy)
{
	const struct plan_node *n = &p->node[i];
	struct plan_view sum;
	int e;

	assert(n->parts > 0);
	*dy = n->part[0];
	if (n->parts == 1)
		return 0;
	if ((e = plan_buffer(p, dy->c, dy->h, dy->w, &sum)) < 0)
		return e;
	for (uint32_t k = 0; k < n->parts;) {
		struct plan_step *s = plan_add(p, PLAN_ADD, i);

		if (k > 0)
			s->part[s->parts++] = sum;
		while (k < n->parts && s->parts < KERNEL_PARTS)
			s->part[s->parts++] = n->part[k++];
		s->y = sum;
	}
	*dy = sum;
	return 0;
}

/* What the ReLU behind node i lets through of dy. */
static int
mask_gradient(struct engine_plan *p, uint32_t i, struct plan_view *dy)
{
	uint32_t out = out_of(p, i);
	struct plan_view dx;
	struct plan_step *s;
	int e;

	if (out == i)
		return 0;
	if ((e = plan_buffer(p, dy->c, dy->h, dy->w, &dx)) < 0)
		return e;
	s = plan_add(p, PLAN_RELU_BACK, i);
	s->y = p->node[out].y;
	s->dy = *dy;
	s->dx = dx;
	*dy = dx;
	return 0;
}

/* A buffer for the gradient of what node i reads, shaped as that. */
static int
buffer_for(struct engine_plan *p, uint32_t i, struct plan_view *dx)
{
	const struct plan_view *x = &p->node[plan_node_at(p, i)->in[0]].y;

	return plan_buffer(p, x->c, x->h, x->w, dx);
}

static int
plan_mul_back(struct engine_plan *p, uint32_t i, struct plan_view dy)
{
	struct plan_mul *m = &p->mul[p->node[i].state];
	struct plan_step *s;
	int e;

	if ((e = mask_gradient(p, i, &dy)) < 0 || (e = plan_make_dense(p, i, &dy)) < 0)
		return e;
	m->dy = dy;
	if (plan_learns(p->graph, plan_node_at(p, i)->bias_at))
		plan_add(p, PLAN_BIAS_BACK, i)->dy = dy;
	if (m->learns) {
		s = plan_add(p, PLAN_MUL_WEIGHT, i);
		s->x = m->x;
		s->dy = dy;
	}
	if (!p->node[plan_node_at(p, i)->in[0]].wants)
		return 0;
	s = plan_add(p, PLAN_MUL_DATA, i);
	s->dy = dy;
	if ((e = buffer_for(p, i, &s->dx)) < 0)
		return e;
	m->dx = s->dx;
	push_gradient(p, plan_node_at(p, i)->in[0], &s->dx);
	return 0;
}

/* A step from dy and x, and what forward kept, to dx. */
static int
plan_unary_back(struct engine_plan *p, uint32_t i, enum plan_kind kind, const struct plan_view *dy)
{
	uint32_t in = plan_node_at(p, i)->in[0];
	struct plan_step *s = plan_add(p, kind, i);
	int e;

	s->dy = *dy;
	s->x = p->node[in].y;
	s->keep = p->node[i].keep;
	s->relu = out_of(p, i) != i;
	s->constant = kind == PLAN_BN_BACK && plan_frozen(p->graph, i);
	if (!p->node[in].wants)
		return 0;
	if ((e = buffer_for(p, i, &s->dx)) < 0)
		return e;
	push_gradient(p, in, &s->dx);
	return 0;
}

static int
plan_sum_back(struct engine_plan *p, uint32_t i, struct plan_view dy)
{
	int e = mask_gradient(p, i, &dy);

	for (uint32_t k = 0; k < plan_node_at(p, i)->nin && e == 0; k++)
		push_gradient(p, plan_node_at(p, i)->in[k], &dy);
	return e;
}

/* Input k's gradient: dy times all the other inputs. */
static int
plan_times_back(struct engine_plan *p, uint32_t i, uint32_t k, const struct plan_view *dy)
{
	const struct graph_node *l = plan_node_at(p, i);
	struct plan_view dx;
	int e;

	if (!p->node[l->in[k]].wants)
		return 0;
	if ((e = plan_buffer(p, l->c, l->h, l->w, &dx)) < 0)
		return e;
	for (uint32_t j = 0, first = 1; j < l->nin || first; first = 0) {
		struct plan_step *s = plan_add(p, PLAN_TIMES, i);

		s->part[s->parts++] = first ? *dy : dx;
		for (; j < l->nin && s->parts < KERNEL_PARTS; j++)
			if (j != k)
				s->part[s->parts++] = p->node[l->in[j]].y;
		s->y = dx;
	}
	push_gradient(p, l->in[k], &dx);
	return 0;
}

static int
plan_concat_back(struct engine_plan *p, uint32_t i, const struct plan_view *dy)
{
	uint32_t first = dy->first;

	for (uint32_t k = 0; k < plan_node_at(p, i)->nin; k++) {
		const struct graph_node *in = plan_node_at(p, plan_node_at(p, i)->in[k]);

		push_gradient(p, plan_node_at(p, i)->in[k], &(struct plan_view){ dy->buf, in->c, in->h, in->w, dy->ld,
		    first });
		first += in->c;
	}
	return 0;
}

/* Back from the order of c, h, w to that of h, w, c. */
static int
plan_turn_back(struct engine_plan *p, uint32_t i, struct plan_view dy)
{
	uint32_t in = plan_node_at(p, i)->in[0];
	struct plan_view dx;
	struct plan_step *s;
	int e;

	if ((e = plan_make_dense(p, i, &dy)) < 0 || (e = buffer_for(p, i, &dx)) < 0)
		return e;
	s = plan_add(p, PLAN_TURN_BACK, i);
	s->dy = dy;
	s->dx = dx;
	push_gradient(p, in, &dx);
	return 0;
}

static int
plan_flatten_back(struct engine_plan *p, uint32_t i, const struct plan_view *dy)
{
	uint32_t in = plan_node_at(p, i)->in[0];

	if (p->node[i].y.buf != p->node[in].y.buf)
		return p->node[in].wants ? plan_turn_back(p, i, *dy) : 0;
	push_gradient(p, in, dy);
	return 0;
}

static int
plan_loss_back(struct engine_plan *p, uint32_t i)
{
	uint32_t in = plan_node_at(p, i)->in[0];
	const struct plan_view *x = &p->node[in].y;
	struct plan_view dx;
	int e;

	if ((e = plan_buffer(p, p->graph->classes, 1, 1, &dx)) < 0)
		return e;
	plan_add(p, PLAN_LOSS_BACK, i)->dx = dx;
	if (!p->node[in].wants)
		return 0;
	if (x->h * x->w > 1)
		return plan_turn_back(p, i, dx);
	push_gradient(p, in, &dx);
	return 0;
}

static int
plan_backward_node(struct engine_plan *p, uint32_t i)
{
	struct plan_view dy;
	int e;

	if (plan_node_at(p, i)->op == GRAPH_SOFTMAX)
		return plan_loss_back(p, i);
	if ((e = gather_gradient(p, out_of(p, i), &dy)) < 0)
		return e;
	switch (plan_node_at(p, i)->op) {
	case GRAPH_CONV:
	case GRAPH_FC:
		return plan_mul_back(p, i, dy);
	case GRAPH_BN:
		return plan_unary_back(p, i, PLAN_BN_BACK, &dy);
	case GRAPH_ACT:
		return plan_unary_back(p, i, PLAN_ACT_BACK, &dy);
	case GRAPH_POOL:
		return plan_unary_back(p, i, PLAN_POOL_BACK, &dy);
	case GRAPH_PAD:
		return plan_unary_back(p, i, PLAN_PAD_BACK, &dy);
	case GRAPH_LRN:
		return plan_unary_back(p, i, PLAN_LRN_BACK, &dy);
	case GRAPH_DROPOUT:
		return plan_unary_back(p, i, PLAN_DROP, &dy);
	case GRAPH_CONCAT:
		return plan_concat_back(p, i, &dy);
	case GRAPH_FLATTEN:
		return plan_flatten_back(p, i, &dy);
	case GRAPH_ADD:
		return plan_sum_back(p, i, dy);
	default:
		assert(plan_node_at(p, i)->op == GRAPH_MUL);
		for (uint32_t k = 0; k < plan_node_at(p, i)->nin && e == 0; k++)
			e = plan_times_back(p, i, k, &dy);
		return e;
	}
}

/* Bytes of gradient that are final with node i. */
static size_t
grad_bytes(const struct graph *g, uint32_t i)
{
	const struct graph_node *l = &g->node[i];
	const int32_t has[] = { l->weight, l->bias_at, l->gamma, l->beta };
	size_t n = 0;

	for (size_t k = 0; k < sizeof(has) / sizeof(*has); k++)
		n += has[k] >= 0 ? g->w[has[k]].count : 0;
	return n * sizeof(float);
}

/* Cuts the steps backward where a layer ends, into slices of about the same bytes of gradient. */
static void
cut_slices(struct engine_plan *p)
{
	size_t each = p->graph->P * sizeof(float) / PLAN_SLICES + 1, bytes = 0;

	p->slice[0] = p->nforward;
	for (uint32_t s = p->nforward; s < p->nstep; s++) {
		uint32_t i = p->step[s].node;

		if (s + 1 < p->nstep && p->step[s + 1].node == i)
			continue;
		bytes += grad_bytes(p->graph, i);
		if (bytes >= each && p->nslice + 1 < PLAN_SLICES && s + 1 < p->nstep) {
			p->slice[++p->nslice] = s + 1;
			bytes = 0;
		}
	}
	p->slice[++p->nslice] = p->nstep;
}

int
plan_back(struct engine_plan *p)
{
	int e = 0;

	for (uint32_t i = p->graph->n - 1; i > 0 && e == 0; i--)
		if (p->node[i].wants && !p->node[i].fused && (e = plan_backward_node(p, i)) < 0)
			p->dev->host->within("%s", plan_node_at(p, i)->name);
	if (e == 0)
		cut_slices(p);
	return e;
}
