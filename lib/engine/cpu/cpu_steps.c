/*
 * cpu_steps - makes the steps of a layer's forward and backward pass.
 *
 * In the backward pass a layer finds its gradient in parts, which are views that its readers wrote, and passes a part
 * to each layer that it reads.  Only parts marked as shared have more than one reader, so a layer may overwrite any
 * other.
 */
#include "engine/cpu/cpu_plan.h"

#include "net/freeze.h"

#include <string.h>

static const struct cpu_view *
get_input_view(const struct cpu_planner *pl, uint32_t i)
{
	return &pl->note[pl->g->node[i].in[0]].view;
}

static void
add_copy(struct cpu_planner *pl, uint32_t i, struct cpu_view x, uint32_t x_first, struct cpu_view y, uint32_t y_first,
    uint32_t count)
{
	cpu_plan_step(pl, (struct cpu_step) { .kind = CPU_COPY, .node = i, .x = x, .x_first = x_first, .y = y,
	    .y_first = y_first, .count = count });
}

/* v in the layout of block, without a stride: the same elements, or a copy. */
static struct cpu_view
convert_dense(struct cpu_planner *pl, uint32_t i, struct cpu_view v, uint32_t block, bool bf16)
{
	struct cpu_view y;

	if (cpu_plan_has_layout(&v, block, bf16) && cpu_is_dense(&v))
		return cpu_plan_reshape(v, v.c, v.h, v.w, block);
	y = cpu_plan_view(pl, v.c, v.h, v.w, block, bf16);
	add_copy(pl, i, v, 0, y, 0, v.c);
	return y;
}

/* v in the layout of block, with any stride. */
static struct cpu_view
convert_layout(struct cpu_planner *pl, uint32_t i, struct cpu_view v, uint32_t block)
{
	return cpu_plan_has_layout(&v, block, v.bf16) ? cpu_plan_reshape(v, v.c, v.h, v.w, block) :
	    convert_dense(pl, i, v, block, v.bf16);
}

/* Plain [C] of one pixel as blocks of 16 channels, with which batch norm is faster. */
static struct cpu_view
group_lanes(struct cpu_view v)
{
	return v.block == 1 && cpu_plan_has_layout(&v, 16, v.bf16) ? cpu_plan_reshape(v, v.c, v.h, v.w, 16) : v;
}

/* ------ forward ------ */

/* Evaluation folds a batch norm without gelu into the convolution before it, if that can write its output. */
static void
plan_fold(struct cpu_planner *pl, uint32_t i, struct cpu_conv_layer *m)
{
	const uint32_t reader = pl->note[i].reader;
	const struct cpu_view *y = &pl->note[reader].view;

	if (pl->note[i].readers != 1 || pl->g->node[reader].op != GRAPH_BN ||
	    !cpu_conv_scales(&m->shape, !cpu_is_dense(y)) || y->pitch != m->y.pitch || y->block != m->y.block ||
	    y->bf16 != m->y.bf16 || cpu_plan_act(pl, reader) == BN_GELU)
		return;
	m->bn = (int32_t)pl->p->state[reader];
	m->bn_y = *y;
	m->bn_relu = cpu_plan_act(pl, reader) == BN_RELU;
	pl->p->bn[m->bn].conv = (int32_t)pl->p->state[i];
}

static void
plan_conv(struct cpu_planner *pl, uint32_t i)
{
	struct engine_plan *p = pl->p;
	struct cpu_conv_layer *m = &p->conv[p->state[i]];
	const struct graph_node *sum = &pl->g->node[pl->note[i].reader];

	m->x =
	    convert_dense(pl, i, *get_input_view(pl, i), cpu_conv_needs(p->set[0].conv[p->state[i]])->x_block, p->bf16);
	m->y = pl->note[m->shape.pooled ? pl->note[i].reader : i].view;
	m->pool = m->shape.pooled ? (int32_t)p->state[pl->note[i].reader] : -1;
	if (m->shape.plus)
		m->plus = pl->note[sum->in[sum->in[0] == i]].view;
	else
		plan_fold(pl, i, m);
	cpu_plan_step(pl, (struct cpu_step) { .kind = CPU_CONV, .node = i, .state = p->state[i], .x = m->x,
	    .y = m->y, .plus = m->plus });
}

