/*
 * bits_test - what the engine relies on of a GPU, and what stand-ins for its libraries cannot show: the bits of
 * arithmetic, the order of streams, and arrays of almost 2^31 values.
 *
 * The bodies of kernels run here too, and give the bits that those on the device must have.  build/tests/emu/bits_test
 * rehearses it without a GPU.  With less memory than the arrays take they have as many values as half of it holds.
 */
#include "tap.h"

#include "base/buf.h"
#include "engine/cuda/device/blas.h"
#include "engine/cuda/device/device.h"
#include "engine/cuda/device/dnn.h"
#include "engine/cuda/kernel/kernel.h"

#include <stdlib.h>

#define HALVES	65536u
#define FLOATS	65536u
#define MOST	((uint64_t)0x7fffffff)	/* values of an array, as exec_plan.c allows */

static const struct cuda_host host = { .note = err_note, .within = err_within, .put = buf_put_fmt };

static void
must(int e)
{
	if (e < 0) {
		printf("Bail out! %s\n", err_line());
		exit(1);
	}
}

static void *
alloc_up(struct device *d, const void *from, size_t bytes)
{
	void *p;

	must(device_alloc(d, bytes, &p));
	must(device_upload(d, DEVICE_MAIN, p, from, bytes));
	must(device_wait(d));
	return p;
}

/* Copies to the host, and frees. */
static void
take_down(struct device *d, void *p, void *to, size_t bytes)
{
	must(device_download(d, DEVICE_MAIN, to, p, bytes));
	must(device_wait(d));
	device_free(d, p);
}

/* Floats of all magnitudes and signs, subnormal ones too, without NaN and infinity. */
static void
fill_magnitudes(float *x, uint32_t n, uint32_t seed)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bits = (i + seed) * 0x9e3779b1u;

		bits ^= bits >> 15;
		bits = (bits * 0x85ebca6bu) & ~(1u << 30);	/* below 2 */
		memcpy(&x[i], &bits, sizeof(bits));
	}
}

/* Divisions, roots and products of an update: no fused multiply-add, no flush of subnormal numbers to 0. */
static void
update(struct device *d)
{
	static float w[FLOATS], g[FLOATS], state[2 * FLOATS], got[FLOATS], got_state[2 * FLOATS];
	const struct kernel_rates rates = { 0.125f, 1e-3f, 2e-3f, 0.031622f, 0.9999f };
	const struct kernel_range range = { 0, 0, 0, 1 };
	struct kernel_opt a = { .range = &range, .n = 1, .w = w, .state = state, .g = g, .rates = &rates, .rule = KERNEL_ADAM,
		.rare = 1, .momentum = 0.9f, .wd = 1e-4f, .clip = INFINITY, .l1 = 1e-5f, .beta2 = 0.999f, .eps = 1e-8f }, b = a;

	fill_magnitudes(w, FLOATS, 1);
	fill_magnitudes(g, FLOATS, 2);
	fill_magnitudes(state, 2 * FLOATS, 3);
	for (uint32_t i = 1; i < 2 * FLOATS; i += 2)
		state[i] = fabsf(state[i]);
	b.range = alloc_up(d, &range, sizeof(range));
	b.rates = alloc_up(d, &rates, sizeof(rates));
	b.w = alloc_up(d, w, sizeof(w));
	b.g = alloc_up(d, g, sizeof(g));
	b.state = alloc_up(d, state, sizeof(state));
	must(kernel_run_opt(d, &b, FLOATS, KERNEL_F32));
	take_down(d, b.w, got, sizeof(got));
	take_down(d, b.state, got_state, sizeof(got_state));
	device_free(d, (void *)b.range);
	device_free(d, (void *)b.rates);
	device_free(d, (void *)b.g);
	for (uint32_t i = 0; i < FLOATS; i++)
		kernel_opt_at(&a, i, KERNEL_F32);
	ok(memcmp(got, w, sizeof(w)) == 0 && memcmp(got_state, state, sizeof(state)) == 0,
	    "an update of Adam has the bits of the host, for numbers of all magnitudes");
}

