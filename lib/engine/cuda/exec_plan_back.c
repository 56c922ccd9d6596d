/*
 * exec_plan_back - the steps of a backward pass: each layer's gradients from the contributions of the
 * layers that read it.
 */
#include "engine/cuda/exec_plan.h"

#include "base/err.h"

/* The node whose output the step of i writes: the ReLU that is fused with it, or i. */
static uint32_t
get_output_node(const struct engine_plan *p, uint32_t i)
{
	const struct exec_node *n = &p->node[i];

	return n->readers == 1 && p->node[n->reader].fused ? n->reader : i;
}

/* Adds a contribution to the gradient of node i, if one is wanted. */
static void
push_gradient(struct engine_plan *p, uint32_t i, const struct exec_view *dy)
{
	if (p->node[i].wants)
		p->node[i].part[p->node[i].parts++] = *dy;
}

/*
 * The gradient of node i: the sum of its contributions, times the derivative of the ReLU that writes
 * `passed`, unless that is NULL.
 */
static int
gather_gradient(struct engine_plan *p, uint32_t i, const struct exec_view *passed, struct exec_view *dy)
{
	const struct exec_node *n = &p->node[i];
	struct exec_view sum;
	struct exec_step *s;
	int e;

	assert(n->parts > 0);
	*dy = n->part[0];
	if (n->parts == 1 && passed == NULL)
		return 0;
	sum = *dy;
	if (n->parts > 1)
		sum.type = n->y.type;
	if ((e = exec_plan_add_buffer(p, sum, &sum)) < 0)
		return e;
	for (uint32_t k = 0; k < n->parts;) {
		s = exec_plan_add_step(p, EXEC_ADD, i);
		if (k > 0)
			s->part[s->parts++] = sum;
		while (k < n->parts && s->parts < KERNEL_PARTS)
			s->part[s->parts++] = n->part[k++];
		s->y = sum;
		if (k == n->parts && passed != NULL)
			s->passed = *passed;
	}
	*dy = sum;
	return 0;
}

/* A buffer for the gradient of node i's input. */
static int
add_input_gradient(struct engine_plan *p, uint32_t i, struct exec_view *dx)
{
	return exec_plan_add_buffer(p, p->node[exec_node_at(p, i)->in[0]].y, dx);
}

static int
plan_product_back(struct engine_plan *p, uint32_t i, struct exec_view dy)
{
	struct exec_product *m = &p->product[p->node[i].state];
	struct exec_step *s;
	int e;

	if (exec_learns(p->graph, exec_node_at(p, i)->bias_at))
		exec_plan_add_step(p, EXEC_BIAS_BACK, i)->dy = dy;
	if ((e = exec_plan_make_dense(p, i, m->type, &dy)) < 0)
		return e;
	m->dy = dy;
	if (m->learns) {
		s = exec_plan_add_step(p, EXEC_PRODUCT_WEIGHT, i);
		s->x = m->x;
		s->dy = dy;
	}
	if (!p->node[exec_node_at(p, i)->in[0]].wants)
		return 0;
	s = exec_plan_add_step(p, EXEC_PRODUCT_DATA, i);
	s->dy = dy;
	if ((e = exec_plan_add_buffer(p, m->x, &s->dx)) < 0)
		return e;
	m->dx = s->dx;
	push_gradient(p, exec_node_at(p, i)->in[0], &s->dx);
	return 0;
}

/* A step from dy, x and what the forward step kept to dx. */
static int
plan_unary_back(struct engine_plan *p, uint32_t i, enum exec_kind kind, const struct exec_view *dy)
{
	uint32_t in = exec_node_at(p, i)->in[0];
	struct exec_step *s = exec_plan_add_step(p, kind, i);
	int e;

	s->dy = *dy;
	s->x = p->node[in].y;
	s->keep = p->node[i].keep;
	s->relu = get_output_node(p, i) != i;
	s->frozen = kind == EXEC_BN_BACK && exec_bn_is_frozen(p->graph, i);
	if (!p->node[in].wants)
		return 0;
	if ((e = add_input_gradient(p, i, &s->dx)) < 0)
		return e;
	push_gradient(p, in, &s->dx);
	return 0;
}

static int
plan_sum_back(struct engine_plan *p, uint32_t i, const struct exec_view *dy)
{
	for (uint32_t k = 0; k < exec_node_at(p, i)->nin; k++)
		push_gradient(p, exec_node_at(p, i)->in[k], dy);
	return 0;
}

