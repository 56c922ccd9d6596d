/*
 * dense_test - convolutions of small maps and fully connected layers, as products of matrices, against sums in f64.
 *
 * Paddings, strides and dilations that leave some pairs of pixels without a tap, and batches that fill no tile.
 */
#include "op/convs.h"

#include "base/err.h"
#include "base/isa.h"
#include "engine/cpu/cpu_conv.h"
#include "engine/cpu/cpu_dense.h"

#define BOUND 1e-6	/* 4e-7 was measured */

static struct dnnl_dev *dev;

static struct dnnl_place
make_place(struct layer *l)
{
	struct dnnl_place at = { .x = room(blocked(l, false) * 4), .y = room(blocked(l, true) * 4),
		.dx = room(blocked(l, false) * 4), .dy = room(blocked(l, true) * 4), .bias = l->bias,
		.dbias = l->dbias };

	memset(at.y, 0xff, blocked(l, true) * 4);
	memset(at.dx, 0xff, blocked(l, false) * 4);
	copy(l, false, l->x, at.x, false);
	copy(l, true, l->dy, at.dy, false);
	return at;
}

/*
 * Runs all three directions of c, with weights that its memory has, or that are loaded twice, as before each step.
 * The memory of at is c's.
 */
static void
run(struct cpu_conv *c, struct layer *l, struct dnnl_place *at, bool load)
{
	at->scratch = room(cpu_conv_needs(c)->scratch);
	memset(at->scratch, 0xff, cpu_conv_needs(c)->scratch);	/* NaN: must be written before it is read */
	must(cpu_conv_bind(c, at));
	if (load) {
		must(cpu_conv_load(c, l->dw));
		must(cpu_conv_load(c, l->w));
	}
	must(cpu_conv_run(c, DNNL_FORWARD, NULL));
	must(cpu_conv_run(c, DNNL_DATA, NULL));
	must(cpu_conv_run(c, DNNL_WEIGHT, l->dw));
	copy(l, true, l->y, at->y, true);
	copy(l, false, l->dx, at->dx, true);
}

static void
compare_sums(const struct layer *l, const char *name)
{
	const struct dnnl_shape *s = &l->shape;
	struct sums want = direct(l);

	close_to(l->y, want.y, l->ys, BOUND, name, s->relu ? "y, bias and ReLU" : "y");
	close_to(l->dx, want.dx, l->xs, BOUND, name, "dx");
	close_to(l->dw, want.dw, l->ws, BOUND, name, "dw");
	if (s->bias)
		close_to(l->dbias, want.dbias, s->k, BOUND, name, "dbias");
	sums_free(&want);
}

/* The layer, and the same weights with 3 samples.  fc: a layer whose taps are its whole input. */
static void
compare(struct dnnl_shape s, bool fc, const char *kernel)
{
	struct layer l, few;
	struct dnnl_place at, part;
	struct cpu_conv *c, *short_c;
	const uint32_t block = fc ? 1 : dnnl_dev_block();
	char name[80];

	s.groups = 1;
	s.data = true;
	snprintf(name, sizeof(name), "%u of %ux%ux%u to %u by %ux%u%s", s.n, s.c, s.h, s.w, s.k, s.r, s.s,
	    fc ? ", connected" : "");
	l = layer_new(s, block);
	s.n = 3;
	few = layer_new(s, block);
	memcpy(few.w, l.w, l.ws * sizeof(*l.w));
	l.shape.fc = few.shape.fc = fc;
	at = make_place(&l);
	part = make_place(&few);
	must(cpu_conv_new(dev, &l.shape, NULL, &c));
	must(cpu_conv_new(dev, &few.shape, c, &short_c));
	ok(strncmp(cpu_conv_needs(c)->kernel[DNNL_FORWARD], kernel, strlen(kernel)) == 0, "%s: its kernel is %s", name,
	    kernel);
	at.packed = room(cpu_conv_needs(c)->packed);
	run(c, &l, &at, true);
	compare_sums(&l, name);
	part.packed = room(cpu_conv_needs(c)->packed);
	memcpy(part.packed, at.packed, cpu_conv_needs(c)->packed);
	run(short_c, &few, &part, false);
	strncat(name, ", then 3", sizeof(name) - strlen(name) - 1);
	compare_sums(&few, name);
	cpu_conv_free(c);
	cpu_conv_free(short_c);
	free_place(&at);
	free_place(&part);
	layer_free(&l);
	layer_free(&few);
}

