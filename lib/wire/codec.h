/*
 * codec - gradients and weights in fewer bytes than f32 takes, for messages.
 *
 *	f32	4 bytes, as they are
 *	bf16	2 bytes: the upper half of an f32, rounded to nearest, ties to even
 *	fp16	2 bytes: binary16 of IEEE 754, rounded in the same way
 *	2bit:T	2 bits: 0, +s or -s, or NaN for all that is not finite
 *	topk:X	8 bytes for each of the n * X numbers of the largest size, at least one; the others are 0
 *	powersgd:R  4 bytes for each number of two matrices of rank R whose product is near
 *
 * A finite number beyond the largest of bf16 or fp16 becomes that one, and infinity and NaN stay what they are.
 *
 * 2bit sends x as s with its sign if |x| >= T.  s is T, as in MXNet's gradient compression.  Without T, or if it is 0,
 * T is 0.7 times the mean of |x|, and s is the mean of the |x| >= T, which nearly minimizes the squared error (Li et
 * al., Ternary weight networks, 2016).  The bytes are s, and then four numbers in each byte, the first in its lowest
 * bits: 0, +s, -s, NaN.
 *
 * topk (Stich et al., Sparsified SGD with memory, NeurIPS 2018) sends k indices, u32, which ascend, and then their
 * numbers, f32.  Of numbers of the same size the first ones are sent.
 *
 * powersgd (Vogels et al., PowerSGD, NeurIPS 2019) sends a matrix M [rows, cols] as P [rows, R] and Q [R, cols], f32.
 * The columns of P are orthonormal, and Q is transposed P times M.  P is found by two steps of the power iteration
 * (Halko et al., SIAM Review 53, 2011).  They begin with the same signs each time, and not with the factors of the step
 * before.  So nothing but the residual has to outlive a process, and servers can add what each worker has sent.  An
 * array that is not a matrix, or would not be smaller, is f32.  If a factor is not finite, all numbers are sent as NaN.
 *
 * All numbers are little-endian.
 *
 * With error feedback the sum of what is sent follows the sum of the gradients (Seide et al., 1-bit stochastic
 * gradient descent, Interspeech 2014).  What is sent differs from the gradient by a residual, which the sender adds to
 * its next gradient.  For each float, in f32:
 *
 *	x = v + before;  q = what the peer decodes;  after = x - q, or 0 if x is infinite or NaN
 *
 * x - q is exact in bf16 and fp16, unless x is beyond the largest number of the format.
 *
 * 2bit, topk and powersgd are too coarse for weights, but not for how they change (Tang et al., DoubleSqueeze, ICML
 * 2019).  If codec_updates(), a sender of weights encodes the difference from the receiver's copy, and both add the
 * decoded difference.  So the rest of an update is part of the next one.
 *
 * Ownership: nothing is kept.  Threads: no state.
 */
#ifndef WIRE_CODEC_H
#define WIRE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum codec_kind { CODEC_F32, CODEC_BF16, CODEC_FP16, CODEC_2BIT, CODEC_TOPK, CODEC_POWERSGD, CODECS };

/* Of zeros it is f32. */
struct codec {
	enum codec_kind	kind;
	double		x;	/* T, X or R above, else 0 */
	uint32_t	cols;	/* columns of the matrix whose rows are the numbers, one by one; 0: no matrix */
};

/* For messages. */
#define CODEC_NAMES "f32, bf16, fp16, 2bit[:T], topk[:X] and powersgd[:R] with a whole number R up to 64"
#define CODEC_TEXT 32u		/* bytes of a codec's text, with its zero */

const char *codec_name(enum codec_kind k);	/* without its number */
void	 codec_text(struct codec c, char text[CODEC_TEXT]);
/* Parses such a text; "f16" is "fp16", and a number that is left out is 0, 0.01 or 4.  Returns false if it is none. */
bool	 codec_find(const char *text, struct codec *c);
bool	 codec_same(struct codec a, struct codec b);
bool	 codec_updates(struct codec c);
/* The bytes of n floats. */
size_t	 codec_bytes(struct codec c, size_t n);
/*
 * Encodes v[n] into to[codec_bytes()], which is aligned as floats are.  before and after [n] are the residuals as
 * above, which do not overlap.  before NULL: there are none, and after is NULL too; after NULL: they are not computed.
 */
void	 codec_encode(struct codec c, const float *v, const float *before, size_t n, float *after, void *to);
/* Whether codec_bytes() bytes of any content can be decoded to n floats. */
bool	 codec_valid(struct codec c, const void *from, size_t n);
/* Decodes such bytes into to[n], which does not overlap them. */
void	 codec_decode(struct codec c, const void *from, size_t n, float *to);
/* Adds what they decode to; only if codec_updates(). */
void	 codec_add(struct codec c, const void *from, size_t n, float *to);

#endif
