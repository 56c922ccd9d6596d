/*
 * run_bn - batch norm and sums over pixels: strips of pixels, then strips of strips, until one is left.
 *
 * A strip is long enough that its sum costs more than its place in memory, and
 * there are enough of them to keep a GPU busy.  How pixels are cut depends on their
 * number and on nothing else.
 */
#include "engine/cuda/plan.h"

#define THREADS	((uint32_t)1 << 18)	/* that a GPU is kept busy by */
#define LEAST	KERNEL_ROW		/* pixels of a strip */

struct strips {
	uint32_t m, rows, n;
};

static struct strips
cut_bn_strips(uint32_t m, uint32_t c)
{
	struct strips s = { .m = m, .n = THREADS / c > 0 ? THREADS / c : 1 };

	s.rows = (m + s.n - 1) / s.n;
	if (s.rows < LEAST)
		s.rows = LEAST;
	s.n = (m + s.rows - 1) / s.rows;
	return s;
}

static uint32_t
count_joined(uint32_t n)
{
	return (n + KERNEL_JOIN - 1) / KERNEL_JOIN;
}

/* Two numbers a channel: of all strips, and of those that they are joined to. */
size_t
run_bn_scratch(uint32_t m, uint32_t c)
{
	uint32_t n = cut_bn_strips(m, c).n;

	return memplan_round(((size_t)n + count_joined(n)) * 2 * c * sizeof(float));
}

/* The sums [strips.n, c] at sums become one at to.  Behind them is room for what they are joined to on the way. */
static int
join_strips(struct engine_plan *p, float *sums, uint32_t n, uint32_t c, float *to, const float *scale)
{
	float *from = sums, *next = sums + (size_t)n * c;
	int e = 0;

	for (; n > KERNEL_JOIN && e == 0; n = count_joined(n)) {
		const struct kernel_columns_join a = { from, next, c, n, NULL };
		float *was = from;

		e = kernel_run_columns_join(p->dev->d, &a, count_joined(n) * c, KERNEL_F32);
		from = next;
		next = was;
	}
	return e == 0 ? kernel_run_columns_join(p->dev->d, &(struct kernel_columns_join){ from, to, c, n, scale }, c,
	    KERNEL_F32) : e;
}

int
run_columns(struct engine_plan *p, const struct plan_view *dy, uint32_t n, float *to)
{
	struct strips s = cut_bn_strips(n * dy->h * dy->w, dy->c);
	float *sums = (float *)p->scratch;
	const struct kernel_columns a = { run_view(p, dy), s.m, s.rows, sums };
	int e = kernel_run_columns(p->dev->d, &a, s.n * dy->c, p->type);

	return e == 0 ? join_strips(p, sums, s.n, dy->c, to, run_unscale(p)) : e;
}

/* Mean and sum of squared deviations of all pixels, *mean and *m2 [c] in scratch. */
static int
run_moments(struct engine_plan *p, const struct plan_view *x, uint32_t n, float **mean, float **m2)
{
	struct strips s = cut_bn_strips(n * x->h * x->w, x->c);
	float *from = (float *)p->scratch, *next = from + (size_t)s.n * 2 * x->c;
	const struct kernel_moments a = { run_view(p, x), s.m, s.rows, from, from + (size_t)s.n * x->c };
	int e = kernel_run_moments(p->dev->d, &a, s.n * x->c, p->type);

	while (s.n > 1 && e == 0) {
		uint32_t to = count_joined(s.n);
		const struct kernel_moments_join j = { from, from + (size_t)s.n * x->c, next, next + (size_t)to * x->c,
		    x->c, s.n,
			s.m, s.rows };
		float *was = from;

		e = kernel_run_moments_join(p->dev->d, &j, to * x->c, KERNEL_F32);
		from = next;
		next = was;
		s.n = to;
		s.rows = s.rows <= s.m / KERNEL_JOIN ? s.rows * KERNEL_JOIN : s.m;
	}
	*mean = from;
	*m2 = from + x->c;
	return e;
}

/* Where batch norm's five numbers a channel are kept. */
static float *
bn_numbers(const struct engine_plan *p, const struct plan_step *s)
{
	return (float *)(p->held + p->kept.bn) + (size_t)p->node[s->node].state * 5;
}

static float *
bn_array(const struct engine_plan *p, size_t base, int32_t a)
{
	return (float *)(p->held + base) + p->graph->w[a].first;
}

static float *
bn_statistic(const struct engine_plan *p, size_t base, int32_t a)
{
	return (float *)(p->held + base) + p->graph->aux[a].first;
}

/* What the convolution before it did not do of it: count numbers. */
static int
bn_folded(struct engine_plan *p, const struct plan_step *s, const struct plan_set *set, uint32_t count)
{
	const bool added = p->graph->node[p->mul[s->folds].node].bias_at >= 0;
	const struct kernel_bias a = { run_view(p, &s->x), run_view(p, &s->y),
		s->parts > 0 ? run_view(p, &s->part[0]) : (struct kernel_view){ 0 },
		    added ? NULL : run_bias(p, s->folds), s->relu };

	return set->eval[s->folds] != NULL ? dnn_run(set->eval[s->folds]) : kernel_run_bias(p->dev->d, &a, count,
	    p->type);
}

