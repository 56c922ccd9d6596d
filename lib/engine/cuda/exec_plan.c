/* exec_plan - the steps of a forward pass: their buffers, windows of buffers, and which layers share a step. */
#include "engine/cuda/exec_plan.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* Kernels and libraries index the values of an array with 32 bits, some of them signed. */
#define LIMIT	((uint64_t)1 << 31)

struct exec_step *
exec_plan_add_step(struct engine_plan *p, enum exec_kind kind, uint32_t node)
{
	struct exec_step *s = &p->step[p->nstep++];

	assert(p->nstep <= p->most_steps);
	memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->node = node;
	s->keep = s->folded_into = EXEC_NONE;
	return s;
}

static uint32_t
new_buf(struct engine_plan *p, size_t bytes)
{
	assert(p->nbuf < p->most_bufs);
	p->buf[p->nbuf] = (struct memplan_buf){ .bytes = bytes, .first = EXEC_NONE };
	return p->nbuf++;
}

int
exec_plan_add_buffer(struct engine_plan *p, struct exec_view like, struct exec_view *v)
{
	uint64_t values = (uint64_t)like.c * like.h * like.w * p->batch;

	if (values >= LIMIT) {
		p->dev->host->note(0, "its output for a batch of %u has 2^31 values or more", p->batch);
		return ERR_LIMIT;
	}
	*v = like;
	v->buf = new_buf(p, values * kernel_size(like.type));
	v->ld = like.c;
	v->first = 0;
	return 0;
}

int
exec_plan_make_dense(struct engine_plan *p, uint32_t node, int type, struct exec_view *v)
{
	struct exec_view to = *v;
	struct exec_step *s;
	int e;

	if (exec_view_is_dense(v) && v->type == type)
		return 0;
	to.type = type;
	if ((e = exec_plan_add_buffer(p, to, &to)) < 0)
		return e;
	s = exec_plan_add_step(p, EXEC_ADD, node);
	s->part[s->parts++] = *v;
	s->y = to;
	*v = to;
	return 0;
}

void
exec_plan_permute(struct engine_plan *p, uint32_t node, const struct exec_view *x, const struct exec_view *y)
{
	struct exec_step *s = exec_plan_add_step(p, EXEC_PERMUTE, node);

	s->x = *x;
	s->y = *y;
}

/* The only layer that reads node i, or EXEC_NONE if there are several. */
static uint32_t
find_sole_reader(const struct engine_plan *p, uint32_t i)
{
	return p->node[i].readers == 1 ? p->node[i].reader : EXEC_NONE;
}

/* A view of node i's output, without a buffer. */
static struct exec_view
get_output_view(const struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = exec_node_at(p, i);

	return (struct exec_view){ .c = l->c, .h = l->h, .w = l->w, .type = p->node[i].score ? KERNEL_F32 : p->type };
}

/* Places node i's output: in a window of a concatenation that alone reads it, else in a buffer of its own. */
static int
place_output(struct engine_plan *p, uint32_t i, struct exec_view *v)
{
	const struct graph_node *l = exec_node_at(p, i);
	uint32_t r = find_sole_reader(p, i), before = 0;
	int e;

	if (p->node[i].y.c == 0 && r != EXEC_NONE && exec_node_at(p, r)->op == GRAPH_CONCAT) {
		if ((e = place_output(p, r, v)) < 0)
			return e;
		for (uint32_t k = 0; exec_node_at(p, r)->in[k] != i; k++)
			before += exec_node_at(p, exec_node_at(p, r)->in[k])->c;
		p->node[i].y = (struct exec_view){ v->buf, l->c, l->h, l->w, v->ld, v->first + before, v->type };
	} else if (p->node[i].y.c == 0 && (e = exec_plan_add_buffer(p, get_output_view(p, i), &p->node[i].y)) < 0) {
		return e;
	}
	*v = p->node[i].y;
	return 0;
}

/* Fuses a ReLU that alone reads node i with the step of i.  Returns the ReLU, or i if there is none. */
static uint32_t
fuse_relu(struct engine_plan *p, uint32_t i)
{
	uint32_t r = find_sole_reader(p, i);

	if (r == EXEC_NONE || exec_node_at(p, r)->op != GRAPH_ACT || exec_node_at(p, r)->act != GRAPH_RELU)
		return i;
	p->node[r].fused = true;
	return r;
}

static size_t
count_weight_bytes(const struct engine_plan *p, const struct graph_node *l, int type)
{
	/* The gradient of an fc is f32, whatever the type of its weight. */
	return p->graph->w[l->weight].count * (l->op == GRAPH_FC ? sizeof(float) : kernel_size(type));
}

