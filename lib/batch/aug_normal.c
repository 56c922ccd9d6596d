/* aug_normal - converts a sample's pixels to planes of floats, mirrors them and cuts a square out. */
#include "batch/aug_in.h"

#include <string.h>

static void
cut_square(const struct aug *a, const struct aug_plan *plan, float *x)
{
	int64_t top = plan->cut_y, left = plan->cut_x, low = top + a->cutout, right = left + a->cutout;

	top = top > 0 ? top : 0;
	left = left > 0 ? left : 0;
	low = low < a->h ? low : a->h;
	right = right < a->w ? right : a->w;
	for (uint32_t c = 0; c < a->c; c++)
		for (int64_t y = top; y < low; y++)
			memset(x + ((size_t)c * a->h + (size_t)y) * a->w + left, 0,
			    (size_t)(right - left) * sizeof(*x));
}

/* The factor of a channel. */
static float
get_channel_factor(const struct aug *a, uint32_t c)
{
	float scale = a->scale != 0 ? a->scale : 1;

	return a->std_of[c] != 0 ? scale / a->std_of[c] : scale;
}

bool
aug_plain_norm(const struct aug *a, struct samples_norm *norm)
{
	*norm = (struct samples_norm){ .mean = a->mean };
	for (uint32_t c = 0; c < a->c; c++) {
		norm->flat[c] = a->mean_of[c];
		norm->by[c] = get_channel_factor(a, c);
	}
	return a->rand_contrast == 0 && a->rand_illumination == 0 && a->cutout == 0 && !aug_mixes(a);
}

void
aug_normal(const struct aug *a, const struct aug_plan *plan, const struct planes_view *v, float *x)
{
	struct planes_line line[3];

	for (uint32_t c = 0; c < a->c; c++) {
		float by = get_channel_factor(a, c);

		line[c] = (struct planes_line){
			.mean = a->mean != NULL ? a->mean + (size_t)c * a->h * a->w : NULL,
			.flat = a->mean_of[c],
			.by = plan->contrast * by,
			.add = plan->illumination * by,
		};
	}
	planes_f32(line, v, a->c, a->h, a->w, plan->mirror, x);
	if (a->cutout > 0)
		cut_square(a, plan, x);
}
