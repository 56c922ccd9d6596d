/*
 * amx_test - a convolution of bf16 in the tiles of AMX against a direct one in f64.
 *
 * Strides, paddings and taps of all kinds, odd numbers of blocks, rows longer than a chunk, gradients in several parts.
 * Any number of threads must give the same bits.
 */
#include "op/convs.h"

#include "base/err.h"
#include "engine/cpu/amx/amx.h"

#include <omp.h>

#define BOUND		2e-3	/* of y and dx, which are rounded; 1.7e-3 was measured */
#define WEIGHT_BOUND	3e-7	/* 8e-8 was measured */

static struct dnnl_dev *dev;

/* NaN in f32 and bf16: must be written before it is read. */
static void *
room_of_nans(size_t bytes)
{
	return memset(room(bytes), 0xff, bytes);
}

/* Runs all three directions. */
static bool
run(struct layer *l, int threads)
{
	struct dnnl_place at = { .x = room(blocked(l, false) * 4), .y = room_of_nans(blocked(l, true) * 4),
		.dx = room_of_nans(blocked(l, false) * 4), .dy = room(blocked(l, true) * 4), .bias = l->bias,
		.dbias = l->dbias };
	struct amx *a;

	omp_set_num_threads(threads);
	must(amx_new(dev, &l->shape, NULL, &a));
	at.packed = room_of_nans(amx_needs(a)->packed);
	at.scratch = room_of_nans(amx_needs(a)->scratch);
	copy(l, false, l->x, at.x, false);
	copy(l, true, l->dy, at.dy, false);
	round_map(l, false, at.x);
	round_map(l, true, at.dy);
	must(amx_bind(a, &at));
	must(amx_load(a, l->w));
	must(amx_run(a, DNNL_FORWARD, NULL));
	must(amx_run(a, DNNL_DATA, NULL));
	must(amx_run(a, DNNL_WEIGHT, l->dw));
	widen_map(l, true, at.y);
	widen_map(l, false, at.dx);
	copy(l, true, l->y, at.y, true);
	copy(l, false, l->dx, at.dx, true);
	amx_free(a);
	free_place(&at);
	return true;
}

static struct layer
new_rounded(const struct dnnl_shape *s)
{
	struct layer l = layer_new(*s, 16);

	round_numbers(l.x, l.xs);
	round_numbers(l.w, l.ws);
	round_numbers(l.dy, l.ys);
	return l;
}

static void
compare(struct dnnl_shape s)
{
	struct layer l, other;
	char name[120];

	s.dilate[0] = s.dilate[1] = s.groups = 1;
	s.stride[0] += s.stride[0] == 0;
	s.stride[1] += s.stride[1] == 0;
	s.data = s.bf16 = true;
	snprintf(name, sizeof(name), "%u of %ux%ux%u to %u, taps %ux%u, stride %ux%u, pad %ux%u", s.n, s.c, s.h, s.w, s.k,
	    s.r, s.s, s.stride[0], s.stride[1], s.pad[0], s.pad[1]);
	ok(amx_fits(&s), "%s: fits", name);
	l = new_rounded(&s);
	other = new_rounded(&s);
	compare_layer(&l, &other, run, BOUND, WEIGHT_BOUND, name);
}

static void
test_fits(void)
{
	const struct dnnl_shape whole = { .n = 1, .c = 32, .h = 8, .w = 8, .k = 16, .r = 3, .s = 3, .stride = { 1, 1 },
		.pad = { 1, 1 }, .dilate = { 1, 1 }, .groups = 1, .bf16 = true };
	struct dnnl_shape s[10];

	ok(amx_fits(&whole) == dnnl_dev_tiles(), "amx_fits accepts whole blocks on a processor with AMX");
	for (int i = 0; i < 10; i++)
		s[i] = whole;
	s[0].bf16 = false;
	s[1].c = 24;
	s[2].k = 8;
	s[3].groups = 2;
	s[4].dilate[1] = 2;
	s[5].pad[0] = 3;
	s[6].y_f32 = true;
	s[7].fc = true;
	s[8].pad[1] = 3;
	s[9].stride[1] = 5;
	for (int i = 0; i < 10; i++)
		ok(!amx_fits(&s[i]), "amx_fits refuses shape %d", i);
}

/* A layer of another batch size runs with the weights that the first one has packed. */
static void
test_like(void)
{
	const struct dnnl_shape s = { .n = 4, .c = 32, .h = 9, .w = 9, .k = 48, .r = 3, .s = 3, .stride = { 1, 1 },
		.pad = { 1, 1 }, .dilate = { 1, 1 }, .groups = 1, .data = true, .bf16 = true };
	struct dnnl_shape small = s;
	struct layer l = new_rounded(&s);
	const size_t dx = (size_t)s.c * 81;
	struct dnnl_place at = { .x = room(blocked(&l, false) * 4), .y = room(blocked(&l, true) * 4),
		.dx = room(blocked(&l, false) * 4), .dy = room(blocked(&l, true) * 4) };
	struct amx *a, *b;
	uint16_t *all;

	small.n = 1;
	must(amx_new(dev, &s, NULL, &a));
	must(amx_new(dev, &small, a, &b));
	at.packed = room(amx_needs(a)->packed);
	at.scratch = room(amx_needs(a)->scratch);
	copy(&l, true, l.dy, at.dy, false);
	round_map(&l, true, at.dy);
	must(amx_bind(a, &at));
	must(amx_load(a, l.w));
	must(amx_run(a, DNNL_DATA, NULL));
	all = memcpy(room(dx * 2), at.dx, dx * 2);
	memset(at.dx, 0xff, dx * 2);
	must(amx_bind(b, &at));
	must(amx_run(b, DNNL_DATA, NULL));
	is(amx_needs(b)->packed, amx_needs(a)->packed, "layers of two batch sizes pack weights alike");
	ok(memcmp(all, at.dx, dx * 2) == 0, "a layer of another batch size computes the same dx");
	amx_free(a);
	amx_free(b);
	free_place(&at);
	free(all);
	layer_free(&l);
}

