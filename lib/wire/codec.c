/* codec - gradients and weights in fewer bytes than f32 takes, for messages. */
#include "wire/codec.h"
#include "base/isa.h"

#include <stdint.h>
#include <string.h>

#define SIGN	0x80000000u
#define INF	0x7f800000u	/* the bits of infinity; those of NaN are above */
#define HALF	0x3f000000u	/* the bits of 0.5 */

union f32 {
	float	 f;
	uint32_t u;
};

static const char *const codec_names[CODECS] = { "f32", "bf16", "fp16" };

const char *
codec_name(enum codec c)
{
	return codec_names[c];
}

bool
codec_find(const char *name, enum codec *c)
{
	if (strcmp(name, "f16") == 0)
		name = codec_names[CODEC_FP16];
	for (int i = 0; i < CODECS; i++)
		if (strcmp(name, codec_names[i]) == 0) {
			*c = (enum codec)i;
			return true;
		}
	return false;
}

size_t
codec_bytes(enum codec c, size_t n)
{
	return n * (c == CODEC_F32 ? sizeof(float) : sizeof(uint16_t));
}

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
    float *restrict after, size_t n, uint8_t *restrict to)
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
encode_format(bool bf16, const float *v, const float *before, float *after, size_t n, uint8_t *to)
{
	if (before != NULL && after != NULL)
		encode_loop(bf16, true, true, v, before, after, n, to);
	else if (before != NULL)
		encode_loop(bf16, true, false, v, before, NULL, n, to);
	else
		encode_loop(bf16, false, false, v, NULL, NULL, n, to);
}

ISA_CLONES(static, void, encode_halves, (bool bf16, const float *v, const float *before, float *after, size_t n,
    uint8_t *to), (bf16, v, before, after, n, to))
{
	if (bf16)
		encode_format(true, v, before, after, n, to);
	else
		encode_format(false, v, before, after, n, to);
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

void
codec_encode(enum codec c, const float *v, const float *before, float *after, size_t n, void *to)
{
	if (c != CODEC_F32) {
		encode_halves(c == CODEC_BF16, v, before, after, n, to);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		float x = before != NULL ? v[i] + before[i] : v[i];

		memcpy((uint8_t *)to + i * sizeof(x), &x, sizeof(x));
		if (after != NULL)
			after[i] = 0;
	}
}

void
codec_decode(enum codec c, const void *from, size_t n, float *to)
{
	if (c != CODEC_F32)
		decode_halves(c == CODEC_BF16, from, n, to);
	else if (n > 0)
		memcpy(to, from, n * sizeof(*to));
}
