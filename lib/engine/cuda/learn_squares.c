/*
 * learn_squares - sums of the squares of parts of an array.
 *
 * The square of an f32 is exact in f64. The sums are f64, in strips of a fixed order, so that they
 * are the same in every run and differ from the exact sums of net/optim/norm.h by a few units in
 * the last place.
 */
#include "engine/cuda/learn.h"

#include <stdlib.h>

/* The tables of strips, groups and parts on the host. */
struct tables {
	struct kernel_strip *strip;
	uint32_t *group_of, *part_of;
};

/* Counts strips and groups; t: also fills in the tables, unless NULL. */
static void
cut_strips(struct learn_squares *s, const struct kernel_strip *part, const struct tables *t)
{
	s->nstrip = s->ngroup = 0;
	for (uint32_t i = 0; i < s->npart; i++) {
		uint32_t strips = 0;

		if (t != NULL)
			t->part_of[i] = s->ngroup;
		for (uint32_t at = 0, some; at < part[i].count; at += some, strips++, s->nstrip++) {
			some = part[i].count - at < KERNEL_STRIP ? part[i].count - at : KERNEL_STRIP;
			if (t != NULL)
				t->strip[s->nstrip] = (struct kernel_strip){ part[i].first + at, some };
			if (strips % KERNEL_STRIPS == 0) {
				if (t != NULL)
					t->group_of[s->ngroup] = s->nstrip;
				s->ngroup++;
			}
		}
	}
	if (t != NULL) {
		t->group_of[s->ngroup] = s->nstrip;
		t->part_of[s->npart] = s->ngroup;
	}
}

int
learn_squares_make(struct engine_plan *p, struct learn_squares *s, const struct kernel_strip *part, uint32_t npart)
{
	size_t all = 0, tables;
	char *table;
	void *at;
	int e;

	s->npart = npart;
	cut_strips(s, part, NULL);
	s->strip = learn_reserve(&all, s->nstrip * sizeof(struct kernel_strip));
	s->group_of = learn_reserve(&all, (s->ngroup + 1) * sizeof(uint32_t));
	s->part_of = learn_reserve(&all, (npart + 1) * sizeof(uint32_t));
	tables = all;
	s->lanes = learn_reserve(&all, (size_t)s->nstrip * KERNEL_LANES * sizeof(double));
	s->strips = learn_reserve(&all, s->nstrip * sizeof(double));
	s->groups = learn_reserve(&all, s->ngroup * sizeof(double));
	if ((e = device_alloc(p->dev->d, all, &at)) < 0)
		return e;
	s->base = at;
	if ((table = calloc(1, tables)) == NULL)
		return device_nomem(p->dev->host);
	cut_strips(s, part, &(struct tables){ (struct kernel_strip *)(table + s->strip),
	    (uint32_t *)(table + s->group_of), (uint32_t *)(table + s->part_of) });
	if ((e = device_upload(p->dev->d, DEVICE_MAIN, s->base, table, tables)) == 0)
		e = device_wait(p->dev->d);
	free(table);
	return e;
}

void
learn_squares_free(struct engine_plan *p, struct learn_squares *s)
{
	device_free(p->dev->d, s->base);
}

int
learn_squares_run(struct engine_plan *p, const struct learn_squares *s, const float *x, double *to)
{
	double *lanes = (double *)(s->base + s->lanes), *strips = (double *)(s->base + s->strips);
	double *groups = (double *)(s->base + s->groups);
	const struct kernel_squares all = { x, (const struct kernel_strip *)(s->base + s->strip), lanes };
	const struct kernel_sum_ranges strip = { lanes, strips, NULL, KERNEL_LANES };
	const struct kernel_sum_ranges group = { strips, groups, (const uint32_t *)(s->base + s->group_of), 0 };
	const struct kernel_sum_ranges part = { groups, to, (const uint32_t *)(s->base + s->part_of), 0 };
	struct device *d = p->dev->d;
	int e;

	if ((e = kernel_run_squares(d, &all, s->nstrip * KERNEL_LANES, KERNEL_F32)) < 0 ||
	    (e = kernel_run_sum_ranges(d, &strip, s->nstrip, KERNEL_F32)) < 0 ||
	    (e = kernel_run_sum_ranges(d, &group, s->ngroup, KERNEL_F32)) < 0)
		return e;
	return kernel_run_sum_ranges(d, &part, s->npart, KERNEL_F32);
}
