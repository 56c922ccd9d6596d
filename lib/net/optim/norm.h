/*
 * norm - the exact sum of squares of floats, and its root.
 *
 * A square of an f32 is an integer times 2^-298, so a sum of squares is a long integer: here words, the lowest
 * first, that are added as integers.  No order, no cut and no number of parts changes a bit of it, which no sum of
 * floats can promise (Kulisch, "Computer Arithmetic and Validity", 2008).  The root is taken in f64.
 *
 * An infinity or a NaN among the floats makes the norm a NaN.  Threads: different norms at once.
 */
#ifndef NET_OPTIM_NORM_H
#define NET_OPTIM_NORM_H

#include <stddef.h>
#include <stdint.h>

#define NORM_WORDS	10u	/* 2^30 squares are below bit 586 */
#define NORM_BYTES	(8u * NORM_WORDS)	/* as norm_put() writes one */

/* One of zeros is the sum of nothing. */
struct norm {
	uint64_t word[NORM_WORDS];
};

void	 norm_add(struct norm *s, const float *x, size_t n);	/* the squares of x [n] */
void	 norm_join(struct norm *s, const struct norm *other);	/* those of another sum */
double	 norm_root(const struct norm *s);

/* NORM_BYTES, little-endian. */
void	 norm_put(const struct norm *s, uint8_t *to);
void	 norm_get(struct norm *s, const uint8_t *from);

#endif
