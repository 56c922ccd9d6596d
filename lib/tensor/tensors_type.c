/* tensors_type - converts elements of each type to and from f32. */
#include "tensor/tensors.h"

/* Rounds f32 to f16, ties to even. */
static uint16_t
f16_from_f32(float v)
{
	uint32_t u, sign, rest, shift, half;

	memcpy(&u, &v, sizeof(u));
	sign = u >> 16 & 0x8000u;
	u &= 0x7fffffffu;
	if (u > 0x7f800000u)
		return (uint16_t)(sign | 0x7e00u);	/* NaN */
	if (u >= 0x477ff000u)
		return (uint16_t)(sign | 0x7c00u);	/* overflows to infinity */
	if (u >= 0x38800000u) {
		u -= 0x38000000u;			/* change the exponent's bias from 127 to 15 */
		return (uint16_t)(sign | (u + 0xfffu + (u >> 13 & 1u)) >> 13);
	}
	if (u < 0x33000000u)
		return (uint16_t)sign;
	shift = 126u - (u >> 23);			/* subnormal: 14 to 24 bits are lost */
	u = (u & 0x7fffffu) | 0x800000u;
	rest = u & ((1u << shift) - 1);
	half = 1u << (shift - 1);
	u >>= shift;
	return (uint16_t)(sign | (u + (rest > half || (rest == half && (u & 1u)))));
}

static float
f32_from_f16(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exp = h >> 10 & 31u, man = h & 0x3ffu, u;
	float v;

	if (exp == 0) {
		v = (float)man * 0x1p-24f;
		return sign ? -v : v;
	}
	u = sign | (exp == 31 ? 0x7f800000u : (exp + 112u) << 23) | man << 13;
	memcpy(&v, &u, sizeof(v));
	return v;
}

static uint16_t
bf16_from_f32(float v)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	if ((u & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(u >> 16 | 0x40u);
	return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static float
f32_from_bf16(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float v;

	memcpy(&v, &u, sizeof(v));
	return v;
}

#define EACH(ctype, number)						\
	for (size_t i = 0; i < n; i++) {				\
		ctype v;						\
		memcpy(&v, (const uint8_t *)from + i * sizeof(v), sizeof(v));	\
		to[i] = (number);					\
	}								\
	break

/* Converts n elements to a type of C. */
#define CONVERT(as)							\
	switch (type) {							\
	case TENSORS_F32:	EACH(float, (as)v);			\
	case TENSORS_F64:	EACH(double, (as)v);			\
	case TENSORS_U8:						\
	case TENSORS_BOOL:	EACH(uint8_t, (as)v);			\
	case TENSORS_I8:	EACH(int8_t, (as)v);			\
	case TENSORS_I16:	EACH(int16_t, (as)v);			\
	case TENSORS_U16:	EACH(uint16_t, (as)v);			\
	case TENSORS_I32:	EACH(int32_t, (as)v);			\
	case TENSORS_U32:	EACH(uint32_t, (as)v);			\
	case TENSORS_I64:	EACH(int64_t, (as)v);			\
	case TENSORS_U64:	EACH(uint64_t, (as)v);			\
	case TENSORS_F16:	EACH(uint16_t, (as)f32_from_f16(v));		\
	case TENSORS_BF16:	EACH(uint16_t, (as)f32_from_bf16(v));		\
	case TENSORS_TYPES:	break;					\
	}

void
tensors_to_f32(enum tensors_type type, const void *from, size_t n, float *to)
{
	CONVERT(float)
}

void
tensors_to_f64(enum tensors_type type, const void *from, size_t n, double *to)
{
	CONVERT(double)
}

void
tensors_from_f32(enum tensors_type type, const float *from, size_t n, void *to)
{
	uint8_t *p = to;

	if (type == TENSORS_F32)
		memcpy(to, from, n * sizeof(*from));
	for (size_t i = 0; type == TENSORS_F64 && i < n; i++) {
		double v = (double)from[i];

		memcpy(p + i * sizeof(v), &v, sizeof(v));
	}
	for (size_t i = 0; type == TENSORS_F16 && i < n; i++)
		le_put16(p + 2 * i, f16_from_f32(from[i]));
	for (size_t i = 0; type == TENSORS_BF16 && i < n; i++)
		le_put16(p + 2 * i, bf16_from_f32(from[i]));
}