/* Every 16-bit number as f32, and f32 between and beside them as 16 bits. */
static void
convert(struct device *d, int type, const char *name)
{
	static uint16_t half[HALVES], want[HALVES], got[HALVES];
	static float wide[HALVES];
	struct kernel_permute up = { .b = HALVES, .c = 1, .ld = HALVES, .from_type = type, .to_type = KERNEL_F32 };
	struct kernel_permute down = { .b = HALVES, .c = 1, .ld = HALVES, .from_type = KERNEL_F32, .to_type = type };
	uint32_t wrong = 0;
	void *x, *y;

	for (uint32_t i = 0; i < HALVES; i++)
		half[i] = (uint16_t)i;
	x = alloc_up(d, half, sizeof(half));
	y = alloc_up(d, wide, sizeof(wide));
	up.x = down.to = x;
	up.to = y;
	down.x = y;
	must(kernel_run_permute(d, &up, HALVES, KERNEL_F32));
	take_down(d, y, wide, sizeof(wide));
	for (uint32_t i = 0; i < HALVES; i++) {
		float v = kernel_from_half((uint16_t)i, type);

		wrong += memcmp(&v, &wide[i], sizeof(v)) != 0 && !(isnan(v) && isnan(wide[i]));
	}
	is(wrong, 0, "every number of %s has its value in f32", name);
	/* Halfway to the next one up, and one f32 beside that. */
	for (uint32_t i = 0; i < HALVES; i++) {
		const float v = kernel_from_half((uint16_t)i, type), next = kernel_from_half((uint16_t)(i + 1), type);
		const float mid = v + (next - v) / 2;

		wide[i] = i % 3 == 0 ? mid : nextafterf(mid, i % 3 == 1 ? v : next);
		want[i] = kernel_to_half(wide[i], type);
	}
	down.x = alloc_up(d, wide, sizeof(wide));
	must(kernel_run_permute(d, &down, HALVES, KERNEL_F32));
	take_down(d, x, got, sizeof(got));
	device_free(d, (void *)down.x);
	wrong = 0;
	for (uint32_t i = 0; i < HALVES; i++)
		wrong += got[i] != want[i] && !(isnan(wide[i]) && isnan(kernel_from_half(got[i], type)));
	is(wrong, 0, "f32 rounds to nearest in %s, ties to even", name);
}

/* Sums over pixels by blocks that meet in memory: those of the host, every time. */
static void
sum(struct device *d)
{
	enum { M = 40000, C = 64, TIMES = 50 };
	static float x[M * C], want[C], got[C];
	static struct kernel_shared shared;
	uint32_t most, differ = 0, arrived[C] = { 0 };
	struct kernel_column_sums a = { { x, C, C, KERNEL_F32 }, kernel_cut_strips(M, C, &most), want, NULL }, b = a;
	const size_t sums = (size_t)most * KERNEL_SUMS * C * sizeof(float);

	fill_magnitudes(x, M * C, 4);
	a.strips.sums = malloc(sums);
	a.strips.arrived = arrived;
	if (a.strips.sums == NULL)
		abort();
	for (uint32_t k = 0; k < kernel_column_sums_grid(&a).count; k++)
		kernel_column_sums_block(&a, k, KERNEL_F32, KERNEL_WIDTH, &shared);
	b.x.p = alloc_up(d, x, sizeof(x));
	b.to = alloc_up(d, got, sizeof(got));
	b.strips.sums = alloc_up(d, a.strips.sums, sums);
	b.strips.arrived = alloc_up(d, arrived, sizeof(arrived));
	for (int k = 0; k < TIMES; k++) {
		must(kernel_run_column_sums(d, &b, KERNEL_F32));
		must(device_download(d, DEVICE_MAIN, got, b.to, sizeof(got)));
		must(device_wait(d));
		differ += memcmp(got, want, sizeof(want)) != 0;
	}
	is(differ, 0, "sums over pixels have the bits of the host in each of %d runs", TIMES);
	ok(b.strips.blocks > 1, "they are sums of %u blocks", b.strips.blocks);
	device_free(d, b.x.p);
	device_free(d, b.to);
	device_free(d, b.strips.sums);
	device_free(d, b.strips.arrived);
	free(a.strips.sums);
}

