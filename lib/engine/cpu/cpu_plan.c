/*
 * cpu_plan - makes the steps and buffers of a graph.
 *
 * In this order: notes about the layers (cpu_note.c); a layout for each layer, as oneDNN prefers; the outputs that
 * are part of a concatenation's buffer; a view for each output; the steps (cpu_steps.c).
 */
#include "engine/cpu/cpu_plan.h"

#include "base/err.h"
#include "base/grow.h"
#include "base/mem.h"
#include "base/num.h"

#include <stdlib.h>
#include <string.h>

/* ------ views, buffers, steps ------ */

/* Makes a buffer with this many bytes for each sample of a full batch. */
static uint32_t
new_buf(struct cpu_planner *pl, size_t bytes)
{
	struct engine_plan *p = pl->p;
	void *bufs;
	size_t all;

	if (pl->e < 0 || (bufs = grow_by_one(p->buf, p->nbuf, &pl->bufs, sizeof(*p->buf))) == NULL) {
		pl->e = pl->e < 0 ? pl->e : ERR_NOMEM;
		return 0;
	}
	p->buf = bufs;
	if (num_mul(bytes, p->batch, &all) < 0 || all > SIZE_MAX / 64) {
		pl->e = err_fail(ERR_LIMIT, "a batch of %u takes too much memory", p->batch);
		return 0;
	}
	p->buf[p->nbuf] = (struct memplan_buf) { .bytes = all, .first = UINT32_MAX };
	return p->nbuf++;
}

struct cpu_view
cpu_plan_view(struct cpu_planner *pl, uint32_t c, uint32_t h, uint32_t w, uint32_t block, bool bf16)
{
	struct cpu_view v = { .pitch = block, .c = c, .h = h, .w = w, .block = block, .bf16 = bf16 };

	v.step = cpu_blocks(&v) * cpu_unit(&v);
	v.buf = new_buf(pl, v.step * cpu_size(&v));
	return v;
}

struct cpu_view
cpu_plan_like(struct cpu_planner *pl, const struct cpu_view *v)
{
	return cpu_plan_view(pl, v->c, v->h, v->w, v->block, v->bf16);
}

struct cpu_view
cpu_plan_channels(struct cpu_view v, uint32_t first, uint32_t c)
{
	assert(first + c <= v.c && (v.bf16 || first % v.block == 0));
	if (v.bf16) {
		v.at += first;
		v.block = c;
		if (v.h == 1 && v.w == 1)
			v.pitch = c;
	} else
		v.at += first / v.block * cpu_unit(&v);
	v.c = c;
	return v;
}

struct cpu_view
cpu_plan_reshape(struct cpu_view v, uint32_t c, uint32_t h, uint32_t w, uint32_t block)
{
	if (v.pitch == v.block)
		v.pitch = block;
	v.c = c;
	v.h = h;
	v.w = w;
	v.block = block;
	return v;
}

bool
cpu_plan_has_layout(const struct cpu_view *v, uint32_t block, bool bf16)
{
	return v->bf16 == bf16 && (v->block == block || (v->h == 1 && v->w == 1 && v->c % v->block == 0 &&
	    v->c % block == 0));
}

bool
cpu_plan_aligned(uint32_t first, uint32_t c, uint32_t of, uint32_t block, bool bf16)
{
	return bf16 || (first % block == 0 && (c % block == 0 || first + c == of));
}

static void
touch_buffer(struct cpu_planner *pl, uint32_t buf)
{
	struct memplan_buf *b = &pl->p->buf[buf];

	b->last = pl->p->nstep;
	if (b->first > b->last)
		b->first = b->last;
}

