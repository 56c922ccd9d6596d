/*
 * cpu_steps - one layer into the steps that compute it, and those that take its gradient back.
 *
 * Backward, a layer finds its gradient in parts (views that its readers wrote),
 * and leaves a part with each layer it reads.  No part is read by two but those
 * marked as shared, so that a layer may write its own result over any other.
 */
#include "engine/cpu/cpu_plan.h"

#include "net/freeze.h"

#include <string.h>

static const struct cpu_view *
input_view(const struct cpu_planner *pl, uint32_t i)
{
	return &pl->note[pl->g->node[i].in[0]].view;
}

static bool
absorbed_by(const struct cpu_planner *pl, uint32_t i)
{
	return pl->note[i].uses == 1 && pl->note[pl->note[i].user].absorbed;
}

static void
add_copy(struct cpu_planner *pl, uint32_t i, struct cpu_view x, uint32_t x_first, struct cpu_view y, uint32_t y_first,
    uint32_t count)
{
	cpu_plan_step(pl, (struct cpu_step) { .kind = CPU_COPY, .node = i, .x = x, .x_first = x_first, .y = y,
	    .y_first = y_first, .count = count });
}

/* v as a kernel wants it, which knows one block and no strides: the same numbers, or a copy. */
static struct cpu_view
dense_as(struct cpu_planner *pl, uint32_t i, struct cpu_view v, uint32_t block, bool half)
{
	struct cpu_view y;

	if (cpu_plan_lies(&v, block, half) && cpu_dense(&v))
		return cpu_plan_as(v, v.c, v.h, v.w, block);
	y = cpu_plan_view(pl, v.c, v.h, v.w, block, half);
	add_copy(pl, i, v, 0, y, 0, v.c);
	return y;
}

/* v in the layout of block; a stride is no matter. */
static struct cpu_view
laid_as(struct cpu_planner *pl, uint32_t i, struct cpu_view v, uint32_t block)
{
	return cpu_plan_lies(&v, block, v.half) ? cpu_plan_as(v, v.c, v.h, v.w, block) :
	    dense_as(pl, i, v, block, v.half);
}

/* Batch norm has fast lanes where one pixel's channels stand side by side without being blocked. */
static struct cpu_view
lanes_of(struct cpu_view v)
{
	return v.block == 1 && cpu_plan_lies(&v, 16, v.half) ? cpu_plan_as(v, v.c, v.h, v.w, 16) : v;
}

/* ------ forward ------ */

static void
mul_forward(struct cpu_planner *pl, uint32_t i)
{
	struct engine_plan *p = pl->p;
	struct cpu_mul *m = &p->mul[p->state[i]];

	m->x = dense_as(pl, i, *input_view(pl, i), cpu_conv_x_block(p->set[0].mul[p->state[i]]), p->bf16);
	m->y = pl->note[i].view;
	cpu_plan_step(pl, (struct cpu_step) { .kind = CPU_MUL, .node = i, .state = p->state[i], .x = m->x, .y = m->y });
}

static void
concat_forward(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	uint32_t first = 0;

	for (uint32_t k = 0; k < l->nin; k++) {
		const struct cpu_note *in = &pl->note[l->in[k]];

		if (in->home != i || in->first != first)
			add_copy(pl, i, in->view, 0, pl->note[i].view, first, in->view.c);
		first += in->view.c;
	}
}

/* One, two, or two by two: what is there so far and one more. */
static void
sum_forward(struct cpu_planner *pl, uint32_t i, enum cpu_kind kind)
{
	const struct graph_node *l = &pl->g->node[i];
	struct cpu_step s = { .kind = kind, .node = i, .y = pl->note[i].view, .ndy = 1 };
	bool relu = absorbed_by(pl, i);

	s.dy[0] = laid_as(pl, i, pl->note[l->in[0]].view, s.y.block);
	s.relu = relu && l->nin == 1;
	if (l->nin == 1)
		cpu_plan_step(pl, s);
	s.ndy = 2;
	for (uint32_t k = 1; k < l->nin; k++) {
		s.dy[1] = laid_as(pl, i, pl->note[l->in[k]].view, s.y.block);
		s.relu = relu && k + 1 == l->nin;
		cpu_plan_step(pl, s);
		s.dy[0] = s.y;
	}
}

