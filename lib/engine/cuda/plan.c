/* plan - a graph into the steps of a pass forward: buffers, windows of them, and what is one step with what. */
#include "engine/cuda/plan.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define MOST	((uint64_t)1 << 31)	/* numbers of a batch's output: what a kernel's index counts */

int
plan_nomem(const struct engine_plan *p)
{
	p->dev->host->note(0, "out of memory");
	return ERR_NOMEM;
}

struct plan_step *
plan_add(struct engine_plan *p, enum plan_kind kind, uint32_t node)
{
	struct plan_step *s = &p->step[p->nstep++];

	assert(p->nstep <= p->most_steps);
	memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->node = node;
	s->keep = s->folds = PLAN_NONE;
	return s;
}

static uint32_t
new_buf(struct engine_plan *p, size_t bytes)
{
	assert(p->nbuf < p->most_bufs);
	p->buf[p->nbuf] = (struct memplan_buf){ .bytes = bytes, .first = PLAN_NONE };
	return p->nbuf++;
}

int
plan_buffer(struct engine_plan *p, uint32_t c, uint32_t h, uint32_t w, struct plan_view *v)
{
	uint64_t numbers = (uint64_t)c * h * w * p->batch;

	if (numbers > MOST) {
		p->dev->host->note(0, "a batch of its output is more than 2 G numbers");
		return ERR_LIMIT;
	}
	*v = (struct plan_view){ .buf = new_buf(p, numbers * kernel_size(p->type)), .c = c, .h = h, .w = w, .ld = c };
	return 0;
}

int
plan_make_dense(struct engine_plan *p, uint32_t node, struct plan_view *v)
{
	struct plan_view to;
	struct plan_step *s;
	int e;

	if (plan_dense(v))
		return 0;
	if ((e = plan_buffer(p, v->c, v->h, v->w, &to)) < 0)
		return e;
	s = plan_add(p, PLAN_COPY, node);
	s->x = *v;
	s->y = to;
	*v = to;
	return 0;
}

static const struct graph_node *
plan_node_at(const struct engine_plan *p, uint32_t i)
{
	return &p->graph->node[i];
}

/* The only layer that reads node i, or PLAN_NONE. */
static uint32_t
sole_reader(const struct engine_plan *p, uint32_t i)
{
	return p->node[i].readers == 1 ? p->node[i].reader : PLAN_NONE;
}

/* Where node i's output goes: a window of the concatenation that alone reads it, else a buffer of its own. */
static int
place_output(struct engine_plan *p, uint32_t i, struct plan_view *v)
{
	const struct graph_node *l = plan_node_at(p, i);
	uint32_t r = sole_reader(p, i), before = 0;
	int e;

	if (p->node[i].y.c == 0 && r != PLAN_NONE && plan_node_at(p, r)->op == GRAPH_CONCAT) {
		if ((e = place_output(p, r, v)) < 0)
			return e;
		for (uint32_t k = 0; plan_node_at(p, r)->in[k] != i; k++)
			before += plan_node_at(p, plan_node_at(p, r)->in[k])->c;
		p->node[i].y = (struct plan_view){ v->buf, l->c, l->h, l->w, v->ld, v->first + before };
	} else if (p->node[i].y.c == 0 && (e = plan_buffer(p, l->c, l->h, l->w, &p->node[i].y)) < 0) {
		return e;
	}
	*v = p->node[i].y;
	return 0;
}

/* The ReLU that alone reads node i, where the step of i can do its work; else i. */
static uint32_t
with_relu(struct engine_plan *p, uint32_t i)
{
	uint32_t r = sole_reader(p, i);

	if (r == PLAN_NONE || plan_node_at(p, r)->op != GRAPH_ACT || plan_node_at(p, r)->act != GRAPH_RELU)
		return i;
	p->node[r].fused = true;
	return r;
}

static size_t
weight_bytes(const struct engine_plan *p, const struct graph_node *l)
{
	/* An fc's gradient comes in f32 whatever its weight is. */
	return p->graph->w[l->weight].count * (l->op == GRAPH_FC ? sizeof(float) : kernel_size(p->type));
}

