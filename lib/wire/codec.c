/* codec - gradients and weights in fewer bytes than f32 takes, for messages. */
#include "wire/codec_in.h"
#include "base/isa.h"
#include "base/num.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define SIGN	0x80000000u
#define INF	0x7f800000u	/* the bits of infinity; those of NaN are above */
#define HALF	0x3f000000u	/* the bits of 0.5 */

union f32 {
	float	 f;
	uint32_t u;
};

/* Each function computes all cases of a number, and the compiler chooses without branches. */
ISA_INLINE uint32_t
round_bf16(float x)
{
	union f32 v = { x };
	uint32_t size = v.u & ~SIGN, finite = size < 0x7f7f0000u ? size : 0x7f7f0000u;

	finite = (finite + 0x7fff + (finite >> 16 & 1)) >> 16;
	return (v.u & SIGN) >> 16 | (size < INF ? finite : size == INF ? 0x7f80u : 0x7fc0u);
}

/* Below 2^-14 fp16 has multiples of 2^-24, as an f32 has from 0.5 to 1: adding 0.5 rounds to them. */
ISA_INLINE uint32_t
round_fp16(float x)
{
	union f32 v = { x }, low;
	uint32_t size = v.u & ~SIGN, finite = size < 0x477fe000u ? size : 0x477fe000u, normal;

	normal = (finite + 0xfff + (finite >> 13 & 1) - (112u << 23)) >> 13;
	low.u = finite;
	low.f += 0.5f;
	finite = finite < 113u << 23 ? low.u - HALF : normal;
	return (v.u & SIGN) >> 16 | (size < INF ? finite : size == INF ? 0x7c00u : 0x7e00u);
}

ISA_INLINE float
widen_bf16(uint32_t h)
{
	union f32 v;

	v.u = h << 16;
	return v.f;
}

ISA_INLINE float
widen_fp16(uint32_t h)
{
	uint32_t size = h & 0x7fff;
	union f32 v, low;

	low.f = (float)(int32_t)size * 0x1p-24f;
	v.u = size < 0x0400 ? low.u : size < 0x7c00 ? (size << 13) + (112u << 23) : size << 13 | INF;
	v.u |= (h & 0x8000) << 16;
	return v.f;
}

/* The bools are constants, so that each loop has one format, and feeds errors back or not. */
ISA_INLINE void
encode_loop(bool bf16, bool adds, bool keeps, const float *restrict v, const float *restrict before,
    size_t n, float *restrict after, uint8_t *restrict to)
{
	for (size_t i = 0; i < n; i++) {
		union f32 x = { adds ? v[i] + before[i] : v[i] };
		uint32_t h = bf16 ? round_bf16(x.f) : round_fp16(x.f);
		uint16_t bits = (uint16_t)h;

		memcpy(to + i * sizeof(bits), &bits, sizeof(bits));
		if (keeps)
			after[i] = (x.u & ~SIGN) < INF ? x.f - (bf16 ? widen_bf16(h) : widen_fp16(h)) : 0;
	}
}

ISA_INLINE void
encode_format(bool bf16, const float *v, const float *before, size_t n, float *after, uint8_t *to)
{
	if (before != NULL && after != NULL)
		encode_loop(bf16, true, true, v, before, n, after, to);
	else if (before != NULL)
		encode_loop(bf16, true, false, v, before, n, NULL, to);
	else
		encode_loop(bf16, false, false, v, NULL, n, NULL, to);
}

ISA_CLONES(static, void, encode_halves, (bool bf16, const float *v, const float *before, size_t n, float *after,
    uint8_t *to), (bf16, v, before, n, after, to))
{
	if (bf16)
		encode_format(true, v, before, n, after, to);
	else
		encode_format(false, v, before, n, after, to);
}

ISA_INLINE void
decode_loop(bool bf16, const uint8_t *restrict from, size_t n, float *restrict to)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t bits;

		memcpy(&bits, from + i * sizeof(bits), sizeof(bits));
		to[i] = bf16 ? widen_bf16(bits) : widen_fp16(bits);
	}
}

ISA_CLONES(static, void, decode_halves, (bool bf16, const uint8_t *from, size_t n, float *to), (bf16, from, n, to))
{
	if (bf16)
		decode_loop(true, from, n, to);
	else
		decode_loop(false, from, n, to);
}

static size_t
count_f32_bytes(struct codec c, size_t n)
{
	(void)c;
	return n * sizeof(float);
}

