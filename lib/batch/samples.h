/*
 * samples - what a pass of a net eats: pictures as numbers, or as pixels and what makes numbers of them, and their classes.
 *
 * Pixels are a quarter of the numbers' bytes, so they go as far as the device, which makes x of them on its way in:
 *
 *	x = (pixel - mean) * by, then each row from right to left where mirror says so (its mean with it)
 *
 * in f32, a difference and a product, each rounded: so every device has the same bits.
 *
 * A value: its arrays are lent by who made it.
 */
#ifndef BATCH_SAMPLES_H
#define BATCH_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/* A sample that is a mixture of two: (1 - share) of class y and share, at most 1/2, of class `other`. */
struct samples_mix {
	int32_t		 other;
	float		 share;
};

struct samples_norm {
	const float	*mean;		/* f32 [c,h,w], or NULL: flat */
	float		 flat[3];	/* of the channels */
	float		 by[3];
};

/*
 * Of a picture that the device holds, u8 [h,w,c] from byte `at` of what it was given: the sample's upper left corner, which
 * may lie outside.
 */
struct samples_held {
	uint64_t	 at;
	uint32_t	 h, w;
	int32_t		 y, x;
};

struct samples {
	uint32_t	 n, c, h, w;
	const int32_t	*y;		/* [n] class; of a mixture the heavier */
	const struct samples_mix *mix;	/* [n], or NULL: there are no mixtures */
	const float	*x;		/* f32 [n,c,h,w]; NULL where there are: */
	const uint8_t	*pixel;		/* u8 [n,h,w,c], c 1 or 3; NULL where there are: */
	const struct samples_held *held;	/* [n], for engines that hold pictures: engine.h */
	uint8_t		 fill;		/* of held ones: beyond their edges */
	const uint8_t	*mirror;	/* [n] 0 or 1; NULL: none */
	struct samples_norm norm;
};

/* The pixels u8 [n,h,w,c] of samples that are held, from the pictures that the device was given; a sample may still be mirrored. */
void	 samples_cut(const struct samples *s, const uint8_t *pictures, uint8_t *pixel);
/* Writes the numbers f32 [n,c,h,w] of samples first..first+n-1.  Threads: any number at once. */
void	 samples_f32(const struct samples *s, uint32_t first, uint32_t n, float *x);
/* Samples first..first+n-1 alone. */
struct samples samples_part(const struct samples *s, uint32_t first, uint32_t n);
/* Whether all classes are below `classes`.  Returns 0 or ERR_FORMAT, naming the sample. */
int	 samples_check(const struct samples *s, uint32_t classes);

#endif
