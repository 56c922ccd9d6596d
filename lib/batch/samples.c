/* samples - the input of a net: images as floats, or as pixels with their normalization, and their labels. */
#include "batch/samples.h"
#include "batch/planes.h"
#include "base/err.h"
#include "image/img.h"

#include <assert.h>
#include <string.h>

static size_t
count_sample_bytes(const struct samples *s)
{
	return (size_t)s->c * s->h * s->w;
}

void
samples_cut(const struct samples *s, const uint8_t *images, uint8_t *pixel)
{
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t y = 0; y < s->h; y++)
			for (uint32_t x = 0; x < s->w; x++, pixel += s->c) {
				const struct samples_cached *cached = &s->cached[i];
				int64_t row = (int64_t)cached->y + y, column = (int64_t)cached->x + x;

				if (s->reflect) {
					row = img_reflect(row, cached->h);
					column = img_reflect(column, cached->w);
				}
				if (row < 0 || row >= cached->h || column < 0 || column >= cached->w)
					memset(pixel, s->fill, s->c);
				else
					memcpy(pixel, images + cached->at +
					    ((size_t)row * cached->w + (size_t)column) * s->c, s->c);
			}
}

void
samples_f32(const struct samples *s, uint32_t first, uint32_t n, float *x)
{
	size_t size = count_sample_bytes(s);
	struct planes_line line[3];

	assert(s->cached == NULL);
	if (s->x != NULL) {
		memcpy(x, s->x + first * size, n * size * sizeof(*x));
		return;
	}
	for (uint32_t c = 0; c < s->c; c++)
		line[c] = (struct planes_line){
			.mean = s->norm.mean != NULL ? s->norm.mean + (size_t)c * s->h * s->w : NULL,
			.flat = s->norm.flat[c],
			.by = s->norm.by[c],
		};
	for (uint32_t i = first; i < first + n; i++, x += size)
		planes_f32(line, &(struct planes_view){ s->pixel + i * size, (size_t)s->w * s->c }, s->c, s->h, s->w,
		    s->mirror != NULL && s->mirror[i] != 0, x);
}

struct samples
samples_part(const struct samples *s, uint32_t first, uint32_t n)
{
	struct samples part = *s;

	part.n = n;
	part.y += first;
	if (s->target != NULL)
		part.target += (size_t)first * s->targets;
	if (s->mix != NULL)
		part.mix += first;
	if (s->x != NULL)
		part.x += first * count_sample_bytes(s);
	else if (s->cached != NULL)
		part.cached += first;
	else
		part.pixel += first * count_sample_bytes(s);
	if (s->mirror != NULL)
		part.mirror += first;
	return part;
}

static int
check_class(uint32_t i, int32_t class, uint32_t classes)
{
	if (class < 0 || (uint32_t)class >= classes)
		return err_fail(ERR_FORMAT, "sample %u of the batch: label %d of %u classes", i, class, classes);
	return 0;
}

int
samples_check(const struct samples *s, uint32_t classes, uint32_t targets)
{
	int e = 0;

	if ((s->target != NULL ? s->targets : 0) != targets)
		return err_fail(ERR_FORMAT, "the batch has %u numbers to compare outputs with, not %u",
		    s->target != NULL ? s->targets : 0, targets);
	for (uint32_t i = 0; i < s->n && e == 0; i++)
		if ((e = check_class(i, s->y[i], classes)) == 0 && s->mix != NULL)
			e = check_class(i, s->mix[i].other, classes);
	return e;
}
