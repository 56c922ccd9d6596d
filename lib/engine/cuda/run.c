/* run - steps into work of the GPU: each into the kernels and the products that it takes, for n samples. */
#include "engine/cuda/plan.h"

#include "base/err.h"
#include "engine/drop.h"

_Static_assert(KERNEL_RELU == (int)GRAPH_RELU && KERNEL_TANH == (int)GRAPH_TANH &&
    KERNEL_SIGMOID == (int)GRAPH_SIGMOID &&
    KERNEL_LINEAR == (int)GRAPH_LINEAR && KERNEL_LEAKY == (int)GRAPH_LEAKY && KERNEL_ELU == (int)GRAPH_ELU &&
    KERNEL_GELU == (int)GRAPH_GELU && KERNEL_GELU_TANH == (int)GRAPH_GELU_TANH && KERNEL_SWISH == (int)GRAPH_SWISH,
    "kernel_act.h counts activations as net/graph/graph.h");
_Static_assert(KERNEL_WINDOW == (int)GRAPH_WINDOW && KERNEL_PADDED == (int)GRAPH_PADDED &&
    KERNEL_INSIDE == (int)GRAPH_INSIDE,
    "kernel_pool.h counts divisors as net/graph/graph.h");

/* What a step is run with. */
struct run {
	struct engine_plan    *p;
	const struct plan_set *set;
	uint32_t	       n;
	bool		       train, pixels;
	struct device	      *d;
};

struct kernel_view
run_view(const struct engine_plan *p, const struct plan_view *v)
{
	return (struct kernel_view){ p->arena + p->buf[v->buf].at + (size_t)v->first * kernel_size(p->type), v->c,
	    v->ld };
}

const float *
run_unscale(const struct engine_plan *p)
{
	return p->type == KERNEL_F16 ? (const float *)(p->held + p->kept.scale) + 1 : NULL;
}

void *
run_weight(const struct engine_plan *p)
{
	return p->scratch + p->scratch_bytes - p->weight_bytes;
}

/* Numbers of n pictures. */
static uint32_t
count_values(const struct run *r, const struct plan_view *v)
{
	return r->n * v->h * v->w * v->c;
}

static const struct graph_node *
step_node(const struct run *r, const struct plan_step *s)
{
	return &r->p->graph->node[s->node];
}

static float *
run_floats(const struct run *r, size_t base, size_t first)
{
	return (float *)(r->p->held + base) + first;
}

static struct kernel_view
view_of(const struct run *r, const struct plan_view *v)
{
	return run_view(r->p, v);
}

static int
run_input(const struct run *r, const struct plan_step *s)
{
	const struct plan_view *v = &s->y;
	const struct plan_kept *k = &r->p->kept;
	const char *at = r->p->held;
	const struct kernel_pixels a = { (const struct kernel_place *)(at + k->place),
		(const struct kernel_norm *)(at + k->norm), (const float *)(at + k->mean), v->h, v->w, view_of(r, v) };
	const struct kernel_permute b = { at + k->batch, a.y.p, v->c, v->h * v->w, v->ld, KERNEL_F32, r->p->type, NULL,
	    NULL };

	return r->pixels ? kernel_run_pixels(r->d, &a, count_values(r, v), r->p->type) :
	    kernel_run_permute(r->d, &b, count_values(r, v), KERNEL_F32);
}

/* Does the batch norm behind mul i run it? */
static bool
bn_folds_in(const struct run *r, uint32_t i)
{
	return !r->train && r->set->eval[i] != NULL;
}

static int
run_product(const struct run *r, const struct plan_step *s, enum dnn_way way)
{
	uint32_t i = 3 * r->p->node[s->node].state + way;

	if (way == DNN_FORWARD && bn_folds_in(r, r->p->node[s->node].state))
		return 0;

	return r->set->dnn[i] != NULL ? dnn_run(r->set->dnn[i]) : blas_run(r->set->blas[i]);
}

/* Channels and pixels of a weight's pictures: R S of a convolution, H W of what a full layer reads. */
static void
weight_sides(const struct engine_plan *p, const struct plan_mul *m, uint32_t *c, uint32_t *pixels)
{
	const struct graph_node *l = &p->graph->node[m->node];

	*c = l->op == GRAPH_FC ? m->x.c : m->x.c / (l->groups > 0 ? l->groups : 1);
	*pixels = l->op == GRAPH_FC ? m->x.h * m->x.w : l->r * l->s;
}

