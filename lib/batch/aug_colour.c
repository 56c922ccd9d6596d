/* aug_colour - the colours of a sample: brightness, contrast, saturation, hue, noise. */
#include "base/isa.h"
#include "batch/aug_in.h"

#include <math.h>

/* Rounds to the nearest integer in 0..255. */
ISA_INLINE uint8_t
round_to_u8(float v)
{
	return (uint8_t)(int)(fminf(fmaxf(v, 0), 255) + 0.5f);
}

/* Luma by ITU-R BT.601, as in JPEG. */
ISA_INLINE float
get_luma(const uint8_t *p)
{
	return (float)(p[0] * 299 + p[1] * 587 + p[2] * 114) * 1e-3f;
}

/* Changes brightness, or contrast about a grey: v = v * by + add. */
ISA_CLONES(static, void, stretch_contrast, (uint8_t *p, size_t n, float by, float add), (p, n, by, add))
{
	for (size_t i = 0; i < n; i++)
		p[i] = round_to_u8((float)p[i] * by + add);
}

static float
average_luma(const uint8_t *p, size_t pixels)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < pixels; i++)
		sum += p[i * 3] * 299u + p[i * 3 + 1] * 587u + p[i * 3 + 2] * 114u;
	return (float)((double)sum / 1000 / (double)pixels);
}

ISA_CLONES(static, void, scale_saturation, (uint8_t *p, size_t pixels, float by), (p, pixels, by))
{
	for (size_t i = 0; i < pixels; i++, p += 3) {
		float grey = get_luma(p) * (1 - by);

		for (int c = 0; c < 3; c++)
			p[c] = round_to_u8((float)p[c] * by + grey);
	}
}

/* A channel's value, 0 to 1, of a hue in sixths of the circle. */
static float
convert_hue(float hue, float lo, float hi)
{
	hue -= 6 * floorf(hue / 6);
	return hue < 1 ? lo + (hi - lo) * hue : hue < 3 ? hi : hue < 4 ? lo + (hi - lo) * (4 - hue) : lo;
}

/*
 * Shifts hue, saturation and lightness by hsl, in units of 2 degrees, 1/255, 1/255.  Source: Foley
 * and van Dam, 13.3.5.
 */
static void
shift_hsl(uint8_t *p, const float hsl[3])
{
	float r = p[0] / 255.0f, g = p[1] / 255.0f, b = p[2] / 255.0f;
	float hi = fmaxf(r, fmaxf(g, b)), lo = fminf(r, fminf(g, b)), d = hi - lo;
	float l = (hi + lo) / 2, s = d == 0 ? 0 : l < 0.5f ? d / (hi + lo) : d / (2 - hi - lo);
	float h = d == 0 ? 0 : hi == r ? (g - b) / d : hi == g ? 2 + (b - r) / d : 4 + (r - g) / d;

	h += hsl[0] / 30;
	s = fminf(fmaxf(s + hsl[1] / 255, 0), 1);
	l = fminf(fmaxf(l + hsl[2] / 255, 0), 1);
	hi = l <= 0.5f ? l * (1 + s) : l + s - l * s;
	lo = 2 * l - hi;
	p[0] = round_to_u8(255 * convert_hue(h + 2, lo, hi));
	p[1] = round_to_u8(255 * convert_hue(h, lo, hi));
	p[2] = round_to_u8(255 * convert_hue(h - 2, lo, hi));
}

ISA_CLONES(static, void, tint_pixels, (uint8_t *p, size_t pixels, const float rgb[3]), (p, pixels, rgb))
{
	float r = rgb[0], g = rgb[1], b = rgb[2];

	for (size_t i = 0; i < pixels; i++, p += 3) {
		p[0] = round_to_u8((float)p[0] + r);
		p[1] = round_to_u8((float)p[1] + g);
		p[2] = round_to_u8((float)p[2] + b);
	}
}

void
aug_colour(const struct aug *a, const struct aug_plan *plan, uint8_t *p)
{
	size_t pixels = (size_t)a->h * a->w;
	float grey;

	for (int i = 0; i < 3; i++) {
		float by = plan->factor[plan->order[i]];

		switch (plan->order[i]) {
		case 0:
			if (a->brightness > 0)
				stretch_contrast(p, pixels * 3, by, 0);
			break;
		case 1:
			if (a->contrast > 0) {
				grey = average_luma(p, pixels);
				stretch_contrast(p, pixels * 3, by, (1 - by) * grey);
			}
			break;
		default:
			if (a->saturation > 0)
				scale_saturation(p, pixels, by);
		}
	}
	if (a->hsl[0] > 0 || a->hsl[1] > 0 || a->hsl[2] > 0)
		for (size_t i = 0; i < pixels; i++)
			shift_hsl(p + i * 3, plan->hsl);
	if (a->pca > 0)
		tint_pixels(p, pixels, plan->rgb);
}