static size_t
count_half_bytes(struct codec c, size_t n)
{
	(void)c;
	return n * sizeof(uint16_t);
}

static void
encode_f32(struct codec c, const float *v, const float *before, size_t n, float *after, void *to)
{
	(void)c;
	for (size_t i = 0; i < n; i++) {
		float x = before != NULL ? v[i] + before[i] : v[i];

		memcpy((uint8_t *)to + i * sizeof(x), &x, sizeof(x));
		if (after != NULL)
			after[i] = 0;
	}
}

static void
encode_bf16(struct codec c, const float *v, const float *before, size_t n, float *after, void *to)
{
	(void)c;
	encode_halves(true, v, before, n, after, to);
}

static void
encode_fp16(struct codec c, const float *v, const float *before, size_t n, float *after, void *to)
{
	(void)c;
	encode_halves(false, v, before, n, after, to);
}

static void
decode_f32(const void *from, size_t n, float *to)
{
	if (n > 0)
		memcpy(to, from, n * sizeof(*to));
}

static void
decode_bf16(const void *from, size_t n, float *to)
{
	decode_halves(true, from, n, to);
}

static void
decode_fp16(const void *from, size_t n, float *to)
{
	decode_halves(false, from, n, to);
}

static const struct codec_row row_f32 = { "f32", .bytes = count_f32_bytes, .encode = encode_f32, .decode = decode_f32 };
static const struct codec_row row_bf16 = { "bf16", .bytes = count_half_bytes, .encode = encode_bf16,
	.decode = decode_bf16 };
static const struct codec_row row_fp16 = { "fp16", .bytes = count_half_bytes, .encode = encode_fp16,
	.decode = decode_fp16 };

static const struct codec_row *const rows[CODECS] = {
	[CODEC_F32] = &row_f32, [CODEC_BF16] = &row_bf16, [CODEC_FP16] = &row_fp16, [CODEC_2BIT] = &codec_2bit,
	[CODEC_TOPK] = &codec_topk, [CODEC_POWERSGD] = &codec_powersgd,
};

const char *
codec_name(enum codec_kind k)
{
	return rows[k]->name;
}

void
codec_text(struct codec c, char text[CODEC_TEXT])
{
	if (rows[c.kind]->most > 0)
		snprintf(text, CODEC_TEXT, "%s:%.9g", rows[c.kind]->name, c.x);
	else
		snprintf(text, CODEC_TEXT, "%s", rows[c.kind]->name);
}

bool
codec_find(const char *text, struct codec *c)
{
	size_t n = strcspn(text, ":");

	if (strcmp(text, "f16") == 0)
		text = "fp16", n = 4;
	for (int i = 0; i < CODECS; i++) {
		const struct codec_row *r = rows[i];

		if (strlen(r->name) != n || strncmp(text, r->name, n) != 0)
			continue;
		*c = (struct codec){ .kind = (enum codec_kind)i, .x = r->usual };
		return text[n] == 0 || (r->most > 0 && num_f64(text + n + 1, r->least, r->most, &c->x) == 0 &&
		    !(r->whole && fmod(c->x, 1) > 0));
	}
	return false;
}

bool
codec_same(struct codec a, struct codec b)
{
	return a.kind == b.kind && a.cols == b.cols && !(a.x < b.x || a.x > b.x);
}

bool
codec_updates(struct codec c)
{
	return rows[c.kind]->add != NULL;
}

size_t
codec_bytes(struct codec c, size_t n)
{
	return rows[c.kind]->bytes(c, n);
}

void
codec_encode(struct codec c, const float *v, const float *before, size_t n, float *after, void *to)
{
	rows[c.kind]->encode(c, v, before, n, after, to);
}

bool
codec_valid(struct codec c, const void *from, size_t n)
{
	return rows[c.kind]->valid == NULL || rows[c.kind]->valid(c, from, n);
}

void
codec_decode(struct codec c, const void *from, size_t n, float *to)
{
	if (rows[c.kind]->decode != NULL) {
		rows[c.kind]->decode(from, n, to);
		return;
	}
	if (n > 0)
		memset(to, 0, n * sizeof(*to));
	codec_add(c, from, n, to);
}

void
codec_add(struct codec c, const void *from, size_t n, float *to)
{
	assert(codec_updates(c));
	rows[c.kind]->add(c, from, n, to);
}
