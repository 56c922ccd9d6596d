/*
 * isa - compiles a function for several instruction sets, and chooses among them at its first call.
 *
 * ISA_CLONES starts a function that is compiled for each set that makes it faster.  ISA_INLINE starts the functions
 * that it calls, so that they are compiled with it:
 *
 *	ISA_CLONES(static, void, scale, (float *p, size_t n, float by), (p, n, by))
 *	{
 *		for (size_t i = 0; i < n; i++)
 *			p[i] *= by;
 *	}
 *
 * This makes scale_sse2(), scale_avx2(), scale_avx512(), and scale(), which calls the last one that isa_level()
 * includes.  On processors other than x86-64, or with ISA_PORTABLE defined, it makes only scale().  type is void or
 * bool; linkage is static or extern.
 *
 * All versions give the same bits: no sum changes its order, and the build forbids fused multiply-add where a function
 * does not call fmaf(), which is a slow call of the library on processors before AVX2.  Exceptions are wino_product.c
 * and point_product.c of engine/cpu, which have other products for each set, or only for AVX-512.  Such a function must
 * not use OpenMP, because the compiler outlines parallel regions without their function's instruction set.
 *
 * A function that starts with ISA_BF16 may call the functions whose names end in _bf16.  On x86-64 it must run only on
 * processors with avx512_bf16, which isa_level() >= ISA_AVX512_BF16 tells.  One that starts with ISA_TILES may also
 * call those that start with isa_tiles.  It must run only on processors with AMX, after oneDNN has asked the system for
 * the tiles.
 *
 * TALLY_MAX_ISA in the environment limits these functions and oneDNN to a set: sse41, avx2, avx512_core,
 * avx512_core_bf16 or avx512_core_amx, as oneDNN names them.  Other processors than x86-64 have no limit.
 */
#ifndef BASE_ISA_H
#define BASE_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each set includes the ones before it. */
enum isa { ISA_SSE41 = 1, ISA_AVX2, ISA_AVX512, ISA_AVX512_BF16, ISA_AMX, ISA_ANY };

/*
 * Reads TALLY_MAX_ISA: *limit is ISA_ANY if it is not set or empty.  Returns 0, or ERR_ARG if its value is none of
 * the names.
 */
int isa_limit(enum isa *limit);

/*
 * The largest set that processor and limit allow, but not ISA_AMX, as oneDNN asks the system for its tiles.  The first
 * call reads the environment.
 */
enum isa isa_level(void);

#define ISA_INLINE static inline __attribute__((always_inline))

/* Goes before a loop whose pointers may be equal, but do not overlap otherwise. */
#if defined(__clang__)
#define ISA_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define ISA_IVDEP _Pragma("GCC ivdep")
#endif

/*
 * Products of bf16 numbers in tiles.  A tile of a is [16, 32]; one of b is [16, 16, 2], whose pairs of numbers meet
 * those of a row of a; a tile of sums is [16, 16] floats.  sum[i][j] is the sum over s of a[i][s] b[j][s], where the
 * rows of a[i] are a_row bytes apart, tile s begins at byte 64 s of the first, and the tiles of b[j] are adjacent.
 */
struct isa_tiles {
	const void *a[2], *b[2];
	float	   *sum[2][2];
	size_t	    a_row, tiles;
	bool	    two_a, two_b;	/* else only the first */
	bool	    add;		/* to what is in the sums */
};

/* A line of the cache: sixteen floats. */
typedef float isa_line __attribute__((vector_size(64), aligned(4), may_alias));

#if defined(__x86_64__) && !defined(ISA_PORTABLE)

#include <immintrin.h>

/* Bytes of a vector: of a register of AVX2.  AVX-512's of 64 gain at most a tenth where memory sets the pace. */
#define ISA_BYTES 32
typedef float isa_floats __attribute__((vector_size(ISA_BYTES), aligned(4), may_alias));

/*
 * A non-temporal store of a vector, at a multiple of 16 bytes: the cache neither reads nor keeps the line.
 * isa_streamed() must follow before another thread reads it.
 */
