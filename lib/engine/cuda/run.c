/* run - enqueues each step as the kernels and products that it takes, for n samples. */
#include "engine/cuda/exec_plan.h"

#include "base/err.h"
#include "engine/drop.h"

_Static_assert(KERNEL_RELU == (int)GRAPH_RELU && KERNEL_TANH == (int)GRAPH_TANH &&
    KERNEL_SIGMOID == (int)GRAPH_SIGMOID && KERNEL_LINEAR == (int)GRAPH_LINEAR &&
    KERNEL_LEAKY == (int)GRAPH_LEAKY && KERNEL_ELU == (int)GRAPH_ELU &&
    KERNEL_GELU == (int)GRAPH_GELU && KERNEL_GELU_TANH == (int)GRAPH_GELU_TANH &&
    KERNEL_SWISH == (int)GRAPH_SWISH, "kernel_act.h numbers activations as net/graph/graph.h");
_Static_assert(KERNEL_WINDOW == (int)GRAPH_WINDOW && KERNEL_PADDED == (int)GRAPH_PADDED &&
    KERNEL_INSIDE == (int)GRAPH_INSIDE, "kernel_pool.h numbers divisors as net/graph/graph.h");

/* The arguments of run_steps(). */
struct run {
	struct engine_plan    *p;
	const struct exec_set *set;
	uint32_t	       n;
	bool		       train, pixels;
	struct device	      *d;
};

struct kernel_view
run_view(const struct engine_plan *p, const struct exec_view *v)
{
	return (struct kernel_view){ p->arena + p->buf[v->buf].at + (size_t)v->first * kernel_size(v->type), v->c,
		v->ld, v->type };
}

struct kernel_view
run_addend(const struct engine_plan *p, const struct exec_step *s)
{
	return s->parts > 0 ? run_view(p, &s->part[0]) : (struct kernel_view){ 0 };
}

const float *
run_inverse_scale(const struct engine_plan *p)
{
	return p->type == KERNEL_F16 ? exec_floats(p, p->kept.scale) + 1 : NULL;
}

static uint32_t
count_pixels(const struct run *r, const struct exec_view *v)
{
	return r->n * v->h * v->w;
}

static uint32_t
count_values(const struct run *r, const struct exec_view *v)
{
	return count_pixels(r, v) * v->c;
}

static const struct graph_node *
get_step_node(const struct run *r, const struct exec_step *s)
{
	return &r->p->graph->node[s->node];
}

static int
run_input(const struct run *r, const struct exec_step *s)
{
	const struct exec_view *v = &s->y;
	const struct exec_kept *k = &r->p->kept;
	const char *at = r->p->kept_base;
	const struct kernel_pixels pixels = { (const struct kernel_image *)(at + k->image),
		(const struct kernel_norm *)(at + k->norm), (const float *)(at + k->mean), v->h, v->w,
		run_view(r->p, v) };
	const struct kernel_permute values = { .x = at + k->batch, .to = pixels.y.p, .b = v->c, .c = v->h * v->w,
		.ld = v->ld, .from_type = KERNEL_F32, .to_type = v->type };

	return r->pixels ? kernel_run_pixels(r->d, &pixels, count_values(r, v), s->type) :
	    kernel_run_permute(r->d, &values, count_values(r, v), KERNEL_F32);
}

/* Does the convolution of product i contain the batch norm after it? */
static bool
contains_bn(const struct run *r, uint32_t i)
{
	return !r->train && r->set->dnn[EXEC_WAYS * i + EXEC_EVAL] != NULL;
}

static int
run_product(const struct run *r, const struct exec_step *s, enum dnn_way way)
{
	uint32_t product = r->p->node[s->node].state, i = EXEC_WAYS * product + way;

	if (way == DNN_FORWARD && contains_bn(r, product))
		return 0;
	return r->set->dnn[i] != NULL ? dnn_run(r->set->dnn[i]) : blas_run(r->set->blas[i]);
}