static int
weight_back(const struct run *r, const struct plan_step *s)
{
	const struct plan_mul *m = &r->p->mul[r->p->node[s->node].state];
	const struct graph_array *w = &r->p->graph->w[step_node(r, s)->weight];
	struct kernel_permute a = { .x = run_weight(r->p), .to = run_floats(r, r->p->kept.g, w->first),
	    .to_type = KERNEL_F32,
		.scale = run_unscale(r->p), .from_type = step_node(r, s)->op == GRAPH_FC ? KERNEL_F32 : r->p->type };
	int e = run_product(r, s, DNN_WEIGHT);

	weight_sides(r->p, m, &a.c, &a.b);
	a.ld = a.b;
	return e < 0 ? e : kernel_run_permute(r->d, &a, (uint32_t)w->count, KERNEL_F32);
}

float *
run_bias(const struct engine_plan *p, uint32_t i)
{
	const int32_t bias = p->graph->node[p->mul[i].node].bias_at;

	if (p->mul[i].bn != PLAN_NONE)
		return (float *)(p->held + p->mul[i].bias);
	return bias >= 0 ? (float *)(p->held + p->kept.w) + p->graph->w[bias].first : NULL;
}

void *
run_added(const struct engine_plan *p, uint32_t i)
{
	return p->type == KERNEL_F32 ? (void *)run_bias(p, i) : p->held + p->mul[i].added;
}

/* n numbers of f32 to another place, in a type. */
static int
convert_values(struct engine_plan *p, const float *x, void *to, uint32_t n, int type)
{
	const struct kernel_permute a = { .x = x, .to = to, .b = n, .c = 1, .ld = n, .from_type = KERNEL_F32,
	    .to_type = type };

	return kernel_run_permute(p->dev->d, &a, n, KERNEL_F32);
}

/*
 * What mul i adds, and *factor of its weights' rows: the batch norm's behind it, or its own bias,
 * where it has one of them.
 */
static int
make_biases(struct engine_plan *p, uint32_t i, bool fold, const float **factor)
{
	const struct plan_mul *m = &p->mul[i];
	const struct graph_node *l = &p->graph->node[m->node];
	const int32_t own = l->bias_at;
	int e = 0;

	fold = fold && m->bn != PLAN_NONE;
	*factor = fold ? run_bias(p, i) + m->y.c : NULL;
	if (fold)
		e = run_bn_fold(p, &p->step[m->bn]);
	else if (own >= 0 && m->bn != PLAN_NONE)
		e = convert_values(p, (float *)(p->held + p->kept.w) + p->graph->w[own].first, run_bias(p, i), m->y.c,
		    KERNEL_F32);
	return e == 0 && (fold || own >= 0) && l->op == GRAPH_CONV && p->type != KERNEL_F32 ?
	    convert_values(p, run_bias(p, i), run_added(p, i), m->y.c, p->type) : e;
}

int
run_weights(struct engine_plan *p, bool fold)
{
	int e = 0;

	for (uint32_t i = 0; i < p->nmul && e == 0; i++) {
		const struct plan_mul *m = &p->mul[i];
		const struct graph_array *w = &p->graph->w[p->graph->node[m->node].weight];
		struct kernel_permute a = { .x = (float *)(p->held + p->kept.w) + w->first, .to = p->held + m->held,
			.from_type = KERNEL_F32, .to_type = p->type };

		e = make_biases(p, i, fold, &a.row);
		weight_sides(p, m, &a.b, &a.c);
		a.ld = a.b;
		if (e == 0)
			e = kernel_run_permute(p->dev->d, &a, (uint32_t)w->count, KERNEL_F32);
	}
	return e;
}

static int
run_bias_step(const struct run *r, const struct plan_step *s)
{
	uint32_t i = r->p->node[s->node].state;
	const struct kernel_bias a = { view_of(r, &s->x), view_of(r, &s->y),
		s->parts > 0 ? view_of(r, &s->part[0]) : (struct kernel_view){ 0 },
		step_node(r, s)->bias_at >= 0 ? run_bias(r->p, i) : NULL, s->relu };

	if (r->set->fused[i] || bn_folds_in(r, i))
		return 0;
	return kernel_run_bias(r->d, &a, count_values(r, &s->y), r->p->type);
}

static int
bias_back(const struct run *r, const struct plan_step *s)
{
	struct plan_view dy = s->dy;

	/* A full layer's bias is of its outputs, which are one pixel. */
	assert(dy.c == step_node(r, s)->c);
	return run_columns(r->p, &dy, r->n, run_floats(r, r->p->kept.g,
	    r->p->graph->w[step_node(r, s)->bias_at].first));
}

static int
relu_back(const struct run *r, const struct plan_step *s)
{
	const struct kernel_relu_back a = { view_of(r, &s->y), view_of(r, &s->dy), view_of(r, &s->dx) };

	return kernel_run_relu_back(r->d, &a, count_values(r, &s->dx), r->p->type);
}

