/* learn_norms - norms of gradients and weights, for LARS and for clipping by norm. */
#include "engine/cuda/learn.h"

#include "base/err.h"

#include <stdlib.h>

static int
make_norm_squares(struct engine_plan *p, const struct learn *l, struct learn_norms *m)
{
	struct kernel_strip *part = calloc(l->ngroup + 1, sizeof(*part));
	int e;

	if (part == NULL)
		return device_nomem(p->dev->host);
	for (uint32_t i = 0; i < l->ngroup; i++)
		part[i] = (struct kernel_strip){ (uint32_t)l->group[i].first, (uint32_t)l->group[i].count };
	e = learn_squares_make(p, &m->of, part, l->ngroup);
	free(part);
	return e;
}

/*
 * Uploads the decay of each group, or -1 for those of one dimension, to which no trust ratio
 * applies.
 */
static int
send_decays(struct engine_plan *p, const struct learn *l, float *to)
{
	float *wd = calloc(l->ngroup + 1, sizeof(*wd));
	int e;

	if (wd == NULL)
		return device_nomem(p->dev->host);
	for (uint32_t i = 0; i < l->ngroup; i++)
		wd[i] = l->group[i].rows > 0 ? l->hyper.wd * l->group[i].wd : -1;
	if ((e = device_upload(p->dev->d, DEVICE_MAIN, to, wd, l->ngroup * sizeof(*wd))) == 0)
		e = device_wait(p->dev->d);
	free(wd);
	return e;
}

int
learn_norms_make(struct engine_plan *p, struct learn *l)
{
	struct learn_norms *m = &l->norms;
	size_t all = 0;
	void *at;
	int e;

	m->each = l->hyper.rule == OPT_LARS;
	if (!m->each && l->hyper.clip_norm <= 0)
		return 0;
	m->wd = learn_reserve(&all, l->ngroup * sizeof(float));
	m->g = learn_reserve(&all, l->ngroup * sizeof(double));
	m->w = learn_reserve(&all, l->ngroup * sizeof(double));
	if ((e = make_norm_squares(p, l, m)) < 0 || (e = device_alloc(p->dev->d, all, &at)) < 0)
		return e;
	m->base = at;
	return send_decays(p, l, (float *)(m->base + m->wd));
}

int
learn_norms_run(struct engine_plan *p, const struct learn *l, const float *g)
{
	const struct learn_norms *m = &l->norms;
	double *of_g = (double *)(m->base + m->g), *of_w = (double *)(m->base + m->w);
	const struct kernel_group_norms a = {
		(struct kernel_rates *)(l->base + l->rates), (const struct kernel_step *)(l->base + l->step),
		of_g, m->each ? of_w : NULL, (const float *)(m->base + m->wd), l->ngroup, l->hyper.clip_norm,
		l->hyper.trust, l->hyper.eps };
	int e;

	if (m->of.npart == 0)
		return 0;
	if ((e = learn_squares_run(p, &m->of, g, of_g)) < 0 ||
	    (m->each && (e = learn_squares_run(p, &m->of, exec_floats(p, p->kept.w), of_w)) < 0))
		return e;
	return kernel_run_group_norms(p->dev->d, &a, l->ngroup, KERNEL_F32);
}
