/*
 * wino_test - Winograd's algorithm against a direct convolution in f64.
 *
 * Maps that tiles do not divide, channels that blocks do not divide, few and many tiles.  Any number of threads must
 * give the same bits.
 */
#include "op/convs.h"

#include "base/err.h"
#include "engine/cpu/wino/wino.h"
#include "engine/cpu/wino/wino_product.h"

#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

#define BOUND 3e-6	/* 1.3e-6 was measured */
#define BF16_BOUND 1.25e-2	/* 1.2e-2 was measured; without rounding to nearest it is 1.4e-2 */

/* Memory of these bytes, with a page after it that nobody may touch. */
static void *
fence(size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), all = (bytes + page - 1) / page * page;
	char *p = mmap(NULL, all + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + all, page, PROT_NONE) < 0) {
		printf("Bail out! out of memory\n");
		exit(1);
	}
	return p + all - bytes;
}

static void
unfence(void *p, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), all = (bytes + page - 1) / page * page;

	munmap((char *)p + bytes - all, all + page);
}

/* Runs all three directions.  Returns true if they succeed and keep the padding lanes zero. */
static bool
run(struct layer *l, int threads)
{
	const struct dnnl_shape *s = &l->shape;
	const size_t number = s->bf16 ? 2 : 4, xs = blocked(l, false) * number, ys = blocked(l, true) * number;
	float *x = room(blocked(l, false) * 4), *y = room(blocked(l, true) * 4);
	struct dnnl_place at = { .x = fence(xs), .y = fence(ys), .dx = fence(xs), .dy = fence(ys), .bias = l->bias,
		.dbias = l->dbias };
	struct wino *w;
	int e;
	bool zero;

	omp_set_num_threads(threads);
	if (wino_new(s, l->block, &w) < 0) {
		printf("Bail out! %s\n", err_line());
		exit(1);
	}
	at.packed = room(wino_needs(w)->packed);
	at.scratch = room(wino_needs(w)->scratch);
	memset(at.scratch, 0xff, wino_needs(w)->scratch);	/* NaN: must be written before it is read */
	memset(at.y, 0xff, ys);
	memset(at.dx, 0xff, xs);
	copy(l, false, l->x, x, false);
	copy(l, true, l->dy, y, false);
	round_map(l, false, x);
	round_map(l, true, y);
	memcpy(at.x, x, xs);
	memcpy(at.dy, y, ys);
	wino_bind(w, &at);
	wino_load(w, l->w);
	e = wino_run(w, DNNL_FORWARD, NULL);
	e = e < 0 ? e : wino_run(w, DNNL_DATA, NULL);
	e = e < 0 ? e : wino_run(w, DNNL_WEIGHT, l->dw);
	if (e < 0)
		printf("# %s\n", err_line());
	memcpy(y, at.y, ys);
	memcpy(x, at.dx, xs);
	widen_map(l, true, y);
	widen_map(l, false, x);
	copy(l, true, l->y, y, true);
	copy(l, false, l->dx, x, true);
	zero = padded(l, true, y) && padded(l, false, x);
	wino_free(w);
	unfence(at.x, xs);
	unfence(at.dx, xs);
	unfence(at.y, ys);
	unfence(at.dy, ys);
	at = (struct dnnl_place){ .x = x, .y = y, .packed = at.packed, .scratch = at.scratch };
	free_place(&at);
	return e == 0 && zero;
}

static void
compare(struct dnnl_shape s, uint32_t block)
{
	struct layer l, other;
	char name[80];
	const double bound = s.bf16 ? BF16_BOUND : BOUND;

	s.r = s.s = 3;
	s.stride[0] = s.stride[1] = s.pad[0] = s.pad[1] = s.dilate[0] = s.dilate[1] = s.groups = 1;
	s.data = true;
	snprintf(name, sizeof(name), "%u of %ux%ux%u to %u in blocks of %u", s.n, s.c, s.h, s.w, s.k, block);
	ok(wino_fits(&s) || (s.c < 32 && !wino_product_is_own()), "%s: fits", name);
	l = layer_new(s, block);
	other = layer_new(s, block);
	if (s.bf16)
		for (struct layer *p = &l; p != NULL; p = p == &l ? &other : NULL) {
			round_numbers(p->x, p->xs);
			round_numbers(p->dy, p->ys);
		}
	compare_layer(&l, &other, run, bound, bound, name);
}