static int
run_act(const struct run *r, const struct plan_step *s)
{
	const struct kernel_act a = { view_of(r, &s->x), view_of(r, &s->y), (int)step_node(r, s)->act,
	    step_node(r, s)->alpha };

	return kernel_run_act(r->d, &a, count_values(r, &s->y), r->p->type);
}

static int
act_back(const struct run *r, const struct plan_step *s)
{
	const struct kernel_act_back a = { view_of(r, &s->x), view_of(r, &s->dy), view_of(r, &s->dx),
	    (int)step_node(r, s)->act,
		step_node(r, s)->alpha };

	return kernel_run_act_back(r->d, &a, count_values(r, &s->dx), r->p->type);
}

static int
run_copy(const struct run *r, const struct plan_step *s)
{
	const struct kernel_copy a = { view_of(r, &s->x), view_of(r, &s->y) };

	return kernel_run_copy(r->d, &a, count_values(r, &s->y), r->p->type);
}

/* Both ways: dx of dy as y of x. */
static int
run_drop(const struct run *r, const struct plan_step *s)
{
	const struct plan_view *x = s->dx.c > 0 ? &s->dy : &s->x, *y = s->dx.c > 0 ? &s->dx : &s->y;
	const uint32_t *key = (const uint32_t *)(r->p->held +
	    r->p->kept.key) + (size_t)r->p->node[s->node].state * r->p->batch;
	const struct kernel_drop a = { view_of(r, x), view_of(r, y), key, y->h * y->w,
	    drop_bound(step_node(r, s)->drop),
		1 - step_node(r, s)->drop };

	return r->train ? kernel_run_drop(r->d, &a, count_values(r, y), r->p->type) : run_copy(r, s);
}

static struct kernel_window
step_window(const struct run *r, const struct plan_step *s)
{
	const struct graph_node *l = step_node(r, s), *in = &r->p->graph->node[l->in[0]];

	return (struct kernel_window){ in->h, in->w, l->h, l->w, l->r, l->s, l->stride[0], l->stride[1], l->pad[0],
	    l->pad[1],
		l->pool == GRAPH_AVG, (int)l->divide };
}

static void *
kept_by_step(const struct run *r, const struct plan_step *s)
{
	return s->keep != PLAN_NONE ? r->p->arena + r->p->buf[s->keep].at : NULL;
}

static int
run_pool(const struct run *r, const struct plan_step *s)
{
	const struct kernel_pool a = { step_window(r, s), view_of(r, &s->x), view_of(r, &s->y), kept_by_step(r, s) };

	return kernel_run_pool(r->d, &a, count_values(r, &s->y), r->p->type);
}

static int
pool_back(const struct run *r, const struct plan_step *s)
{
	const struct kernel_pool_back a = { step_window(r, s), view_of(r, &s->dy), view_of(r, &s->dx),
	    kept_by_step(r, s) };

	return kernel_run_pool_back(r->d, &a, count_values(r, &s->dx), r->p->type);
}

static int
run_lrn(const struct run *r, const struct plan_step *s)
{
	const struct graph_node *l = step_node(r, s);
	const struct kernel_lrn a = { view_of(r, &s->x), view_of(r, &s->y), kept_by_step(r, s), l->size, l->knorm,
		l->alpha / (float)l->size, l->power };

	return kernel_run_lrn(r->d, &a, count_values(r, &s->y), r->p->type);
}

static int
lrn_back(const struct run *r, const struct plan_step *s)
{
	const struct graph_node *l = step_node(r, s);
	const struct kernel_lrn_back a = { view_of(r, &s->x), view_of(r, &s->dy), view_of(r, &s->dx),
	    kept_by_step(r, s), l->size,
		l->alpha / (float)l->size, l->power };

	return kernel_run_lrn_back(r->d, &a, count_values(r, &s->dx), r->p->type);
}

static int
run_pad(const struct run *r, const struct plan_step *s)
{
	const struct graph_node *l = step_node(r, s);
	const struct kernel_pad a = { view_of(r, &s->x), view_of(r, &s->y), s->x.h, s->x.w, l->pad[0], l->pad[1],
	    l->reflect };

	return kernel_run_pad(r->d, &a, count_values(r, &s->y), r->p->type);
}

static int
pad_back(const struct run *r, const struct plan_step *s)
{
	const struct graph_node *l = step_node(r, s);
	const struct kernel_pad_back a = { view_of(r, &s->dy), view_of(r, &s->dx), s->dx.h, s->dx.w, l->pad[0],
	    l->pad[1],
		l->reflect };

	return kernel_run_pad_back(r->d, &a, count_values(r, &s->dx), r->p->type);
}