/* A conv or fc up to the output of node `out`, on the way to which more is added, or nothing (NULL), and ReLU taken. */
static int
plan_mul_layer(struct engine_plan *p, uint32_t i, uint32_t out, const struct plan_view *more, bool relu)
{
	const struct graph_node *l = plan_node_at(p, i);
	struct plan_view x = p->node[l->in[0]].y, raw, to;
	bool after = more != NULL || relu || l->bias_at >= 0;
	struct plan_step *s;
	int e;

	if ((e = plan_make_dense(p, i, &x)) < 0 || (e = place_output(p, out, &to)) < 0)
		return e;
	raw = to;
	if (!plan_dense(&to) && (e = plan_buffer(p, l->c, l->h, l->w, &raw)) < 0)
		return e;
	s = plan_add(p, PLAN_MUL, i);
	s->x = x;
	s->y = raw;
	p->node[i].state = p->nmul;
	p->mul[p->nmul++] = (struct plan_mul){ .node = i, .x = x, .y = raw, .weight_bytes = weight_bytes(p, l),
		.learns = plan_learns(p->graph, l->weight), .relu = relu, .bn = PLAN_NONE,
		.more = more != NULL ? *more : (struct plan_view){ 0 },
		.fuses = l->op == GRAPH_CONV && after && plan_dense(&to) && (more == NULL || plan_dense(more)) };
	if (!after && plan_dense(&to))
		return 0;
	s = plan_add(p, PLAN_BIAS, i);
	s->x = raw;
	s->y = to;
	s->relu = relu;
	if (more != NULL)
		s->part[s->parts++] = *more;
	return 0;
}

/* A batch norm's step may be the convolution's before it, in evaluation, where nobody else reads that. */
static void
fold_bn(struct engine_plan *p, struct plan_step *s)
{
	uint32_t in = plan_node_at(p, s->node)->in[0];
	struct plan_mul *m;

	if (plan_node_at(p, in)->op != GRAPH_CONV || sole_reader(p, in) != s->node)
		return;
	s->folds = p->node[in].state;
	m = &p->mul[s->folds];
	m->bn = (uint32_t)(s - p->step);
	s->before = m->x;
}

/* A step of one input and one output; also where ReLU may be part of it. */
static int
plan_unary(struct engine_plan *p, uint32_t i, enum plan_kind kind, uint32_t out)
{
	struct plan_view to;
	struct plan_step *s;
	int e;

	if ((e = place_output(p, out, &to)) < 0)
		return e;
	s = plan_add(p, kind, i);
	s->x = p->node[plan_node_at(p, i)->in[0]].y;
	s->y = to;
	s->relu = out != i;
	if (kind == PLAN_BN) {
		s->constant = plan_frozen(p->graph, i);
		fold_bn(p, s);
	}
	if (kind == PLAN_LRN || (kind == PLAN_POOL && plan_node_at(p, i)->pool == GRAPH_MAX))
		s->keep = p->node[i].keep = new_buf(p, (size_t)to.c * to.h * to.w * p->batch * sizeof(uint32_t));
	return 0;
}

/* The sum or product of any number of inputs, KERNEL_PARTS at a time. */
static int
plan_many(struct engine_plan *p, uint32_t i, enum plan_kind kind, uint32_t out)
{
	const struct graph_node *l = plan_node_at(p, i);
	struct plan_step *s = NULL;
	struct plan_view to;
	int e;

	if ((e = place_output(p, out, &to)) < 0)
		return e;
	for (uint32_t k = 0; k < l->nin || s == NULL;) {
		s = plan_add(p, kind, i);
		if (k > 0)
			s->part[s->parts++] = to;
		while (k < l->nin && s->parts < KERNEL_PARTS)
			s->part[s->parts++] = p->node[l->in[k++]].y;
		s->y = to;
	}
	s->relu = out != i;
	return 0;
}

/*
 * Which input of sum i, of two, is a layer whose step adds the other: a batch norm or else a convolution that nobody
 * else reads, of two of them the second; else -1.
 */
static int
find_added_input(const struct engine_plan *p, uint32_t i)
{
	static const enum graph_op op[] = { GRAPH_BN, GRAPH_CONV };
	const struct graph_node *l = plan_node_at(p, i);

	for (size_t o = 0; o < sizeof(op) / sizeof(*op) && l->op == GRAPH_ADD && l->nin == 2; o++)
		for (int k = 1; k >= 0; k--)
			if (plan_node_at(p, l->in[k])->op == op[o] && sole_reader(p, l->in[k]) == i)
				return k;
	return -1;
}

