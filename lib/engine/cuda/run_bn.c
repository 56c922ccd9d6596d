/*
 * run_bn - batch norm and sums over pixels: sums of strips of pixels, then of strips, until one is left.
 *
 * The lengths of the strips depend on the number of pixels alone, so that equal batches give equal bits.
 */
#include "engine/cuda/exec_plan.h"

#define THREADS	((uint32_t)1 << 18)	/* enough to keep a GPU busy */
#define LEAST	KERNEL_ROW		/* pixels of a strip, so that its sum costs more than storing it */

/* m pixels as n strips of `rows` pixels, the last one possibly shorter. */
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
count_merged(uint32_t n)
{
	return (n + KERNEL_MERGE - 1) / KERNEL_MERGE;
}

/* Two values per channel of all strips, and of the strips that they are merged into. */
size_t
run_bn_scratch(uint32_t m, uint32_t c)
{
	uint32_t n = cut_bn_strips(m, c).n;

	return memplan_round(((size_t)n + count_merged(n)) * 2 * c * sizeof(float));
}

/* Merges sums [n, c] into one at `to`.  The memory after them is used for intermediate sums. */
static int
merge_strips(struct engine_plan *p, float *sums, uint32_t n, uint32_t c, float *to, const float *scale)
{
	float *from = sums, *next = sums + (size_t)n * c;
	int e = 0;

	for (; n > KERNEL_MERGE && e == 0; n = count_merged(n)) {
		const struct kernel_column_merge a = { from, next, c, n, NULL };
		float *was = from;

		e = kernel_run_column_merge(p->dev->d, &a, count_merged(n) * c, KERNEL_F32);
		from = next;
		next = was;
	}
	return e < 0 ? e : kernel_run_column_merge(p->dev->d,
	    &(struct kernel_column_merge){ from, to, c, n, scale }, c, KERNEL_F32);
}

int
run_pixel_sums(struct engine_plan *p, const struct exec_view *dy, uint32_t n, float *to)
{
	struct strips s = cut_bn_strips(n * dy->h * dy->w, dy->c);
	float *sums = (float *)p->scratch;
	const struct kernel_column_sums a = { run_view(p, dy), s.m, s.rows, sums };
	int e = kernel_run_column_sums(p->dev->d, &a, s.n * dy->c, dy->type);

	return e == 0 ? merge_strips(p, sums, s.n, dy->c, to, run_inverse_scale(p)) : e;
}

/* The mean and the sum of squared deviations of all pixels; *mean and *m2 [c] point into scratch. */
static int
run_moments(struct engine_plan *p, const struct exec_view *x, uint32_t n, float **mean, float **m2)
{
	struct strips s = cut_bn_strips(n * x->h * x->w, x->c);
	float *from = (float *)p->scratch, *next = from + (size_t)s.n * 2 * x->c;
	const struct kernel_moments a = { run_view(p, x), s.m, s.rows, from, from + (size_t)s.n * x->c };
	int e = kernel_run_moments(p->dev->d, &a, s.n * x->c, x->type);

	while (s.n > 1 && e == 0) {
		uint32_t to = count_merged(s.n);
		const struct kernel_moments_merge j = { from, from + (size_t)s.n * x->c, next,
			next + (size_t)to * x->c, x->c, s.n, s.m, s.rows };
		float *was = from;

		e = kernel_run_moments_merge(p->dev->d, &j, to * x->c, KERNEL_F32);
		from = next;
		next = was;
		s.n = to;
		s.rows = s.rows <= s.m / KERNEL_MERGE ? s.rows * KERNEL_MERGE : s.m;
	}
	*mean = from;
	*m2 = from + x->c;
	return e;
}

/* The five values per channel that kept.bn holds. */
static float *
bn_saved(const struct engine_plan *p, const struct exec_step *s)
{
	return exec_floats(p, p->kept.bn) + (size_t)p->node[s->node].state * 5;
}

static float *
bn_array(const struct engine_plan *p, size_t base, int32_t a)
{
	return exec_floats(p, base) + p->graph->w[a].first;
}

static float *
bn_statistic(const struct engine_plan *p, size_t base, int32_t a)
{
	return exec_floats(p, base) + p->graph->aux[a].first;
}

/* A batch norm that is folded into the weights before it: the rest of it, count values. */
static int
run_folded(struct engine_plan *p, const struct exec_step *s, const struct exec_set *set, uint32_t count)
{
	/* A convolution with a bias has added the folded one already. */
	const bool added = exec_node_at(p, p->product[s->folded_into].node)->bias_at >= 0;
	const struct kernel_bias a = { run_view(p, &s->x), run_view(p, &s->y), run_addend(p, s),
		added ? NULL : run_bias(p, s->folded_into), s->relu };
	struct dnn *folded = set->dnn[EXEC_WAYS * s->folded_into + EXEC_EVAL];

	return folded != NULL ? dnn_run(folded) : kernel_run_bias(p->dev->d, &a, count, s->type);
}