static void
plan_concat(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	uint32_t first = 0;

	for (uint32_t k = 0; k < l->nin; k++) {
		const struct cpu_note *in = &pl->note[l->in[k]];

		if (in->concat != i || in->first != first)
			add_copy(pl, i, in->view, 0, pl->note[i].view, first, in->view.c);
		first += in->view.c;
	}
}

/* Adds or multiplies two inputs, then the result and each further input. */
static void
plan_sum(struct cpu_planner *pl, uint32_t i, enum cpu_kind kind)
{
	const struct graph_node *l = &pl->g->node[i];
	struct cpu_step s = { .kind = kind, .node = i, .y = pl->note[i].view, .ndy = 1 };
	const enum bn_act act = cpu_plan_act(pl, i);

	if (pl->note[i].summed_by > 0)
		return;
	s.dy[0] = convert_layout(pl, i, pl->note[l->in[0]].view, s.y.block);
	s.act = l->nin == 1 ? act : BN_PLAIN;
	if (l->nin == 1)
		cpu_plan_step(pl, s);
	s.ndy = 2;
	for (uint32_t k = 1; k < l->nin; k++) {
		s.dy[1] = convert_layout(pl, i, pl->note[l->in[k]].view, s.y.block);
		s.act = k + 1 == l->nin ? act : BN_PLAIN;
		cpu_plan_step(pl, s);
		s.dy[0] = s.y;
	}
}

void
cpu_steps_forward(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	struct cpu_view x = *get_input_view(pl, i), y = pl->note[i].view;
	struct cpu_step s = { .node = i, .state = pl->p->state[i], .x = x, .y = y };

	if (pl->note[i].absorbed || pl->note[i].delayed || pl->note[i].pooled)
		return;
	switch (l->op) {
	case GRAPH_CONV:
	case GRAPH_FC:
		plan_conv(pl, i);
		return;
	case GRAPH_BN:
		s.kind = CPU_BN;
		s.frozen = freeze_node(pl->g, i);
		s.act = cpu_plan_act(pl, i);
		s.x = group_lanes(x);
		s.y = group_lanes(y);
		break;
	case GRAPH_ACT:
		s.kind = CPU_ACT;
		break;
	case GRAPH_POOL:
		s.kind = CPU_POOL;
		cpu_plan_step(pl, s);
		if (!pl->note[l->in[0]].delayed)
			return;
		s.kind = CPU_ACT;
		s.node = l->in[0];
		s.x = y;
		break;
	case GRAPH_CONCAT:
		plan_concat(pl, i);
		return;
	case GRAPH_FLATTEN:
		if (!cpu_plan_has_layout(&x, 1, x.bf16))
			add_copy(pl, i, x, 0, cpu_plan_reshape(y, x.c, x.h, x.w, 1), 0, x.c);
		return;
	case GRAPH_ADD:
	case GRAPH_MUL:
		plan_sum(pl, i, l->op == GRAPH_ADD ? CPU_SUM : CPU_PRODUCT);
		return;
	case GRAPH_PAD:
		s.kind = CPU_PAD;
		break;
	case GRAPH_LRN:
		s.kind = CPU_LRN;
		break;
	case GRAPH_DROPOUT:
		s.kind = CPU_DROP;
		break;
	default:
		s.kind = CPU_LOSS;
		s.x = convert_dense(pl, i, x, 1, false);
	}
	cpu_plan_step(pl, s);
}

/* ------ backward ------ */

/* Adds a part to the gradient of layer i, in the layout of its output. */
static void
pass_gradient(struct cpu_planner *pl, uint32_t i, struct cpu_view part)
{
	struct cpu_note *note = &pl->note[i];
	const struct cpu_view *v = &note->view;
	struct cpu_step sum = { .kind = CPU_SUM, .node = i, .ndy = 2 };

	part = cpu_plan_has_layout(&part, v->block, v->bf16) ? cpu_plan_reshape(part, v->c, v->h, v->w, v->block) :
	    convert_dense(pl, i, part, v->block, v->bf16);
	if (note->parts < CPU_PARTS) {
		note->part[note->parts++] = part;
		return;
	}
	sum.dy[0] = note->part[0].shared ? part : note->part[0];
	sum.dy[1] = note->part[0].shared ? note->part[0] : part;
	sum.y = sum.dy[0].shared ? cpu_plan_like(pl, v) : sum.dy[0];
	cpu_plan_step(pl, sum);
	note->part[0] = sum.y;
}