void
cpu_plan_step(struct cpu_planner *pl, struct cpu_step s)
{
	struct engine_plan *p = pl->p;
	const struct cpu_view *views[] = { &s.x, &s.y, &s.dx, &s.dy[0], &s.dy[1], &s.plus };
	void *steps;

	_Static_assert(CPU_PARTS == 2, "views lists two parts");
	if (pl->e < 0 || (steps = grow_by_one(p->step, p->nstep, &pl->steps, sizeof(*p->step))) == NULL) {
		pl->e = pl->e < 0 ? pl->e : ERR_NOMEM;
		return;
	}
	p->step = steps;
	for (size_t k = 0; k < sizeof(views) / sizeof(views[0]); k++)
		if (views[k]->c > 0)
			touch_buffer(pl, views[k]->buf);
	if (s.kind == CPU_POOL || s.kind == CPU_POOL_BACK)
		touch_buffer(pl, p->pool[s.state].buf);
	if (s.kind == CPU_CONV && p->conv[s.state].pool >= 0)
		touch_buffer(pl, p->pool[p->conv[s.state].pool].buf);
	if (s.kind == CPU_CONV && p->conv[s.state].bn >= 0)
		touch_buffer(pl, p->conv[s.state].bn_y.buf);
	p->step[p->nstep++] = s;
}

/* ------ layouts ------ */

struct dnnl_shape
cpu_plan_shape(const struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i], *in = &pl->g->node[l->in[0]];

	return (struct dnnl_shape) {
		.n = pl->p->batch, .c = in->c, .h = in->h, .w = in->w, .k = l->k, .r = l->r, .s = l->s,
		.stride = { l->stride[0], l->stride[1] }, .pad = { l->pad[0], l->pad[1] },
		.dilate = { l->dilate[0], l->dilate[1] }, .groups = l->groups, .fc = l->op == GRAPH_FC, .bias = l->bias,
		.relu = cpu_plan_is_absorbed(pl, i),
		.data = pl->note[l->in[0]].needs_grad, .channels_last = pl->note[i].channels_last, .bf16 = pl->p->bf16,
		.y_f32 = !pl->note[i].bf16,
	};
}

/* Is a layer an activation that may overwrite its input? */
static bool
overwrites_input(const struct graph_node *l)
{
	return l->op == GRAPH_ACT && !cpu_act_wants_x(l);
}

/*
 * Layer i, a convolution, computes the sum that reads it, and an activation that reads that, if its kernel can.  The
 * other part must be there before, in the layout of y.
 */
static void
plan_plus(struct cpu_planner *pl, uint32_t i, struct dnnl_shape *shape)
{
	const uint32_t sum = pl->note[i].reader;
	const struct graph_node *l = &pl->g->node[sum];
	uint32_t other;

	if (pl->note[i].readers != 1 || l->op != GRAPH_ADD || l->nin != 2 || !cpu_conv_adds(shape))
		return;
	other = l->in[l->in[0] == i];
	if (other >= i || pl->note[other].block != dnnl_dev_block())
		return;
	shape->plus = true;
	shape->relu = cpu_plan_is_absorbed(pl, sum);
	pl->note[sum].summed_by = i;
	pl->note[sum].dense = pl->note[other].dense = true;
	if (pl->note[sum].readers == 1 && overwrites_input(&pl->g->node[pl->note[sum].reader]))
		pl->note[pl->note[sum].reader].dense = true;
}

/* Layer i, a convolution, computes the max pool that reads it, if its kernel can. */
static void
plan_pooled(struct cpu_planner *pl, uint32_t i, struct dnnl_shape *shape)
{
	struct cpu_note *note = &pl->note[pl->note[i].reader];
	const struct graph_node *l = &pl->g->node[pl->note[i].reader], *in = &pl->g->node[i];

	if (pl->note[i].readers != 1 || l->op != GRAPH_POOL || l->pool != GRAPH_MAX || l->r != 2 || l->s != 2 ||
	    l->stride[0] != 2 || l->stride[1] != 2 || l->pad[0] != 0 || l->pad[1] != 0 || l->h != in->h / 2 ||
	    l->w != in->w / 2 || !cpu_conv_pools(shape))
		return;
	shape->pooled = note->pooled = note->dense = true;
	if (note->readers == 1 && overwrites_input(&pl->g->node[note->reader]))
		pl->note[note->reader].dense = true;
}

