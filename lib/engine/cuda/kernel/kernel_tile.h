/*
 * kernel_tile - the memory accesses of wide kernels.
 *
 * An index of a wide kernel handles a tile: neighbouring channels of several pixels. It reads the
 * channels by accesses of 16 bytes, and reads all its pixels before it writes the first one. So
 * enough bytes are on their way to keep a GPU's memory busy. A value's arithmetic does not depend on
 * the width, so that all widths give the same bits.
 */
#ifndef ENGINE_CUDA_KERNEL_KERNEL_TILE_H
#define ENGINE_CUDA_KERNEL_KERNEL_TILE_H

#define KERNEL_WIDTH	8u	/* channels of a tile if all views allow it, else 1 */
#define KERNEL_PIXELS	4u	/* most pixels of a tile */
#define KERNEL_ACCESS	16u	/* bytes */

#ifdef __CUDA_ARCH__
#define KERNEL_UNROLL	_Pragma("unroll")
#define KERNEL_UNROLL_8	_Pragma("unroll 8")
#else
#define KERNEL_UNROLL
#define KERNEL_UNROLL_8
#endif

#define KERNEL_THREADS	256u	/* most threads of a block */
#define KERNEL_WARP	32u

/*
 * The threads of a block for count indices: as many as allow a block on each multiprocessor, and whole warps.  A small
 * map has few indices, which larger blocks would crowd onto a few multiprocessors.
 */
KERNEL_BODY uint32_t
kernel_block(uint32_t count, uint32_t processors)
{
	uint32_t threads = KERNEL_THREADS;

	while (threads > KERNEL_WARP && count / (threads / 2) <= processors)
		threads /= 2;
	return threads;
}

/* Indices of a wide kernel, and the channels of each. */
struct kernel_grid {
	uint32_t count, width;
};

/* Pixels from, from + step, ... below end, at most KERNEL_PIXELS, and the first channel. */
struct kernel_tile {
	uint32_t from, step, end, ch;
};

/* A view that is absent, with p NULL and c 0, is wide. */
KERNEL_BODY int
kernel_is_wide(struct kernel_view v)
{
	return v.c % KERNEL_WIDTH == 0 && v.ld % KERNEL_WIDTH == 0 && (uintptr_t)v.p % KERNEL_ACCESS == 0;
}

/* A grid with one index for each width of c channels and each of n other things. */
KERNEL_BODY struct kernel_grid
kernel_grid(uint32_t n, uint32_t c, int wide)
{
	struct kernel_grid g = { n * (wide ? c / KERNEL_WIDTH : c), wide ? KERNEL_WIDTH : 1 };

	return g;
}

/* A grid whose tiles cover m pixels of c channels. */
KERNEL_BODY struct kernel_grid
kernel_tiles(uint32_t m, uint32_t c, int wide)
{
	return kernel_grid((m + KERNEL_PIXELS - 1) / KERNEL_PIXELS, c, wide);
}

/* Tile i of that grid. Its pixels are far apart, so that neighbouring indices have neighbouring pixels. */
KERNEL_BODY struct kernel_tile
kernel_tile_at(uint32_t m, uint32_t c, uint32_t width, uint32_t i)
{
	uint32_t groups = c / width;
	struct kernel_tile t = { i / groups, (m + KERNEL_PIXELS - 1) / KERNEL_PIXELS, m, i % groups * width };

	return t;
}

/* The bytes of one access, at an address that is a multiple of KERNEL_ACCESS. */
struct kernel_words {
	uint32_t w[KERNEL_ACCESS / 4];
};

/* On a GPU a misaligned access ends the process; a loop on the CPU must not do without the fault. */
KERNEL_BODY void
kernel_check_access(const void *p)
{
#ifndef __CUDA_ARCH__
	if ((uintptr_t)p % KERNEL_ACCESS != 0)
		abort();
#else
	(void)p;
#endif
}

KERNEL_BODY struct kernel_words
kernel_read_words(const void *p)
{
	struct kernel_words v;

	kernel_check_access(p);
#ifdef __CUDA_ARCH__
	const uint4 u = *(const uint4 *)p;

	v.w[0] = u.x;
	v.w[1] = u.y;
	v.w[2] = u.z;
	v.w[3] = u.w;
#else
	memcpy(&v, p, sizeof(v));
#endif
	return v;
}

KERNEL_BODY void
kernel_write_words(void *p, struct kernel_words v)
{
	kernel_check_access(p);
#ifdef __CUDA_ARCH__
	*(uint4 *)p = make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]);
#else
	memcpy(p, &v, sizeof(v));
#endif
}

KERNEL_BODY float
kernel_from_word(uint32_t u)
{
	float v;

	memcpy(&v, &u, sizeof(v));
	return v;
}

KERNEL_BODY uint32_t
kernel_to_word(float v)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	return u;
}

