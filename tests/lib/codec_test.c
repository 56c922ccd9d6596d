/* codec_test - what is sent and what is left over, against plain arithmetic. */
#include "base/rng.h"
#include "levels.h"
#include "rounded.h"
#include "wire/codec.h"

#include <stdint.h>
#include <string.h>

#define COUNT	4099	/* no multiple of a vector */
#define STEPS	50
#define ROWS	50	/* of a matrix */
#define COLS	77
#define MATRIX	(ROWS * COLS)

static const char *const names[CODECS] = { "f32", "bf16", "fp16", "2bit", "topk", "powersgd" };
static float v[COUNT], before[COUNT], after[COUNT], got[COUNT], want[COUNT];
static _Alignas(float) uint8_t bytes[COUNT * sizeof(float)];

static const struct codec every[] = { { CODEC_F32, 0, 0 }, { CODEC_BF16, 0, 0 }, { CODEC_FP16, 0, 0 },
	{ CODEC_2BIT, 0, 0 }, { CODEC_2BIT, 1, 0 }, { CODEC_TOPK, 0.01, 0 }, { CODEC_POWERSGD, 4, 1 } };

static bool
same(float a, float b)
{
	return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

/* Random bits: all sizes, also subnormal, infinite and NaN. */
static void
fill(struct rng *r)
{
	for (int i = 0; i < COUNT; i++) {
		uint32_t u = (uint32_t)rng_below(r, UINT64_C(1) << 32);

		memcpy(&v[i], &u, sizeof(u));
	}
}

static void
named(void)
{
	static const char *const bad[] = { "f8", "", "bf16:1", "bf16:", "topk:0", "topk:1.5", "topk:", "2bit:-1", "2bit:x",
	    "2bi", "topk2", "powersgd:0", "powersgd:65", "powersgd:4.5" };
	static const size_t bytes_of_7[CODECS] = { 28, 14, 14, 6, 8, 28 };
	char text[CODEC_TEXT];
	struct codec c;

	for (int i = 0; i < CODECS; i++) {
		ok(codec_find(names[i], &c) && c.kind == (enum codec_kind)i, "%s is found", names[i]);
		is(codec_bytes(c, 7), bytes_of_7[i], "%s: the bytes of 7 floats", names[i]);
		is(codec_updates(c), i >= CODEC_2BIT, "%s: weights are sent as updates or not", names[i]);
	}
	ok(codec_find("f16", &c) && c.kind == CODEC_FP16, "f16 is fp16");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ok(!codec_find(bad[i], &c), "'%s' is no codec", bad[i]);
	ok(codec_find("topk:0.25", &c) && c.x == 0.25 && codec_bytes(c, 10) == 3 * 8, "topk:0.25 sends a quarter");
	codec_text(c, text);
	is_str(text, "topk:0.25", "codec_text() names topk:0.25");
	ok(codec_find("topk", &c) && codec_bytes(c, 1000) == 10 * 8 && codec_bytes(c, 0) == 0, "topk alone is topk:0.01");
	ok(codec_find("2bit:0.5", &c) && c.x == 0.5, "2bit:0.5 has a threshold");
}

/* Each value that has a name in the format, and every tie between two of them. */
static void
exact(enum codec_kind kind)
{
	const struct codec c = { .kind = kind };
	unsigned bad = 0, ties = 0;

	for (uint32_t h = 0; h < 0x10000; h++) {
		uint16_t bits = (uint16_t)h, again;
		float x, up, sent;

		codec_decode(c, &bits, 1, &x);
		codec_encode(c, &x, NULL, 1, NULL, &again);
		bad += isnan(x) ? !isnan(rounded(kind, x)) : again != bits || !same(x, rounded(kind, x));
		if (h % 2 == 1 || !isfinite(x) || (h & 0x7fff) == 0)
			continue;
		bits++;
		codec_decode(c, &bits, 1, &up);
		if (!isfinite(up))
			continue;
		up = (float)(((double)x + (double)up) / 2);
		codec_encode(c, &up, NULL, 1, NULL, &again);
		codec_decode(c, &again, 1, &sent);
		ties += !same(sent, x);
	}
	is(bad, 0, "%s: each of its numbers is sent as it is", names[c.kind]);
	is(ties, 0, "%s: a tie goes to the even number", names[c.kind]);
}

static void
any(struct codec c)
{
	struct rng r = rng_start(5, 0, 0);
	unsigned bad = 0, lost = 0;

	for (int k = 0; k < 40; k++) {
		fill(&r);
		codec_encode(c, v, NULL, COUNT, NULL, bytes);
		codec_decode(c, bytes, COUNT, got);
		memset(before, 0, sizeof(before));
		rounded_all(c, v, COUNT, want);
		bad += !codec_valid(c, bytes, COUNT);
		for (int i = 0; i < COUNT; i++)
			bad += !same(got[i], want[i]);
		codec_encode(c, v, before, COUNT, after, bytes);
		for (int i = 0; i < COUNT; i++)
			lost += after[i] != (isfinite(v[i]) ? v[i] - got[i] : 0);
	}
	is(bad, 0, "%s: any number is sent as plain arithmetic rounds it", names[c.kind]);
	is(lost, 0, "%s: the residual is what is not sent, and 0 for infinity and NaN", names[c.kind]);
}

/* What was sent and the last residual are the sum of all gradients, up to the rounding of f32 in each step. */
static void
fed_back(struct codec c)
{
	struct rng r = rng_start(6, 0, 0);
	static float left[2][COUNT];
	static double all[COUNT], sent[COUNT], plain[COUNT];
	double worst = 0, without = 0;

	memset(left, 0, sizeof(left));
	memset(all, 0, sizeof(all));
	memset(sent, 0, sizeof(sent));
	memset(plain, 0, sizeof(plain));
	for (int k = 0; k < STEPS; k++) {
		for (int i = 0; i < COUNT; i++)
			v[i] = 1 + rng_f32(&r) / 1024;
		codec_encode(c, v, left[k % 2], COUNT, left[(k + 1) % 2], bytes);
		codec_decode(c, bytes, COUNT, got);
		rounded_all(c, v, COUNT, want);
		for (int i = 0; i < COUNT; i++) {
			all[i] += (double)v[i];
			sent[i] += (double)got[i];
			plain[i] += (double)want[i];
		}
	}
	for (int i = 0; i < COUNT; i++) {
		double e = fabs(sent[i] + (double)left[STEPS % 2][i] - all[i]), p = fabs(plain[i] - all[i]);

		worst = e > worst ? e : worst;
		without = p > without ? p : without;
	}
	/* Residuals of coarse codecs are as large as the sum of many gradients. */
	ok(worst < STEPS * 0x1p-24 * (codec_updates(c) ? STEPS : 1),
	    "%s: all sent gradients and the residual are the sum of the gradients: %g", names[c.kind], worst);
	ok(c.kind == CODEC_F32 || c.kind == CODEC_POWERSGD || without > 100 * worst,
	    "%s: the sums differ without feedback: %g", names[c.kind], without);
}

/* Of numbers of one size topk sends the first ones; indices that do not ascend, or are too large, are refused. */
static void
ordered(void)
{
	const struct codec c = { .kind = CODEC_TOPK, .x = 0.5 };
	static const float x[8] = { 1, -2, 2, 0, -2, 2, 2, 1 };
	uint32_t at[4], sent[8];

	codec_encode(c, x, NULL, 8, NULL, sent);
	ok(sent[0] == 1 && sent[1] == 2 && sent[2] == 4 && sent[3] == 5, "topk sends the first of equal sizes");
	ok(codec_valid(c, sent, 8), "the indices of topk are valid");
	memcpy(at, sent, sizeof(at));
	sent[3] = 8;
	ok(!codec_valid(c, sent, 8), "an index beyond the last number is not");
	sent[3] = sent[2];
	ok(!codec_valid(c, sent, 8), "an index that comes twice is not");
	sent[2] = at[1];
	sent[1] = at[2];
	ok(!codec_valid(c, sent, 8), "indices that do not ascend are not");
}

/* Matrices of at most this rank are sent up to rounding, of others a part, and the residual is the rest. */
static void
multiplied(void)
{
	const struct codec c = { CODEC_POWERSGD, 2, COLS };
	struct rng r = rng_start(9, 0, 0);
	double far = 0, size = 0, left = 0;
	unsigned bad = 0;

	is(codec_bytes(c, MATRIX), 2 * (ROWS + COLS) * sizeof(float), "powersgd:2 sends two numbers for each row and column");
	is(codec_bytes(c, MATRIX - 1), (MATRIX - 1) * sizeof(float), "what is no matrix is f32");
	for (int i = 0; i < ROWS + COLS; i++) {
		after[2 * i] = rng_normal(&r);
		after[2 * i + 1] = rng_normal(&r);
	}
	for (int i = 0; i < MATRIX; i++)
		v[i] = after[2 * (i / COLS)] * after[2 * (ROWS + i % COLS)] +
		    after[2 * (i / COLS) + 1] * after[2 * (ROWS + i % COLS) + 1];
	codec_encode(c, v, NULL, MATRIX, NULL, bytes);
	codec_decode(c, bytes, MATRIX, got);
	for (int i = 0; i < MATRIX; i++)
		far = fmax(far, fabs((double)v[i] - (double)got[i]));
	ok(far < 1e-4, "a matrix of rank 2 is sent up to rounding: %g", far);
	for (int i = 0; i < MATRIX; i++) {
		v[i] = rng_normal(&r);
		before[i] = rng_normal(&r);
	}
	codec_encode(c, v, before, MATRIX, after, bytes);
	codec_decode(c, bytes, MATRIX, got);
	for (int i = 0; i < MATRIX; i++) {
		double x = (double)v[i] + (double)before[i];

		bad += after[i] != v[i] + before[i] - got[i];
		size += x * x;
		left += (double)after[i] * (double)after[i];
	}
	is(bad, 0, "the residual is what is not sent");
	ok(left < 0.95 * size && left > 0.5 * size, "powersgd sends a part of a random matrix: %g of %g is left", left, size);
	v[7] = INFINITY;
	codec_encode(c, v, before, MATRIX, after, bytes);
	codec_decode(c, bytes, MATRIX, got);
	bad = 0;
	for (int i = 0; i < MATRIX; i++)
		bad += !isnan(got[i]) || after[i] != 0;
	is(bad, 0, "a matrix with an infinite number is sent as NaN, and leaves no residual");
}

/* Both ends of an update have the same bits, and these come nearer to what is sent. */
static void
added(void)
{
	static const struct codec all[] = { { CODEC_2BIT, 0, 0 }, { CODEC_TOPK, 0.01, 0 }, { CODEC_POWERSGD, 1, COLS } };

	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
		struct rng r = rng_start(8, 0, 0);
		double far = 0, first = 0;

		memset(got, 0, sizeof(got));
		for (int i = 0; i < MATRIX; i++) {
			v[i] = rng_normal(&r);
			first += fabs((double)v[i]);
		}
		for (int step = 0; step < 30; step++) {
			for (int i = 0; i < MATRIX; i++)
				before[i] = v[i] - got[i];
			codec_encode(all[k], before, NULL, MATRIX, NULL, bytes);
			codec_add(all[k], bytes, MATRIX, got);
		}
		for (int i = 0; i < MATRIX; i++)
			far += fabs((double)v[i] - (double)got[i]);
		ok(far < 0.6 * first, "%s: updates come near to what is sent: %g of %g", names[all[k].kind], far, first);
	}
}

static void
work(uint64_t *hash)
{
	const struct codec product = { CODEC_POWERSGD, 3, COLS };
	struct rng r = rng_start(7, 0, 0);

	fill(&r);
	for (int i = 0; i < COUNT; i++)
		before[i] = rng_normal(&r);
	codec_encode(product, before, NULL, MATRIX, NULL, bytes);
	*hash = hash_update(*hash, bytes, codec_bytes(product, MATRIX));
	for (size_t i = 0; i < sizeof(every) / sizeof(*every); i++) {
		codec_encode(every[i], v, before, COUNT, after, bytes);
		codec_decode(every[i], bytes, COUNT, got);
		*hash = hash_update(*hash, bytes, codec_bytes(every[i], COUNT));
		*hash = hash_update(*hash, after, sizeof(after));
		*hash = hash_update(*hash, got, sizeof(got));
	}
}

int
main(void)
{
	levels_same("each codec has bytes", work);
	named();
	exact(CODEC_BF16);
	exact(CODEC_FP16);
	for (size_t i = 0; i < sizeof(every) / sizeof(*every); i++) {
		any(every[i]);
		fed_back(every[i]);
	}
	ordered();
	added();
	multiplied();
	return done();
}