void
run_weight_sides(const struct engine_plan *p, const struct exec_product *m, uint32_t *c, uint32_t *pixels)
{
	const struct graph_node *l = exec_node_at(p, m->node);

	*c = l->op == GRAPH_FC ? m->x.c : m->x.c / (l->groups > 0 ? l->groups : 1);
	*pixels = l->op == GRAPH_FC ? m->x.h * m->x.w : l->r * l->s;
}

float *
run_bias(const struct engine_plan *p, uint32_t i)
{
	const int32_t bias = exec_node_at(p, p->product[i].node)->bias_at;

	if (p->product[i].bn != EXEC_NONE)
		return exec_floats(p, p->product[i].fold_at);
	return bias >= 0 ? exec_floats(p, p->kept.w) + p->graph->w[bias].first : NULL;
}

void *
run_typed_bias(const struct engine_plan *p, uint32_t i)
{
	float *own = run_bias(p, i);

	return p->product[i].type == KERNEL_F32 && own != NULL ? (void *)own :
	    (void *)(p->kept_base + p->product[i].typed_bias_at);
}

static int
run_bias_step(const struct run *r, const struct exec_step *s)
{
	uint32_t i = r->p->node[s->node].state;
	const struct kernel_bias a = { run_view(r->p, &s->x), run_view(r->p, &s->y), run_addend(r->p, s),
		count_pixels(r, &s->y), get_step_node(r, s)->bias_at >= 0 ? run_bias(r->p, i) : NULL, s->relu };

	if (r->set->fused[i] || contains_bn(r, i))
		return 0;
	return kernel_run_bias(r->d, &a, s->type);
}

static int
run_bias_back(const struct run *r, const struct exec_step *s)
{
	return run_pixel_sums(r->p, &s->dy, r->n, exec_floats(r->p, r->p->kept.g) +
	    r->p->graph->w[get_step_node(r, s)->bias_at].first);
}

/* Forward and backward are the same function. */
static int
run_dropout(const struct run *r, const struct exec_step *s)
{
	const struct exec_view *x = s->dx.c > 0 ? &s->dy : &s->x, *y = s->dx.c > 0 ? &s->dx : &s->y;
	const uint32_t *key = (const uint32_t *)(r->p->kept_base + r->p->kept.key) +
	    (size_t)r->p->node[s->node].state * r->p->batch;
	const struct kernel_drop a = { run_view(r->p, x), run_view(r->p, y), key, y->h * y->w,
		drop_bound(get_step_node(r, s)->drop), 1 - get_step_node(r, s)->drop };
	const struct kernel_combine copy = { .x = { a.x }, .y = a.y, .n = 1, .m = count_pixels(r, y) };

	return r->train ? kernel_run_drop(r->d, &a, count_values(r, y), s->type) :
	    kernel_run_combine(r->d, &copy, s->type);
}

static struct kernel_window
describe_step_window(const struct run *r, const struct exec_step *s)
{
	const struct graph_node *l = get_step_node(r, s), *in = exec_node_at(r->p, l->in[0]);

	return (struct kernel_window){ in->h, in->w, l->h, l->w, l->r, l->s, l->stride[0], l->stride[1],
		l->pad[0], l->pad[1], l->pool == GRAPH_AVG, (int)l->divide };
}

/* The view with pixels has the order h, w, c; the other one c, h, w. */
static int
run_permute(const struct run *r, const struct exec_step *s)
{
	const bool from_pixels = s->x.h * s->x.w > 1;
	const struct exec_view *v = from_pixels ? &s->x : &s->y;
	const uint32_t b = from_pixels ? v->h * v->w : v->c, c = from_pixels ? v->c : v->h * v->w;
	const struct kernel_permute a = { .x = run_view(r->p, &s->x).p, .to = run_view(r->p, &s->y).p, .b = b, .c = c,
		.ld = b, .from_type = s->x.type, .to_type = s->y.type };

	return kernel_run_permute(r->d, &a, count_values(r, v), KERNEL_F32);
}

