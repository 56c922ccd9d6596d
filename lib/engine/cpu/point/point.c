/* point - shares pixels and samples among threads, and adds what follows the sums. */
#include "engine/cpu/point/point.h"

#include "base/err.h"
#include "engine/cpu/cpu_vec.h"
#include "engine/cpu/point/point_product.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define LANES		POINT_LANES
#define WEIGHTS		65536u	/* most weights; the sums of dw are read and written for each sample */
#define PIXELS		100u	/* least pixels of a sample */
#define CHUNK_BYTES	65536u	/* bytes of the pixels of x that a thread multiplies at once, at most about */
#define SLICES		16u	/* of the batch, for dw */

struct point {
	struct dnnl_shape shape;
	struct dnnl_needs needs;
	size_t		  pixels;		/* pixels of a sample */
	size_t		  in, out;		/* blocks of x and y */
	size_t		  slices;
	struct dnnl_place place;
};

bool
point_fits(const struct dnnl_shape *s)
{
	return !s->fc && !s->bf16 && !s->channels_last && s->groups == 1 && s->r == 1 && s->s == 1 &&
	    s->stride[0] == 1 && s->stride[1] == 1 && s->pad[0] == 0 && s->pad[1] == 0 && s->h * s->w >= PIXELS &&
	    s->c >= LANES && s->k >= LANES && (uint64_t)s->c * s->k <= WEIGHTS && isa_level() >= ISA_AVX512 &&
	    dnnl_dev_block() == LANES;
}

static size_t
count_weights(const struct point *p)
{
	return p->in * p->out * LANES * LANES;
}

int
point_new(const struct dnnl_shape *shape, struct point **made)
{
	struct point *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return err_nomem();
	p->shape = *shape;
	p->pixels = (size_t)shape->h * shape->w;
	p->in = (shape->c + LANES - 1) / LANES;
	p->out = (shape->k + LANES - 1) / LANES;
	p->slices = shape->n < SLICES ? shape->n : SLICES;
	p->needs = (struct dnnl_needs) { .x_block = LANES, .y_block = LANES,
	    .packed = 2 * count_weights(p) * sizeof(float),
	    .scratch = p->slices * (count_weights(p) + p->out * LANES) * sizeof(float),
	    .kernel = { "own:point", shape->data ? "own:point" : "-", "own:point" } };
	*made = p;
	return 0;
}

void
point_free(struct point *p)
{
	free(p);
}

const struct dnnl_needs *
point_needs(const struct point *p)
{
	return &p->needs;
}

void
point_bind(struct point *p, const struct dnnl_place *place)
{
	p->place = *place;
}

/* [in 16, out 16] for y, then [out 16, in 16] for dx; 0 for channels past the last. */
void
point_load(struct point *p, const float *weights)
{
	float *forward = p->place.packed, *data = forward + count_weights(p);

	memset(forward, 0, p->needs.packed);
	#pragma omp parallel for
	for (size_t k = 0; k < p->shape.k; k++)
		for (size_t c = 0; c < p->shape.c; c++)
			forward[c * p->out * LANES + k] = data[k * p->in * LANES + c] = weights[k * p->shape.c + c];
}

/* ------ forward and data ------ */

/* to = from times w, [from_blocks 16, to_blocks 16]. */
struct pass {
	const float *from, *w;
	size_t	     from_blocks, to_blocks, to_step;	/* to_step: floats from sample to sample */
	float	    *to;
};

/* What follows the sums of some pixels of a block of y. */
ISA_CLONES(static, void, finish_block, (const struct point *p, size_t block, size_t pixels, float *y),
    (p, block, pixels, y))
{
	const bool scaled = p->shape.scaled, relu = p->shape.relu;
	const size_t first = block * LANES, left = p->shape.k - first;
	struct cpu_vec bias = { 0 }, scale = { 0 }, shift = { 0 }, v;

	if (p->shape.bias)
		cpu_load_part(p->place.bias, first, false, left < LANES ? left : LANES, &bias);
	if (scaled) {
		cpu_load(p->place.scale, first, false, &scale);
		cpu_load(p->place.shift, first, false, &shift);
	}
	for (size_t i = 0; i < pixels; i++) {
		cpu_load(y, i * LANES, false, &v);
		CPU_EACH(k) {
			v.v[k] += bias.v[k];
			if (scaled)
				v.v[k] = scale.v[k] * v.v[k] + shift.v[k];
			if (relu)
				v.v[k] = (cpu_floats)((cpu_ints)v.v[k] & (v.v[k] > 0));
		}
		cpu_store(&v, y, i * LANES, false);
	}
}

static void
multiply_chunk(const struct point *p, const struct pass *s, size_t sample, size_t first, size_t count, bool finish)
{
	const struct point_map x = { s->from + (sample * s->from_blocks * p->pixels + first) * LANES, s->from_blocks,
		p->pixels * LANES };
	float *y = s->to + sample * s->to_step + first * LANES;

	point_multiply(&x, count, s->w, s->to_blocks * LANES, s->to_blocks, y, p->pixels * LANES);
	for (size_t block = 0; finish && block < s->to_blocks; block++)
		finish_block(p, block, count, y + block * p->pixels * LANES);
}