/* The gradient of input k of an elementwise product: dy times all the other inputs. */
static int
plan_multiply_back(struct engine_plan *p, uint32_t i, uint32_t k, const struct exec_view *dy)
{
	const struct graph_node *l = exec_node_at(p, i);
	struct exec_view dx;
	int e;

	if (!p->node[l->in[k]].wants)
		return 0;
	if ((e = exec_plan_add_buffer(p, p->node[l->in[k]].y, &dx)) < 0)
		return e;
	for (uint32_t j = 0, first = 1; j < l->nin || first; first = 0) {
		struct exec_step *s = exec_plan_add_step(p, EXEC_MULTIPLY, i);

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
plan_concat_back(struct engine_plan *p, uint32_t i, const struct exec_view *dy)
{
	uint32_t first = dy->first;

	for (uint32_t k = 0; k < exec_node_at(p, i)->nin; k++) {
		const struct graph_node *in = exec_node_at(p, exec_node_at(p, i)->in[k]);

		push_gradient(p, exec_node_at(p, i)->in[k],
		    &(struct exec_view){ dy->buf, in->c, in->h, in->w, dy->ld, first, dy->type });
		first += in->c;
	}
	return 0;
}

/* From [n, c h w] to [n, h, w, c]. */
static int
plan_permute_back(struct engine_plan *p, uint32_t i, struct exec_view dy)
{
	struct exec_view dx;
	int e;

	if ((e = exec_plan_make_dense(p, i, dy.type, &dy)) < 0 || (e = add_input_gradient(p, i, &dx)) < 0)
		return e;
	exec_plan_permute(p, i, &dy, &dx);
	push_gradient(p, exec_node_at(p, i)->in[0], &dx);
	return 0;
}

static int
plan_flatten_back(struct engine_plan *p, uint32_t i, const struct exec_view *dy)
{
	uint32_t in = exec_node_at(p, i)->in[0];

	if (p->node[i].y.buf != p->node[in].y.buf)
		return p->node[in].wants ? plan_permute_back(p, i, *dy) : 0;
	push_gradient(p, in, dy);
	return 0;
}

static int
plan_loss_back(struct engine_plan *p, uint32_t i)
{
	uint32_t in = exec_node_at(p, i)->in[0];
	const struct exec_view *x = &p->node[in].y;
	struct exec_view dx = { .c = p->graph->classes, .h = 1, .w = 1, .type = x->type };
	int e;

	if ((e = exec_plan_add_buffer(p, dx, &dx)) < 0)
		return e;
	exec_plan_add_step(p, EXEC_LOSS_BACK, i)->dx = dx;
	if (!p->node[in].wants)
		return 0;
	if (x->h * x->w > 1)
		return plan_permute_back(p, i, dx);
	push_gradient(p, in, &dx);
	return 0;
}

static int
plan_backward_node(struct engine_plan *p, uint32_t i)
{
	const uint32_t out = get_output_node(p, i);
	/* The backward step of batch norm contains that of its ReLU. */
	const bool masks = out != i && exec_node_at(p, i)->op != GRAPH_BN;
	struct exec_view dy;
	int e;

	if (exec_node_at(p, i)->op == GRAPH_SOFTMAX)
		return plan_loss_back(p, i);
	if ((e = gather_gradient(p, out, masks ? &p->node[out].y : NULL, &dy)) < 0)
		return e;
	switch (exec_node_at(p, i)->op) {
	case GRAPH_CONV:
	case GRAPH_FC:
		return plan_product_back(p, i, dy);
	case GRAPH_BN:
		return plan_unary_back(p, i, EXEC_BN_BACK, &dy);
	case GRAPH_ACT:
		return plan_unary_back(p, i, EXEC_ACT_BACK, &dy);
	case GRAPH_POOL:
		return plan_unary_back(p, i, EXEC_POOL_BACK, &dy);
	case GRAPH_PAD:
		return plan_unary_back(p, i, EXEC_PAD_BACK, &dy);
	case GRAPH_LRN:
		return plan_unary_back(p, i, EXEC_LRN_BACK, &dy);
	case GRAPH_DROPOUT:
		return plan_unary_back(p, i, EXEC_DROPOUT, &dy);
	case GRAPH_CONCAT:
		return plan_concat_back(p, i, &dy);
	case GRAPH_FLATTEN:
		return plan_flatten_back(p, i, &dy);
	case GRAPH_ADD:
		return plan_sum_back(p, i, &dy);
	default:
		assert(exec_node_at(p, i)->op == GRAPH_MUL);
		for (uint32_t k = 0; k < exec_node_at(p, i)->nin && e == 0; k++)
			e = plan_multiply_back(p, i, k, &dy);
		return e;
	}
}

/* The number of gradients that are final after node i. */
static size_t
count_gradients(const struct graph *g, uint32_t i)
{
	size_t n = 0;

	for (uint32_t end, a = graph_learned(&g->node[i], &end); a < end; a++)
		n += g->w[a].count;
	return n;
}

/* Cuts the backward steps between layers, into slices of about as many gradients. */
static void
cut_slices(struct engine_plan *p)
{
	size_t each = p->graph->P / EXEC_SLICES + 1, count = 0;

	p->slice[0] = p->nforward;
	for (uint32_t s = p->nforward; s < p->nstep; s++) {
		uint32_t i = p->step[s].node;

		if (s + 1 < p->nstep && p->step[s + 1].node == i)
			continue;
		count += count_gradients(p->graph, i);
		if (count >= each && p->nslice + 1 < EXEC_SLICES && s + 1 < p->nstep) {
			p->slice[++p->nslice] = s + 1;
			count = 0;
		}
	}
	p->slice[++p->nslice] = p->nstep;
}

int
exec_plan_make_back(struct engine_plan *p)
{
	int e = 0;

	for (uint32_t i = p->graph->n - 1; i > 0 && e == 0; i--)
		if (p->node[i].wants && !p->node[i].fused && (e = plan_backward_node(p, i)) < 0)
			p->dev->host->within("%s", exec_node_at(p, i)->name);
	if (e == 0)
		cut_slices(p);
	return e;
}