ISA_INLINE void
isa_stream(const isa_floats *from, void *to)
{
	_mm_stream_ps(to, __builtin_shufflevector(*from, *from, 0, 1, 2, 3));
	_mm_stream_ps((float *)to + 4, __builtin_shufflevector(*from, *from, 4, 5, 6, 7));
}

/* The same for a line. */
ISA_INLINE void
isa_stream_line(const isa_line *from, void *to)
{
	const isa_floats low = __builtin_shufflevector(*from, *from, 0, 1, 2, 3, 4, 5, 6, 7);
	const isa_floats high = __builtin_shufflevector(*from, *from, 8, 9, 10, 11, 12, 13, 14, 15);

	isa_stream(&low, to);
	isa_stream(&high, (float *)to + 8);
}

ISA_INLINE void
isa_streamed(void)
{
	_mm_sfence();
}

#define ISA_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,bmi,bmi2")))
typedef __m512 isa_bf16_sums;	/* one that may alias is not kept in a register */

/* Adds to each of sixteen sums the products of the numbers in a and in its pair of b. */
ISA_BF16 ISA_INLINE void
isa_dot_bf16(isa_bf16_sums *sum, uint32_t a, const uint32_t *b)
{
	*sum = _mm512_dpbf16_ps(*sum, (__m512bh)_mm512_set1_epi32((int)a), (__m512bh)_mm512_loadu_si512(b));
}

/* Widens sixteen numbers of bf16 to floats. */
ISA_BF16 ISA_INLINE void
isa_load_bf16(const void *from, void *to)
{
	_mm512_storeu_si512(to, _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(from)), 16));
}

/* The same for eight numbers, and 0 in place of the other eight. */
ISA_BF16 ISA_INLINE void
isa_load_half_bf16(const void *from, void *to)
{
	const __m256i half = _mm256_zextsi128_si256(_mm_loadu_si128(from));

	_mm512_storeu_si512(to, _mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

/* Rounds sixteen floats to bf16, to nearest, ties to even; a number below the normal ones becomes 0. */
ISA_BF16 ISA_INLINE void
isa_store_bf16(const void *from, void *to)
{
	_mm256_storeu_si256(to, (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(from)));
}

/* The same for 32 floats.  stream: by a non-temporal store, as isa_stream(), at a multiple of 64 bytes. */
ISA_BF16 ISA_INLINE void
isa_store_line_bf16(const void *from, void *to, bool stream)
{
	const __m512 low = _mm512_loadu_ps(from), high = _mm512_loadu_ps((const float *)from + 16);
	const __m512i line = (__m512i)_mm512_cvtne2ps_pbh(high, low);

	if (stream)
		_mm512_stream_si512(to, line);
	else
		_mm512_storeu_si512(to, line);
}

/* Sets each of sixteen floats `to` to 0 unless the number in `by` is greater than 0, or with `nan` NaN. */
ISA_BF16 ISA_INLINE void
isa_keep_bf16(const void *by, bool nan, void *to)
{
	const __m512 zero = _mm512_setzero_ps(), v = _mm512_loadu_ps(by);
	const __mmask16 keep = nan ? _mm512_cmp_ps_mask(v, zero, _CMP_NLE_UQ) : _mm512_cmp_ps_mask(v, zero, _CMP_GT_OQ);

	_mm512_storeu_ps(to, _mm512_maskz_mov_ps(keep, _mm512_loadu_ps(to)));
}

/* to = a b + c of sixteen floats, rounded once. */
ISA_BF16 ISA_INLINE void
isa_fma_bf16(const void *a, const void *b, const void *c, void *to)
{
	_mm512_storeu_ps(to, _mm512_fmadd_ps(_mm512_loadu_ps(a), _mm512_loadu_ps(b), _mm512_loadu_ps(c)));
}

/* Clamps each of sixteen floats to [low, high]; a NaN stays. */
ISA_BF16 ISA_INLINE void
isa_clamp_bf16(float low, float high, void *v)
{
	const __m512 most = _mm512_min_ps(_mm512_set1_ps(high), _mm512_loadu_ps(v));

	_mm512_storeu_ps(v, _mm512_max_ps(_mm512_set1_ps(low), most));
}

/*
 * Stores the maxima of four vectors of sixteen floats, two at `upper` and two at `lower`, rounded as isa_store_bf16()
 * rounds, and the index of each: that of the first maximum, or of the last NaN.
 */
ISA_BF16 ISA_INLINE void
isa_store_max_bf16(const void *upper, const void *lower, void *to, uint16_t *index)
{
	__m512 top = _mm512_loadu_ps(upper);
	__m512i at = _mm512_setzero_si512();

	for (int i = 1; i < 4; i++) {
		const __m512 v = _mm512_loadu_ps((const float *)(i < 2 ? upper : lower) + i % 2 * 16);
		const __mmask16 more = _mm512_cmp_ps_mask(v, top, _CMP_GT_OQ) | _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);

		top = _mm512_mask_mov_ps(top, more, v);
		at = _mm512_mask_mov_epi32(at, more, _mm512_set1_epi32(i));
	}
	_mm256_storeu_si256(to, (__m256i)_mm512_cvtneps_pbh(top));
	_mm256_storeu_si256((__m256i *)index, _mm512_cvtepi32_epi16(at));
}

/* Sixteen pairs, each of a number of bf16 from `even` and one from `odd`. */
ISA_BF16 ISA_INLINE void
isa_pair_bf16(const void *even, const void *odd, void *to)
{
	const __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256(even));
	const __m512i high = _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(odd)), 16);

	_mm512_storeu_si512(to, _mm512_or_si512(low, high));
}