static int
run_combine(const struct run *r, const struct exec_step *s)
{
	struct kernel_combine a = { .y = run_view(r->p, &s->y), .n = s->parts, .m = count_pixels(r, &s->y),
		.times = s->kind == EXEC_MULTIPLY, .relu = s->relu };

	for (uint32_t k = 0; k < s->parts; k++)
		a.x[k] = run_view(r->p, &s->part[k]);
	if (s->passed.c > 0)
		a.passed = run_view(r->p, &s->passed);
	return kernel_run_combine(r->d, &a, s->type);
}

/* What the outputs are compared with; NULL: a class. */
static const float *
get_loss_target(const struct run *r, const struct exec_step *s)
{
	return get_step_node(r, s)->loss == GRAPH_LOSS_SOFTMAX ? NULL : exec_floats(r->p, r->p->kept.target);
}

static const float *
loss_positive(const struct run *r, const struct exec_step *s)
{
	return get_step_node(r, s)->loss == GRAPH_LOSS_SIGMOID ? exec_floats(r->p, r->p->kept.positive) : NULL;
}

static int
run_loss(const struct run *r, const struct exec_step *s)
{
	const struct exec_kept *k = &r->p->kept;
	const struct kernel_softmax a = { run_view(r->p, &s->x),
		(const struct kernel_label *)(r->p->kept_base + k->label), exec_floats(r->p, k->prob),
		exec_floats(r->p, k->loss), (uint32_t *)(r->p->kept_base + k->rank),
		r->train ? get_step_node(r, s)->smooth : 0, get_loss_target(r, s),
		get_step_node(r, s)->loss == GRAPH_LOSS_SQUARED, loss_positive(r, s) };

	const struct kernel_softmax_parts parts = { a.x, (struct kernel_softmax_part *)(r->p->kept_base + k->parts),
		a.rank };
	const struct kernel_softmax_lanes lanes = { a, parts.part };
	int e;

	if (s->x.c < KERNEL_MANY || a.target != NULL)
		return kernel_run_softmax(r->d, &a, r->n, s->type);
	e = kernel_run_softmax_parts(r->d, &parts, r->n * KERNEL_WARP, s->type);
	return e < 0 ? e : kernel_run_softmax_lanes(r->d, &lanes, r->n * KERNEL_WARP, s->type);
}

static int
run_loss_back(const struct run *r, const struct exec_step *s)
{
	const struct exec_kept *k = &r->p->kept;
	const struct kernel_softmax_back a = { exec_floats(r->p, k->prob),
		(const struct kernel_label *)(r->p->kept_base + k->label), run_view(r->p, &s->dx),
		get_step_node(r, s)->smooth, r->p->type == KERNEL_F16 ? exec_floats(r->p, k->scale) : NULL,
		get_loss_target(r, s), get_step_node(r, s)->loss == GRAPH_LOSS_SQUARED, loss_positive(r, s) };

	return kernel_run_softmax_back(r->d, &a, count_values(r, &s->dx), s->type);
}

/* The layers that read x and write y, one kernel each. */
static int
run_layer(const struct run *r, const struct exec_step *s)
{
	const struct graph_node *l = get_step_node(r, s);
	const struct kernel_view x = run_view(r->p, &s->x), y = run_view(r->p, &s->y);
	void *keep = s->keep != EXEC_NONE ? r->p->arena + r->p->buf[s->keep].at : NULL;
	const float each = l->alpha / (float)(l->size > 0 ? l->size : 1);
	const uint32_t n = count_values(r, &s->y), m = count_pixels(r, &s->y);

	switch (s->kind) {
	case EXEC_ACT:
		return kernel_run_act(r->d, &(struct kernel_act){ x, y, m, (int)l->act, l->alpha }, s->type);
	case EXEC_POOL:
		return kernel_run_pool(r->d, &(struct kernel_pool){ describe_step_window(r, s), x, y, m, keep },
		    s->type);
	case EXEC_LRN:
		return kernel_run_lrn(r->d, &(struct kernel_lrn){ x, y, keep, l->size, l->knorm, each, l->power }, n,
		    s->type);
	default:
		assert(s->kind == EXEC_PAD);
		return kernel_run_pad(r->d, &(struct kernel_pad){ x, y, s->x.h, s->x.w, l->pad[0], l->pad[1],
		    l->reflect }, n, s->type);
	}
}