/* Products of f32 keep the last bits of their factors, which TF32 rounds away. */
static void
multiply(struct device *d)
{
	enum { SIDE = 64 };
	static float x[SIDE * SIDE], one[SIDE * SIDE], y[SIDE * SIDE];
	const float fine = 1 + 0x1p-16f, near_enough = 0x1p-13f;
	const struct blas_shape shape = { .m = SIDE, .n = SIDE, .k = SIDE, .alpha = 1, .count = 1 };
	const struct dnn_shape conv = { .way = DNN_FORWARD, .type = KERNEL_F32, .n = 1, .c = SIDE, .h = 8, .w = 8, .k = SIDE,
		.oh = 8, .ow = 8, .r = 1, .s = 1, .stride = { 1, 1 }, .dilate = { 1, 1 }, .groups = 1 };
	const struct engine_tune tune = { .deterministic = true };
	uint32_t wrong = 0;
	size_t bytes;
	void *scratch;
	struct blas_places at;
	struct blas *b;
	struct dnn *c;

	for (uint32_t i = 0; i < SIDE * SIDE; i++) {
		x[i] = fine;
		one[i] = 1;
	}
	at = (struct blas_places){ .a = alloc_up(d, x, sizeof(x)), .b = alloc_up(d, one, sizeof(one)),
		.c = alloc_up(d, y, sizeof(y)) };
	must(blas_open(d, &shape, &b, &bytes));
	must(device_alloc(d, bytes, &scratch));
	at.scratch = scratch;
	blas_bind(b, &at);
	must(blas_run(b));
	must(device_download(d, DEVICE_MAIN, y, at.c, sizeof(y)));
	must(device_wait(d));
	blas_close(b);
	device_free(d, scratch);
	for (uint32_t i = 0; i < SIDE * SIDE; i++)
		wrong += !(fabsf(y[i] - SIDE * fine) < near_enough);
	is(wrong, 0, "a product of matrices in f32 is not rounded to TF32");
	must(dnn_open(d, &conv, &tune, &c, &bytes));
	must(device_alloc(d, bytes, &scratch));
	must(dnn_bind(c, &(struct dnn_places){ .x = (void *)at.a, .w = (void *)at.b, .y = at.c, .scratch = scratch }));
	must(dnn_run(c));
	must(device_download(d, DEVICE_MAIN, y, at.c, sizeof(y)));
	must(device_wait(d));
	dnn_close(c);
	wrong = 0;
	for (uint32_t i = 0; i < SIDE * SIDE; i++)
		wrong += !(fabsf(y[i] - SIDE * fine) < near_enough);
	is(wrong, 0, "a convolution in f32 is not rounded to TF32");
	device_free(d, scratch);
	device_free(d, (void *)at.a);
	device_free(d, (void *)at.b);
	device_free(d, at.c);
}

/*
 * A graph records an event in its middle.  Each launch records it anew, so a download that follows it finds what the
 * kernels before it have written in this launch, not in an earlier one.
 */
