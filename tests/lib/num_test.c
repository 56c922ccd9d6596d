/* num_test - bounded numbers from text, products that cannot overflow, and zeros. */
#include "base/num.h"

#include "base/err.h"
#include "tap.h"

#include <math.h>

static void
whole(void)
{
	static const char *const not[] = { "", "-", " 1", "1 ", "+1", "0x10", "1.0", "1e3", "--1", "one", "1\t" };
	static const char *const no_hex[] = { "", "0", "000000000000000", "00000000000000000", "000000000000000A",
	    "000000000000000g", "-00000000000000f", " 00000000000000f", "0x0000000000000f" };
	int64_t v = 0;
	uint64_t u = 0;

	is(num_i64("-12", -20, 20, &v), 0, "num_i64 reads a number");
	is(v, -12, "num_i64 stores its value");
	is(num_i64("9223372036854775807", 0, INT64_MAX, &v), 0, "num_i64 reads the largest number");
	ok(v == INT64_MAX, "num_i64 stores the largest number");
	is(num_i64("-9223372036854775808", INT64_MIN, 0, &v), 0, "num_i64 reads the least number");
	is(num_i64("9223372036854775808", INT64_MIN, INT64_MAX, &v), ERR_LIMIT, "num_i64 refuses the largest number plus one");
	is(num_i64("21", -20, 20, &v), ERR_LIMIT, "num_i64 refuses a number above its bound");
	is_str(err_line(), "21 is not in -20..20", "the error states the bounds");
	for (size_t i = 0; i < sizeof(not) / sizeof(*not); i++) {
		v = 77;
		is(num_i64(not[i], -100, 100, &v), ERR_FORMAT, "num_i64 refuses '%s'", not[i]);
		is(v, 77, "a refused text leaves the value unchanged");
	}
	is(num_u64("18446744073709551615", 0, UINT64_MAX, &u), 0, "num_u64 reads the largest number");
	ok(u == UINT64_MAX, "num_u64 stores the largest number");
	is(num_u64("18446744073709551616", 0, UINT64_MAX, &u), ERR_LIMIT, "num_u64 refuses the largest number plus one");
	is(num_hex64("ffffffffffffffff", &u), 0, "num_hex64 reads the largest number");
	ok(u == UINT64_MAX, "num_hex64 stores the largest number");
	is(num_hex64("0000000000000a1f", &u), 0, "num_hex64 reads a number");
	ok(u == 0xa1f, "num_hex64 stores the number");
	for (size_t i = 0; i < sizeof(no_hex) / sizeof(*no_hex); i++)
		is(num_hex64(no_hex[i], &u), ERR_FORMAT, "num_hex64 refuses '%s'", no_hex[i]);
	is(num_u64("-1", 0, UINT64_MAX, &u), ERR_FORMAT, "num_u64 refuses a sign");
	is(num_u64("4", 5, 9, &u), ERR_LIMIT, "num_u64 refuses a number below its bound");
}

static void
fractions(void)
{
	static const char *const not[] = { "", ".", "e5", "nan", "inf", "0x1p3", " 1", "1 ", "1,5", "1.2.3", "-" };
	double v = 0;

	is(num_f64("0.1", 0, 1, &v), 0, "num_f64 reads a fraction");
	near(v, 0.1, 0, "num_f64 stores the fraction");
	is(num_f64("-1e-3", -1, 1, &v), 0, "num_f64 reads an exponent");
	near(v, -0.001, 0, "num_f64 stores its value");
	is(num_f64("1.5", 0, 1, &v), ERR_LIMIT, "num_f64 refuses a number above its bound");
	is(num_f64("1e999", 0, 1e308, &v), ERR_LIMIT, "num_f64 refuses a number that overflows to infinity");
	for (size_t i = 0; i < sizeof(not) / sizeof(*not); i++)
		is(num_f64(not[i], -100, 100, &v), ERR_FORMAT, "num_f64 refuses '%s'", not[i]);
}

static void
zeros(void)
{
	const float x[] = { 0, 0, 0, -0.0f, 0, NAN };

	ok(num_zeros(x, 0) && num_zeros(x, 1) && num_zeros(x, 3), "num_zeros accepts no float, one and several zeros");
	ok(!num_zeros(x + 3, 1) && !num_zeros(x, 4) && !num_zeros(x + 2, 2), "num_zeros refuses a zero with a sign");
	ok(!num_zeros(x + 4, 2), "num_zeros refuses NaN");
}

int
main(void)
{
	size_t n = 0;

	whole();
	fractions();
	zeros();
	is(num_mul(3, 4, &n), 0, "num_mul accepts a product that fits");
	is(n, 12, "num_mul stores the product");
	is(num_mul(SIZE_MAX, 1, &n), 0, "num_mul accepts the largest product");
	is(num_mul(SIZE_MAX / 2 + 1, 2, &n), ERR_LIMIT, "num_mul refuses a product that overflows");
	is(num_mul(SIZE_MAX, 0, &n), 0, "num_mul accepts a factor of 0");
	is(n, 0, "num_mul stores 0");
	return done();
}