void
cpu_steps_forward(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	struct cpu_view x = *input_view(pl, i), y = pl->note[i].view;
	struct cpu_step s = { .node = i, .state = pl->p->state[i], .x = x, .y = y };

	switch (l->op) {
	case GRAPH_CONV:
	case GRAPH_FC:
		mul_forward(pl, i);
		return;
	case GRAPH_BN:
		s.kind = CPU_BN;
		s.frozen = freeze_node(pl->g, i);
		s.relu = absorbed_by(pl, i);
		s.x = lanes_of(x);
		s.y = lanes_of(y);
		break;
	case GRAPH_ACT:
		if (pl->note[i].absorbed || pl->note[i].late)
			return;
		s.kind = CPU_ACT;
		break;
	case GRAPH_POOL:
		s.kind = CPU_POOL;
		cpu_plan_step(pl, s);
		if (!pl->note[l->in[0]].late)
			return;
		s.kind = CPU_ACT;
		s.node = l->in[0];
		s.x = y;
		break;
	case GRAPH_CONCAT:
		concat_forward(pl, i);
		return;
	case GRAPH_FLATTEN:
		if (!cpu_plan_lies(&x, 1, x.half))
			add_copy(pl, i, x, 0, cpu_plan_as(y, x.c, x.h, x.w, 1), 0, x.c);
		return;
	case GRAPH_ADD:
	case GRAPH_MUL:
		sum_forward(pl, i, l->op == GRAPH_ADD ? CPU_SUM : CPU_TIMES);
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
		s.x = dense_as(pl, i, x, 1, false);
	}
	cpu_plan_step(pl, s);
}

/* ------ backward ------ */

