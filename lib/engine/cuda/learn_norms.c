/*
 * learn_norms - the norms of gradients and weights, and what they make of rates.
 *
 * A square of an f32 is exact in f64 and sums are taken in f64, in strips, so that what comes out is the exact sums of
 * net/norm.h but for some units of its last place, and the same on every run.
 */
#include "engine/cuda/learn.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* The tables as they go up. */
struct tables {
	struct kernel_strip *strip;
	uint32_t *group_of, *range_of;
	float	 *wd;
};

/* Counts strips and groups, and writes them down where there is somewhere to. */
static void
cut(struct learn *l, struct tables *t)
{
	struct learn_norms *m = &l->norms;

	m->nstrip = m->ngroup = 0;
	for (uint32_t i = 0; i < l->nrange; i++) {
		const struct engine_range *r = &l->range[i];
		uint32_t strips = 0;

		if (t != NULL) {
			t->range_of[i] = m->ngroup;
			t->wd[i] = r->rows > 0 ? l->hyper.wd * r->wd : -1;
		}
		for (size_t at = 0; at < r->count; at += KERNEL_STRIP, strips++, m->nstrip++) {
			size_t some = r->count - at < KERNEL_STRIP ? r->count - at : KERNEL_STRIP;

			if (t != NULL)
				t->strip[m->nstrip] = (struct kernel_strip){ (uint32_t)(r->first + at), (uint32_t)some };
			if (strips % KERNEL_GROUP == 0) {
				if (t != NULL)
					t->group_of[m->ngroup] = m->nstrip;
				m->ngroup++;
			}
		}
	}
	if (t != NULL) {
		t->group_of[m->ngroup] = m->nstrip;
		t->range_of[l->nrange] = m->ngroup;
	}
}

static size_t
room(size_t *all, size_t bytes)
{
	size_t at = *all;

	*all += plan_round(bytes);
	return at;
}

int
learn_norms_make(struct engine_plan *p, struct learn *l)
{
	struct learn_norms *m = &l->norms;
	size_t all = 0, tables;
	char *table;
	void *at;
	int e;

	m->each = l->hyper.rule == OPT_LARS;
	if (!m->each && l->hyper.clip_norm <= 0)
		return 0;
	cut(l, NULL);
	m->strip = room(&all, m->nstrip * sizeof(struct kernel_strip));
	m->group_of = room(&all, (m->ngroup + 1) * sizeof(uint32_t));
	m->range_of = room(&all, (l->nrange + 1) * sizeof(uint32_t));
	m->wd = room(&all, l->nrange * sizeof(float));
	tables = all;
	m->lanes = room(&all, (size_t)m->nstrip * KERNEL_LANES * sizeof(double));
	m->strips = room(&all, m->nstrip * sizeof(double));
	m->groups = room(&all, m->ngroup * sizeof(double));
	m->g = room(&all, l->nrange * sizeof(double));
	m->w = room(&all, l->nrange * sizeof(double));
	if ((e = device_take(p->dev->d, all, &at)) < 0)
		return e;
	m->held = at;
	if ((table = calloc(1, tables)) == NULL)
		return plan_nomem(p);
	cut(l, &(struct tables){ (struct kernel_strip *)(table + m->strip), (uint32_t *)(table + m->group_of),
	    (uint32_t *)(table + m->range_of), (float *)(table + m->wd) });
	if ((e = device_up(p->dev->d, DEVICE_MAIN, m->held, table, tables)) == 0)
		e = device_wait(p->dev->d);
	free(table);
	return e;
}

/* The squares of x [P], by ranges, at `to`. */
static int
squares(struct engine_plan *p, const struct learn *l, const float *x, size_t to)
{
	const struct learn_norms *m = &l->norms;
	double *lanes = (double *)(m->held + m->lanes), *strips = (double *)(m->held + m->strips);
	double *groups = (double *)(m->held + m->groups);
	const struct kernel_squares s = { x, (const struct kernel_strip *)(m->held + m->strip), lanes };
	const struct kernel_joined strip = { lanes, strips, NULL, KERNEL_LANES };
	const struct kernel_joined group = { strips, groups, (const uint32_t *)(m->held + m->group_of), 0 };
	const struct kernel_joined range = { groups, (double *)(m->held + to), (const uint32_t *)(m->held + m->range_of), 0 };
	struct device *d = p->dev->d;
	int e;

	if ((e = kernel_run_squares(d, &s, m->nstrip * KERNEL_LANES, KERNEL_F32)) < 0 ||
	    (e = kernel_run_joined(d, &strip, m->nstrip, KERNEL_F32)) < 0 ||
	    (e = kernel_run_joined(d, &group, m->ngroup, KERNEL_F32)) < 0)
		return e;
	return kernel_run_joined(d, &range, l->nrange, KERNEL_F32);
}

int
learn_norms_run(struct engine_plan *p, const struct learn *l, const float *g)
{
	const struct learn_norms *m = &l->norms;
	const struct kernel_paces a = {
		(struct kernel_pace *)(l->held + l->pace), (const struct kernel_now *)(l->held + l->now),
		(const double *)(m->held + m->g), m->each ? (const double *)(m->held + m->w) : NULL,
		(const float *)(m->held + m->wd), l->nrange, l->hyper.clip_norm, l->hyper.trust, l->hyper.eps };
	int e;

	if (m->nstrip == 0)
		return 0;
	if ((e = squares(p, l, g, m->g)) < 0 ||
	    (m->each && (e = squares(p, l, (const float *)(p->held + p->kept.w), m->w)) < 0))
		return e;
	return kernel_run_paces(p->dev->d, &a, l->nrange, KERNEL_F32);
}
