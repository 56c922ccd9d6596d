/*
 * operands - the memory that each kernel reads and writes, by its arguments.
 *
 * Each function checks that an array lies in one allocation of the kernel's device, and adds its bytes: those of each
 * operand once, however often the kernel reads them.
 */
#ifndef TESTS_EMU_OPERANDS_H
#define TESTS_EMU_OPERANDS_H

#include "emu/cudart.h"
#include "engine/cuda/kernel/kernel.h"

struct operands {
	const char *kernel;
	int	 device;
	size_t	 bytes;
};

/* An array of n elements; NULL: the kernel goes without. */
static inline void
add_array(struct operands *o, const void *p, size_t n, size_t each)
{
	if (p == NULL || n == 0)
		return;
	cudart_check_range(o->kernel, p, n * each, o->device);
	o->bytes += n * each;
}

static inline void
add_floats(struct operands *o, const void *p, size_t n)
{
	add_array(o, p, n, sizeof(float));
}

/* m rows of c values, ld apart. */
static inline void
add_rows(struct operands *o, const void *p, size_t m, size_t c, size_t ld, int type)
{
	if (p == NULL || m == 0)
		return;
	cudart_check_range(o->kernel, p, ((m - 1) * ld + c) * kernel_size(type), o->device);
	o->bytes += m * c * kernel_size(type);
}

static inline void
add_view(struct operands *o, const struct kernel_view *v, size_t m)
{
	add_rows(o, v->p, m, v->c, v->ld, v->type);
}

/* The sums of blocks, and the counters, which are zeros before each kernel. */
static inline void
add_strips(struct operands *o, const struct kernel_strips *t, size_t sums)
{
	const uint32_t columns = t->blocks > 1 ? kernel_columns(t) : 0;

	add_floats(o, columns > 0 ? t->sums : NULL, t->blocks * sums * t->c);
	add_array(o, t->arrived, columns, sizeof(*t->arrived));
	for (uint32_t i = 0; i < columns; i++)
		if (t->arrived[i] != 0)
			emu_fault("%s: a counter of arrivals is %u, not 0", o->kernel, t->arrived[i]);
}

static inline void
add_drop(struct operands *o, const struct kernel_drop *a, uint32_t count)
{
	const size_t m = count / a->y.c;

	add_view(o, &a->x, m);
	add_view(o, &a->y, m);
	add_array(o, a->key, m / a->plane, sizeof(*a->key));
}

/* Without the sums that it reads. */
static inline void
add_prepared(struct operands *o, const struct kernel_bn_prepare *a)
{
	add_floats(o, a->gamma, a->c);
	add_floats(o, a->mean_to, a->c);
	add_floats(o, a->var_to, a->c);
	add_floats(o, a->saved, 3 * (size_t)a->c);
}

static inline void
add_bn_prepare(struct operands *o, const struct kernel_bn_prepare *a, uint32_t count)
{
	add_floats(o, a->mean, count);
	add_floats(o, a->m2, count);
	add_prepared(o, a);
}

static inline void
add_bn_fold(struct operands *o, const struct kernel_bn_fold *a, uint32_t count)
{
	const float *const each[] = { a->mean, a->var, a->beta, a->gamma, a->bias };

	for (size_t k = 0; k < sizeof(each) / sizeof(*each); k++)
		add_floats(o, each[k], count);
	add_floats(o, a->to, 2 * (size_t)count);
}

static inline void
add_softmax(struct operands *o, const struct kernel_softmax *a, uint32_t count)
{
	add_view(o, &a->x, count);
	add_array(o, a->label, count, sizeof(*a->label));
	add_floats(o, a->prob, (size_t)count * a->x.c);
	add_floats(o, a->loss, count);
	add_array(o, a->rank, count, sizeof(*a->rank));
	add_floats(o, a->target, (size_t)count * a->x.c);
	add_floats(o, a->positive, a->x.c);
}