/* Makes the gradient of layer i the input of s. */
static void
read_gradient(const struct cpu_planner *pl, uint32_t i, struct cpu_step *s)
{
	s->ndy = pl->note[i].parts;
	for (uint32_t k = 0; k < s->ndy; k++)
		s->dy[k] = pl->note[i].part[k];
}

/* Makes a view for a part of the gradient of the layer that i reads. */
static struct cpu_view
new_gradient_part(struct cpu_planner *pl, uint32_t i)
{
	return cpu_plan_like(pl, get_input_view(pl, i));
}

/* May a layer overwrite this part of its gradient? */
static bool
may_overwrite_part(const struct cpu_view *part)
{
	return cpu_is_dense(part) && !part->shared;
}

/* The gradient of layer i as one part. */
static struct cpu_view
join_gradient(struct cpu_planner *pl, uint32_t i)
{
	const struct cpu_note *note = &pl->note[i];
	const struct cpu_view *v = &note->view;
	struct cpu_step sum = { .kind = CPU_SUM, .node = i };

	if (note->parts == 1)
		return note->part[0];
	read_gradient(pl, i, &sum);
	if (!may_overwrite_part(&sum.dy[0]) && may_overwrite_part(&sum.dy[1])) {
		sum.dy[0] = note->part[1];
		sum.dy[1] = note->part[0];
	}
	sum.y = may_overwrite_part(&sum.dy[0]) ? sum.dy[0] : cpu_plan_like(pl, v);
	cpu_plan_step(pl, sum);
	return sum.y;
}

static void
plan_conv_back(struct cpu_planner *pl, uint32_t i)
{
	struct engine_plan *p = pl->p;
	struct cpu_conv_layer *m = &p->conv[p->state[i]];
	struct cpu_note *note = &pl->note[i];
	struct cpu_step s = { .kind = CPU_CONV_BACK, .node = i, .state = p->state[i], .x = m->x, .ndy = 1,
	    .no_dx = !m->shape.data, .frozen = freeze_node(pl->g, i) };

	m->dy = note->part[0];
	if (note->parts > 1 || !cpu_is_dense(&m->dy)) {
		struct cpu_step sum = { .kind = CPU_SUM, .node = i };

		read_gradient(pl, i, &sum);
		sum.y = m->dy = cpu_plan_like(pl, &note->view);
		cpu_plan_step(pl, sum);
	}
	m->dy = convert_dense(pl, i, m->dy, note->view.block, p->bf16);
	s.dy[0] = m->dy;
	if (m->shape.data)
		s.dx = m->dx = cpu_plan_like(pl, &m->x);
	cpu_plan_step(pl, s);
	if (m->shape.data)
		pass_gradient(pl, pl->g->node[i].in[0], m->dx);
}

/* May dx overwrite x, because no later step reads it? */
static bool
may_overwrite_input(const struct cpu_planner *pl, uint32_t in)
{
	enum graph_op op = pl->g->node[in].op;

	if (op == GRAPH_POOL && pl->note[pl->g->node[in].in[0]].delayed)
		return false;
	return pl->note[in].readers == 1 && (op == GRAPH_CONV || op == GRAPH_FC || op == GRAPH_POOL);
}

/* Is there one part of a gradient, which a layer adds while it computes another? */
static bool
may_add_part(const struct cpu_note *note)
{
	return note->parts == 1 && cpu_is_dense(&note->part[0]);
}