/* Is node i such a layer, and its step the sum's? */
static bool
step_is_sums(const struct engine_plan *p, uint32_t i)
{
	uint32_t r = sole_reader(p, i);
	int k = r != PLAN_NONE ? find_added_input(p, r) : -1;

	return k >= 0 && plan_node_at(p, r)->in[k] == i;
}

/* A sum whose input k is a batch norm: its numbers are read once and written nowhere but as the sum. */
static int
bn_add(struct engine_plan *p, uint32_t i, int k, uint32_t out)
{
	uint32_t bn = plan_node_at(p, i)->in[k];
	struct plan_view to;
	struct plan_step *s;
	int e;

	if ((e = place_output(p, out, &to)) < 0)
		return e;
	s = plan_add(p, PLAN_BN, bn);
	s->x = p->node[plan_node_at(p, bn)->in[0]].y;
	s->y = to;
	s->part[s->parts++] = p->node[plan_node_at(p, i)->in[!k]].y;
	s->relu = out != i;
	s->constant = plan_frozen(p->graph, bn);
	fold_bn(p, s);
	return 0;
}

static int
plan_sum(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = plan_node_at(p, i);
	uint32_t out = with_relu(p, i);
	int k = find_added_input(p, i);

	if (k < 0)
		return plan_many(p, i, PLAN_ADD, out);
	return plan_node_at(p, l->in[k])->op == GRAPH_BN ? bn_add(p, i, k, out) :
	    plan_mul_layer(p, l->in[k], out, &p->node[l->in[!k]].y, out != i);
}

static int
plan_concat(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = plan_node_at(p, i);
	struct plan_view all;
	uint32_t first;
	int e;

	if ((e = place_output(p, i, &all)) < 0)
		return e;
	first = all.first;
	for (uint32_t k = 0; k < l->nin; k++) {
		const struct plan_view *x = &p->node[l->in[k]].y;

		if (x->buf != all.buf || x->first != first || x->ld != all.ld) {
			struct plan_step *s = plan_add(p, PLAN_COPY, i);

			s->x = *x;
			s->y = (struct plan_view){ all.buf, x->c, x->h, x->w, all.ld, first };
		}
		first += x->c;
	}
	return 0;
}

/* Pixels have one order where there is one, and a full layer sorts its weights by its input's. */
static bool
order_is_free(const struct engine_plan *p, uint32_t i)
{
	for (uint32_t r = i + 1; r < p->graph->n; r++)
		for (uint32_t k = 0; k < plan_node_at(p, r)->nin; k++)
			if (plan_node_at(p, r)->in[k] == i && plan_node_at(p, r)->op != GRAPH_FC)
				return false;
	return true;
}

static int
plan_flatten(struct engine_plan *p, uint32_t i)
{
	struct plan_view x = p->node[plan_node_at(p, i)->in[0]].y, to;
	struct plan_step *s;
	int e;

	if ((x.h == 1 && x.w == 1) || order_is_free(p, i)) {
		p->node[i].y = x;
		return 0;
	}
	/* One pixel of all numbers is dense whatever stands beside it, but for the kernel that turns. */
	if ((e = plan_make_dense(p, i, &x)) < 0 || (e = plan_buffer(p, x.c * x.h * x.w, 1, 1, &to)) < 0)
		return e;
	s = plan_add(p, PLAN_TURN, i);
	s->x = x;
	s->y = p->node[i].y = to;
	return 0;
}

static int
plan_loss(struct engine_plan *p, uint32_t i)
{
	struct plan_view x = p->node[plan_node_at(p, i)->in[0]].y;
	struct plan_step *s;
	int e;

	/* Scores of more than one pixel count in the order of c, h, w. */
	if (x.h * x.w > 1) {
		if ((e = plan_make_dense(p, i, &x)) < 0 || (e = plan_buffer(p, x.c * x.h * x.w, 1, 1, &p->node[i].y)) <
		    0)
			return e;
		s = plan_add(p, PLAN_TURN, i);
		s->x = x;
		x = s->y = p->node[i].y;
	}
	s = plan_add(p, PLAN_LOSS, i);
	s->x = x;
	return 0;
}