/* What a layer of bf16 computes; pooled: the maxima y [n, h / 2, w / 2, k] and their indices, else y [n, h, w, k]. */
struct outputs {
	uint16_t *y, *argmax, *dx;
	float	 *dw, *dbias;
	size_t	  count, xs;
};

static struct outputs
run_outputs(const struct layer *l, bool pooled, int threads)
{
	struct dnnl_shape s = l->shape;
	struct outputs o = { .count = (size_t)s.n * s.k * (pooled ? (s.h / 2) * (s.w / 2) : s.h * s.w), .xs = l->xs,
		.dw = room(l->ws * 4), .dbias = room(s.k * 4) };
	float *x = room(l->xs * 4), *dy = room(l->ys * 4);
	struct dnnl_place at = { .x = x, .dy = dy, .bias = l->bias, .dbias = o.dbias };
	struct wino *w;

	omp_set_num_threads(threads);
	s.pooled = pooled;
	copy(l, false, l->x, x, false);
	copy(l, true, l->dy, dy, false);
	round_map(l, false, x);
	round_map(l, true, dy);
	must(wino_new(&s, l->block, &w));
	at.y = o.y = fence(2 * o.count);
	at.argmax = o.argmax = fence(2 * o.count);
	at.dx = o.dx = fence(2 * o.xs);
	at.packed = room(wino_needs(w)->packed);
	at.scratch = room(wino_needs(w)->scratch);
	memset(at.scratch, 0xff, wino_needs(w)->scratch);	/* NaN: must be written before it is read */
	memset(at.y, 0xff, 2 * o.count);
	memset(at.argmax, 0xff, 2 * o.count);
	memset(at.dx, 0xff, 2 * o.xs);
	wino_bind(w, &at);
	wino_load(w, l->w);
	must(wino_run(w, DNNL_FORWARD, NULL));
	must(wino_run(w, DNNL_DATA, NULL));
	must(wino_run(w, DNNL_WEIGHT, o.dw));
	wino_free(w);
	free(x);
	free(dy);
	free(at.packed);
	free(at.scratch);
	return o;
}

static void
outputs_free(struct outputs *o)
{
	unfence(o->y, 2 * o->count);
	unfence(o->argmax, 2 * o->count);
	unfence(o->dx, 2 * o->xs);
	free(o->dw);
	free(o->dbias);
}

/* Are o the maxima of the windows of all, the output without pooling?  Tiles at a border may round in another way. */
static bool
are_maxima(const struct dnnl_shape *s, const struct outputs *o, const struct outputs *all)
{
	const float most = 0.12f * sqrtf(9 * (float)s->c);	/* numbers have this size, and errors 0.02 of it */

	for (size_t i = 0; i < o->count; i++) {
		const size_t c = i % s->k, column = i / s->k % (s->w / 2), line = i / s->k / (s->w / 2) % (s->h / 2);
		const size_t n = i / s->k / (s->w / 2) / (s->h / 2);
		float top = -INFINITY, at = 0, got = cpu_read(o->y, i, true);

		for (size_t k = 0; k < 4; k++) {
			const size_t pixel = (n * s->h + 2 * line + k / 2) * s->w + 2 * column + k % 2;
			const float v = cpu_read(all->y, pixel * s->k + c, true);

			top = v > top || v != v ? v : top;
			at = k == o->argmax[i] ? v : at;
		}
		if (o->argmax[i] > 3 || (top != top ? at == at || got == got :
		    !(fabsf(at - top) <= most && fabsf(got - top) <= most)))
			return false;
	}
	return true;
}

/* The gradient of a pool is 0 in an odd last line or column. */
static void
clear_odd_lines(const struct layer *l)
{
	for (size_t i = 0; i < l->ys; i++)
		if (i % l->ow >= l->ow / 2 * 2 || i / l->ow % l->oh >= l->oh / 2 * 2)
			l->dy[i] = 0;
}

static void
compare_floats(const float *got, const float *want, size_t n, const char *name, const char *what)
{
	double *exact = room(n * sizeof(*exact));

	for (size_t i = 0; i < n; i++)
		exact[i] = (double)want[i];
	close_to(got, exact, n, BF16_BOUND, name, what);
	free(exact);
}