static inline void
add_softmax_parts(struct operands *o, const struct kernel_softmax_parts *a, uint32_t count)
{
	add_view(o, &a->x, count / KERNEL_WARP);
	add_array(o, a->part, count, sizeof(*a->part));
	add_array(o, a->rank, count / KERNEL_WARP, sizeof(*a->rank));
}

static inline void
add_softmax_lanes(struct operands *o, const struct kernel_softmax_lanes *a, uint32_t count)
{
	add_softmax(o, &a->to, count / KERNEL_WARP);
	add_array(o, a->part, count, sizeof(*a->part));
}

static inline void
add_softmax_back(struct operands *o, const struct kernel_softmax_back *a, uint32_t count)
{
	const size_t n = count / a->dx.c;

	add_floats(o, a->prob, count);
	add_array(o, a->label, n, sizeof(*a->label));
	add_view(o, &a->dx, n);
	add_floats(o, a->scale, 1);
	add_floats(o, a->target, count);
	add_floats(o, a->positive, a->dx.c);
}

static inline void
add_finite(struct operands *o, const struct kernel_finite *a, uint32_t count)
{
	add_floats(o, a->x, count);
	add_array(o, a->bad, 1, sizeof(*a->bad));
}

static inline void
add_lrn(struct operands *o, const struct kernel_lrn *a, uint32_t count)
{
	add_view(o, &a->x, count / a->y.c);
	add_view(o, &a->y, count / a->y.c);
	add_floats(o, a->s, count);
}

static inline void
add_lrn_back(struct operands *o, const struct kernel_lrn_back *a, uint32_t count)
{
	add_view(o, &a->x, count / a->dx.c);
	add_view(o, &a->dy, count / a->dx.c);
	add_view(o, &a->dx, count / a->dx.c);
	add_floats(o, a->s, count);
}

static inline void
add_permute(struct operands *o, const struct kernel_permute *a, uint32_t count)
{
	add_array(o, a->x, count, kernel_size(a->from_type));
	add_rows(o, a->to, count / a->b, a->b, a->ld, a->to_type);
	add_floats(o, a->scale, 1);
	add_floats(o, a->row, count / a->b / a->c);
}

static inline void
add_moves(struct operands *o, const struct kernel_moves *a, uint32_t count)
{
	add_array(o, a->move, a->n, sizeof(*a->move));
	for (uint32_t k = 0; k < a->n; k++)
		add_permute(o, &a->move[k].a, (k + 1 < a->n ? a->move[k + 1].at : a->from + count) - a->move[k].at);
}

static inline void
add_pixels(struct operands *o, const struct kernel_pixels *a, uint32_t count)
{
	const size_t each = (size_t)a->h * a->w * a->y.c, n = count / each;

	add_array(o, a->image, n, sizeof(*a->image));
	add_array(o, a->norm, 1, sizeof(*a->norm));
	if (a->norm->by_mean)
		add_floats(o, a->mean, each);
	for (size_t k = 0; k < n; k++)
		add_array(o, a->image[k].pixel, (size_t)a->image[k].h * a->image[k].w * a->y.c, 1);
	add_view(o, &a->y, count / a->y.c);
}

static inline void
add_pad(struct operands *o, const struct kernel_pad *a, uint32_t count)
{
	const size_t m = count / a->y.c, image = (size_t)(a->h + 2 * a->pad_h) * (a->w + 2 * a->pad_w);

	add_view(o, &a->x, m / image * a->h * a->w);
	add_view(o, &a->y, m);
}

static inline void
add_pad_back(struct operands *o, const struct kernel_pad_back *a, uint32_t count)
{
	const size_t m = count / a->dx.c, image = (size_t)(a->h + 2 * a->pad_h) * (a->w + 2 * a->pad_w);

	add_view(o, &a->dy, m / ((size_t)a->h * a->w) * image);
	add_view(o, &a->dx, m);
}