/* The factor and the bias that batch norm step s makes of its convolution's weights. */
int
run_bn_fold(struct engine_plan *p, const struct plan_step *s)
{
	const struct graph_node *l = &p->graph->node[s->node];
	const struct plan_mul *m = &p->mul[s->folds];
	const int32_t bias = p->graph->node[m->node].bias_at;
	const struct kernel_bn_fold a = {
		.mean = bn_statistic(p, p->kept.aux, l->mean), .var = bn_statistic(p, p->kept.aux, l->var),
		.beta = bn_array(p, p->kept.w, l->beta), .gamma = l->fix_gamma ? NULL : bn_array(p, p->kept.w,
		    l->gamma),
		.bias = bias >= 0 ? bn_array(p, p->kept.w, bias) : NULL, .to = run_bias(p, s->folds), .c = s->x.c,
		    .eps = l->eps };

	return kernel_run_bn_fold(p->dev->d, &a, a.c, KERNEL_F32);
}

int
run_bn(struct engine_plan *p, const struct plan_step *s, const struct plan_set *set, bool train)
{
	const struct graph_node *l = &p->graph->node[s->node];
	uint32_t c = s->x.c, n = set->n, m = n * s->x.h * s->x.w;
	struct kernel_bn_ready r = {
		.gamma = l->fix_gamma ? NULL : bn_array(p, p->kept.w, l->gamma),
		.kept = bn_numbers(p, s), .c = c, .m = 1, .eps = l->eps,
	};
	const struct kernel_bn a = { run_view(p, &s->x), run_view(p, &s->y),
		s->parts > 0 ? run_view(p, &s->part[0]) : (struct kernel_view){ 0 }, r.kept,
		    bn_array(p, p->kept.w, l->beta), s->relu };
	float *mean = bn_statistic(p, p->kept.aux, l->mean), *m2 = bn_statistic(p, p->kept.aux, l->var);
	int e;

	if (!train && s->folds != PLAN_NONE)
		return bn_folded(p, s, set, m * c);
	if (train && !s->constant) {
		if ((e = run_moments(p, &s->x, n, &mean, &m2)) < 0)
			return e;
		r.mean_to = bn_statistic(p, p->kept.stats, l->mean);
		r.var_to = bn_statistic(p, p->kept.stats, l->var);
		r.m = (float)m;
	}
	r.mean = mean;
	r.m2 = m2;
	if ((e = kernel_run_bn_ready(p->dev->d, &r, c, KERNEL_F32)) < 0)
		return e;
	return kernel_run_bn(p->dev->d, &a, m * c, p->type);
}

/* The gradients of gamma and beta, and both sums at `all` [2, c], which dx is made of. */
static int
learn_bn(struct engine_plan *p, const struct plan_step *s, const struct kernel_bn_back *b, uint32_t n, float *all)
{
	const struct graph_node *l = &p->graph->node[s->node];
	uint32_t c = s->x.c;
	struct strips cuts = cut_bn_strips(n * s->x.h * s->x.w, c);
	float *sums = (float *)p->scratch;
	const float *scale = run_unscale(p);
	const struct kernel_bn_sums a = { b->x, b->dy, b->kept, b->beta, cuts.m, cuts.rows, s->relu, sums };
	const struct kernel_columns_join to_beta = { all, bn_array(p, p->kept.g, l->beta), c, 1, scale };
	const struct kernel_columns_join to_gamma = { all + c, bn_array(p, p->kept.g, l->gamma), c, 1, scale };
	int e;

	if ((e = kernel_run_bn_sums(p->dev->d, &a, cuts.n * c, p->type)) < 0 ||
	    (e = join_strips(p, sums, cuts.n, 2 * c, all, NULL)) < 0 ||
	    (e = kernel_run_columns_join(p->dev->d, &to_beta, c, KERNEL_F32)) < 0)
		return e;
	return l->fix_gamma ? device_zero(p->dev->d, to_gamma.to, c * sizeof(float)) :
	    kernel_run_columns_join(p->dev->d, &to_gamma, c, KERNEL_F32);
}

int
run_bn_back(struct engine_plan *p, const struct plan_step *s, uint32_t n)
{
	uint32_t c = s->x.c, m = n * s->x.h * s->x.w;
	float *kept = bn_numbers(p, s), *all = kept + 3 * (size_t)c;
	struct kernel_bn_back b = { .x = run_view(p, &s->x), .dy = run_view(p, &s->dy), .kept = kept, .sums = all,
		.beta = bn_array(p, p->kept.w, p->graph->node[s->node].beta), .m = (float)m, .relu = s->relu,
		    .constant = s->constant };
	int e = s->constant ? 0 : learn_bn(p, s, &b, n, all);

	if (e < 0 || s->dx.c == 0)
		return e;
	b.dx = run_view(p, &s->dx);
	return kernel_run_bn_back(p->dev->d, &b, m * c, p->type);
}