static void
make_conv(struct cpu_planner *pl, uint32_t i)
{
	struct engine_plan *p = pl->p;
	struct cpu_conv_layer *m = &p->conv[p->nconv];
	struct cpu_conv **kernels = &p->set[0].conv[p->nconv];

	m->node = i;
	m->bn = m->pool = -1;
	m->shape = cpu_plan_shape(pl, i);
	plan_plus(pl, i, &m->shape);
	plan_pooled(pl, i, &m->shape);
	if ((pl->e = cpu_conv_new(p->dev->dnnl, &m->shape, NULL, kernels)) < 0) {
		err_within("layer %s", pl->g->node[i].name);
		return;
	}
	p->state[i] = p->nconv++;
	pl->note[i].block = cpu_conv_needs(*kernels)->y_block;
}

static void
make_bn(struct cpu_planner *pl, uint32_t i)
{
	struct engine_plan *p = pl->p;
	const struct graph_node *l = &pl->g->node[i];
	size_t lanes = ((size_t)l->c + 15) / 16 * 16, scratch = cpu_bn_scratch(p->batch, lanes) * sizeof(float);

	p->bn[p->nbn] = (struct cpu_bn) { .node = i, .conv = -1, .beta_conv = -1, .lanes = lanes };
	p->state[i] = p->nbn++;
	if (scratch > p->scratch_least)
		p->scratch_least = scratch;
}

static void
make_pool(struct cpu_planner *pl, uint32_t i)
{
	struct engine_plan *p = pl->p;
	const struct graph_node *l = &pl->g->node[i];
	struct cpu_view y = { .pitch = pl->note[i].block, .c = l->c, .h = l->h, .w = l->w, .block = pl->note[i].block };
	bool max = l->pool == GRAPH_MAX;

	if (max && (uint64_t)l->r * l->s > UINT16_MAX)
		pl->e = err_fail(ERR_NOTSUP, "layer %s: a maximum of %ux%u", l->name, l->r, l->s);
	p->pool[p->npool].buf = new_buf(pl, max ? cpu_blocks(&y) * cpu_unit(&y) * sizeof(uint16_t) : 0);
	p->state[i] = p->npool++;
}

static void
make_lrn(struct cpu_planner *pl, uint32_t i)
{
	size_t scratch = cpu_lrn_scratch(&pl->g->node[i]) * pl->p->dev->threads * sizeof(float);

	if (scratch > pl->p->scratch_least)
		pl->p->scratch_least = scratch;
}

/* The block of a concatenation, sum or product: that of its inputs, or if they differ the processor's. */
static uint32_t
choose_joint_block(const struct cpu_planner *pl, const struct graph_node *l)
{
	uint32_t block = pl->note[l->in[0]].block;

	if (pl->p->bf16)
		return l->c;
	for (uint32_t k = 1; k < l->nin; k++)
		if (pl->note[l->in[k]].block != block)
			return l->h == 1 && l->w == 1 ? 1 : dnnl_dev_block();
	return block;
}

/* Is this a score or probability?  Both are f32 in every plan; eight bits would be too few. */
static bool
is_score(const struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];

	return l->op == GRAPH_SOFTMAX ||
	    (cpu_plan_is_conv(l) && pl->note[i].readers == 1 && pl->g->node[pl->note[i].reader].op == GRAPH_SOFTMAX);
}

static void
choose_layout(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	struct cpu_note *note = &pl->note[i];

	note->bf16 = pl->p->bf16 && !is_score(pl, i);
	switch (l->op) {
	case GRAPH_CONV:
	case GRAPH_FC:
		make_conv(pl, i);
		break;
	case GRAPH_BN:
	case GRAPH_ACT:
	case GRAPH_POOL:
	case GRAPH_PAD:
	case GRAPH_LRN:
	case GRAPH_DROPOUT:
		note->block = pl->note[l->in[0]].block;
		if (l->op == GRAPH_BN)
			make_bn(pl, i);
		else if (l->op == GRAPH_POOL)
			make_pool(pl, i);
		else if (l->op == GRAPH_LRN)
			make_lrn(pl, i);
		break;
	case GRAPH_CONCAT:
	case GRAPH_ADD:
	case GRAPH_MUL:
		note->block = choose_joint_block(pl, l);
		break;
	default:
		note->block = note->bf16 ? l->c : 1;
	}
}

