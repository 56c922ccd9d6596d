/*
 * codec - gradients and weights in fewer bytes than f32 takes, for messages.
 *
 *	f32	4 bytes, as they are
 *	bf16	2 bytes: the upper half of an f32, rounded to nearest, ties to even
 *	fp16	2 bytes: binary16 of IEEE 754, rounded in the same way
 *
 * A finite number beyond the largest of its format becomes that one, and infinity and NaN stay what they are.  All
 * numbers are little-endian.
 *
 * With error feedback the sum of what is sent follows the sum of the gradients (Seide et al., 1-bit stochastic
 * gradient descent, Interspeech 2014): what is sent differs from the gradient by a residual, which the sender adds to
 * its next one.
 * For each float, in f32:
 *
 *	x = v + before;  q = what the peer decodes;  after = x - q, or 0 if x is infinite or NaN
 *
 * x - q is exact in bf16 and fp16, unless x is beyond the largest number of the format.
 *
 * Ownership: nothing is kept.  Threads: no state.
 */
#ifndef WIRE_CODEC_H
#define WIRE_CODEC_H

#include <stdbool.h>
#include <stddef.h>

enum codec { CODEC_F32, CODEC_BF16, CODEC_FP16, CODECS };

#define CODEC_NAMES "f32, bf16 and fp16"	/* for messages */

const char *codec_name(enum codec c);
/* Finds a codec by its name; "f16" is "fp16".  Returns false if there is none. */
bool	 codec_find(const char *name, enum codec *c);
/* The bytes of n floats. */
size_t	 codec_bytes(enum codec c, size_t n);
/*
 * Encodes v[n] into to[codec_bytes()].  before and after [n] are the residuals as above, which do not overlap.  before
 * NULL: there are none, and after is NULL too; after NULL: they are not computed.
 */
void	 codec_encode(enum codec c, const float *v, const float *before, float *after, size_t n, void *to);
/* Decodes codec_bytes() bytes of any content into to[n], which does not overlap them. */
void	 codec_decode(enum codec c, const void *from, size_t n, float *to);

#endif