int
run_bn_fold(struct engine_plan *p, const struct exec_step *s)
{
	const struct graph_node *l = exec_node_at(p, s->node);
	const int32_t bias = exec_node_at(p, p->product[s->folded_into].node)->bias_at;
	const struct kernel_bn_fold a = {
		.mean = bn_statistic(p, p->kept.aux, l->mean), .var = bn_statistic(p, p->kept.aux, l->var),
		.beta = bn_array(p, p->kept.w, l->beta),
		.gamma = l->fix_gamma ? NULL : bn_array(p, p->kept.w, l->gamma),
		.bias = bias >= 0 ? bn_array(p, p->kept.w, bias) : NULL,
		.to = run_bias(p, s->folded_into), .c = s->x.c, .eps = l->eps,
	};

	return kernel_run_bn_fold(p->dev->d, &a, a.c, KERNEL_F32);
}

int
run_bn(struct engine_plan *p, const struct exec_step *s, const struct exec_set *set, bool train)
{
	const struct graph_node *l = exec_node_at(p, s->node);
	uint32_t c = s->x.c, n = set->n, m = n * s->x.h * s->x.w;
	struct kernel_bn_prepare r = {
		.gamma = l->fix_gamma ? NULL : bn_array(p, p->kept.w, l->gamma),
		.saved = bn_saved(p, s), .c = c, .m = 1, .eps = l->eps,
	};
	const struct kernel_bn a = { run_view(p, &s->x), run_view(p, &s->y), run_addend(p, s), r.saved,
		bn_array(p, p->kept.w, l->beta), s->relu };
	float *mean = bn_statistic(p, p->kept.aux, l->mean), *m2 = bn_statistic(p, p->kept.aux, l->var);
	int e;

	if (!train && s->folded_into != EXEC_NONE)
		return run_folded(p, s, set, m * c);
	if (train && !s->frozen) {
		if ((e = run_moments(p, &s->x, n, &mean, &m2)) < 0)
			return e;
		r.mean_to = bn_statistic(p, p->kept.stats, l->mean);
		r.var_to = bn_statistic(p, p->kept.stats, l->var);
		r.m = (float)m;
	}
	r.mean = mean;
	r.m2 = m2;
	if ((e = kernel_run_bn_prepare(p->dev->d, &r, c, KERNEL_F32)) < 0)
		return e;
	return kernel_run_bn(p->dev->d, &a, m * c, s->type);
}

/* Enqueues the gradients of gamma and beta, and their sums for dx at `all` [2, c]. */
static int
sum_bn_gradients(struct engine_plan *p, const struct exec_step *s, const struct kernel_bn_back *b, uint32_t n,
	float *all)
{
	const struct graph_node *l = exec_node_at(p, s->node);
	uint32_t c = s->x.c;
	struct strips cuts = cut_bn_strips(n * s->x.h * s->x.w, c);
	float *sums = (float *)p->scratch;
	const float *scale = run_inverse_scale(p);
	const struct kernel_bn_sums a = { b->x, b->dy, b->saved, b->beta, cuts.m, cuts.rows, s->relu, sums };
	const struct kernel_column_merge to_beta = { all, bn_array(p, p->kept.g, l->beta), c, 1, scale };
	const struct kernel_column_merge to_gamma = { all + c, bn_array(p, p->kept.g, l->gamma), c, 1, scale };
	int e;

	if ((e = kernel_run_bn_sums(p->dev->d, &a, cuts.n * c, s->type)) < 0 ||
	    (e = merge_strips(p, sums, cuts.n, 2 * c, all, NULL)) < 0 ||
	    (e = kernel_run_column_merge(p->dev->d, &to_beta, c, KERNEL_F32)) < 0)
		return e;
	return l->fix_gamma ? device_zero(p->dev->d, to_gamma.to, c * sizeof(float)) :
	    kernel_run_column_merge(p->dev->d, &to_gamma, c, KERNEL_F32);
}

int
run_bn_back(struct engine_plan *p, const struct exec_step *s, uint32_t n)
{
	uint32_t c = s->x.c, m = n * s->x.h * s->x.w;
	float *saved = bn_saved(p, s), *all = saved + 3 * (size_t)c;
	struct kernel_bn_back b = { .x = run_view(p, &s->x), .dy = run_view(p, &s->dy), .saved = saved, .sums = all,
		.beta = bn_array(p, p->kept.w, exec_node_at(p, s->node)->beta), .m = (float)m, .relu = s->relu,
		.frozen = s->frozen };
	int e = s->frozen ? 0 : sum_bn_gradients(p, s, &b, n, all);

	if (e < 0 || s->dx.c == 0)
		return e;
	b.dx = run_view(p, &s->dx);
	return kernel_run_bn_back(p->dev->d, &b, m * c, s->type);
}
