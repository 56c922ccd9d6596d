/*
 * num - numbers from text, bounded, and products of sizes that cannot wrap.
 *
 * Text is the whole number and nothing else: no blanks, no sign where none
 * fits, no tail.
 */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal integer in [lo, hi].  Returns 0, ERR_FORMAT or ERR_LIMIT (the line says which bound). */
int num_i64(const char *text, int64_t lo, int64_t hi, int64_t *v);
int num_u64(const char *text, uint64_t lo, uint64_t hi, uint64_t *v);

/* Finite decimal fraction in [lo, hi]; the locale is not asked.  Returns 0, ERR_FORMAT or ERR_LIMIT. */
int num_f64(const char *text, double lo, double hi, double *v);

/* *v = a * b.  Returns 0 or ERR_LIMIT when it does not fit a size_t. */
int num_mul(size_t a, size_t b, size_t *v);

/* Whether none of n floats is infinite or no number. */
bool num_finite(const float *p, size_t n);

#endif
