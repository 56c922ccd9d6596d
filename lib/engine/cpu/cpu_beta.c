/*
 * cpu_beta - the gradient of beta of a batch norm whose output only a convolution reads, from the gradient of that
 * convolution's output.
 *
 * dbeta[c] is the sum of all pixels of the batch norm's dy, which is what the convolution of dy with the weights w
 * gives.  The sum needs no such convolution:
 *
 *	dbeta[c] = sum over k, r, s of w[k,c,r,s] t[k,r,s]
 *
 * where t[k,r,s] is the sum of dy[k] over the outputs whose tap (r, s) lies within the sample.  So it reads dy once.
 * Nets that begin with a batch norm of the samples, as ResNet does, need nothing else of that convolution's dx.
 *
 * Sums are f32 within a line, and f64 then.  The number of threads does not change the bits.
 */
#include "engine/cpu/cpu.h"
#include "engine/cpu/cpu_vec.h"

#define MOST_TAPS	11u	/* in each direction */

/* Outputs [first, end) of a line or column. */
struct span {
	size_t first, end;
};

/* For each tap in one direction the outputs that it has within the sample, and those that all taps have. */
struct taps {
	uint32_t    count;
	struct span each[MOST_TAPS], common;
};

bool
cpu_beta_fits(const struct graph_node *conv)
{
	return conv->op == GRAPH_CONV && conv->groups == 1 && conv->r <= MOST_TAPS && conv->s <= MOST_TAPS;
}

size_t
cpu_beta_scratch(const struct dnnl_shape *conv)
{
	return (size_t)conv->n * ((conv->k + 15) / 16 * 16) * conv->r * conv->s;
}

static bool
contains_output(const struct span *s, size_t at)
{
	return at >= s->first && at < s->end;
}

/* size: of the sample; out: of the output. */
static struct span
find_outputs(size_t tap, size_t stride, size_t pad, size_t size, size_t out)
{
	const size_t first = pad > tap ? (pad - tap + stride - 1) / stride : 0;
	const size_t end = size + pad > tap ? (size + pad - tap - 1) / stride + 1 : 0;

	return (struct span) { first, end < out ? end : out };
}

static struct taps
find_taps(uint32_t count, uint32_t stride, uint32_t pad, uint32_t dilate, uint32_t size, uint32_t out)
{
	struct taps t = { .count = count, .common = { 0, out } };

	for (size_t i = 0; i < count; i++) {
		const struct span s = t.each[i] = find_outputs(i * dilate, stride, pad, size, out);

		t.common.first = s.first > t.common.first ? s.first : t.common.first;
		t.common.end = s.end < t.common.end ? s.end : t.common.end;
	}
	if (t.common.first >= t.common.end)
		t.common = (struct span) { out, out };
	return t;
}

/* A group of channels of a sample's dy. */
struct lines {
	const void *p;
	size_t	    pitch, width, h, w;
	bool	    bf16;
};

ISA_INLINE void
add_vec(struct cpu_vec *to, const struct cpu_vec *v)
{
	CPU_EACH(k)
		to->v[k] += v->v[k];
}

/* The sums of a line over the outputs of each tap: to [columns->count]. */
ISA_INLINE void
sum_line(const struct lines *d, const struct taps *columns, size_t line, bool bf16, size_t width, struct cpu_vec *to)
{
	struct cpu_vec v = { 0 }, common = { 0 };

	for (size_t s = 0; s < columns->count; s++)
		to[s] = (struct cpu_vec){ 0 };
	for (size_t x = 0; x < d->w; x++) {
		cpu_load_some(d->p, (line * d->w + x) * d->pitch, bf16, width, &v);
		if (contains_output(&columns->common, x)) {
			add_vec(&common, &v);
			continue;
		}
		for (size_t s = 0; s < columns->count; s++)
			if (contains_output(&columns->each[s], x))
				add_vec(&to[s], &v);
	}
	for (size_t s = 0; s < columns->count; s++)
		add_vec(&to[s], &common);
}

ISA_INLINE void
add_double(double *to, const struct cpu_vec *v)
{
	float f[CPU_VEC];

	memcpy(f, v, sizeof(f));
	for (size_t j = 0; j < CPU_VEC; j++)
		to[j] += (double)f[j];
}

/* t: of channel l and tap (r, s), at (l * rows->count + r) * columns->count + s. */
ISA_CLONES(static, void, sum_taps, (const struct lines *d, const struct taps *rows, const struct taps *columns,
    float *t),
    (d, rows, columns, t))
{
	/* The last index is a cpu_place(). */
	double sum[MOST_TAPS][MOST_TAPS][CPU_VEC] = { 0 }, common[MOST_TAPS][CPU_VEC] = { 0 };
	struct cpu_vec line[MOST_TAPS];

	for (size_t y = 0; y < d->h; y++) {
		if (d->width != CPU_VEC)
			sum_line(d, columns, y, d->bf16, d->width, line);
		else if (d->bf16)
			sum_line(d, columns, y, true, CPU_VEC, line);
		else
			sum_line(d, columns, y, false, CPU_VEC, line);
		for (size_t s = 0; s < columns->count; s++) {
			if (contains_output(&rows->common, y)) {
				add_double(common[s], &line[s]);
				continue;
			}
			for (size_t r = 0; r < rows->count; r++)
				if (contains_output(&rows->each[r], y))
					add_double(sum[r][s], &line[s]);
		}
	}
	for (size_t l = 0; l < d->width; l++) {
		const size_t at = cpu_place(l, d->bf16);

		for (size_t r = 0; r < rows->count; r++)
			for (size_t s = 0; s < columns->count; s++)
				*t++ = (float)(sum[r][s][at] + common[s][at]);
	}
}

/* The sum of element `at` of all samples, which are this many elements apart. */
static float
sum_samples(const float *t, size_t apart, uint32_t n, size_t at)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)t[i * apart + at];
	return (float)sum;
}

/* t [k][taps] */
static float
weigh_sums(const struct dnnl_shape *conv, const float *w, const float *t, size_t c)
{
	const size_t taps = (size_t)conv->r * conv->s;
	double sum = 0;

	for (size_t k = 0; k < conv->k; k++)
		for (size_t i = 0; i < taps; i++)
			sum += (double)w[(k * conv->c + c) * taps + i] * (double)t[k * taps + i];
	return (float)sum;
}

void
cpu_beta_backward(const struct dnnl_shape *conv, const float *w, const struct cpu_view *dy, uint32_t n, float *scratch,
    float *dbeta)
{
	const struct taps rows = find_taps(conv->r, conv->stride[0], conv->pad[0], conv->dilate[0], conv->h, dy->h);
	const struct taps columns = find_taps(conv->s, conv->stride[1], conv->pad[1], conv->dilate[1], conv->w, dy->w);
	const size_t lanes = cpu_lanes(dy), groups = cpu_groups(dy), unit = lanes * conv->r * conv->s;

	#pragma omp parallel for
	for (size_t u = 0; u < n * groups; u++) {
		const size_t g = u % groups;
		const struct lines d = { cpu_group(dy, u / groups, g), dy->pitch, cpu_width(dy, g), dy->h, dy->w,
			dy->bf16 };

		sum_taps(&d, &rows, &columns, scratch + u * unit);
	}
	#pragma omp parallel for
	for (size_t at = 0; at < (size_t)conv->k * conv->r * conv->s; at++)
		scratch[at] = sum_samples(scratch, groups * unit, n, at);
	for (size_t c = 0; c < conv->c; c++)
		dbeta[c] = weigh_sums(conv, w, scratch, c);
}