#define ISA_TILES \
	__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,bmi,bmi2,amx-tile,amx-bf16")))

/* Eight tiles of 16 rows of 64 bytes, until isa_tiles_end(). */
ISA_TILES ISA_INLINE void
isa_tiles_begin(void)
{
	struct {
		uint8_t	 palette, start, reserved[14];
		uint16_t bytes[16];
		uint8_t	 rows[16];
	} config = { .palette = 1 };

	for (int i = 0; i < 8; i++) {
		config.bytes[i] = 64;
		config.rows[i] = 16;
	}
	/* GCC's intrinsic says that it reads eight bytes, and those of isa_tiles_sum() none. */
	__asm__ volatile("" : : "m"(config));
	_tile_loadconfig(&config);
}

ISA_TILES ISA_INLINE void
isa_tiles_end(void)
{
	_tile_release();
}

ISA_TILES ISA_INLINE void
isa_tiles_load_sums(const struct isa_tiles *t)
{
	_tile_loadd(0, t->sum[0][0], 64);
	if (t->two_b)
		_tile_loadd(1, t->sum[0][1], 64);
	if (t->two_a)
		_tile_loadd(2, t->sum[1][0], 64);
	if (t->two_a && t->two_b)
		_tile_loadd(3, t->sum[1][1], 64);
}

ISA_TILES ISA_INLINE void
isa_tiles_store_sums(const struct isa_tiles *t)
{
	_tile_stored(0, t->sum[0][0], 64);
	if (t->two_b)
		_tile_stored(1, t->sum[0][1], 64);
	if (t->two_a)
		_tile_stored(2, t->sum[1][0], 64);
	if (t->two_a && t->two_b)
		_tile_stored(3, t->sum[1][1], 64);
}

