/*
 * samples - the input of a net: images as floats, or as pixels with their normalization, and their labels.
 *
 * Pixels take a quarter of the bytes of floats.  So they move to the device, which converts them:
 *
 * 	x = (pixel - mean) * by, then each row (with its mean) reversed if mirror is set
 *
 * in f32, as a difference and a product, each rounded, so that every device computes the same bits.
 *
 * A plain value: its maker owns the arrays.
 */
#ifndef BATCH_SAMPLES_H
#define BATCH_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The target of a sample in the loss: (1 - share) of class y and share, at most 1/2, of class `other`.  The weight
 * multiplies its loss and its gradient in training.
 */
struct samples_mix {
	int32_t		 other;
	float		 share, weight;
};

struct samples_norm {
	const float	*mean;		/* f32 [c,h,w], or NULL: flat */
	float		 flat[3];	/* mean of each channel */
	float		 by[3];
};

/*
 * A part of an image u8 [h,w,c] at offset `at` of the device cache: y, x is the sample's upper left corner, which may
 * lie outside.
 */
struct samples_cached {
	uint64_t	 at;
	uint32_t	 h, w;
	int32_t		 y, x;
};

struct samples {
	uint32_t	 n, c, h, w;
	const int32_t	*y;		/* [n] class; of a mixture, the class with the larger share */
	/* [n,targets] what the outputs are compared with, mixed; NaN: unknown; NULL: samples have classes */
	const float	*target;
	uint32_t	 targets;
	/*
	 * [targets] in training, the weight of what an output's loss has by a target of 1; NULL: 1.  Lent until the
	 * backward pass of the batch has ended.
	 */
	const float	*positive;
	const struct samples_mix *mix;	/* [n], or NULL if samples are not mixed and have weight 1 */
	const float	*x;		/* f32 [n,c,h,w]; or NULL, then pixel or cached is set */
	const uint8_t	*pixel;		/* u8 [n,h,w,c], c 1 or 3; or NULL */
	const struct samples_cached *cached;	/* [n] places for engines with a device cache (engine.h); or NULL */
	uint8_t		 fill;		/* pixel value outside the images of cached */
	bool		 reflect;	/* the images of cached are continued by img_reflect() instead */
	const uint8_t	*mirror;	/* [n] 0 or 1; NULL: none */
	struct samples_norm norm;
};

/* Copies the pixels u8 [n,h,w,c] of samples in the device cache, before mirroring. */
void	 samples_cut(const struct samples *s, const uint8_t *images, uint8_t *pixel);
/* Converts samples first..first+n-1 to floats f32 [n,c,h,w].  Threads: any number at the same time. */
void	 samples_f32(const struct samples *s, uint32_t first, uint32_t n, float *x);
/* Returns samples first..first+n-1 as a view. */
struct samples samples_part(const struct samples *s, uint32_t first, uint32_t n);
/*
 * Returns 0 if all classes are below `classes` and samples have this number of targets (0: none), else ERR_FORMAT,
 * naming the sample.
 */
int	 samples_check(const struct samples *s, uint32_t classes, uint32_t targets);

#endif
