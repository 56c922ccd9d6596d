/* num_test - numbers from text, bounded, and sizes that cannot wrap. */
#include "base/num.h"

#include "base/err.h"
#include "tap.h"

static void
whole(void)
{
	static const char *const not[] = { "", "-", " 1", "1 ", "+1", "0x10", "1.0", "1e3", "--1", "one", "1\t" };
	int64_t v = 0;
	uint64_t u = 0;

	is(num_i64("-12", -20, 20, &v), 0, "a number");
	is(v, -12, "... its value");
	is(num_i64("9223372036854775807", 0, INT64_MAX, &v), 0, "the largest");
	ok(v == INT64_MAX, "... its value");
	is(num_i64("-9223372036854775808", INT64_MIN, 0, &v), 0, "the least");
	is(num_i64("9223372036854775808", INT64_MIN, INT64_MAX, &v), ERR_LIMIT, "one more does not fit");
	is(num_i64("21", -20, 20, &v), ERR_LIMIT, "above the bound");
	is_str(err_line(), "21 is not in -20..20", "... and the bound is told");
	for (size_t i = 0; i < sizeof(not) / sizeof(*not); i++) {
		v = 77;
		is(num_i64(not[i], -100, 100, &v), ERR_FORMAT, "'%s' is no whole number", not[i]);
		is(v, 77, "... and the value is left alone");
	}
	is(num_u64("18446744073709551615", 0, UINT64_MAX, &u), 0, "the largest without a sign");
	ok(u == UINT64_MAX, "... its value");
	is(num_u64("18446744073709551616", 0, UINT64_MAX, &u), ERR_LIMIT, "one more does not fit");
	is(num_u64("-1", 0, UINT64_MAX, &u), ERR_FORMAT, "a sign where none fits");
	is(num_u64("4", 5, 9, &u), ERR_LIMIT, "below the bound");
}

static void
fractions(void)
{
	static const char *const not[] = { "", ".", "e5", "nan", "inf", "0x1p3", " 1", "1 ", "1,5", "1.2.3", "-" };
	double v = 0;

	is(num_f64("0.1", 0, 1, &v), 0, "a fraction");
	near(v, 0.1, 0, "... its value");
	is(num_f64("-1e-3", -1, 1, &v), 0, "an exponent");
	near(v, -0.001, 0, "... its value");
	is(num_f64("1.5", 0, 1, &v), ERR_LIMIT, "above the bound");
	is(num_f64("1e999", 0, 1e308, &v), ERR_LIMIT, "no infinity by the back door");
	for (size_t i = 0; i < sizeof(not) / sizeof(*not); i++)
		is(num_f64(not[i], -100, 100, &v), ERR_FORMAT, "'%s' is no number", not[i]);
}

int
main(void)
{
	size_t n = 0;

	whole();
	fractions();
	is(num_mul(3, 4, &n), 0, "a product");
	is(n, 12, "... its value");
	is(num_mul(SIZE_MAX, 1, &n), 0, "the largest");
	is(num_mul(SIZE_MAX / 2 + 1, 2, &n), ERR_LIMIT, "one that wraps");
	is(num_mul(SIZE_MAX, 0, &n), 0, "nothing times much");
	is(n, 0, "... is nothing");
	return done();
}
