/* isa_test - the variable limits, wrong names are refused, and images,
    samples and weights are the same under each set. */
#include "base/err.h"
#include "base/num.h"
#include "base/rng.h"
#include "batch/aug.h"
#include "image/resize.h"
#include "levels.h"
#include "net/merge/merge_sum.h"
#include "net/optim/muon.h"
#include "photo.h"

#define SIDE 149u

static int
limit_of(const char *name)
{
	enum isa limit;

	setenv("TALLY_MAX_ISA", name, 1);
	return isa_limit(&limit) < 0 ? -1 : (int)limit;
}

static void
nothing(uint64_t *hash)
{
	(void)hash;
}

static void
test_limit(void)
{
	enum isa limit;
	int here;

	is(limit_of("sse41"), ISA_SSE41, "sse41");
	is(limit_of("avx2"), ISA_AVX2, "avx2");
	is(limit_of("avx512_core"), ISA_AVX512, "avx512_core");
	is(limit_of("avx512_core_bf16"), ISA_AVX512_BF16, "avx512_core_bf16");
	is(limit_of("avx512_core_amx"), ISA_AMX, "avx512_core_amx");
	is(limit_of("avx512"), -1, "an unknown name is refused");
	is_str(err_line(), "TALLY_MAX_ISA=avx512: none of sse41, avx2, avx512_core, avx512_core_bf16, avx512_core_amx",
	    "the error lists the names");
	is(limit_of(""), ISA_ANY, "an empty value sets no limit");
	unsetenv("TALLY_MAX_ISA");
	is(isa_limit(&limit), 0, "an unset variable is accepted");
	is(limit, ISA_ANY, "an unset variable is no limit");

	here = levels_run("avx512_core_amx", nothing).level;
	is(levels_run("sse41", nothing).level, ISA_SSE41, "a limit of sse41 selects its bodies");
	is(levels_run("avx2", nothing).level, here < ISA_AVX2 ? here : ISA_AVX2, "a limit of avx2 selects its bodies");
	is(levels_run("avx512_core", nothing).level, here < ISA_AVX512 ? here : ISA_AVX512,
	    "a limit of avx512_core selects its bodies");
	is(levels_run("avx512_core_bf16", nothing).level, here, "a limit of avx512_core_bf16 allows all that isa_level() tells");
}

static float *
numbers(size_t n, uint64_t seed)
{
	float *p = malloc(n * sizeof(*p));
	struct rng r = rng_start(seed, 0, 0);

	for (size_t i = 0; i < n; i++)
		p[i] = rng_normal(&r);
	return p;
}

/* Entropy decoding. */
static void
decode(uint64_t *hash)
{
	struct img photo = photo_new(3, SIDE, SIDE + 40), out;
	struct img_codec *k;
	struct buf jpeg = { 0 };

	img_codec_new(IMG_PIXELS, &k);
	for (int quality = 60; quality <= 100; quality += 20) {
		jpeg.n = 0;
		photo_jpeg(&photo, TJSAMP_420, quality, 0, &jpeg);
		if (img_decode(k, jpeg.p, jpeg.n, 3, &out) == 0)
			*hash = hash_update(*hash, out.p, (size_t)out.h * out.w * 3);
	}
	img_codec_free(k);
	buf_free(&jpeg);
	photo_drop(&photo);
}

static void
shrink(uint64_t *hash)
{
	struct img photo = photo_new(3, SIDE, SIDE + 40), out;
	struct resize *r;

	resize_new(&r);
	for (uint32_t h = 31; h < 300; h += 67)
		if (resize_img(r, RESIZE_CUBIC, &photo, NULL, h, h + 9, &out) == 0)
			*hash = hash_update(*hash, out.p, (size_t)out.h * out.w * 3);
	resize_free(r);
	photo_drop(&photo);
}

static void
augment(uint64_t *hash)
{
	struct aug a = { .c = 3, .h = 61, .w = 67, .seed = 3, .rand_crop = true, .rand_mirror = true, .brightness = 0.4f,
		.contrast = 0.4f, .saturation = 0.4f, .pca = 20, .mean_of = { 100, 110, 120 }, .scale = 0.017f };
	struct img photo = photo_new(3, SIDE, SIDE);
	struct aug_room *room;
	struct aug_plan plan;
	float x[3 * 61 * 67];

	aug_room_new(&room);
	for (uint64_t id = 0; id < 8; id++)
		if (aug_choose(&a, 0, id, &photo, &plan) == 0 && aug_apply(&a, &plan, room, &photo, x) == 0)
			*hash = hash_update(*hash, x, sizeof(x));
	aug_room_free(room);
	photo_drop(&photo);
}

static void
update(uint64_t *hash)
{
	const size_t rows = 37, cols = 70, n = rows * cols;
	float *w = numbers(n, 1), *m = numbers(n, 2), *g = numbers(n, 3), *room = numbers(muon_room(rows, cols), 4);
	struct opt_hyper h = { 0 };

	opt_usual(OPT_MUON, &h);
	h.lr = 0.1f;
	muon_step(w, m, g, rows, cols, 3, &h, room);
	*hash = hash_update(hash_update(*hash, w, n * sizeof(*w)), m, n * sizeof(*m));
	free(w);
	free(m);
	free(g);
	free(room);
}

static void
merge(uint64_t *hash)
{
	const size_t n = 1013;
	float *x = numbers(n, 5), *y = numbers(n, 6);
	double *sum = calloc(n, sizeof(*sum));

	merge_sum_add(sum, x, n, 0.3);
	merge_sum_add(sum, y, n, 0.7);
	merge_sum_round(sum, n, x);
	*hash = hash_update(*hash, x, n * sizeof(*x));
	free(x);
	free(y);
	free(sum);
}

static void
find_nan(uint64_t *hash)
{
	float x[100] = { 0 };
	bool found[101];

	for (int i = 0; i <= 100; i++) {
		if (i < 100)
			x[i] = i % 2 == 0 ? NAN : -INFINITY;
		found[i] = num_finite(x, 100);
		if (i < 100)
			x[i] = (float)i;
	}
	*hash = hash_update(*hash, found, sizeof(found));
}

int
main(void)
{
	test_limit();
	levels_same("the pixels of a JPEG", decode);
	levels_same("an image made smaller and larger", shrink);
	levels_same("samples", augment);
	levels_same("an update by muon", update);
	levels_same("weights merged", merge);
	levels_same("NaN and infinite values", find_nan);
	return done();
}