/* About equal chunks of a sample's pixels, a multiple of 12. */
static size_t
choose_chunk(const struct point *p, size_t blocks)
{
	size_t most = CHUNK_BYTES / (blocks * LANES * sizeof(float)), chunks = (p->pixels + most - 1) / most;

	return ((p->pixels + chunks - 1) / chunks + 11) / 12 * 12;
}

static void
multiply_all(const struct point *p, const struct pass *s, bool finish)
{
	const size_t chunk = choose_chunk(p, s->from_blocks), chunks = (p->pixels + chunk - 1) / chunk;

	#pragma omp parallel for schedule(static)
	for (size_t i = 0; i < p->shape.n * chunks; i++) {
		const size_t first = i % chunks * chunk, left = p->pixels - first;

		multiply_chunk(p, s, i / chunks, first, left < chunk ? left : chunk, finish);
	}
}

static void
compute_forward(const struct point *p)
{
	const struct pass s = { .from = p->place.x, .w = p->place.packed, .from_blocks = p->in, .to_blocks = p->out,
		.to_step = p->shape.y_step > 0 ? p->shape.y_step : p->out * p->pixels * LANES, .to = p->place.y };

	multiply_all(p, &s, p->shape.bias || p->shape.scaled || p->shape.relu);
}

static void
compute_data(const struct point *p)
{
	const struct pass s = { .from = p->place.dy, .w = (float *)p->place.packed + count_weights(p),
		.from_blocks = p->out, .to_blocks = p->in, .to_step = p->in * p->pixels * LANES, .to = p->place.dx };

	multiply_all(p, &s, false);
}

/* ------ weight ------ */

/* Adds the pixels of a block of dy to sum [LANES]. */
ISA_CLONES(static, void, add_pixels, (const float *dy, size_t pixels, float *sum), (dy, pixels, sum))
{
	double each[LANES] = { 0 };

	for (size_t i = 0; i < pixels; i++, dy += LANES)
		for (size_t l = 0; l < LANES; l++)
			each[l] += (double)dy[l];
	for (size_t l = 0; l < LANES; l++)
		sum[l] += (float)each[l];
}

/* The sums of a slice's samples: of the products [in, out, 16, 16], then of dy [out 16]. */
static void
sum_slice(const struct point *p, size_t slice, float *sum)
{
	const size_t from = p->shape.n * slice / p->slices, end = p->shape.n * (slice + 1) / p->slices;
	float *bias = sum + count_weights(p);

	memset(bias, 0, p->out * LANES * sizeof(*bias));
	for (size_t i = from; i < end; i++) {
		const struct point_map x = { (const float *)p->place.x + i * p->in * p->pixels * LANES, p->in,
			p->pixels * LANES };
		const struct point_map dy = { (const float *)p->place.dy + i * p->out * p->pixels * LANES, p->out,
			p->pixels * LANES };

		point_sum_products(&x, &dy, p->pixels, i > from, sum);
		for (size_t b = 0; p->shape.bias && b < p->out; b++)
			add_pixels(dy.p + b * dy.apart, p->pixels, bias + b * LANES);
	}
}

/* Element `at` of the sums of all slices. */
static float
add_slices(const struct point *p, const float *sums, size_t at)
{
	const size_t each = count_weights(p) + p->out * LANES;
	double sum = 0;

	for (size_t i = 0; i < p->slices; i++)
		sum += (double)sums[i * each + at];
	return (float)sum;
}

/* Where the sum of a weight's gradient is. */
static size_t
find_sum(const struct point *p, size_t k, size_t c)
{
	return ((c / LANES * p->out + k / LANES) * LANES + c % LANES) * LANES + k % LANES;
}

static void
compute_weight(const struct point *p, float *dw)
{
	float *sums = p->place.scratch;

	#pragma omp parallel
	{
		#pragma omp for schedule(static)
		for (size_t i = 0; i < p->slices; i++)
			sum_slice(p, i, sums + i * (count_weights(p) + p->out * LANES));
		#pragma omp for schedule(static)
		for (size_t k = 0; k < p->shape.k; k++)
			for (size_t c = 0; c < p->shape.c; c++)
				dw[k * p->shape.c + c] = add_slices(p, sums, find_sum(p, k, c));
	}
	for (size_t k = 0; p->shape.bias && k < p->shape.k; k++)
		p->place.dbias[k] = add_slices(p, sums, count_weights(p) + k);
}

void
point_run(struct point *p, enum dnnl_direction dir, float *dw)
{
	if (dir == DNNL_FORWARD)
		compute_forward(p);
	else if (dir == DNNL_DATA)
		compute_data(p);
	else
		compute_weight(p, dw);
}