/* The step takes beta's gradient from that of the convolution that reads the batch norm. */
static void
plan_beta_back(struct cpu_planner *pl, uint32_t i)
{
	struct engine_plan *p = pl->p;
	const uint32_t conv = p->state[pl->note[i].reader];
	struct cpu_bn *bn = &p->bn[p->state[i]];
	size_t scratch = cpu_beta_scratch(&p->conv[conv].shape) * sizeof(float);

	bn->beta_conv = (int32_t)conv;
	if (scratch > p->scratch_least)
		p->scratch_least = scratch;
	cpu_plan_step(pl, (struct cpu_step) { .kind = CPU_BN_BACK, .node = i, .state = p->state[i], .no_dx = true,
	    .dy = { p->conv[conv].dy }, .ndy = 1 });
}

static void
plan_bn_back(struct cpu_planner *pl, uint32_t i)
{
	uint32_t in = pl->g->node[i].in[0];
	struct cpu_view dx;
	struct cpu_step s = { .kind = CPU_BN_BACK, .node = i, .state = pl->p->state[i],
	    .act = cpu_plan_act(pl, i), .x = group_lanes(*get_input_view(pl, i)),
	    .no_dx = !pl->note[in].needs_grad, .frozen = freeze_node(pl->g, i) };

	read_gradient(pl, i, &s);
	for (uint32_t k = 0; k < s.ndy; k++)
		s.dy[k] = group_lanes(s.dy[k]);
	if (s.no_dx) {
		cpu_plan_step(pl, s);
		return;
	}
	if (may_add_part(&pl->note[in])) {
		s.plus = group_lanes(pl->note[in].part[0]);
		pl->note[in].parts = 0;
	}
	if (s.plus.c > 0 && may_overwrite_part(&pl->note[in].part[0]))
		dx = pl->note[in].part[0];
	else
		dx = may_overwrite_input(pl, in) ? *get_input_view(pl, i) : new_gradient_part(pl, i);
	s.dx = group_lanes(dx);
	cpu_plan_step(pl, s);
	pass_gradient(pl, in, dx);
}

static void
plan_act_back(struct cpu_planner *pl, uint32_t i)
{
	uint32_t in = pl->g->node[i].in[0];
	struct cpu_step s = { .kind = CPU_ACT_BACK, .node = i };

	read_gradient(pl, i, &s);
	if (pl->note[i].delayed || (pl->note[i].absorbed && pl->g->node[in].op == GRAPH_BN)) {
		for (uint32_t k = 0; k < s.ndy; k++)
			pass_gradient(pl, in, s.dy[k]);
		return;
	}
	s.y = cpu_act_wants_x(&pl->g->node[i]) ? pl->note[in].view : pl->note[i].view;
	s.dx = may_overwrite_part(&s.dy[0]) ? s.dy[0] : new_gradient_part(pl, i);
	cpu_plan_step(pl, s);
	pass_gradient(pl, in, s.dx);
}

/* All inputs get the same gradient. */
static void
plan_add_back(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	struct cpu_view d = join_gradient(pl, i);

	d.shared = d.shared || l->nin > 1;
	for (uint32_t k = 0; k < l->nin; k++)
		if (pl->note[l->in[k]].needs_grad)
			pass_gradient(pl, l->in[k], d);
}

/* Each input gets the gradient times all other inputs. */
static void
plan_product_back(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	struct cpu_view d = join_gradient(pl, i);

	d.shared = true;
	for (uint32_t k = 0; k < l->nin; k++) {
		struct cpu_step s = { .kind = CPU_PRODUCT, .node = i, .y = d, .dy = { d }, .ndy = 2 };

		if (!pl->note[l->in[k]].needs_grad)
			continue;
		for (uint32_t j = 0; j < l->nin; j++) {
			if (j == k)
				continue;
			s.dy[1] = convert_layout(pl, i, pl->note[l->in[j]].view, d.block);
			if (s.y.shared)
				s.y = cpu_plan_like(pl, &d);
			cpu_plan_step(pl, s);
			s.dy[0] = s.y;
		}
		pass_gradient(pl, l->in[k], s.y);
	}
}

