/* aug_normal - a sample's pixels as numbers: planes of floats, mirrored, with a square cut out. */
#include "data/aug_in.h"
#include "base/isa.h"

/* What becomes of a channel: x = (p - mean) * by + add. */
struct line {
	const float	*mean;		/* [w], or NULL: */
	float		 flat;
	float		 by, add;
};

/* A row of one plane: w pixels that stand c bytes apart. */
ISA_INLINE void
row(const struct line *l, const uint8_t *restrict p, uint32_t c, uint32_t w, bool mirror, float *restrict x)
{
	float flat = l->flat, by = l->by, add = l->add;
	const float *restrict mean = l->mean;

	if (mean != NULL && mirror)
		for (uint32_t i = 0; i < w; i++)
			x[w - 1 - i] = ((float)p[i * c] - mean[i]) * by + add;
	else if (mean != NULL)
		for (uint32_t i = 0; i < w; i++)
			x[i] = ((float)p[i * c] - mean[i]) * by + add;
	else if (mirror)
		for (uint32_t i = 0; i < w; i++)
			x[w - 1 - i] = ((float)p[i * c] - flat) * by + add;
	else
		for (uint32_t i = 0; i < w; i++)
			x[i] = ((float)p[i * c] - flat) * by + add;
}

ISA_CLONES static void
rows(const struct aug *a, const struct line line[3], const struct aug_view *v, bool mirror, float *x)
{
	size_t plane = (size_t)a->h * a->w;

	for (uint32_t y = 0; y < a->h; y++)
		for (uint32_t c = 0; c < a->c; c++) {
			struct line l = line[c];
			const uint8_t *p = v->p + y * v->stride + c;
			float *to = x + c * plane + (size_t)y * a->w;

			l.mean = l.mean != NULL ? l.mean + (size_t)y * a->w : NULL;
			if (a->c == 3)
				row(&l, p, 3, a->w, mirror, to);
			else
				row(&l, p, 1, a->w, mirror, to);
		}
}

static void
cut(const struct aug *a, const struct aug_plan *plan, float *x)
{
	int64_t top = plan->cut_y, left = plan->cut_x, low = top + a->cutout, right = left + a->cutout;

	top = top > 0 ? top : 0;
	left = left > 0 ? left : 0;
	low = low < a->h ? low : a->h;
	right = right < a->w ? right : a->w;
	for (uint32_t c = 0; c < a->c; c++)
		for (int64_t y = top; y < low; y++)
			memset(x + ((size_t)c * a->h + (size_t)y) * a->w + left, 0, (size_t)(right - left) * sizeof(*x));
}

void
aug_normal(const struct aug *a, const struct aug_plan *plan, const struct aug_view *v, float *x)
{
	float scale = a->scale != 0 ? a->scale : 1;
	struct line line[3];

	for (uint32_t c = 0; c < a->c; c++) {
		float by = a->std_of[c] != 0 ? scale / a->std_of[c] : scale;

		line[c] = (struct line){
			.mean = a->mean != NULL ? a->mean + (size_t)c * a->h * a->w : NULL,
			.flat = a->mean_of[c],
			.by = plan->contrast * by,
			.add = plan->illumination * by,
		};
	}
	rows(a, line, v, plan->mirror, x);
	if (a->cutout > 0)
		cut(a, plan, x);
}