/*
 * Is a ReLU fused with the step of node i, whose output is that of node `out`: i itself, a sum that it adds to, or the
 * ReLU after either?
 */
static bool
ends_in_relu(const struct engine_plan *p, uint32_t i, uint32_t out)
{
	return out != i && exec_node_at(p, out)->op == GRAPH_ACT;
}

/* A conv or fc into the output of node `out`, plus addend unless NULL. */
static int
plan_product(struct engine_plan *p, uint32_t i, uint32_t out, const struct exec_view *addend)
{
	const struct graph_node *l = exec_node_at(p, i);
	const bool relu = ends_in_relu(p, i, out);
	/* Convolutions write the type of their factors, matrix products also f32. */
	const int type = l->op == GRAPH_CONV && p->node[i].score ? KERNEL_F32 : p->type;
	struct exec_view x = p->node[l->in[0]].y, raw, to;
	bool after = addend != NULL || relu || l->bias_at >= 0, direct;
	struct exec_step *s;
	int e;

	if ((e = exec_plan_make_dense(p, i, type, &x)) < 0 || (e = place_output(p, out, &to)) < 0)
		return e;
	direct = exec_view_is_dense(&to) && (l->op == GRAPH_FC || to.type == type);
	raw = to;
	if (!direct) {
		raw.type = l->op == GRAPH_FC ? to.type : type;
		if ((e = exec_plan_add_buffer(p, raw, &raw)) < 0)
			return e;
	}
	s = exec_plan_add_step(p, EXEC_PRODUCT, i);
	s->x = x;
	s->y = raw;
	p->node[i].state = p->nproducts;
	p->product[p->nproducts++] = (struct exec_product){
		.node = i, .type = type, .x = x, .y = raw, .weight_bytes = count_weight_bytes(p, l, type),
		.learns = exec_learns(p->graph, l->weight), .relu = relu, .bn = EXEC_NONE,
		.addend = addend != NULL ? *addend : (struct exec_view){ 0 },
		.fuses = l->op == GRAPH_CONV && after && direct &&
		    (addend == NULL || (exec_view_is_dense(addend) && addend->type == type)),
	};
	if (!after && direct)
		return 0;
	s = exec_plan_add_step(p, EXEC_BIAS, i);
	s->x = raw;
	s->y = to;
	s->relu = relu;
	if (addend != NULL)
		s->part[s->parts++] = *addend;
	return 0;
}

/* In evaluation a batch norm is part of the convolution before it, if nothing else reads that. */
static void
fold_bn(struct engine_plan *p, struct exec_step *s)
{
	uint32_t in = exec_node_at(p, s->node)->in[0];
	struct exec_product *m;

	if (exec_node_at(p, in)->op != GRAPH_CONV || find_sole_reader(p, in) != s->node)
		return;
	s->folded_into = p->node[in].state;
	m = &p->product[s->folded_into];
	m->bn = (uint32_t)(s - p->step);
	s->fold_input = m->x;
}

/* A layer with one input into the output of node `out`, plus addend unless NULL. */
static int
plan_unary(struct engine_plan *p, uint32_t i, enum exec_kind kind, uint32_t out, const struct exec_view *addend)
{
	struct exec_view to;
	struct exec_step *s;
	int e;

	if ((e = place_output(p, out, &to)) < 0)
		return e;
	s = exec_plan_add_step(p, kind, i);
	s->x = p->node[exec_node_at(p, i)->in[0]].y;
	s->y = to;
	s->relu = ends_in_relu(p, i, out);
	if (addend != NULL)
		s->part[s->parts++] = *addend;
	if (kind == EXEC_BN) {
		s->frozen = exec_bn_is_frozen(p->graph, i);
		fold_bn(p, s);
	}
	if (kind == EXEC_LRN || (kind == EXEC_POOL && exec_node_at(p, i)->pool == GRAPH_MAX))
		s->keep = p->node[i].keep = new_buf(p, (size_t)to.c * to.h * to.w * p->batch * sizeof(uint32_t));
	return 0;
}

