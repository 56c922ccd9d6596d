/* resize_test - each filter against plain sums in doubles, regions, odd, tiny and many sizes. */
#include "base/err.h"
#include "image/resize.h"
#include "tap.h"

#include <stdlib.h>

static struct resize *r;

/* Makes an image with edges, slopes and fine lines. */
static void
draw(const struct resize_plane *p)
{
	for (uint32_t y = 0; y < p->h; y++)
		for (uint32_t x = 0; x < p->w; x++)
			p->p[y * p->stride + x] = (uint8_t)((x / 9 + y / 7) % 3 * 60 + (x * y) % 23 * 3 + (x + 2 * y) % 64);
}

static struct resize_plane
plane(uint32_t h, uint32_t w)
{
	struct resize_plane p = { .h = h, .w = w, .stride = RESIZE_STRIDE(w) };

	p.p = aligned_alloc(RESIZE_ALIGN, h * p.stride);
	memset(p.p, 77, h * p.stride);
	return p;
}

static double
filter(enum resize_inter inter, double x)
{
	x = fabs(x);
	switch (inter) {
	case RESIZE_BILINEAR: return x < 1 ? 1 - x : 0;
	case RESIZE_CUBIC:
		return x < 1 ? 1.5 * x * x * x - 2.5 * x * x + 1 :
		    x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
	case RESIZE_LANCZOS:
		return x == 0 ? 1 : x < 3 ? sin(M_PI * x) * sin(M_PI * x / 3) * 3 / (M_PI * M_PI * x * x) : 0;
	default: return 0;
	}
}

/* The weight of input pixel j in output pixel i of an axis that maps `size` pixels from `from` to `out` pixels. */
static double
share(enum resize_inter inter, double from, double size, uint32_t out, uint32_t i, uint32_t j)
{
	double scale = size / out, lo = from + i * scale, centre = lo + scale / 2;

	if (inter == RESIZE_AREA)
		return fmax(0, fmin(j + 1.0, lo + scale) - fmax(j, lo));
	if (inter == RESIZE_NEAREST)
		return j == floor(centre);
	return filter(inter, (j + 0.5 - centre) / fmax(1, scale));
}

static double
exact(enum resize_inter inter, const struct resize_plane *from, const struct resize_region *part,
    const struct resize_plane *to, uint32_t y, uint32_t x)
{
	double all = 0, sum = 0;

	for (uint32_t i = 0; i < from->h; i++) {
		double v = share(inter, part->y, part->h, to->h, y, i);

		for (uint32_t j = 0; v != 0 && j < from->w; j++) {
			double w = v * share(inter, part->x, part->w, to->w, x, j);

			all += w;
			sum += w * from->p[i * from->stride + j];
		}
	}
	return fmin(fmax(sum / all, 0), 255);
}

/* The similarity (PSNR) in dB. */
static double
psnr(enum resize_inter inter, const struct resize_plane *from, const struct resize_region *part,
    const struct resize_plane *to)
{
	double sum = 0;
	uint32_t n = 0;

	for (uint32_t y = 0; y < to->h; y++)
		for (uint32_t x = 0; x < to->w; x++, n++) {
			double d = to->p[y * to->stride + x] - exact(inter, from, part, to, y, x);

			sum += d * d;
		}
	return 10 * log10(255 * 255 / fmax(sum / n, 1e-9));
}

/* Rounding alone, once for each axis, limits the similarity to 57 dB. */
static void
test_filter(enum resize_inter inter, const char *name, uint32_t h, uint32_t w, uint32_t oh, uint32_t ow)
{
	struct resize_plane from = plane(h, w), to = plane(oh, ow);
	struct resize_region all = { .h = h, .w = w }, some = { 3.25, 5.5, h * 0.7, w * 0.6 };
	double bound = inter == RESIZE_NEAREST ? 90 : 55.5;

	draw(&from);
	is(resize_plane(r, inter, &from, NULL, &to), 0,
	    "resize_img with %s, %ux%u to %ux%u", name, w, h, ow, oh);
	ok(psnr(inter, &from, &all, &to) > bound,
	    "the result matches exact sums (%.1f dB)", psnr(inter, &from, &all, &to));
	is(resize_plane(r, inter, &from, &some, &to), 0, "resize_img resizes a region");
	if (inter != RESIZE_AREA || (some.h >= oh && some.w >= ow))
		ok(psnr(inter, &from, &some, &to) > bound,
		    "the region matches exact sums (%.1f dB)",
		    psnr(inter, &from, &some, &to));
	free(from.p);
	free(to.p);
}