ISA_TILES ISA_INLINE void
isa_tiles_sum(const struct isa_tiles *t)
{
	__asm__ volatile("" : : : "memory");
	_tile_zero(0);
	_tile_zero(1);
	_tile_zero(2);
	_tile_zero(3);
	if (t->add)
		isa_tiles_load_sums(t);
	for (size_t s = 0; s < t->tiles; s++) {
		_tile_loadd(4, (const char *)t->a[0] + 64 * s, t->a_row);
		_tile_loadd(6, (const char *)t->b[0] + 1024 * s, 64);
		_tile_dpbf16ps(0, 4, 6);
		if (t->two_b) {
			_tile_loadd(7, (const char *)t->b[1] + 1024 * s, 64);
			_tile_dpbf16ps(1, 4, 7);
		}
		if (!t->two_a)
			continue;
		_tile_loadd(5, (const char *)t->a[1] + 64 * s, t->a_row);
		_tile_dpbf16ps(2, 5, 6);
		if (t->two_b)
			_tile_dpbf16ps(3, 5, 7);
	}
	isa_tiles_store_sums(t);
}

#define ISA_X86 1
#define ISA_HAS(feature) __builtin_cpu_supports(feature)
/*
 * For two vectors of ISA_BYTES with elements of 16 bits: their elements in turn, the first half and the second
 * half; and the even elements of both.  On a little-endian processor they convert such elements to words and back:
 * GCC 12 makes five instructions of __builtin_convertvector() where these are one or two.
 */
#define ISA_MIX_LOW(a, b) \
	__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ISA_MIX_HIGH(a, b) \
	__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define ISA_EVEN(a, b) \
	__builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)

/* Compile a function for one instruction set.  Call it only if isa_level() is at least that. */
#define ISA_AVX2_ONLY	__attribute__((target("avx2,fma,bmi,bmi2")))
#define ISA_AVX512_ONLY	__attribute__((target("avx512f,avx512cd,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2")))

#define ISA_CLONES(linkage, type, name, parameters, arguments) \
	ISA_INLINE type name##_inline parameters; \
	ISA_AVX512_ONLY static type \
	name##_avx512 parameters { ISA_GIVE_##type name##_inline arguments; } \
	ISA_AVX2_ONLY static type \
	name##_avx2 parameters { ISA_GIVE_##type name##_inline arguments; } \
	__attribute__((noinline)) static type \
	name##_sse2 parameters { ISA_GIVE_##type name##_inline arguments; } \
	linkage type \
	name parameters \
	{ \
		const enum isa isa_ = isa_level(); \
		\
		ISA_GIVE_##type isa_ >= ISA_AVX512 ? name##_avx512 arguments : \
		    isa_ >= ISA_AVX2 ? name##_avx2 arguments : name##_sse2 arguments; \
	} \
	ISA_INLINE type \
	name##_inline parameters

#define ISA_GIVE_void
#define ISA_GIVE_bool return

#else

#define ISA_BYTES 16
typedef float isa_floats __attribute__((vector_size(ISA_BYTES), aligned(4), may_alias));

ISA_INLINE void
isa_stream(const isa_floats *from, void *to)
{
	*(isa_floats *)to = *from;
}

ISA_INLINE void
isa_stream_line(const isa_line *from, void *to)
{
	*(isa_line *)to = *from;
}

ISA_INLINE void
isa_streamed(void)
{
}

#define ISA_BF16
typedef float isa_bf16_sums __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t isa_pairs __attribute__((vector_size(64), aligned(4), may_alias));

ISA_INLINE void
isa_dot_bf16(isa_bf16_sums *sum, uint32_t a, const uint32_t *b)
{
	const isa_pairs all = (isa_pairs){ 0 } + a, each = *(const isa_pairs *)b, upper = (isa_pairs){ 0 } + 0xffff0000;

	*sum += (isa_bf16_sums)(all << 16) * (isa_bf16_sums)(each << 16);
	*sum += (isa_bf16_sums)(all & upper) * (isa_bf16_sums)(each & upper);
}

ISA_INLINE void
isa_load_bf16(const void *from, void *to)
{
	for (int i = 0; i < 16; i++)
		((uint32_t *)to)[i] = (uint32_t)((const uint16_t *)from)[i] << 16;
}

ISA_INLINE void
isa_load_half_bf16(const void *from, void *to)
{
	for (int i = 0; i < 16; i++)
		((uint32_t *)to)[i] = i < 8 ? (uint32_t)((const uint16_t *)from)[i] << 16 : 0;
}