/* The sum or product of any number of inputs, KERNEL_PARTS in a step. */
static int
plan_many(struct engine_plan *p, uint32_t i, enum exec_kind kind, uint32_t out)
{
	const struct graph_node *l = exec_node_at(p, i);
	struct exec_step *s = NULL;
	struct exec_view to;
	int e;

	if ((e = place_output(p, out, &to)) < 0)
		return e;
	for (uint32_t k = 0; k < l->nin || s == NULL;) {
		s = exec_plan_add_step(p, kind, i);
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
 * The input of sum i whose step can add the other one, or -1: a batch norm, else a convolution, that
 * only the sum reads.  If both inputs can, the second is taken.
 */
static int
find_added_input(const struct engine_plan *p, uint32_t i)
{
	static const enum graph_op op[] = { GRAPH_BN, GRAPH_CONV };
	const struct graph_node *l = exec_node_at(p, i);

	for (size_t o = 0; o < sizeof(op) / sizeof(*op) && l->op == GRAPH_ADD && l->nin == 2; o++)
		for (int k = 1; k >= 0; k--)
			if (exec_node_at(p, l->in[k])->op == op[o] && find_sole_reader(p, l->in[k]) == i)
				return k;
	return -1;
}

/* Is node i planned with the sum that reads it? */
static bool
is_step_sums(const struct engine_plan *p, uint32_t i)
{
	uint32_t r = find_sole_reader(p, i);
	int k = r != EXEC_NONE ? find_added_input(p, r) : -1;

	return k >= 0 && exec_node_at(p, r)->in[k] == i;
}

static int
plan_sum(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = exec_node_at(p, i);
	uint32_t out = fuse_relu(p, i);
	int k = find_added_input(p, i);

	if (k < 0)
		return plan_many(p, i, EXEC_ADD, out);
	return exec_node_at(p, l->in[k])->op == GRAPH_BN ?
	    plan_unary(p, l->in[k], EXEC_BN, out, &p->node[l->in[!k]].y) :
	    plan_product(p, l->in[k], out, &p->node[l->in[!k]].y);
}

static int
plan_concat(struct engine_plan *p, uint32_t i)
{
	const struct graph_node *l = exec_node_at(p, i);
	struct exec_view all;
	uint32_t first;
	int e;

	if ((e = place_output(p, i, &all)) < 0)
		return e;
	first = all.first;
	for (uint32_t k = 0; k < l->nin; k++) {
		const struct exec_view *x = &p->node[l->in[k]].y;

		if (x->buf != all.buf || x->first != first || x->ld != all.ld) {
			struct exec_step *s = exec_plan_add_step(p, EXEC_ADD, i);

			s->part[s->parts++] = *x;
			s->y = (struct exec_view){ all.buf, x->c, x->h, x->w, all.ld, first, all.type };
		}
		first += x->c;
	}
	return 0;
}

/* Only fc layers read node i; their weights are sorted in the order of their input. */
static bool
order_is_free(const struct engine_plan *p, uint32_t i)
{
	for (uint32_t r = i + 1; r < p->graph->n; r++)
		for (uint32_t k = 0; k < exec_node_at(p, r)->nin; k++)
			if (exec_node_at(p, r)->in[k] == i && exec_node_at(p, r)->op != GRAPH_FC)
				return false;
	return true;
}

static int
plan_flatten(struct engine_plan *p, uint32_t i)
{
	struct exec_view x = p->node[exec_node_at(p, i)->in[0]].y;
	int e;

	if ((x.h == 1 && x.w == 1) || order_is_free(p, i)) {
		p->node[i].y = x;
		return 0;
	}
	if ((e = exec_plan_make_dense(p, i, x.type, &x)) < 0 ||
	    (e = exec_plan_add_buffer(p, get_output_view(p, i), &p->node[i].y)) < 0)
		return e;
	exec_plan_permute(p, i, &x, &p->node[i].y);
	return 0;
}

static int
plan_loss(struct engine_plan *p, uint32_t i)
{
	struct exec_view x = p->node[exec_node_at(p, i)->in[0]].y;
	int e;

	/* The classes of an image with several pixels are numbered in the order c, h, w. */
	if (x.h * x.w > 1) {
		const struct exec_view flat = { .c = x.c * x.h * x.w, .h = 1, .w = 1, .type = x.type };

		if ((e = exec_plan_make_dense(p, i, x.type, &x)) < 0 ||
		    (e = exec_plan_add_buffer(p, flat, &p->node[i].y)) < 0)
			return e;
		exec_plan_permute(p, i, &x, &p->node[i].y);
		x = p->node[i].y;
	}
	exec_plan_add_step(p, EXEC_LOSS, i)->x = x;
	return 0;
}

static int
plan_forward_node(struct engine_plan *p, uint32_t i)
{
	switch (exec_node_at(p, i)->op) {
	case GRAPH_CONV:
	case GRAPH_FC:
		return is_step_sums(p, i) ? 0 : plan_product(p, i, fuse_relu(p, i), NULL);
	case GRAPH_BN:
		p->node[i].state = p->bn_channels;
		p->bn_channels += exec_node_at(p, i)->c;
		return is_step_sums(p, i) ? 0 : plan_unary(p, i, EXEC_BN, fuse_relu(p, i), NULL);
	case GRAPH_ACT:
		return p->node[i].fused ? 0 : plan_unary(p, i, EXEC_ACT, i, NULL);
	case GRAPH_POOL:
		return plan_unary(p, i, EXEC_POOL, i, NULL);
	case GRAPH_CONCAT:
		return plan_concat(p, i);
	case GRAPH_FLATTEN:
		return plan_flatten(p, i);
	case GRAPH_ADD:
		return plan_sum(p, i);
	case GRAPH_MUL:
		return plan_many(p, i, EXEC_MULTIPLY, i);
	case GRAPH_PAD:
		return plan_unary(p, i, EXEC_PAD, i, NULL);
	case GRAPH_LRN:
		return plan_unary(p, i, EXEC_LRN, i, NULL);
	case GRAPH_DROPOUT:
		p->node[i].state = p->ndrop++;
		return plan_unary(p, i, EXEC_DROPOUT, i, NULL);
	case GRAPH_SOFTMAX:
		return plan_loss(p, i);
	default:
		p->dev->host->note(0, "no kernel for layer %s on gpu",
		    p->dev->host->op_name(exec_node_at(p, i)->op));
		return ERR_NOTSUP;
	}
}

/* The type of a step's views. */
static int
find_common_type(const struct exec_step *s)
{
	const struct exec_view *v[] = { &s->x, &s->y, &s->dy, &s->dx, &s->passed,
		&s->part[0], &s->part[1], &s->part[2], &s->part[3] };
	int type = KERNEL_TYPES;

	_Static_assert(KERNEL_PARTS == 4, "all parts are listed");
	for (size_t k = 0; k < sizeof(v) / sizeof(*v); k++)
		if (v[k]->c > 0)
			type = type == KERNEL_TYPES || type == v[k]->type ? v[k]->type : KERNEL_MIXED;
	return type;
}

static int
alloc_plan_arrays(struct engine_plan *p)
{
	uint32_t ins = 0;

	for (uint32_t i = 0; i < p->graph->n; i++)
		ins += exec_node_at(p, i)->nin;
	/*
	 * A node has a few steps in each direction, and a few more for each input.  A step makes at most two
	 * buffers.
	 */
	p->most_steps = 8 * p->graph->n + 8 * ins;
	/* The gradient of each input of an elementwise product reads all the others. */
	for (uint32_t i = 0; i < p->graph->n; i++)
		if (exec_node_at(p, i)->op == GRAPH_MUL)
			p->most_steps += exec_node_at(p, i)->nin * exec_node_at(p, i)->nin;
	p->most_bufs = 2 * p->most_steps;
	p->product = calloc(p->graph->n, sizeof(*p->product));
	p->step = calloc(p->most_steps, sizeof(*p->step));
	p->buf = calloc(p->most_bufs, sizeof(*p->buf));
	if (p->product == NULL || p->step == NULL || p->buf == NULL)
		return device_nomem(p->dev->host);
	return exec_node_make(p);
}

int
exec_plan_make(struct engine_plan *p)
{
	struct exec_view data;
	int e = alloc_plan_arrays(p);

	if (e < 0)
		return e;
	if (p->graph->P >= LIMIT || (uint64_t)p->batch * p->graph->classes >= LIMIT) {
		p->dev->host->note(0, "the net has 2^31 weights or scores, or more");
		return ERR_LIMIT;
	}
	if ((e = place_output(p, 0, &data)) < 0) {
		p->dev->host->within("%s", exec_node_at(p, 0)->name);
		return e;
	}
	exec_plan_add_step(p, EXEC_INPUT, 0)->y = data;
	for (uint32_t i = 1; i < p->graph->n && e == 0; i++)
		if ((e = plan_forward_node(p, i)) < 0)
			p->dev->host->within("%s", exec_node_at(p, i)->name);
	p->nforward = p->nstep;
	if (e == 0)
		e = exec_plan_make_back(p);
	for (uint32_t i = 0; i < p->nstep; i++)
		p->step[i].type = find_common_type(&p->step[i]);
	return e;
}

void
exec_plan_clear(struct engine_plan *p)
{
	exec_node_clear(p);
	free(p->product);
	free(p->step);
	free(p->buf);
}