/* Leaves a part of the gradient with layer i, in the layout of its output. */
static void
leave_gradient(struct cpu_planner *pl, uint32_t i, struct cpu_view part)
{
	struct cpu_note *note = &pl->note[i];
	const struct cpu_view *v = &note->view;
	struct cpu_step sum = { .kind = CPU_SUM, .node = i, .ndy = 2 };

	if (cpu_plan_lies(&part, v->block, v->half))
		part = cpu_plan_as(part, v->c, v->h, v->w, v->block);
	else
		part = dense_as(pl, i, part, v->block, v->half);
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

/* The gradient of layer i in s. */
static void
take_gradient(const struct cpu_planner *pl, uint32_t i, struct cpu_step *s)
{
	s->ndy = pl->note[i].parts;
	for (uint32_t k = 0; k < s->ndy; k++)
		s->dy[k] = pl->note[i].part[k];
}

/* A new part for the layer that i reads. */
static struct cpu_view
new_gradient_part(struct cpu_planner *pl, uint32_t i)
{
	return cpu_plan_like(pl, input_view(pl, i));
}

/* May a layer write its result over this part of its gradient? */
static bool
own_gradient(const struct cpu_view *part)
{
	return cpu_dense(part) && !part->shared;
}

/* The gradient of layer i in one part. */
static struct cpu_view
join_gradient(struct cpu_planner *pl, uint32_t i)
{
	const struct cpu_note *note = &pl->note[i];
	const struct cpu_view *v = &note->view;
	struct cpu_step sum = { .kind = CPU_SUM, .node = i };

	if (note->parts == 1)
		return note->part[0];
	take_gradient(pl, i, &sum);
	if (!own_gradient(&sum.dy[0]) && own_gradient(&sum.dy[1])) {
		sum.dy[0] = note->part[1];
		sum.dy[1] = note->part[0];
	}
	sum.y = own_gradient(&sum.dy[0]) ? sum.dy[0] : cpu_plan_like(pl, v);
	cpu_plan_step(pl, sum);
	return sum.y;
}

static void
mul_backward(struct cpu_planner *pl, uint32_t i)
{
	struct engine_plan *p = pl->p;
	struct cpu_mul *m = &p->mul[p->state[i]];
	struct cpu_note *note = &pl->note[i];
	struct cpu_step s = { .kind = CPU_MUL_BACK, .node = i, .state = p->state[i], .x = m->x, .ndy = 1,
	    .absent = !m->shape.data, .frozen = freeze_node(pl->g, i) };

	m->dy = note->part[0];
	if (note->parts > 1 || !cpu_dense(&m->dy)) {
		struct cpu_step sum = { .kind = CPU_SUM, .node = i };

		take_gradient(pl, i, &sum);
		sum.y = m->dy = cpu_plan_like(pl, &m->y);
		cpu_plan_step(pl, sum);
	}
	m->dy = dense_as(pl, i, m->dy, m->y.block, p->bf16);
	s.dy[0] = m->dy;
	if (m->shape.data)
		s.dx = m->dx = cpu_plan_like(pl, &m->x);
	cpu_plan_step(pl, s);
	if (m->shape.data)
		leave_gradient(pl, pl->g->node[i].in[0], m->dx);
}

/* The input's floats are not read again: dx may lie over x. */
static bool
free_after(const struct cpu_planner *pl, uint32_t in)
{
	enum graph_op op = pl->g->node[in].op;

	if (op == GRAPH_POOL && pl->note[pl->g->node[in].in[0]].late)
		return false;
	return pl->note[in].uses == 1 && (op == GRAPH_CONV || op == GRAPH_FC || op == GRAPH_POOL);
}

static void
bn_backward(struct cpu_planner *pl, uint32_t i)
{
	uint32_t in = pl->g->node[i].in[0];
	struct cpu_view dx;
	struct cpu_step s = { .kind = CPU_BN_BACK, .node = i, .state = pl->p->state[i], .relu = absorbed_by(pl, i),
	    .x = lanes_of(*input_view(pl, i)), .absent = !pl->note[in].wants, .frozen = freeze_node(pl->g, i) };

	take_gradient(pl, i, &s);
	for (uint32_t k = 0; k < s.ndy; k++)
		s.dy[k] = lanes_of(s.dy[k]);
	if (s.absent) {
		cpu_plan_step(pl, s);
		return;
	}
	dx = free_after(pl, in) ? *input_view(pl, i) : new_gradient_part(pl, i);
	s.dx = lanes_of(dx);
	cpu_plan_step(pl, s);
	leave_gradient(pl, in, dx);
}

static void
act_backward(struct cpu_planner *pl, uint32_t i)
{
	uint32_t in = pl->g->node[i].in[0];
	struct cpu_step s = { .kind = CPU_ACT_BACK, .node = i };

	take_gradient(pl, i, &s);
	if (pl->note[i].late || (pl->note[i].absorbed && pl->g->node[in].op == GRAPH_BN)) {
		for (uint32_t k = 0; k < s.ndy; k++)
			leave_gradient(pl, in, s.dy[k]);
		return;
	}
	s.y = cpu_act_wants_x(&pl->g->node[i]) ? pl->note[in].view : pl->note[i].view;
	s.dx = own_gradient(&s.dy[0]) ? s.dy[0] : new_gradient_part(pl, i);
	cpu_plan_step(pl, s);
	leave_gradient(pl, in, s.dx);
}

/* All inputs get the same. */
static void
add_backward(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	struct cpu_view d = join_gradient(pl, i);

	d.shared = d.shared || l->nin > 1;
	for (uint32_t k = 0; k < l->nin; k++)
		if (pl->note[l->in[k]].wants)
			leave_gradient(pl, l->in[k], d);
}

/* Each input gets the gradient times all others. */
static void
times_backward(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	struct cpu_view d = join_gradient(pl, i);

	d.shared = true;
	for (uint32_t k = 0; k < l->nin; k++) {
		struct cpu_step s = { .kind = CPU_TIMES, .node = i, .y = d, .dy = { d }, .ndy = 2 };

		if (!pl->note[l->in[k]].wants)
			continue;
		for (uint32_t j = 0; j < l->nin; j++) {
			if (j == k)
				continue;
			s.dy[1] = laid_as(pl, i, pl->note[l->in[j]].view, d.block);
			if (s.y.shared)
				s.y = cpu_plan_like(pl, &d);
			cpu_plan_step(pl, s);
			s.dy[0] = s.y;
		}
		leave_gradient(pl, l->in[k], s.y);
	}
}

static void
drop_backward(struct cpu_planner *pl, uint32_t i)
{
	struct cpu_step s = { .kind = CPU_DROP_BACK, .node = i };

	take_gradient(pl, i, &s);
	s.dx = own_gradient(&s.dy[0]) ? s.dy[0] : new_gradient_part(pl, i);
	cpu_plan_step(pl, s);
	leave_gradient(pl, pl->g->node[i].in[0], s.dx);
}

/* What has kernels of its own in both directions, from views of one layout. */
static void
plain_backward(struct cpu_planner *pl, uint32_t i, enum cpu_kind kind)
{
	struct cpu_step s = { .kind = kind, .node = i };

	take_gradient(pl, i, &s);
	if (kind == CPU_LRN_BACK)
		s.x = *input_view(pl, i);
	s.dx = new_gradient_part(pl, i);
	cpu_plan_step(pl, s);
	leave_gradient(pl, pl->g->node[i].in[0], s.dx);
}

static void
pad_backward(struct cpu_planner *pl, uint32_t i)
{
	plain_backward(pl, i, CPU_PAD_BACK);
}

static void
lrn_backward(struct cpu_planner *pl, uint32_t i)
{
	plain_backward(pl, i, CPU_LRN_BACK);
}

static void
concat_backward(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	uint32_t first = 0;

	for (uint32_t k = 0; k < l->nin; k++) {
		const struct cpu_view *in = &pl->note[l->in[k]].view;

		for (uint32_t j = 0; pl->note[l->in[k]].wants && j < pl->note[i].parts; j++) {
			struct cpu_view part = pl->note[i].part[j], cut;

			if (cpu_plan_aligned(first, in->c, l->c, part.block, part.half)) {
				leave_gradient(pl, l->in[k], cpu_plan_channels(part, first, in->c));
				continue;
			}
			cut = cpu_plan_like(pl, in);
			add_copy(pl, i, part, first, cut, 0, in->c);
			leave_gradient(pl, l->in[k], cut);
		}
		first += in->c;
	}
}

static void
flatten_backward(struct cpu_planner *pl, uint32_t i)
{
	const struct cpu_view *x = input_view(pl, i);

	for (uint32_t k = 0; k < pl->note[i].parts; k++)
		leave_gradient(pl, pl->g->node[i].in[0], cpu_plan_as(pl->note[i].part[k], x->c, x->h, x->w, 1));
}

static void
pool_backward(struct cpu_planner *pl, uint32_t i)
{
	struct cpu_step s = { .kind = CPU_POOL_BACK, .node = i, .state = pl->p->state[i] };
	const struct cpu_view *y = &pl->note[i].view;
	uint32_t in = pl->g->node[i].in[0];

	take_gradient(pl, i, &s);
	if (pl->note[in].late) {
		struct cpu_step act = { .kind = CPU_ACT_BACK, .node = in, .y = *y, .ndy = s.ndy };

		memcpy(act.dy, s.dy, sizeof(act.dy));
		act.dx = own_gradient(&s.dy[0]) ? s.dy[0] : cpu_plan_like(pl, y);
		cpu_plan_step(pl, act);
		s.dy[0] = act.dx;
		s.ndy = 1;
	}
	s.dx = new_gradient_part(pl, i);
	cpu_plan_step(pl, s);
	leave_gradient(pl, pl->g->node[i].in[0], s.dx);
}

static void
loss_backward(struct cpu_planner *pl, uint32_t i)
{
	struct cpu_view prob = pl->note[i].view;

	cpu_plan_step(pl, (struct cpu_step) { .kind = CPU_LOSS_BACK, .node = i, .y = prob });
	leave_gradient(pl, pl->g->node[i].in[0], prob);
}

void
cpu_steps_backward(struct cpu_planner *pl, uint32_t i)
{
	static void (*const back[GRAPH_OPS])(struct cpu_planner *, uint32_t) = {
		[GRAPH_CONV] = mul_backward, [GRAPH_FC] = mul_backward, [GRAPH_BN] = bn_backward,
		[GRAPH_ACT] = act_backward, [GRAPH_POOL] = pool_backward, [GRAPH_CONCAT] = concat_backward,
		[GRAPH_FLATTEN] = flatten_backward, [GRAPH_ADD] = add_backward, [GRAPH_MUL] = times_backward,
		[GRAPH_PAD] = pad_backward, [GRAPH_LRN] = lrn_backward, [GRAPH_DROPOUT] = drop_backward,
		    [GRAPH_SOFTMAX] = loss_backward,
	};
	const struct graph_node *l = &pl->g->node[i];

	if (pl->note[i].wants)
		back[l->op](pl, i);
}