static void
rule(void)
{
	const struct dnnl_shape fits = { .n = 1, .c = 32, .h = 2, .w = 2, .k = 32, .r = 3, .s = 3, .stride = { 1, 1 },
		.pad = { 1, 1 }, .dilate = { 1, 1 }, .groups = 1 };
	struct dnnl_shape s[] = { fits, fits, fits, fits, fits };
	bool any = false;

	s[0].c = 30;
	s[1].h = 3;
	s[2].channels_last = true;
	s[3].groups = 2;
	s[4].pad[0] = s[4].pad[1] = 3;	/* 36 outputs of 4 inputs */
	for (size_t i = 0; i < sizeof(s) / sizeof(*s); i++)
		any = any || cpu_dense_fits(&s[i]);
	ok(cpu_dense_fits(&fits) && !any, "cpu_dense_fits accepts maps of 2x2 and refuses larger ones, or other shapes");
}

int
main(void)
{
	const char *fc;

	must(dnnl_dev_open(&dev));
	fc = isa_level() >= ISA_AVX512 ? "gemm:transposed" : "";
	rule();
	compare((struct dnnl_shape){ .n = 5, .c = 32, .h = 2, .w = 2, .k = 48, .r = 3, .s = 3, .stride = { 1, 1 },
	    .pad = { 1, 1 }, .dilate = { 1, 1 }, .bias = true, .relu = true }, false, "dense:");
	compare((struct dnnl_shape){ .n = 37, .c = 16, .h = 2, .w = 1, .k = 32, .r = 3, .s = 3, .stride = { 2, 1 },
	    .pad = { 1, 1 }, .dilate = { 1, 1 }, .bias = true }, false, "dense:");
	compare((struct dnnl_shape){ .n = 20, .c = 16, .h = 2, .w = 3, .k = 16, .r = 5, .s = 5, .stride = { 1, 2 },
	    .pad = { 2, 2 }, .dilate = { 1, 1 } }, false, "dense:");
	compare((struct dnnl_shape){ .n = 16, .c = 48, .h = 2, .w = 2, .k = 16, .r = 3, .s = 3, .stride = { 1, 1 },
	    .pad = { 2, 2 }, .dilate = { 2, 2 }, .relu = true }, false, "dense:");
	compare((struct dnnl_shape){ .n = 6, .c = 32, .h = 1, .w = 2, .k = 16, .r = 5, .s = 3, .stride = { 1, 1 },
	    .pad = { 3, 2 }, .dilate = { 1, 2 } }, false, "dense:");
	compare((struct dnnl_shape){ .n = 3, .c = 16, .h = 1, .w = 1, .k = 16, .r = 3, .s = 3, .stride = { 1, 1 },
	    .pad = { 1, 1 }, .dilate = { 1, 1 } }, false, "dense:");
	compare((struct dnnl_shape){ .n = 37, .c = 75, .h = 1, .w = 1, .k = 50, .r = 1, .s = 1, .stride = { 1, 1 },
	    .dilate = { 1, 1 }, .bias = true, .relu = true }, true, fc);
	compare((struct dnnl_shape){ .n = 16, .c = 3, .h = 4, .w = 5, .k = 33, .r = 4, .s = 5, .stride = { 1, 1 },
	    .dilate = { 1, 1 } }, true, fc);
	dnnl_dev_close(dev);
	return done();
}
