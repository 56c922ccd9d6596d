/* run_bn - batch norm and sums over pixels. */
#include "engine/cuda/exec_plan.h"

static struct kernel_strips
cut_pixels(const struct engine_plan *p, uint32_t m, uint32_t c)
{
	uint32_t most;
	struct kernel_strips t = kernel_cut_strips(m, c, &most);

	t.sums = (float *)p->scratch;
	t.arrived = (uint32_t *)(p->kept_base + p->kept.arrived);
	return t;
}

void
run_bn_memory(uint32_t m, uint32_t c, size_t *scratch, size_t *arrived)
{
	uint32_t most;
	const struct kernel_strips t = kernel_cut_strips(m, c, &most);

	*scratch = memplan_round((size_t)most * KERNEL_SUMS * c * sizeof(float));
	*arrived = kernel_columns(&t) * sizeof(uint32_t);
}

int
run_pixel_sums(struct engine_plan *p, const struct exec_view *dy, uint32_t n, float *to)
{
	const struct kernel_column_sums a = { run_view(p, dy), cut_pixels(p, n * dy->h * dy->w, dy->c), to,
		run_inverse_scale(p) };

	return kernel_run_column_sums(p->dev->d, &a, dy->type);
}

/* The five values per channel that kept.bn holds. */
static float *
get_bn_saved(const struct engine_plan *p, const struct exec_step *s)
{
	return exec_floats(p, p->kept.bn) + (size_t)p->node[s->node].state * 5;
}

static float *
get_bn_array(const struct engine_plan *p, size_t base, int32_t a)
{
	return exec_floats(p, base) + p->graph->w[a].first;
}

static float *
get_bn_statistic(const struct engine_plan *p, size_t base, int32_t a)
{
	return exec_floats(p, base) + p->graph->aux[a].first;
}

/* A batch norm that is folded into the weights before it: the rest of it, for m pixels. */
static int
run_folded(struct engine_plan *p, const struct exec_step *s, const struct exec_set *set, uint32_t m)
{
	/* A convolution with a bias has added the folded one already. */
	const bool added = exec_node_at(p, p->product[s->folded_into].node)->bias_at >= 0;
	const struct kernel_bias a = { run_view(p, &s->x), run_view(p, &s->y), run_addend(p, s), m,
		added ? NULL : run_bias(p, s->folded_into), s->relu };
	struct dnn *folded = set->dnn[EXEC_WAYS * s->folded_into + EXEC_EVAL];

	return folded != NULL ? dnn_run(folded) : kernel_run_bias(p->dev->d, &a, s->type);
}

int
run_bn_fold(struct engine_plan *p, const struct exec_step *s)
{
	const struct graph_node *l = exec_node_at(p, s->node);
	const int32_t bias = exec_node_at(p, p->product[s->folded_into].node)->bias_at;
	const struct kernel_bn_fold a = {
		.mean = get_bn_statistic(p, p->kept.aux, l->mean), .var = get_bn_statistic(p, p->kept.aux, l->var),
		.beta = get_bn_array(p, p->kept.w, l->beta),
		.gamma = l->fix_gamma ? NULL : get_bn_array(p, p->kept.w, l->gamma),
		.bias = bias >= 0 ? get_bn_array(p, p->kept.w, bias) : NULL,
		.to = run_bias(p, s->folded_into), .c = s->x.c, .eps = l->eps,
	};

	return kernel_run_bn_fold(p->dev->d, &a, a.c, KERNEL_F32);
}

/* Enqueues what the batch norm needs of each channel: by this batch, or by the running statistics. */
static int
prepare_bn(struct engine_plan *p, const struct exec_step *s, uint32_t m, bool by_batch)
{
	const struct graph_node *l = exec_node_at(p, s->node);
	struct kernel_moments a = { .to = {
		.mean = get_bn_statistic(p, p->kept.aux, l->mean), .m2 = get_bn_statistic(p, p->kept.aux, l->var),
		.gamma = l->fix_gamma ? NULL : get_bn_array(p, p->kept.w, l->gamma),
		.saved = get_bn_saved(p, s), .c = s->x.c, .m = 1, .eps = l->eps,
	} };

	if (!by_batch)
		return kernel_run_bn_prepare(p->dev->d, &a.to, s->x.c, KERNEL_F32);
	a.x = run_view(p, &s->x);
	a.strips = cut_pixels(p, m, s->x.c);
	a.to.mean_to = get_bn_statistic(p, p->kept.stats, l->mean);
	a.to.var_to = get_bn_statistic(p, p->kept.stats, l->var);
	a.to.m = (float)m;
	return kernel_run_moments(p->dev->d, &a, s->x.type);
}

int
run_bn(struct engine_plan *p, const struct exec_step *s, const struct exec_set *set, bool train)
{
	const uint32_t m = set->n * s->x.h * s->x.w;
	const struct kernel_bn a = { run_view(p, &s->x), run_view(p, &s->y), run_addend(p, s), m, get_bn_saved(p, s),
		get_bn_array(p, p->kept.w, exec_node_at(p, s->node)->beta), s->relu };
	int e;

	if (!train && s->folded_into != EXEC_NONE)
		return run_folded(p, s, set, m);
	e = prepare_bn(p, s, m, train && !s->frozen);
	return e < 0 ? e : kernel_run_bn(p->dev->d, &a, s->type);
}

int
run_bn_back(struct engine_plan *p, const struct exec_step *s, uint32_t n)
{
	const struct graph_node *l = exec_node_at(p, s->node);
	const uint32_t c = s->x.c, m = n * s->x.h * s->x.w;
	float *saved = get_bn_saved(p, s), *means = saved + 3 * (size_t)c;
	const struct kernel_bn_sums a = { run_view(p, &s->x), run_view(p, &s->dy), cut_pixels(p, m, c), saved,
		get_bn_array(p, p->kept.w, l->beta), s->relu, means, get_bn_array(p, p->kept.g, l->beta),
		get_bn_array(p, p->kept.g, l->gamma), l->fix_gamma, run_inverse_scale(p) };
	struct kernel_bn_back b = { .x = a.x, .dy = a.dy, .m = m, .saved = saved, .beta = a.beta,
		.means = s->frozen ? NULL : means, .relu = s->relu };
	int e = s->frozen ? 0 : kernel_run_bn_sums(p->dev->d, &a, s->type);

	if (e < 0 || s->dx.c == 0)
		return e;
	b.dx = run_view(p, &s->dx);
	return kernel_run_bn_back(p->dev->d, &b, s->type);
}