static int
run_turn(const struct run *r, const struct plan_step *s)
{
	const struct plan_view *v = &s->x;
	const struct kernel_permute a = { view_of(r, v).p, view_of(r, &s->y).p, v->h * v->w, v->c, v->h * v->w,
	    r->p->type,
		r->p->type, NULL, NULL };

	return kernel_run_permute(r->d, &a, count_values(r, v), KERNEL_F32);
}

static int
turn_back(const struct run *r, const struct plan_step *s)
{
	const struct plan_view *v = &s->dx;
	const struct kernel_permute a = { view_of(r, &s->dy).p, view_of(r, v).p, v->c, v->h * v->w, v->c, r->p->type,
	    r->p->type,
		NULL, NULL };

	return kernel_run_permute(r->d, &a, count_values(r, v), KERNEL_F32);
}

static int
run_several(const struct run *r, const struct plan_step *s)
{
	struct kernel_several a = { .y = view_of(r, &s->y), .n = s->parts, .times = s->kind == PLAN_TIMES,
	    .relu = s->relu };

	for (uint32_t k = 0; k < s->parts; k++)
		a.x[k] = view_of(r, &s->part[k]);
	return kernel_run_several(r->d, &a, count_values(r, &s->y), r->p->type);
}

static int
run_loss(const struct run *r, const struct plan_step *s)
{
	const struct plan_kept *k = &r->p->kept;
	const struct kernel_softmax a = { view_of(r, &s->x), (const struct kernel_label *)(r->p->held + k->label),
		run_floats(r, k->prob, 0), run_floats(r, k->loss, 0), (uint32_t *)(r->p->held + k->before),
		r->train ? step_node(r, s)->smooth : 0 };

	return kernel_run_softmax(r->d, &a, r->n, r->p->type);
}

static int
loss_back(const struct run *r, const struct plan_step *s)
{
	const struct plan_kept *k = &r->p->kept;
	const struct kernel_softmax_back a = { run_floats(r, k->prob, 0),
	    (const struct kernel_label *)(r->p->held + k->label),
		view_of(r, &s->dx), step_node(r, s)->smooth,
		    r->p->type == KERNEL_F16 ? run_floats(r, k->scale, 0) : NULL };

	return kernel_run_softmax_back(r->d, &a, count_values(r, &s->dx), r->p->type);
}

static int
run_step(const struct run *r, const struct plan_step *s)
{
	switch (s->kind) {
	case PLAN_INPUT:	return run_input(r, s);
	case PLAN_MUL:		return run_product(r, s, DNN_FORWARD);
	case PLAN_MUL_WEIGHT:	return weight_back(r, s);
	case PLAN_MUL_DATA:	return run_product(r, s, DNN_DATA);
	case PLAN_BIAS:		return run_bias_step(r, s);
	case PLAN_BIAS_BACK:	return bias_back(r, s);
	case PLAN_RELU_BACK:	return relu_back(r, s);
	case PLAN_BN:		return run_bn(r->p, s, r->set, r->train);
	case PLAN_BN_BACK:	return run_bn_back(r->p, s, r->n);
	case PLAN_ACT:		return run_act(r, s);
	case PLAN_ACT_BACK:	return act_back(r, s);
	case PLAN_DROP:		return run_drop(r, s);
	case PLAN_POOL:		return run_pool(r, s);
	case PLAN_POOL_BACK:	return pool_back(r, s);
	case PLAN_LRN:		return run_lrn(r, s);
	case PLAN_LRN_BACK:	return lrn_back(r, s);
	case PLAN_PAD:		return run_pad(r, s);
	case PLAN_PAD_BACK:	return pad_back(r, s);
	case PLAN_COPY:		return run_copy(r, s);
	case PLAN_TURN:		return run_turn(r, s);
	case PLAN_TURN_BACK:	return turn_back(r, s);
	case PLAN_LOSS:		return run_loss(r, s);
	case PLAN_LOSS_BACK:	return loss_back(r, s);
	default:		return run_several(r, s);
	}
}

int
run_steps(struct engine_plan *p, const struct plan_set *set, uint32_t from, uint32_t to, bool train, bool pixels)
{
	const struct run r = { p, set, set->n, train, pixels, p->dev->d };
	int e = 0;

	for (uint32_t i = from; i < to && e == 0; i++)
		if ((e = run_step(&r, &p->step[i])) < 0)
			p->dev->host->within("%s", p->graph->node[p->step[i].node].name);
	return e;
}