/* Compares a pooled layer with the same layer whose output is not pooled. */
static void
compare_pooled(struct dnnl_shape s, const char *name)
{
	struct layer l;
	struct outputs o, all, other;

	s.r = s.s = 3;
	s.stride[0] = s.stride[1] = s.pad[0] = s.pad[1] = s.dilate[0] = s.dilate[1] = s.groups = 1;
	s.bf16 = s.bias = s.data = true;
	l = layer_new(s, 16);
	clear_odd_lines(&l);
	all = run_outputs(&l, false, 1);
	o = run_outputs(&l, true, 1);
	other = run_outputs(&l, true, 3);
	ok(wino_pools(&s) && are_maxima(&s, &o, &all), "pooled %s: y are the maxima", name);
	ok(memcmp(o.dx, all.dx, 2 * o.xs) == 0, "pooled %s: dx is that without pooling", name);
	compare_floats(o.dw, all.dw, l.ws, name, "dw is that without pooling");
	compare_floats(o.dbias, all.dbias, s.k, name, "dbias is that without pooling");
	ok(memcmp(o.y, other.y, 2 * o.count) == 0 && memcmp(o.argmax, other.argmax, 2 * o.count) == 0 &&
	    memcmp(o.dw, other.dw, 4 * l.ws) == 0, "pooled %s: 3 threads give the bits of one thread", name);
	outputs_free(&o);
	outputs_free(&all);
	outputs_free(&other);
	layer_free(&l);
}

/* A NaN in x makes its windows NaN. */
static void
pooled_nan(void)
{
	struct layer l = layer_new((struct dnnl_shape){ .n = 2, .c = 32, .h = 8, .w = 8, .k = 32, .r = 3, .s = 3,
		.stride = { 1, 1 }, .pad = { 1, 1 }, .dilate = { 1, 1 }, .groups = 1, .bf16 = true, .bias = true }, 16);
	struct outputs o, all;

	l.x[27] = NAN;
	all = run_outputs(&l, false, 1);
	o = run_outputs(&l, true, 1);
	ok(are_maxima(&l.shape, &o, &all), "a maximum among which is NaN is NaN");
	outputs_free(&o);
	outputs_free(&all);
	layer_free(&l);
}

/* A NaN in x becomes 0 with ReLU, and stays NaN without. */
static void
nan_pixel(bool relu)
{
	struct layer l = layer_new((struct dnnl_shape){ .n = 1, .c = 32, .h = 8, .w = 8, .k = 32, .r = 3, .s = 3,
		.stride = { 1, 1 }, .pad = { 1, 1 }, .dilate = { 1, 1 }, .groups = 1, .relu = relu }, 16);
	size_t nan = 0;

	l.x[0] = NAN;
	run(&l, 1);
	for (size_t i = 0; i < l.ys; i++)
		nan += isnan(l.y[i]);
	ok(relu ? nan == 0 : nan >= 32 * 4, "NaN %s", relu ? "becomes 0 with ReLU" : "stays NaN without ReLU");
	layer_free(&l);
}

/* A NaN weight of any bits makes NaNs in bf16. */
static void
nan_half(void)
{
	const uint32_t bits = 0xffffffff;
	struct layer l = layer_new((struct dnnl_shape){ .n = 1, .c = 32, .h = 8, .w = 8, .k = 32, .r = 3, .s = 3,
		.stride = { 1, 1 }, .pad = { 1, 1 }, .dilate = { 1, 1 }, .groups = 1, .bf16 = true, .data = true }, 16);
	size_t nan = 0;

	memcpy(&l.w[9 * 31], &bits, sizeof(bits));
	run(&l, 1);
	for (size_t i = 0; i < l.ys; i++)
		nan += isnan(l.y[i]);
	ok(nan >= 49, "bf16: a NaN among the weights makes NaNs");
	layer_free(&l);
}