static inline void
add_opt(struct operands *o, const struct kernel_opt *a, uint32_t count)
{
	const size_t states = a->rule == KERNEL_FOLD || a->rule == KERNEL_DESCENT ? 0 :
	    a->rule == KERNEL_ADAM || a->rule == KERNEL_RMSPROP ? 2 : 1;

	add_array(o, a->range, a->n, sizeof(*a->range));
	add_array(o, a->bad, 1, sizeof(*a->bad));
	for (uint32_t k = 0; k < a->n; k++) {
		const struct kernel_range *r = &a->range[k];
		const size_t n = (k + 1 < a->n ? r[1].at : count) - r->at;

		add_floats(o, a->w + r->first, n);
		add_floats(o, a->g + r->first, n);
		add_floats(o, a->state + states * r->first, states * n);
		add_array(o, a->rates + r->group, 1, sizeof(*a->rates));
	}
}

static inline void
add_accumulate(struct operands *o, const struct kernel_accumulate *a, uint32_t count)
{
	add_floats(o, a->x, count);
	add_floats(o, a->sum, count);
}

static inline void
add_squares(struct operands *o, const struct kernel_squares *a, uint32_t count)
{
	const uint32_t strips = count / KERNEL_LANES;

	add_array(o, a->strip, strips, sizeof(*a->strip));
	for (uint32_t k = 0; k < strips; k++)
		add_floats(o, a->x + a->strip[k].first, a->strip[k].count);
	add_array(o, a->sums, count, sizeof(*a->sums));
}

static inline void
add_sum_ranges(struct operands *o, const struct kernel_sum_ranges *a, uint32_t count)
{
	const uint32_t first = a->begin != NULL && count > 0 ? a->begin[0] : 0;
	const uint32_t end = a->begin != NULL ? a->begin[count] : count * a->each;

	add_array(o, a->begin, (size_t)count + 1, sizeof(*a->begin));
	add_array(o, a->from + first, end - first, sizeof(*a->from));
	add_array(o, a->to, count, sizeof(*a->to));
}

static inline void
add_group_norms(struct operands *o, const struct kernel_group_norms *a, uint32_t count)
{
	add_array(o, a->rates, count, sizeof(*a->rates));
	add_array(o, a->step, 1, sizeof(*a->step));
	add_array(o, a->g, count, sizeof(*a->g));
	add_array(o, a->w, count, sizeof(*a->w));
	add_floats(o, a->wd, count);
}

static inline void
add_statistics(struct operands *o, const struct kernel_statistics *a, uint32_t count)
{
	add_floats(o, a->aux, count);
	add_floats(o, a->x, count);
	add_array(o, a->step, 1, sizeof(*a->step));
	add_array(o, a->bad, 1, sizeof(*a->bad));
}

static inline void
add_average(struct operands *o, const struct kernel_average *a, uint32_t count)
{
	add_floats(o, a->a, count);
	add_floats(o, a->w, count);
	add_array(o, a->step, 1, sizeof(*a->step));
	add_array(o, a->bad, 1, sizeof(*a->bad));
}

static inline void
add_swap(struct operands *o, const struct kernel_swap *a, uint32_t count)
{
	add_floats(o, a->a, count);
	add_floats(o, a->b, count);
}

static inline void
add_muon_momentum(struct operands *o, const struct kernel_muon_momentum *a, uint32_t count)
{
	add_array(o, a->matrix, a->n, sizeof(*a->matrix));
	add_floats(o, a->u, count);
	for (uint32_t k = 0; k < a->n; k++) {
		add_floats(o, a->g + a->matrix[k].first, a->matrix[k].count);
		add_floats(o, a->state + a->matrix[k].first, a->matrix[k].count);
		add_array(o, a->rates + a->matrix[k].group, 1, sizeof(*a->rates));
	}
}

static inline void
add_muon_scale(struct operands *o, const struct kernel_muon_scale *a, uint32_t count)
{
	add_array(o, a->matrix, a->n, sizeof(*a->matrix));
	add_floats(o, a->u, count);
	add_array(o, a->squares, a->n, sizeof(*a->squares));
}

