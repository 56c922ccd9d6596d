/* dnnl_fc - transposes x, multiplies, and transposes the product into y. */
#include "engine/cpu/dnnl/dnnl_fc.h"

#include "base/err.h"
#include "base/isa.h"

#define TILE	16u	/* lines and columns that a thread transposes at a time: both sides fill cache lines */

static size_t
count_inputs(const struct dnnl_shape *s)
{
	return (size_t)s->c * s->h * s->w;
}

bool
dnnl_fc_fits(const struct dnnl_shape *s)
{
	return s->fc && !s->bf16 && s->n >= TILE && s->k >= s->n && isa_level() >= ISA_AVX512;
}

size_t
dnnl_fc_scratch(const struct dnnl_shape *s)
{
	return (count_inputs(s) + s->k) * s->n * sizeof(float);
}

static size_t
end_of_tile(size_t from, size_t end)
{
	return end - from < TILE ? end : from + TILE;
}

/* to [columns, lines] = from [lines, columns]. */
static void
transpose_x(const float *from, size_t lines, size_t columns, float *to)
{
	#pragma omp parallel for
	for (size_t first = 0; first < columns; first += TILE)
		for (size_t line = 0; line < lines; line += TILE)
			for (size_t j = first; j < end_of_tile(first, columns); j++)
				for (size_t i = line; i < end_of_tile(line, lines); i++)
					to[j * lines + i] = from[i * columns + j];
}

/* y [lines, columns] = t^T + bias [columns], with ReLU where asked. */
static void
transpose_y(const float *t, size_t lines, size_t columns, const float *bias, bool relu, float *y)
{
	#pragma omp parallel for
	for (size_t line = 0; line < lines; line += TILE)
		for (size_t first = 0; first < columns; first += TILE)
			for (size_t i = line; i < end_of_tile(line, lines); i++)
				for (size_t j = first; j < end_of_tile(first, columns); j++) {
					const float v = t[j * lines + i] + (bias != NULL ? bias[j] : 0);

					y[i * columns + j] = !relu || v > 0 ? v : 0;
				}
}

int
dnnl_fc_forward(const struct dnnl_shape *s, const struct dnnl_place *place)
{
	const size_t inputs = count_inputs(s);
	const struct dnnl_matrices product = { .m = s->k, .n = s->n, .k = inputs, .a = inputs, .b = s->n, .c = s->n };
	float *x = place->scratch, *y = x + inputs * s->n;

	transpose_x(place->x, s->n, inputs, x);
	ERR_TRY(dnnl_product(&product, place->packed, x, y));
	transpose_y(y, s->n, s->k, s->bias ? place->bias : NULL, s->relu, place->y);
	return 0;
}