static void
rule(void)
{
	const uint32_t least = wino_product_is_own() ? 16 : 32;
	const struct dnnl_shape fits = { .n = 1, .c = least, .h = 3, .w = 3, .k = least, .r = 3, .s = 3, .stride = { 1, 1 },
		.pad = { 1, 1 }, .dilate = { 1, 1 }, .groups = 1 };
	struct dnnl_shape s[] = { fits, fits, fits, fits, fits, fits, fits, fits, fits }, half = fits;
	bool any = false;

	s[0].c = least - 1;
	s[1].k = least - 1;
	s[2].h = 2;
	s[3].stride[1] = 2;
	s[4].pad[0] = 0;
	s[5].bf16 = s[8].bf16 = half.bf16 = true;
	s[5].c = s[5].k = 44;
	s[8].y_f32 = true;
	s[6].channels_last = true;
	s[7].groups = 2;
	for (size_t i = 0; i < sizeof(s) / sizeof(*s); i++)
		any = any || wino_fits(&s[i]);
	ok(wino_fits(&fits) && !any, "wino_fits accepts 16 or 32 channels of 3x3 and refuses smaller or other shapes");
	half.c = half.k = 48;
	ok(wino_fits(&half) == dnnl_dev_bf16_pairs(),
	    "wino_fits accepts bf16 where the processor has dot products of it and no AMX");
}

int
main(void)
{
	rule();
	compare((struct dnnl_shape){ .n = 1, .c = 32, .h = 4, .w = 4, .k = 32 }, 16);
	compare((struct dnnl_shape){ .n = 11, .c = 16, .h = 14, .w = 15, .k = 16, .relu = true }, 16);
	compare((struct dnnl_shape){ .n = 7, .c = 21, .h = 9, .w = 8, .k = 60, .bias = true }, 16);
	compare((struct dnnl_shape){ .n = 9, .c = 48, .h = 3, .w = 3, .k = 32, .bias = true }, 16);
	compare((struct dnnl_shape){ .n = 1, .c = 33, .h = 5, .w = 6, .k = 47, .bias = true }, 16);
	compare((struct dnnl_shape){ .n = 3, .c = 40, .h = 7, .w = 9, .k = 36, .bias = true, .relu = true }, 8);
	compare((struct dnnl_shape){ .n = 13, .c = 64, .h = 13, .w = 12, .k = 32, .bias = true }, 16);
	compare((struct dnnl_shape){ .n = 50, .c = 35, .h = 11, .w = 28, .k = 33, .relu = true }, 8);
	compare((struct dnnl_shape){ .n = 2, .c = 256, .h = 4, .w = 31, .k = 272, .bias = true }, 16);
	/* Several chunks of dw, and a kind of one tile. */
	compare((struct dnnl_shape){ .n = 1, .c = 32, .h = 121, .w = 121, .k = 32, .bias = true }, 16);
	if (dnnl_dev_bf16_pairs()) {
		compare((struct dnnl_shape){ .n = 1, .c = 16, .h = 3, .w = 3, .k = 16, .bf16 = true }, 16);
		compare((struct dnnl_shape){ .n = 7, .c = 48, .h = 9, .w = 8, .k = 32, .bias = true, .bf16 = true }, 16);
		compare((struct dnnl_shape){ .n = 5, .c = 24, .h = 10, .w = 31, .k = 64, .bias = true, .bf16 = true }, 16);
		compare((struct dnnl_shape){ .n = 3, .c = 40, .h = 9, .w = 8, .k = 56, .bias = true, .bf16 = true }, 16);
		compare((struct dnnl_shape){ .n = 11, .c = 32, .h = 14, .w = 15, .k = 80, .relu = true, .bf16 = true },
		    16);
		compare((struct dnnl_shape){ .n = 2, .c = 256, .h = 5, .w = 31, .k = 272, .bias = true, .bf16 = true },
		    16);
		compare((struct dnnl_shape){ .n = 1, .c = 32, .h = 121, .w = 121, .k = 32, .bias = true, .bf16 = true },
		    16);
		nan_half();
		compare_pooled((struct dnnl_shape){ .n = 3, .c = 24, .h = 31, .w = 31, .k = 64 }, "31x31 pixels");
		compare_pooled((struct dnnl_shape){ .n = 5, .c = 32, .h = 7, .w = 14, .k = 40 }, "half a block of 7x14");
		compare_pooled((struct dnnl_shape){ .n = 5, .c = 32, .h = 9, .w = 5, .k = 56 }, "9x5 pixels");
		compare_pooled((struct dnnl_shape){ .n = 2, .c = 48, .h = 3, .w = 4, .k = 32 }, "3x4 pixels");
		compare_pooled((struct dnnl_shape){ .n = 4, .c = 32, .h = 3, .w = 3, .k = 32 }, "3x3 pixels");
		pooled_nan();
	}
	nan_pixel(false);
	nan_pixel(true);
	return done();
}
