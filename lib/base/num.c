/* num - bounded numbers from text, products of sizes that cannot overflow, and a test for zeros. */
#include "base/num.h"
#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int
fail_not_number(const char *text, const char *what)
{
	return err_fail(ERR_FORMAT, "'%.64s' is not %s", text, what);
}

int
num_i64(const char *text, int64_t lo, int64_t hi, int64_t *v)
{
	const char *digits = *text == '-' ? text + 1 : text;
	long long n;

	if (*digits == 0 || digits[strspn(digits, "0123456789")] != 0)
		return fail_not_number(text, "a whole number");
	errno = 0;
	n = strtoll(text, NULL, 10);
	if (errno == ERANGE || n < lo || n > hi)
		return err_fail(ERR_LIMIT, "%.64s is not in %" PRId64 "..%" PRId64, text, lo, hi);
	*v = n;
	return 0;
}

int
num_u64(const char *text, uint64_t lo, uint64_t hi, uint64_t *v)
{
	unsigned long long n;

	if (*text == 0 || text[strspn(text, "0123456789")] != 0)
		return fail_not_number(text, "a whole number");
	errno = 0;
	n = strtoull(text, NULL, 10);
	if (errno == ERANGE || n < lo || n > hi)
		return err_fail(ERR_LIMIT, "%.64s is not in %" PRIu64 "..%" PRIu64, text, lo, hi);
	*v = n;
	return 0;
}

int
num_hex64(const char *text, uint64_t *v)
{
	if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
		return fail_not_number(text, "16 hexadecimal digits");
	*v = strtoull(text, NULL, 16);
	return 0;
}

int
num_f64(const char *text, double lo, double hi, double *v)
{
	char *end;
	double n;

	/* strtod also accepts blanks, hexadecimal, "inf" and "nan". */
	if (*text == 0 || text[strspn(text, "0123456789+-.eE")] != 0)
		return fail_not_number(text, "a number");
	n = strtod(text, &end);
	if (*end != 0 || end == text)
		return fail_not_number(text, "a number");
	if (!isfinite(n) || n < lo || n > hi)
		return err_fail(ERR_LIMIT, "%.64s is not in %g..%g", text, lo, hi);
	*v = n;
	return 0;
}

int
num_mul(size_t a, size_t b, size_t *v)
{
	if (b != 0 && a > SIZE_MAX / b)
		return err_fail(ERR_LIMIT, "a size of %zu times %zu does not fit", a, b);
	*v = a * b;
	return 0;
}

bool
num_zeros(const float *p, size_t n)
{
	const uint8_t *b = (const uint8_t *)p;

	return n == 0 || (*b == 0 && memcmp(b, b + 1, n * sizeof(*p) - 1) == 0);
}