/* The same backward: dy, and x or what the forward step kept, to dx. */
static int
run_layer_back(const struct run *r, const struct exec_step *s)
{
	const struct graph_node *l = get_step_node(r, s);
	const struct kernel_view x = run_view(r->p, &s->x), dy = run_view(r->p, &s->dy), dx = run_view(r->p, &s->dx);
	const void *keep = s->keep != EXEC_NONE ? r->p->arena + r->p->buf[s->keep].at : NULL;
	const float each = l->alpha / (float)(l->size > 0 ? l->size : 1);
	const uint32_t n = count_values(r, &s->dx), m = count_pixels(r, &s->dx);

	switch (s->kind) {
	case EXEC_ACT_BACK:
		return kernel_run_act_back(r->d, &(struct kernel_act_back){ x, dy, dx, m, (int)l->act, l->alpha },
		    s->type);
	case EXEC_POOL_BACK:
		return kernel_run_pool_back(r->d,
		    &(struct kernel_pool_back){ describe_step_window(r, s), dy, dx, m, keep },
		    s->type);
	case EXEC_LRN_BACK:
		return kernel_run_lrn_back(r->d, &(struct kernel_lrn_back){ x, dy, dx, keep, l->size, each,
		    l->power }, n, s->type);
	default:
		assert(s->kind == EXEC_PAD_BACK);
		return kernel_run_pad_back(r->d, &(struct kernel_pad_back){ dy, dx, s->dx.h, s->dx.w, l->pad[0],
		    l->pad[1], l->reflect }, n, s->type);
	}
}

static int
run_step(const struct run *r, const struct exec_step *s)
{
	switch (s->kind) {
	case EXEC_INPUT:		return run_input(r, s);
	case EXEC_PRODUCT:		return run_product(r, s, DNN_FORWARD);
	case EXEC_PRODUCT_WEIGHT:	return run_product(r, s, DNN_WEIGHT);
	case EXEC_PRODUCT_DATA:		return run_product(r, s, DNN_DATA);
	case EXEC_BIAS:			return run_bias_step(r, s);
	case EXEC_BIAS_BACK:		return run_bias_back(r, s);
	case EXEC_BN:			return run_bn(r->p, s, r->set, r->train);
	case EXEC_BN_BACK:		return run_bn_back(r->p, s, r->n);
	case EXEC_DROPOUT:		return run_dropout(r, s);
	case EXEC_PERMUTE:		return run_permute(r, s);
	case EXEC_ADD:
	case EXEC_MULTIPLY:		return run_combine(r, s);
	case EXEC_LOSS:			return run_loss(r, s);
	case EXEC_LOSS_BACK:		return run_loss_back(r, s);
	case EXEC_ACT:
	case EXEC_POOL:
	case EXEC_LRN:
	case EXEC_PAD:			return run_layer(r, s);
	default:			return run_layer_back(r, s);
	}
}

int
run_steps(struct engine_plan *p, const struct exec_set *set, uint32_t from, uint32_t to, bool train, bool pixels)
{
	const struct run r = { p, set, set->n, train, pixels, p->dev->d };
	int e = 0;

	for (uint32_t i = from; i < to && e == 0; i++)
		if ((e = run_step(&r, &p->step[i])) < 0)
			p->dev->host->within("%s", exec_node_at(p, p->step[i].node)->name);
	return e < 0 ? e : run_weight_gradients(p, from, to);
}