ISA_INLINE void
isa_store_bf16(const void *from, void *to)
{
	typedef uint16_t halves __attribute__((vector_size(32), aligned(2), may_alias));
	const isa_pairs u = *(const isa_pairs *)from, size = u & 0x7fffffff;
	const isa_pairs rounded = (u + 0x7fff + (u >> 16 & 1)) & (isa_pairs)(size >= 0x00800000);
	const isa_pairs nan = (isa_pairs)(size > 0x7f800000);

	*(halves *)to = __builtin_convertvector((((u | 0x400000) & nan) | (rounded & ~nan)) >> 16, halves);
}

ISA_INLINE void
isa_store_line_bf16(const void *from, void *to, bool stream)
{
	(void)stream;
	isa_store_bf16(from, to);
	isa_store_bf16((const float *)from + 16, (uint16_t *)to + 16);
}

ISA_INLINE void
isa_keep_bf16(const void *by, bool nan, void *to)
{
	for (int i = 0; i < 16; i++) {
		const float f = ((const float *)by)[i];

		if (!(f > 0 || (nan && f != f)))
			((float *)to)[i] = 0;
	}
}

ISA_INLINE void
isa_fma_bf16(const void *a, const void *b, const void *c, void *to)
{
	for (size_t l = 0; l < 16; l++)
		((float *)to)[l] = __builtin_fmaf(((const float *)a)[l], ((const float *)b)[l], ((const float *)c)[l]);
}

ISA_INLINE void
isa_clamp_bf16(float low, float high, void *v)
{
	for (size_t l = 0; l < 16; l++) {
		const float f = ((float *)v)[l];

		((float *)v)[l] = f < low ? low : f > high ? high : f;
	}
}

ISA_INLINE void
isa_store_max_bf16(const void *upper, const void *lower, void *to, uint16_t *index)
{
	float top[16];

	for (size_t l = 0; l < 16; l++) {
		top[l] = ((const float *)upper)[l];
		index[l] = 0;
		for (uint16_t i = 1; i < 4; i++) {
			const float v = ((const float *)(i < 2 ? upper : lower))[i % 2 * 16 + l];

			index[l] = v > top[l] || v != v ? i : index[l];
			top[l] = v > top[l] || v != v ? v : top[l];
		}
	}
	isa_store_bf16(top, to);
}

ISA_INLINE void
isa_pair_bf16(const void *even, const void *odd, void *to)
{
	for (int i = 0; i < 16; i++)
		((uint32_t *)to)[i] = ((const uint16_t *)even)[i] | (uint32_t)((const uint16_t *)odd)[i] << 16;
}

#define ISA_TILES

ISA_INLINE void
isa_tiles_begin(void)
{
}

ISA_INLINE void
isa_tiles_end(void)
{
}

ISA_INLINE void
isa_tiles_sum(const struct isa_tiles *t)
{
	for (int i = 0; i < 1 + t->two_a; i++)
		for (int j = 0; j < 1 + t->two_b; j++)
			for (size_t row = 0; row < 16; row++) {
				const uint32_t *a = (const uint32_t *)t->a[i] + row * t->a_row / sizeof(*a);
				float *sum = t->sum[i][j] + 16 * row;
				isa_bf16_sums all = { 0 };

				if (t->add)
					all = *(isa_bf16_sums *)sum;
				for (size_t p = 0; p < 16 * t->tiles; p++)
					isa_dot_bf16(&all, a[p], (const uint32_t *)t->b[j] + 16 * p);
				*(isa_bf16_sums *)sum = all;
			}
}

#define ISA_X86 0
#define ISA_HAS(feature) 0
#define ISA_MIX_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ISA_MIX_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define ISA_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ISA_AVX2_ONLY
#define ISA_AVX512_ONLY
#define ISA_CLONES(linkage, type, name, parameters, arguments) linkage type name parameters

#endif

#endif