static void
follow_graph(struct device *d)
{
	enum { VALUES = 1 << 20, KERNELS = 16, LAUNCHES = 10 };
	const size_t bytes = VALUES * sizeof(float);
	struct kernel_accumulate first = { .by = 1 }, second;
	struct device_graph *graph;
	struct device_event *v, *done_up;
	uint32_t wrong = 0;
	void *memory, *down;
	float *ones = malloc(bytes);

	if (ones == NULL)
		abort();
	for (uint32_t i = 0; i < VALUES; i++)
		ones[i] = 1;
	must(device_alloc(d, 2 * bytes, &memory));
	must(device_zero(d, memory, 2 * bytes));
	must(device_alloc_pinned(d, sizeof(float), &down));
	must(device_event_new(d, false, &v));
	must(device_event_new(d, false, &done_up));
	first.x = alloc_up(d, ones, bytes);
	first.sum = memory;
	second = first;
	second.sum = first.sum + VALUES;
	must(kernel_run_accumulate(d, &second, VALUES, KERNEL_F32));
	must(device_graph_begin(d));
	for (int k = 0; k < 2 * KERNELS; k++) {
		must(kernel_run_accumulate(d, k < KERNELS ? &first : &second, VALUES, KERNEL_F32));
		if (k + 1 == KERNELS)
			must(device_event_record(d, v, DEVICE_MAIN));
	}
	must(device_graph_end(d, &graph));
	if (!ok(graph != NULL, "a graph of kernels and an event is captured"))
		exit(done());
	for (int t = 1; t <= LAUNCHES; t++) {
		must(device_graph_launch(d, graph));
		must(device_event_follow(d, v, DEVICE_DOWNLOAD));
		must(device_download(d, DEVICE_DOWNLOAD, down, first.sum + VALUES - 1, sizeof(float)));
		must(device_event_record(d, done_up, DEVICE_DOWNLOAD));
		must(device_event_wait(d, done_up));
		wrong += *(float *)down != (float)(KERNELS * t);
	}
	is(wrong, 0, "work that follows a graph's event comes after it in each of %d launches", LAUNCHES);
	must(device_wait(d));
	device_graph_free(graph);
	device_event_free(v);
	device_event_free(done_up);
	device_free_pinned(d, down);
	device_free(d, (void *)first.x);
	device_free(d, memory);
	free(ones);
}

/* Arrays with as many values as indices of 32 bits allow. */
static void
index_all(struct device *d)
{
	size_t left, all;
	uint64_t values;
	const float nan = NAN;
	const uint16_t one = kernel_to_bf16(1);
	struct kernel_finite finite;
	struct kernel_combine copy = { .n = 1 };
	uint32_t bad = 0, m;
	uint16_t got = 0;
	void *memory;

	must(device_memory(d, &left, &all));
	values = left / 2 / sizeof(float) < MOST ? left / 2 / sizeof(float) : MOST;
	must(device_alloc(d, values * sizeof(float), &memory));
	must(device_zero(d, memory, values * sizeof(float)));
	finite = (struct kernel_finite){ memory, alloc_up(d, &bad, sizeof(bad)) };
	must(device_upload(d, DEVICE_MAIN, (float *)memory + values - 1, &nan, sizeof(nan)));
	must(kernel_run_finite(d, &finite, (uint32_t)values, KERNEL_F32));
	take_down(d, finite.bad, &bad, sizeof(bad));
	is(bad, values, "a kernel reaches the last of %llu values", (unsigned long long)values);
	m = (uint32_t)(values / KERNEL_WIDTH);
	copy.x[0] = (struct kernel_view){ memory, KERNEL_WIDTH, KERNEL_WIDTH, KERNEL_BF16 };
	copy.y = copy.x[0];
	copy.y.p = (char *)memory + (size_t)m * KERNEL_WIDTH * sizeof(one);
	copy.m = m;
	must(device_upload(d, DEVICE_MAIN, (uint16_t *)memory + (size_t)m * KERNEL_WIDTH - 1, &one, sizeof(one)));
	must(kernel_run_combine(d, &copy, KERNEL_BF16));
	must(device_download(d, DEVICE_MAIN, &got, (uint16_t *)copy.y.p + (size_t)m * KERNEL_WIDTH - 1, sizeof(got)));
	must(device_wait(d));
	is(got, one, "a wide kernel reaches the last of %llu values", (unsigned long long)m * KERNEL_WIDTH);
	device_free(d, memory);
}

int
main(void)
{
	struct device *d;

	if (device_open(&host, 0, &d) < 0) {
		skip("the bits of a GPU", err_line());
		return done();
	}
	update(d);
	convert(d, KERNEL_F16, "f16");
	convert(d, KERNEL_BF16, "bf16");
	sum(d);
	multiply(d);
	follow_graph(d);
	index_all(d);
	device_close(d);
	return done();
}
