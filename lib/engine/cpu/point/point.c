/* point - shares pixels and samples among threads, and adds what follows the sums. */
#include "engine/cpu/point/point.h"

#include "base/err.h"
#include "engine/cpu/cpu_vec.h"
#include "engine/cpu/point/point_product.h"
#include "engine/share.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LANES		POINT_LANES
#define WEIGHTS		1048576u	/* most weights */
#define PIXELS		49u	/* least pixels of a sample */
#define CHUNK_BYTES	262144u	/* bytes of the pixels of x that a thread multiplies at once, at most about */
#define SUM_PIXELS	64u	/* pixels that dw sums at once, about, if a sample has many more */
#define SUM_WEIGHTS	65536u	/* weights of a part of dw, about, whose sums a thread's cache holds beside pixels */
#define TASKS		16u	/* of dw: slices of the batch, each in parts */

struct point {
	struct dnnl_shape shape;
	struct dnnl_needs needs;
	size_t		  pixels;		/* pixels of a sample */
	size_t		  in, out;		/* blocks of x and y */
	size_t		  slices, parts;
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

	assert(!shape->plus || !shape->scaled);
	if (p == NULL)
		return err_nomem();
	p->shape = *shape;
	p->pixels = (size_t)shape->h * shape->w;
	p->in = (shape->c + LANES - 1) / LANES;
	p->out = (shape->k + LANES - 1) / LANES;
	for (p->parts = 1; p->parts < TASKS && count_weights(p) > p->parts * SUM_WEIGHTS; p->parts *= 2)
		;
	p->slices = shape->n < TASKS / p->parts ? shape->n : TASKS / p->parts;
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

/* The weights of block i of x and block j of y, with zeros for channels past the last. */
static void
load_block(const struct point *p, const float *weights, size_t i, size_t j)
{
	const size_t c = i * LANES, k = j * LANES, channels = p->shape.c - c < LANES ? p->shape.c - c : LANES;
	float *forward = p->place.packed, *data = forward + count_weights(p), w[LANES][LANES] = { { 0 } };

	for (size_t m = 0; m < LANES && k + m < p->shape.k; m++)
		memcpy(w[m], weights + (k + m) * p->shape.c + c, channels * sizeof(*weights));
	for (size_t m = 0; m < LANES; m++)
		memcpy(data + point_panel_at(k + m, c, p->out * LANES, p->in), w[m], sizeof(w[m]));
	for (size_t l = 0; l < LANES; l++) {
		float *to = forward + point_panel_at(c + l, k, p->in * LANES, p->out);

		for (size_t m = 0; m < LANES; m++)
			to[m] = w[m][l];
	}
}

/* Panels of [in 16, out 16] for y, then of [out 16, in 16] for dx. */
void
point_load(struct point *p, const float *weights)
{
	#pragma omp parallel for
	for (size_t b = 0; b < p->in * p->out; b++)
		load_block(p, weights, b / p->out, b % p->out);
}

/* ------ forward and data ------ */

/* to = from times w, panels of [from_blocks 16, to_blocks 16], and plus, which is laid out as `to`. */
struct pass {
	const float *from, *w, *plus;		/* plus: NULL: none */
	size_t	     from_blocks, to_blocks, to_step;	/* to_step: floats from sample to sample */
	float	    *to;
	bool	     finish;	/* finish_block() follows */
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
multiply_chunk(const struct point *p, const struct pass *s, size_t sample, size_t first, size_t count)
{
	const struct point_map x = { .p = s->from + (sample * s->from_blocks * p->pixels + first) * LANES,
		.blocks = s->from_blocks, .apart = p->pixels * LANES };
	const size_t at = sample * s->to_step + first * LANES, bytes = p->shape.n * s->to_step * sizeof(float);
	float *y = s->to + at;

	point_multiply(&x, count, s->w, s->to_blocks, s->plus != NULL ? s->plus + at : NULL,
	    !s->finish && bytes >= CPU_STREAM_BYTES, y, p->pixels * LANES);
	for (size_t block = 0; s->finish && block < s->to_blocks; block++)
		finish_block(p, block, count, y + block * p->pixels * LANES);
}

/* About equal chunks of a sample's pixels, a multiple of what is multiplied at once. */
static size_t
choose_chunk(const struct point *p, size_t blocks)
{
	/* Not 0: a map has at most WEIGHTS / 16 channels. */
	size_t most = CHUNK_BYTES / (blocks * LANES * sizeof(float)), chunks = (p->pixels + most - 1) / most;

	return ((p->pixels + chunks - 1) / chunks + POINT_PIXELS - 1) / POINT_PIXELS * POINT_PIXELS;
}

static void
multiply_all(const struct point *p, const struct pass *s)
{
	const size_t chunk = choose_chunk(p, s->from_blocks), chunks = (p->pixels + chunk - 1) / chunk;
	struct share all = share_start(p->shape.n * chunks);

	#pragma omp parallel
	SHARE_EACH(&all, i) {
		const size_t first = i % chunks * chunk, left = p->pixels - first;

		multiply_chunk(p, s, i / chunks, first, left < chunk ? left : chunk);
	}
}

static void
compute_forward(const struct point *p)
{
	const struct pass s = { .from = p->place.x, .w = p->place.packed, .plus = p->shape.plus ? p->place.plus : NULL,
		.from_blocks = p->in, .to_blocks = p->out,
		.to_step = p->shape.y_step > 0 ? p->shape.y_step : p->out * p->pixels * LANES, .to = p->place.y,
		.finish = p->shape.bias || p->shape.scaled || p->shape.relu };

	multiply_all(p, &s);
}

static void
compute_data(const struct point *p)
{
	const struct pass s = { .from = p->place.dy, .w = (float *)p->place.packed + count_weights(p),
		.from_blocks = p->out, .to_blocks = p->in, .to_step = p->in * p->pixels * LANES, .to = p->place.dx };

	multiply_all(p, &s);
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

/* Blocks [x, x + in) of x with blocks [dy, dy + out) of dy. */
struct part {
	size_t x, in, dy, out;
};

/* Parts divide the map of more channels.  They begin at even blocks, as panels do. */
static struct part
cut_part(const struct point *p, size_t i)
{
	const size_t blocks = p->in > p->out ? p->in : p->out, first = blocks * i / p->parts / 2 * 2;
	const size_t end = i + 1 == p->parts ? blocks : blocks * (i + 1) / p->parts / 2 * 2;

	return p->in > p->out ? (struct part) { first, end - first, 0, p->out } :
	    (struct part) { 0, p->in, first, end - first };
}

/* Samples from `begin` on, each in chunks of at most so many pixels. */
struct chunks {
	size_t begin, each, pixels, all;
};

static struct chunks
cut_slice(const struct point *p, size_t slice)
{
	const size_t begin = p->shape.n * slice / p->slices, end = p->shape.n * (slice + 1) / p->slices;
	const size_t each = p->pixels <= 4 * SUM_PIXELS ? 1 : (p->pixels + SUM_PIXELS - 1) / SUM_PIXELS;

	return (struct chunks) { begin, each, (p->pixels + each - 1) / each, (end - begin) * each };
}

/* Chunk i of a map of this many blocks, from a block on. */
static const float *
find_chunk(const struct point *p, const struct chunks *c, const void *map, size_t blocks, size_t block, size_t i)
{
	const size_t sample = c->begin + i / c->each;

	return (const float *)map + ((sample * blocks + block) * p->pixels + i % c->each * c->pixels) * LANES;
}

/* The sums of dy in a slice's samples, [out 16]. */
static void
sum_bias(const struct point *p, const struct chunks *c, float *sum)
{
	memset(sum, 0, p->out * LANES * sizeof(*sum));
	for (size_t i = 0; i < c->all; i += c->each)
		for (size_t b = 0; b < p->out; b++)
			add_pixels(find_chunk(p, c, p->place.dy, p->out, b, i), p->pixels, sum + b * LANES);
}

/* The sums of a slice's samples: a part of the products [in, out, 16, 16], and with the first one of dy [out 16]. */
static void
sum_slice(const struct point *p, size_t slice, size_t part, float *sum)
{
	const struct chunks c = cut_slice(p, slice);
	const struct part t = cut_part(p, part);
	const size_t apart = p->pixels * LANES, line = p->out * LANES * LANES;

	for (size_t i = 0; i < c.all; i++) {
		const size_t then = i + 1 < c.all ? i + 1 : i, left = p->pixels - i % c.each * c.pixels;
		const struct point_map x = { find_chunk(p, &c, p->place.x, p->in, t.x, i),
			find_chunk(p, &c, p->place.x, p->in, t.x, then), t.in, apart };
		const struct point_map dy = { find_chunk(p, &c, p->place.dy, p->out, t.dy, i),
			find_chunk(p, &c, p->place.dy, p->out, t.dy, then), t.out, apart };

		point_sum_products(&x, &dy, left < c.pixels ? left : c.pixels, i > 0,
		    sum + t.x * line + t.dy * LANES * LANES, line);
	}
	if (p->shape.bias && part == 0)
		sum_bias(p, &c, sum + count_weights(p));
}

/* The sum of 16 numbers of each slice, which are `each` apart. */
ISA_INLINE void
add_slices(const float *sums, size_t slices, size_t each, float *to)
{
	double sum[LANES] = { 0 };

	for (size_t i = 0; i < slices; i++)
		for (size_t l = 0; l < LANES; l++)
			sum[l] += (double)sums[i * each + l];
	for (size_t l = 0; l < LANES; l++)
		to[l] = (float)sum[l];
}

/* dw of block i of x and block j of dy. */
ISA_CLONES(static, void, add_block, (const struct point *p, size_t i, size_t j, float *dw), (p, i, j, dw))
{
	const float *sums = (const float *)p->place.scratch + (i * p->out + j) * LANES * LANES;
	const size_t c = i * LANES, k = j * LANES;
	float sum[LANES][LANES];

	for (size_t l = 0; l < LANES; l++)
		add_slices(sums + l * LANES, p->slices, count_weights(p) + p->out * LANES, sum[l]);
	for (size_t m = 0; m < LANES && k + m < p->shape.k; m++)
		for (size_t l = 0; l < LANES && c + l < p->shape.c; l++)
			dw[(k + m) * p->shape.c + c + l] = sum[l][m];
}

static void
compute_weight(const struct point *p, float *dw)
{
	const size_t each = count_weights(p) + p->out * LANES;
	float *sums = p->place.scratch, bias[LANES];

	#pragma omp parallel
	{
		#pragma omp for schedule(dynamic)
		for (size_t i = 0; i < p->slices * p->parts; i++)
			sum_slice(p, i / p->parts, i % p->parts, sums + i / p->parts * each);
		#pragma omp for schedule(static)
		for (size_t i = 0; i < p->in * p->out; i++)
			add_block(p, i / p->out, i % p->out, dw);
	}
	for (size_t k = 0; p->shape.bias && k < p->shape.k; k++) {
		if (k % LANES == 0)
			add_slices(sums + count_weights(p) + k, p->slices, each, bias);
		p->place.dbias[k] = bias[k % LANES];
	}
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