KERNEL_BODY float
kernel_from_half(uint16_t h, int type)
{
	return type == KERNEL_BF16 ? kernel_from_bf16(h) : kernel_from_f16(h);
}

KERNEL_BODY uint16_t
kernel_to_half(float v, int type)
{
	return type == KERNEL_BF16 ? kernel_to_bf16(v) : kernel_to_f16(v);
}

/* Values [i, i + width) of p, which is aligned if width is KERNEL_WIDTH. */
KERNEL_BODY void
kernel_get_wide(const void *p, size_t i, int type, uint32_t width, float x[KERNEL_WIDTH])
{
	if (width == 1) {
		x[0] = kernel_get(p, i, type);
	} else if (type == KERNEL_F32) {
		const struct kernel_words a = kernel_read_words((const float *)p + i);
		const struct kernel_words b = kernel_read_words((const float *)p + i + 4);

		KERNEL_UNROLL
		for (uint32_t k = 0; k < 4; k++) {
			x[k] = kernel_from_word(a.w[k]);
			x[4 + k] = kernel_from_word(b.w[k]);
		}
	} else {
		const struct kernel_words a = kernel_read_words((const uint16_t *)p + i);

		KERNEL_UNROLL
		for (uint32_t k = 0; k < 4; k++) {
			x[2 * k] = kernel_from_half((uint16_t)a.w[k], type);
			x[2 * k + 1] = kernel_from_half((uint16_t)(a.w[k] >> 16), type);
		}
	}
}

KERNEL_BODY void
kernel_put_wide(void *p, size_t i, int type, uint32_t width, const float x[KERNEL_WIDTH])
{
	struct kernel_words a, b;

	if (width == 1) {
		kernel_put(p, i, x[0], type);
		return;
	}
	KERNEL_UNROLL
	for (uint32_t k = 0; k < 4; k++) {
		if (type == KERNEL_F32) {
			a.w[k] = kernel_to_word(x[k]);
			b.w[k] = kernel_to_word(x[4 + k]);
		} else {
			a.w[k] = kernel_to_half(x[2 * k], type) | (uint32_t)kernel_to_half(x[2 * k + 1], type) << 16;
		}
	}
	if (type == KERNEL_F32) {
		kernel_write_words((float *)p + i, a);
		kernel_write_words((float *)p + i + 4, b);
	} else {
		kernel_write_words((uint16_t *)p + i, a);
	}
}

/* Channels [ch, ch + width) of pixel m. */
KERNEL_BODY void
kernel_get_channels(struct kernel_view v, uint32_t m, uint32_t ch, int type, uint32_t width, float x[KERNEL_WIDTH])
{
	kernel_get_wide(v.p, (size_t)m * v.ld + ch, type == KERNEL_MIXED ? v.type : type, width, x);
}

KERNEL_BODY void
kernel_set_channels(struct kernel_view v, uint32_t m, uint32_t ch, int type, uint32_t width,
	const float x[KERNEL_WIDTH])
{
	kernel_put_wide(v.p, (size_t)m * v.ld + ch, type == KERNEL_MIXED ? v.type : type, width, x);
}

/* All pixels of a tile.  What a tile at the end lacks is 0. */
KERNEL_BODY void
kernel_load(struct kernel_view v, struct kernel_tile t, int type, uint32_t width,
	float x[KERNEL_PIXELS][KERNEL_WIDTH])
{
	KERNEL_UNROLL
	for (uint32_t p = 0; p < KERNEL_PIXELS; p++) {
		KERNEL_UNROLL
		for (uint32_t k = 0; k < width; k++)
			x[p][k] = 0;
		if (t.from + p * t.step < t.end)
			kernel_get_channels(v, t.from + p * t.step, t.ch, type, width, x[p]);
	}
}

KERNEL_BODY void
kernel_store(struct kernel_view v, struct kernel_tile t, int type, uint32_t width,
	float x[KERNEL_PIXELS][KERNEL_WIDTH])
{
	KERNEL_UNROLL
	for (uint32_t p = 0; p < KERNEL_PIXELS; p++)
		if (t.from + p * t.step < t.end)
			kernel_set_channels(v, t.from + p * t.step, t.ch, type, width, x[p]);
}

/* Values [ch, ch + width) of an array per channel, whose address may be any; 0 if p is NULL. */
KERNEL_BODY void
kernel_get_each(const float *p, uint32_t ch, uint32_t width, float x[KERNEL_WIDTH])
{
	if (p != NULL && width == KERNEL_WIDTH && (uintptr_t)p % KERNEL_ACCESS == 0) {
		kernel_get_wide(p, ch, KERNEL_F32, width, x);
		return;
	}
	KERNEL_UNROLL
	for (uint32_t k = 0; k < width; k++)
		x[k] = p != NULL ? p[ch + k] : 0;
}

#endif