static int
plan_forward_node(struct engine_plan *p, uint32_t i)
{
	uint32_t out;

	switch (plan_node_at(p, i)->op) {
	case GRAPH_CONV:
	case GRAPH_FC:
		if (step_is_sums(p, i))
			return 0;
		out = with_relu(p, i);
		return plan_mul_layer(p, i, out, NULL, out != i);
	case GRAPH_BN:
		p->node[i].state = p->lanes;
		p->lanes += plan_node_at(p, i)->c;
		return step_is_sums(p, i) ? 0 : plan_unary(p, i, PLAN_BN, with_relu(p, i));
	case GRAPH_ACT:
		return p->node[i].fused ? 0 : plan_unary(p, i, PLAN_ACT, i);
	case GRAPH_POOL:
		return plan_unary(p, i, PLAN_POOL, i);
	case GRAPH_CONCAT:
		return plan_concat(p, i);
	case GRAPH_FLATTEN:
		return plan_flatten(p, i);
	case GRAPH_ADD:
		return plan_sum(p, i);
	case GRAPH_MUL:
		return plan_many(p, i, PLAN_TIMES, i);
	case GRAPH_PAD:
		return plan_unary(p, i, PLAN_PAD, i);
	case GRAPH_LRN:
		return plan_unary(p, i, PLAN_LRN, i);
	case GRAPH_DROPOUT:
		p->node[i].state = p->ndrop++;
		return plan_unary(p, i, PLAN_DROP, i);
	case GRAPH_SOFTMAX:
		return plan_loss(p, i);
	default:
		p->dev->host->note(0, "no kernel for layer %s on gpu", p->dev->host->op_name(plan_node_at(p, i)->op));
		return ERR_NOTSUP;
	}
}

/* Who reads whom, and what a gradient must reach. */
static int
read_graph(struct engine_plan *p)
{
	for (uint32_t i = 0; i < p->graph->n; i++) {
		const struct graph_node *l = plan_node_at(p, i);

		p->node[i].wants = plan_learns(p->graph, l->weight) || plan_learns(p->graph, l->bias_at) ||
		    plan_learns(p->graph, l->gamma) || plan_learns(p->graph, l->beta);
		p->node[i].keep = PLAN_NONE;
		for (uint32_t k = 0; k < l->nin; k++) {
			p->node[l->in[k]].readers++;
			p->node[l->in[k]].reader = i;
			p->node[i].wants |= p->node[l->in[k]].wants;
		}
	}
	for (uint32_t i = 0; i < p->graph->n; i++)
		if ((p->node[i].part = calloc(p->node[i].readers + 1, sizeof(*p->node[i].part))) == NULL)
			return plan_nomem(p);
	return 0;
}

static int
take_plan_arrays(struct engine_plan *p)
{
	uint32_t ins = 0;

	for (uint32_t i = 0; i < p->graph->n; i++)
		ins += plan_node_at(p, i)->nin;
	/* A node has a few steps each way, and a few more for each input; no step makes more than two buffers. */
	p->most_steps = 8 * p->graph->n + 8 * ins;
	for (uint32_t i = 0; i < p->graph->n; i++)	/* a product's gradient reads all other inputs for each */
		if (plan_node_at(p, i)->op == GRAPH_MUL)
			p->most_steps += plan_node_at(p, i)->nin * plan_node_at(p, i)->nin;
	p->most_bufs = 2 * p->most_steps;
	p->node = calloc(p->graph->n, sizeof(*p->node));
	p->mul = calloc(p->graph->n, sizeof(*p->mul));
	p->step = calloc(p->most_steps, sizeof(*p->step));
	p->buf = calloc(p->most_bufs, sizeof(*p->buf));
	return p->node != NULL && p->mul != NULL && p->step != NULL && p->buf != NULL ? read_graph(p) : plan_nomem(p);
}

int
plan_make(struct engine_plan *p)
{
	struct plan_view data;
	int e = take_plan_arrays(p);

	if (e < 0 || (e = place_output(p, 0, &data)) < 0)
		return e;
	plan_add(p, PLAN_INPUT, 0)->y = data;
	for (uint32_t i = 1; i < p->graph->n && e == 0; i++)
		if ((e = plan_forward_node(p, i)) < 0)
			p->dev->host->within("%s", plan_node_at(p, i)->name);
	p->nforward = p->nstep;
	return e < 0 ? e : plan_back(p);
}

void
plan_clear(struct engine_plan *p)
{
	for (uint32_t i = 0; p->node != NULL && i < p->graph->n; i++)
		free(p->node[i].part);
	free(p->node);
	free(p->mul);
	free(p->step);
	free(p->buf);
}
