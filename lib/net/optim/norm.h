/*
 * norm - the exact sum of squares of floats, and its root.
 *
 * The square of an f32 is an integer times 2^-298, so a sum of squares is one long integer.  It is stored in words, the
 * lowest first.  Integer addition is exact: neither order nor partition changes a bit, which no sum of floats can
 * promise (Kulisch, "Computer Arithmetic and Validity", 2008).  The root is taken in f64.
 *
 * If any float is infinite or NaN, the norm is NaN.  Threads: different norms at the same time.
 */
#ifndef NET_OPTIM_NORM_H
#define NET_OPTIM_NORM_H

#include <stddef.h>
#include <stdint.h>

#define NORM_WORDS	10u	/* 2^30 squares are below bit 586 */
#define NORM_BYTES	(8u * NORM_WORDS)	/* bytes of an encoded norm */

/* All zeros is the empty sum. */
struct norm {
	uint64_t word[NORM_WORDS];
};

void	 norm_add(struct norm *s, const float *x, size_t n);	/* adds the squares of x [n] */
void	 norm_add_sum(struct norm *s, const struct norm *other);	/* adds another sum */
double	 norm_root(const struct norm *s);

/* Encode and decode NORM_BYTES, little-endian. */
void	 norm_put(const struct norm *s, uint8_t *to);
void	 norm_get(struct norm *s, const uint8_t *from);

#endif