/* A padding, normalization over channels, or dropout: one step from views of one layout. */
static void
plan_plain_back(struct cpu_planner *pl, uint32_t i)
{
	enum graph_op op = pl->g->node[i].op;
	struct cpu_step s = { .kind = op == GRAPH_PAD ? CPU_PAD_BACK : op == GRAPH_LRN ? CPU_LRN_BACK : CPU_DROP_BACK,
	    .node = i };

	read_gradient(pl, i, &s);
	if (op == GRAPH_LRN)
		s.x = *get_input_view(pl, i);
	s.dx = op == GRAPH_DROPOUT && may_overwrite_part(&s.dy[0]) ? s.dy[0] : new_gradient_part(pl, i);
	cpu_plan_step(pl, s);
	pass_gradient(pl, pl->g->node[i].in[0], s.dx);
}

static void
plan_concat_back(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	uint32_t first = 0;

	for (uint32_t k = 0; k < l->nin; k++) {
		const struct cpu_view *in = &pl->note[l->in[k]].view;

		for (uint32_t j = 0; pl->note[l->in[k]].needs_grad && j < pl->note[i].parts; j++) {
			struct cpu_view part = pl->note[i].part[j], cut;

			if (cpu_plan_aligned(first, in->c, l->c, part.block, part.bf16)) {
				pass_gradient(pl, l->in[k], cpu_plan_channels(part, first, in->c));
				continue;
			}
			cut = cpu_plan_like(pl, in);
			add_copy(pl, i, part, first, cut, 0, in->c);
			pass_gradient(pl, l->in[k], cut);
		}
		first += in->c;
	}
}

static void
plan_flatten_back(struct cpu_planner *pl, uint32_t i)
{
	const struct cpu_view *x = get_input_view(pl, i);

	for (uint32_t k = 0; k < pl->note[i].parts; k++)
		pass_gradient(pl, pl->g->node[i].in[0], cpu_plan_reshape(pl->note[i].part[k], x->c, x->h, x->w, 1));
}

static void
plan_pool_back(struct cpu_planner *pl, uint32_t i)
{
	struct cpu_step s = { .kind = CPU_POOL_BACK, .node = i, .state = pl->p->state[i] };
	const struct cpu_view *y = &pl->note[i].view;
	uint32_t in = pl->g->node[i].in[0];

	read_gradient(pl, i, &s);
	if (pl->note[in].delayed) {
		struct cpu_step act = { .kind = CPU_ACT_BACK, .node = in, .y = *y, .ndy = s.ndy };

		memcpy(act.dy, s.dy, sizeof(act.dy));
		act.dx = may_overwrite_part(&s.dy[0]) ? s.dy[0] : cpu_plan_like(pl, y);
		cpu_plan_step(pl, act);
		s.dy[0] = act.dx;
		s.ndy = 1;
	}
	s.dx = new_gradient_part(pl, i);
	cpu_plan_step(pl, s);
	pass_gradient(pl, pl->g->node[i].in[0], s.dx);
}

static void
plan_loss_back(struct cpu_planner *pl, uint32_t i)
{
	struct cpu_view prob = pl->note[i].view;

	cpu_plan_step(pl, (struct cpu_step) { .kind = CPU_LOSS_BACK, .node = i, .y = prob });
	pass_gradient(pl, pl->g->node[i].in[0], prob);
}

void
cpu_steps_backward(struct cpu_planner *pl, uint32_t i)
{
	static void (*const back[GRAPH_OPS])(struct cpu_planner *, uint32_t) = {
		[GRAPH_CONV] = plan_conv_back, [GRAPH_FC] = plan_conv_back, [GRAPH_BN] = plan_bn_back,
		[GRAPH_ACT] = plan_act_back, [GRAPH_POOL] = plan_pool_back, [GRAPH_CONCAT] = plan_concat_back,
		[GRAPH_FLATTEN] = plan_flatten_back, [GRAPH_ADD] = plan_add_back, [GRAPH_MUL] = plan_product_back,
		[GRAPH_PAD] = plan_plain_back, [GRAPH_LRN] = plan_plain_back, [GRAPH_DROPOUT] = plan_plain_back,
		[GRAPH_SOFTMAX] = plan_loss_back,
	};
	const struct graph_node *l = &pl->g->node[i];

	if (pl->note[i].beta_only)
		plan_beta_back(pl, i);
	else if (pl->note[i].needs_grad)
		back[l->op](pl, i);
}