/* A flat image stays flat with every filter and size, and no byte outside the result is written. */
static void
test_flat(void)
{
	static const uint32_t size[] = { 1, 2, 3, 5, 64, 301 };
	static const enum resize_inter inters[] = { RESIZE_NEAREST, RESIZE_BILINEAR, RESIZE_CUBIC, RESIZE_AREA,
		RESIZE_LANCZOS, RESIZE_AUTO };
	uint32_t n = sizeof(size) / sizeof(*size), bad = 0, over = 0;

	for (uint32_t i = 0; i < n * n * n * n; i++) {
		struct resize_plane from = plane(size[i % n], size[i / n % n]), to = plane(size[i / n / n % n], size[i / n / n / n]);
		struct resize_region part = { .h = from.h, .w = from.w };

		for (uint32_t k = 0; k < sizeof(inters) / sizeof(*inters); k++) {
			memset(to.p, 1, to.h * to.stride);
			bad += resize_plane(r, inters[k], &from, &part, &to) != 0;
			for (uint32_t y = 0; y < to.h; y++)
				for (uint32_t x = 0; x < to.w; x++)
					over += to.p[y * to.stride + x] != 77;
		}
		free(from.p);
		free(to.p);
	}
	is(bad, 0, "every size resizes to every other");
	is(over, 0, "a flat image stays flat");
}

/* If all weights are equal, the rounding errors of the products add up. */
static void
test_flat_mean(void)
{
	uint32_t bad = 0;

	for (uint32_t n = 1; n <= 40; n++) {
		struct resize_plane from = plane(n, n + 1), to = plane(1, 1);

		for (int v = 0; v < 256; v++) {
			memset(from.p, v, from.h * from.stride);
			resize_plane(r, RESIZE_AREA, &from, NULL, &to);
			bad += *to.p != v;
		}
		free(from.p);
		free(to.p);
	}
	is(bad, 0, "the mean of equal pixels is their value");
}

static void
test_auto(void)
{
	struct resize_plane from = plane(40, 40), to = plane(60, 70), as = plane(60, 70);

	draw(&from);
	resize_plane(r, RESIZE_AUTO, &from, NULL, &to);
	resize_plane(r, RESIZE_CUBIC, &from, NULL, &as);
	ok(memcmp(to.p, as.p, 60 * to.stride) == 0, "auto is cubic to enlarge");
	to.h = as.h = to.w = as.w = 20;
	resize_plane(r, RESIZE_AUTO, &from, NULL, &to);
	resize_plane(r, RESIZE_AREA, &from, NULL, &as);
	ok(memcmp(to.p, as.p, 20 * to.stride) == 0, "auto is area to shrink");
	to.h = as.h = 50;
	resize_plane(r, RESIZE_AUTO, &from, NULL, &to);
	resize_plane(r, RESIZE_BILINEAR, &from, NULL, &as);
	ok(memcmp(to.p, as.p, 50 * to.stride) == 0,
	    "auto is bilinear if one axis grows and one shrinks");
	free(from.p);
	free(to.p);
	free(as.p);
}

static void
test_img(uint32_t c, uint32_t oh, uint32_t ow)
{
	uint32_t h = 50, w = 61, far = 0;
	uint8_t *p = malloc(h * w * c);
	struct img in = { p, c, h, w }, out;
	struct resize_plane from = plane(h, w), to = plane(oh, ow);

	for (size_t i = 0; i < h * w * c; i++)
		p[i] = (uint8_t)(i * 2654435761u >> 20);
	is(resize_img(r, RESIZE_CUBIC, &in, NULL, oh, ow, &out), 0,
	    "resize_img resizes %u channels", c);
	ok(out.h == oh && out.w == ow && out.c == c, "the result has the size asked for");
	for (uint32_t k = 0; k < c; k++) {
		for (size_t i = 0; i < h * w; i++)
			from.p[i / w * from.stride + i % w] = p[i * c + k];
		resize_plane(r, RESIZE_CUBIC, &from, NULL, &to);
		for (size_t i = 0; i < oh * ow; i++)
			far += out.p[i * c + k] != to.p[i / ow * to.stride + i % ow];
	}
	is(far, 0, "each channel equals a plane resized alone");
	free(p);
	free(from.p);
	free(to.p);
}