/* ------ outputs inside concatenations ------ */

static bool
writes_strided(enum graph_op op)
{
	return op == GRAPH_BN || op == GRAPH_ACT || op == GRAPH_POOL || op == GRAPH_CONCAT || op == GRAPH_ADD ||
	    op == GRAPH_MUL || op == GRAPH_PAD || op == GRAPH_LRN || op == GRAPH_DROPOUT;
}

/* Can all readers of layer i read it with a stride?  The same layers can read and write with one. */
static bool
read_strided(const struct graph *g, uint32_t i)
{
	for (uint32_t j = i + 1; j < g->n; j++)
		for (uint32_t k = 0; k < g->node[j].nin; k++)
			if (g->node[j].in[k] == i && !writes_strided(g->node[j].op))
				return false;
	return true;
}

/* Notes which inputs of a concatenation are written into its buffer. */
static void
place_in_concat(struct cpu_planner *pl, uint32_t concat)
{
	const struct graph_node *l = &pl->g->node[concat];
	uint32_t first = 0;

	for (uint32_t k = 0; k < l->nin; k++) {
		uint32_t i = l->in[k], c = pl->g->node[i].c;
		struct cpu_note *note = &pl->note[i];

		if (note->concat == 0 && !note->dense && writes_strided(pl->g->node[i].op) &&
		    (note->bf16 || note->block == pl->note[concat].block) &&
		    cpu_plan_aligned(first, c, l->c, note->block, note->bf16) && read_strided(pl->g, i)) {
			note->concat = concat;
			note->first = first;
		}
		first += c;
	}
}

/* ------ a view for each output ------ */

/* May the output of layer i share memory with that of its only reader, an activation or the sum that i computes? */
static bool
may_share(const struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	uint32_t reader = pl->note[i].reader;

	if (i > 0 && pl->note[reader].summed_by == i)
		return true;
	if (l->op == GRAPH_BN && cpu_plan_is_absorbed(pl, i))
		return true;
	if (pl->note[i].readers != 1 || !overwrites_input(&pl->g->node[reader]))
		return false;
	if (cpu_plan_is_conv(l))
		return cpu_is_dense(&pl->note[reader].view);
	return l->op == GRAPH_BN || (l->op == GRAPH_POOL && !pl->note[l->in[0]].delayed) || l->op == GRAPH_ADD ||
	    l->op == GRAPH_DROPOUT;
}

static void
place_output(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	struct cpu_note *note = &pl->note[i];

	if (note->concat != 0)
		note->view = cpu_plan_channels(pl->note[note->concat].view, note->first, l->c);
	else if (may_share(pl, i))
		note->view = pl->note[note->reader].view;
	else if (l->op != GRAPH_FLATTEN)
		note->view = cpu_plan_view(pl, l->c, l->h, l->w, note->block, note->bf16);
}

/* The output of a flatten layer is its input if that has the right order of elements. */
static void
place_flat(struct cpu_planner *pl, uint32_t i)
{
	const struct graph_node *l = &pl->g->node[i];
	const struct cpu_view *in = &pl->note[l->in[0]].view;

	if (cpu_plan_has_layout(in, 1, in->bf16))
		pl->note[i].view = cpu_plan_reshape(*in, l->c, 1, 1, in->bf16 ? l->c : 1);
	else
		pl->note[i].view = cpu_plan_view(pl, l->c, 1, 1, in->bf16 ? l->c : 1, in->bf16);
}

/* ------ all of it ------ */