int
main(void)
{
	must(dnnl_dev_open(&dev));
	test_fits();
	if (dnnl_dev_tiles()) {
		compare((struct dnnl_shape){ .n = 1, .c = 16, .h = 3, .w = 3, .k = 16, .r = 3, .s = 3, .pad = { 1, 1 } });
		compare((struct dnnl_shape){ .n = 3, .c = 48, .h = 7, .w = 7, .k = 80, .r = 3, .s = 3, .pad = { 1, 1 },
		    .bias = true });
		compare((struct dnnl_shape){ .n = 2, .c = 32, .h = 28, .w = 27, .k = 48, .r = 3, .s = 3, .pad = { 1, 1 },
		    .relu = true, .bias = true });
		compare((struct dnnl_shape){ .n = 5, .c = 64, .h = 9, .w = 11, .k = 32, .r = 1, .s = 1, .bias = true });
		compare((struct dnnl_shape){ .n = 5, .c = 80, .h = 9, .w = 11, .k = 48, .r = 1, .s = 1 });
		compare((struct dnnl_shape){ .n = 2, .c = 64, .h = 31, .w = 30, .k = 16, .r = 1, .s = 1, .stride = { 2, 2 } });
		compare((struct dnnl_shape){ .n = 2, .c = 32, .h = 15, .w = 14, .k = 48, .r = 3, .s = 3, .pad = { 1, 1 },
		    .stride = { 2, 2 }, .bias = true });
		compare((struct dnnl_shape){ .n = 2, .c = 16, .h = 13, .w = 12, .k = 16, .r = 3, .s = 3, .pad = { 1, 1 },
		    .stride = { 1, 2 } });
		compare((struct dnnl_shape){ .n = 1, .c = 16, .h = 21, .w = 20, .k = 16, .r = 7, .s = 7, .pad = { 3, 3 },
		    .stride = { 2, 3 } });
		compare((struct dnnl_shape){ .n = 2, .c = 16, .h = 8, .w = 8, .k = 32, .r = 5, .s = 5, .pad = { 2, 2 } });
		compare((struct dnnl_shape){ .n = 2, .c = 16, .h = 10, .w = 9, .k = 16, .r = 3, .s = 3 });
		compare((struct dnnl_shape){ .n = 2, .c = 16, .h = 5, .w = 6, .k = 16, .r = 3, .s = 3, .pad = { 2, 2 } });
		compare((struct dnnl_shape){ .n = 2, .c = 16, .h = 7, .w = 9, .k = 16, .r = 1, .s = 3, .pad = { 0, 1 } });
		compare((struct dnnl_shape){ .n = 2, .c = 16, .h = 7, .w = 9, .k = 16, .r = 3, .s = 1, .pad = { 1, 0 } });
		compare((struct dnnl_shape){ .n = 1, .c = 16, .h = 4, .w = 400, .k = 16, .r = 3, .s = 3, .pad = { 1, 1 },
		    .bias = true });
		compare((struct dnnl_shape){ .n = 40, .c = 16, .h = 6, .w = 7, .k = 16, .r = 1, .s = 1, .stride = { 2, 2 },
		    .bias = true });
		compare((struct dnnl_shape){ .n = 3, .c = 272, .h = 4, .w = 4, .k = 256, .r = 3, .s = 3, .pad = { 1, 1 },
		    .bias = true });
		compare((struct dnnl_shape){ .n = 5, .c = 528, .h = 5, .w = 5, .k = 512, .r = 1, .s = 1, .bias = true });
		compare((struct dnnl_shape){ .n = 9, .c = 1040, .h = 6, .w = 5, .k = 528, .r = 1, .s = 1 });
		/* More chunks than slices, with several parts in the second. */
		compare((struct dnnl_shape){ .n = 40, .c = 16, .h = 28, .w = 28, .k = 16, .r = 3, .s = 3, .pad = { 1, 1 },
		    .bias = true });
		compare((struct dnnl_shape){ .n = 50, .c = 96, .h = 6, .w = 6, .k = 96, .r = 5, .s = 5, .pad = { 2, 2 } });
		compare((struct dnnl_shape){ .n = 2, .c = 16, .h = 9, .w = 8, .k = 16, .r = 3, .s = 1, .pad = { 1, 0 },
		    .stride = { 2, 2 } });
		compare((struct dnnl_shape){ .n = 2, .c = 64, .h = 37, .w = 40, .k = 96, .r = 1, .s = 3, .pad = { 0, 2 },
		    .stride = { 2, 3 } });
		test_like();
	} else {
		skip("amx computes a layer", "this processor has no AMX");
	}
	dnnl_dev_close(dev);
	return done();
}