static inline void
add_muon(struct operands *o, const struct kernel_muon *a, uint32_t count)
{
	add_array(o, a->matrix, a->n, sizeof(*a->matrix));
	add_floats(o, a->x, count);
	add_array(o, a->squares, a->n, sizeof(*a->squares));
	for (uint32_t k = 0; k < a->n; k++) {
		add_floats(o, a->w + a->matrix[k].first, a->matrix[k].count);
		add_array(o, a->rates + a->matrix[k].group, 1, sizeof(*a->rates));
	}
}

/* ------ wide kernels, whose arguments have the number of pixels ------ */

static inline void
add_act(struct operands *o, const struct kernel_act *a)
{
	add_view(o, &a->x, a->m);
	add_view(o, &a->y, a->m);
}

static inline void
add_act_back(struct operands *o, const struct kernel_act_back *a)
{
	add_view(o, &a->x, a->m);
	add_view(o, &a->dy, a->m);
	add_view(o, &a->dx, a->m);
}

static inline void
add_moments(struct operands *o, const struct kernel_moments *a)
{
	add_view(o, &a->x, a->strips.m);
	add_strips(o, &a->strips, 2);
	add_prepared(o, &a->to);
}

static inline void
add_bn(struct operands *o, const struct kernel_bn *a)
{
	add_view(o, &a->x, a->m);
	add_view(o, &a->y, a->m);
	add_view(o, &a->addend, a->m);
	add_floats(o, a->saved, 3 * (size_t)a->y.c);
	add_floats(o, a->beta, a->y.c);
}

static inline void
add_bn_sums(struct operands *o, const struct kernel_bn_sums *a)
{
	add_view(o, &a->x, a->strips.m);
	add_view(o, &a->dy, a->strips.m);
	add_strips(o, &a->strips, 2);
	add_floats(o, a->saved, 3 * (size_t)a->x.c);
	add_floats(o, a->beta, a->x.c);
	add_floats(o, a->means, 2 * (size_t)a->x.c);
	add_floats(o, a->dbeta, a->x.c);
	add_floats(o, a->dgamma, a->x.c);
	add_floats(o, a->scale, 1);
}

static inline void
add_bn_back(struct operands *o, const struct kernel_bn_back *a)
{
	add_view(o, &a->x, a->m);
	add_view(o, &a->dy, a->m);
	add_view(o, &a->dx, a->m);
	add_floats(o, a->saved, 3 * (size_t)a->dx.c);
	add_floats(o, a->beta, a->dx.c);
	add_floats(o, a->means, 2 * (size_t)a->dx.c);
}

static inline void
add_pool(struct operands *o, const struct kernel_pool *a)
{
	add_view(o, &a->x, (size_t)a->m / (a->w.oh * a->w.ow) * a->w.h * a->w.w);
	add_view(o, &a->y, a->m);
	add_array(o, a->which, (size_t)a->m * a->y.c, sizeof(*a->which));
}

static inline void
add_pool_back(struct operands *o, const struct kernel_pool_back *a)
{
	const size_t m = (size_t)a->m / (a->w.h * a->w.w) * a->w.oh * a->w.ow;

	add_view(o, &a->dy, m);
	add_view(o, &a->dx, a->m);
	add_array(o, a->w.average ? NULL : a->which, m * a->dy.c, sizeof(*a->which));
}

static inline void
add_bias(struct operands *o, const struct kernel_bias *a)
{
	add_view(o, &a->x, a->m);
	add_view(o, &a->y, a->m);
	add_view(o, &a->addend, a->m);
	add_floats(o, a->bias, a->y.c);
}

static inline void
add_column_sums(struct operands *o, const struct kernel_column_sums *a)
{
	add_view(o, &a->x, a->strips.m);
	add_strips(o, &a->strips, 1);
	add_floats(o, a->to, a->x.c);
	add_floats(o, a->scale, 1);
}

static inline void
add_combine(struct operands *o, const struct kernel_combine *a)
{
	for (uint32_t k = 0; k < a->n; k++)
		add_view(o, &a->x[k], a->m);
	add_view(o, &a->y, a->m);
	add_view(o, &a->passed, a->m);
}

#endif