/* Places the batch, plain f32 [N,C,H,W], which is alive before the first step. */
static void
plan_input(struct cpu_planner *pl)
{
	struct cpu_view *data = &pl->p->data, *as = &pl->note[0].view;

	*data = pl->p->bf16 && pl->e == 0 ? cpu_plan_view(pl, as->c, as->h, as->w, 1, false) : *as;
	if (pl->e < 0)
		return;
	touch_buffer(pl, data->buf);
	if (pl->p->bf16)
		cpu_plan_step(pl, (struct cpu_step) { .kind = CPU_COPY, .x = *data, .y = *as, .count = as->c });
}

static int
alloc_arrays(struct cpu_planner *pl)
{
	struct engine_plan *p = pl->p;
	const struct graph *g = pl->g;

	pl->note = calloc(g->n, sizeof(*pl->note));
	p->state = calloc(g->n, sizeof(*p->state));
	p->conv = calloc(g->n, sizeof(*p->conv));
	p->bn = calloc(g->n, sizeof(*p->bn));
	p->pool = calloc(g->n, sizeof(*p->pool));
	p->label = calloc(p->batch, sizeof(*p->label));
	p->mix = calloc(p->batch, sizeof(*p->mix));
	p->target = calloc((size_t)p->batch * graph_targets(p->graph) + 1, sizeof(*p->target));
	if (pl->note == NULL || p->state == NULL || p->conv == NULL || p->bn == NULL || p->pool == NULL ||
	    p->label == NULL || p->mix == NULL || p->target == NULL)
		return err_nomem();
	for (uint32_t i = 0; i < CPU_SETS; i++)
		if ((p->set[i].conv = calloc(g->n, sizeof(struct cpu_conv *))) == NULL ||
		    (p->set[i].folded = calloc(g->n, sizeof(struct cpu_conv *))) == NULL)
			return err_nomem();
	p->set[0].n = p->batch;
	return 0;
}

static void
make_steps(struct cpu_planner *pl)
{
	const struct graph *g = pl->g;

	cpu_note_fill(pl);
	cpu_last_choose(pl);
	for (uint32_t i = 0; i < g->n && pl->e == 0; i++)
		choose_layout(pl, i);
	for (uint32_t i = g->n; i-- > 0;)
		if (g->node[i].op == GRAPH_CONCAT)
			place_in_concat(pl, i);
	for (uint32_t i = g->n; i-- > 0 && pl->e == 0;)
		place_output(pl, i);
	for (uint32_t i = 0; i < g->n && pl->e == 0; i++)
		if (g->node[i].op == GRAPH_FLATTEN)
			place_flat(pl, i);
	plan_input(pl);
	for (uint32_t i = 1; i < g->n && pl->e == 0; i++)
		cpu_steps_forward(pl, i);
	pl->p->nforward = pl->p->nstep;
	for (uint32_t i = g->n; i-- > 1 && pl->e == 0;)
		cpu_steps_backward(pl, i);
	pl->p->prob = pl->note[g->n - 1].view;
}

/*
 * The library reports ERR_NOTSUP for huge sizes.  Returns ERR_NOMEM instead if not even the outputs of the
 * convolutions and fully connected layers, which backward() needs, fit in memory.
 */
static int
explain_failure(const struct engine_plan *p, int e)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < p->graph->n; i++) {
		const struct graph_node *l = &p->graph->node[i];

		if (cpu_plan_is_conv(l))
			bytes += (uint64_t)l->c * l->h * l->w * (p->bf16 ? sizeof(uint16_t) : sizeof(float)) * p->batch;
	}
	if (e == ERR_NOTSUP && mem_fits(bytes) < 0)
		return err_wrap(ERR_NOMEM, "a batch of %u", p->batch);
	return e;
}

int
cpu_plan_make(struct engine_plan *p)
{
	struct cpu_planner pl = { .p = p, .g = p->graph };

	pl.e = alloc_arrays(&pl);
	if (pl.e == 0)
		make_steps(&pl);
	free(pl.note);
	return pl.e < 0 ? explain_failure(p, pl.e) : 0;
}
