/* codec_test - what is sent and what is left over, against plain arithmetic. */
#include "base/rng.h"
#include "levels.h"
#include "rounded.h"
#include "wire/codec.h"

#include <stdint.h>
#include <string.h>

#define COUNT	4099	/* no multiple of a vector */
#define STEPS	50

static const char *const names[CODECS] = { "f32", "bf16", "fp16" };
static float v[COUNT], before[COUNT], after[COUNT], got[COUNT];
static uint8_t bytes[COUNT * sizeof(float)];

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
	enum codec c, alias;

	for (int i = 0; i < CODECS; i++)
		ok(codec_find(names[i], &c) && c == (enum codec)i, "%s is found", names[i]);
	ok(codec_find("f16", &alias) && alias == CODEC_FP16, "f16 is fp16");
	ok(!codec_find("f8", &c) && !codec_find("", &c), "other names are not");
	is(codec_bytes(CODEC_F32, 7) + codec_bytes(CODEC_BF16, 7) + codec_bytes(CODEC_FP16, 7), 28 + 14 + 14,
	    "bytes of 7 floats");
}

/* Each value that has a name in the format, and every tie between two of them. */
static void
exact(enum codec c)
{
	unsigned bad = 0, ties = 0;

	for (uint32_t h = 0; h < 0x10000; h++) {
		uint16_t bits = (uint16_t)h, again;
		float x, up, sent;

		codec_decode(c, &bits, 1, &x);
		codec_encode(c, &x, NULL, NULL, 1, &again);
		bad += isnan(x) ? !isnan(rounded(c, x)) : again != bits || !same(x, rounded(c, x));
		if (h % 2 == 1 || !isfinite(x) || (h & 0x7fff) == 0)
			continue;
		bits++;
		codec_decode(c, &bits, 1, &up);
		if (!isfinite(up))
			continue;
		up = (float)(((double)x + (double)up) / 2);
		codec_encode(c, &up, NULL, NULL, 1, &again);
		codec_decode(c, &again, 1, &sent);
		ties += !same(sent, x);
	}
	is(bad, 0, "%s: each of its numbers is sent as it is", names[c]);
	is(ties, 0, "%s: a tie goes to the even number", names[c]);
}

static void
any(enum codec c)
{
	struct rng r = rng_start(5, 0, 0);
	unsigned bad = 0, lost = 0;

	for (int k = 0; k < 40; k++) {
		fill(&r);
		codec_encode(c, v, NULL, NULL, COUNT, bytes);
		codec_decode(c, bytes, COUNT, got);
		memset(before, 0, sizeof(before));
		for (int i = 0; i < COUNT; i++)
			bad += !same(got[i], rounded(c, v[i]));
		codec_encode(c, v, before, after, COUNT, bytes);
		for (int i = 0; i < COUNT; i++)
			lost += after[i] != (isfinite(v[i]) ? (float)((double)v[i] - (double)got[i]) : 0);
	}
	is(bad, 0, "%s: any number is sent as plain arithmetic rounds it", names[c]);
	is(lost, 0, "%s: the residual is what is not sent, and 0 for infinity and NaN", names[c]);
}

/* What was sent and the last residual are the sum of all gradients, up to the rounding of f32 in each step. */
static void
fed_back(enum codec c)
{
	struct rng r = rng_start(6, 0, 0);
	static float left[2][COUNT];
	static double want[COUNT], sent[COUNT], plain[COUNT];
	double worst = 0, without = 0;

	memset(left, 0, sizeof(left));
	memset(want, 0, sizeof(want));
	memset(sent, 0, sizeof(sent));
	memset(plain, 0, sizeof(plain));
	for (int k = 0; k < STEPS; k++) {
		for (int i = 0; i < COUNT; i++)
			v[i] = 1 + rng_f32(&r) / 1024;
		codec_encode(c, v, left[k % 2], left[(k + 1) % 2], COUNT, bytes);
		codec_decode(c, bytes, COUNT, got);
		for (int i = 0; i < COUNT; i++) {
			want[i] += (double)v[i];
			sent[i] += (double)got[i];
			plain[i] += (double)rounded(c, v[i]);
		}
	}
	for (int i = 0; i < COUNT; i++) {
		double e = fabs(sent[i] + (double)left[STEPS % 2][i] - want[i]), p = fabs(plain[i] - want[i]);

		worst = e > worst ? e : worst;
		without = p > without ? p : without;
	}
	ok(worst < STEPS * 0x1p-24, "%s: all sent gradients and the residual are the sum of the gradients: %g", names[c], worst);
	ok(c == CODEC_F32 || without > 100 * worst, "%s: without feedback they are not: %g", names[c], without);
}

static void
work(uint64_t *hash)
{
	struct rng r = rng_start(7, 0, 0);

	fill(&r);
	for (int i = 0; i < COUNT; i++)
		before[i] = rng_normal(&r);
	for (int c = 0; c < CODECS; c++) {
		codec_encode((enum codec)c, v, before, after, COUNT, bytes);
		codec_decode((enum codec)c, bytes, COUNT, got);
		*hash = hash_update(*hash, bytes, codec_bytes((enum codec)c, COUNT));
		*hash = hash_update(*hash, after, sizeof(after));
		*hash = hash_update(*hash, got, sizeof(got));
	}
}

int
main(void)
{
	levels_same("each codec has bytes", work);
	named();
	for (int c = CODEC_BF16; c < CODECS; c++)
		exact((enum codec)c);
	for (int c = 0; c < CODECS; c++) {
		any((enum codec)c);
		fed_back((enum codec)c);
	}
	return done();
}