/* Cycles twice through more sizes than are kept: the pixels are the same. */
static void
test_many(void)
{
	struct resize_plane from = plane(90, 90), to = plane(100, 100);
	uint32_t sum[100] = { 0 }, bad = 0;

	draw(&from);
	for (uint32_t i = 0; i < 200; i++) {
		uint32_t s = 0;

		to.w = to.h = 20 + i % 80;
		resize_plane(r, RESIZE_LANCZOS, &from, NULL, &to);
		for (uint32_t k = 0; k < to.h * to.w; k++)
			s = s * 31 + to.p[k / to.w * to.stride + k % to.w];
		bad += sum[i % 80] != 0 && sum[i % 80] != s;
		sum[i % 80] = s;
	}
	is(bad, 0, "many sizes in turn give the same results again");
	free(from.p);
	free(to.p);
}

/* Row by row the result is the same, of regions and beyond edges too. */
static void
test_rows(enum resize_inter inter, uint32_t h, uint32_t w, uint32_t c, const struct resize_region *region, uint32_t oh,
    uint32_t ow)
{
	uint8_t *p = malloc((size_t)h * w * c), *want = malloc((size_t)oh * ow * c);
	struct img in = { p, c, h, w }, out;
	int bad = 0;

	for (size_t i = 0; i < (size_t)h * w * c; i++)
		p[i] = (uint8_t)(i * 2654435761u >> 20);
	bad += resize_img(r, inter, &in, region, oh, ow, &out) < 0;
	memcpy(want, out.p, (size_t)oh * ow * c);
	in.p = NULL;
	bad += resize_rows_start(r, inter, &in, region, oh, ow, &out) < 0;
	memset((void *)(uintptr_t)out.p, 99, (size_t)oh * ow * c);
	for (uint32_t y = 0; y < h; y++) {
		uint8_t *row = malloc((size_t)w * c);

		memcpy(row, p + (size_t)y * w * c, (size_t)w * c);
		bad += resize_rows_put(r, row) < 0;
		free(row);
	}
	ok(bad == 0 && out.h == oh && out.w == ow && out.c == c && memcmp(out.p, want, (size_t)oh * ow * c) == 0,
	    "filter %d, %ux%u to %ux%u of %u channels: row by row the result is the same", (int)inter, w, h, ow, oh, c);
	free(p);
	free(want);
}

static void
test_all_rows(void)
{
	static const struct resize_region inside = { .y = 40.5, .x = 7, .h = 100, .w = 90 };
	static const struct resize_region beyond = { .y = -9, .x = -3, .h = 260, .w = 130 };

	for (enum resize_inter i = RESIZE_NEAREST; i <= RESIZE_LANCZOS; i++) {
		test_rows(i, 200, 120, 3, NULL, 100, 60);
		test_rows(i, 200, 120, 1, NULL, 301, 170);
		test_rows(i, 200, 120, 3, &inside, 33, 20);
		test_rows(i, 200, 120, 1, &inside, 3, 2);
		test_rows(i, 200, 120, 3, &beyond, 70, 90);
		test_rows(i, 200, 120, 3, NULL, 200, 60);
		test_rows(i, 1, 1, 1, NULL, 5, 4);
		test_rows(i, 500, 3, 1, NULL, 1, 1);
	}
}

int
main(void)
{
	static const char *const name[] = { "nearest", "bilinear", "cubic", "area", "lanczos" };

	resize_new(&r);
	for (enum resize_inter i = RESIZE_NEAREST; i <= RESIZE_LANCZOS; i++) {
		test_filter(i, name[i], 127, 190, 61, 85);
		test_filter(i, name[i], 101, 75, 30, 22);
	}
	test_filter(RESIZE_BILINEAR, "bilinear", 40, 51, 97, 111);
	test_filter(RESIZE_CUBIC, "cubic", 40, 51, 97, 111);
	test_filter(RESIZE_LANCZOS, "lanczos", 40, 51, 97, 51);
	test_filter(RESIZE_CUBIC, "cubic, many taps", 300, 200, 20, 11);
	test_all_rows();
	test_filter(RESIZE_AREA, "area, many taps", 300, 100, 20, 2);
	test_flat();
	test_flat_mean();
	test_auto();
	test_img(1, 23, 31);
	test_img(3, 23, 31);
	test_img(3, 3, 40);
	test_img(3, 2, 3);
	test_many();
	resize_free(r);
	return done();
}
