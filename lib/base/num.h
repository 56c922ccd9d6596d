/*
 * num - bounded numbers from text, products of sizes that cannot overflow, and tests of floats.
 *
 * The whole text must be the number: no blanks, no other characters after it, and no sign for an unsigned one.
 */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal integer in [lo, hi].  Returns 0, ERR_FORMAT or ERR_LIMIT (the line states the bounds). */
int num_i64(const char *text, int64_t lo, int64_t hi, int64_t *v);
int num_u64(const char *text, uint64_t lo, uint64_t hi, uint64_t *v);

/* 16 hexadecimal digits in lower case, as %016x writes them.  Returns 0 or ERR_FORMAT. */
int num_hex64(const char *text, uint64_t *v);

/* A finite decimal number in [lo, hi], with a point in every locale.  Returns 0, ERR_FORMAT or ERR_LIMIT. */
int num_f64(const char *text, double lo, double hi, double *v);

/* *v = a * b.  Returns 0, or ERR_LIMIT if the product does not fit a size_t. */
int num_mul(size_t a, size_t b, size_t *v);

/* Whether none of n floats is infinite or NaN. */
bool num_finite(const float *p, size_t n);
/* Whether all of n floats are zeros without a sign, which is the same as bytes of 0. */
bool num_zeros(const float *p, size_t n);

#endif
