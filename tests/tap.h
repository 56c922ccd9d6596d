/*
 * tap - the C side of the tests: prints the Test Anything Protocol for prove.
 *
 *	ok(x == 3, "three is kept");
 *	is(got, want, "whole numbers, both shown when they differ");
 *	is_str(got, want, "text");
 *	near(got, want, 1e-6, "numbers with a fraction");
 *	skip("the PNG suite", "no ../shared/data here");
 *	return done();
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <math.h>
#include <stdio.h>
#include <string.h>

static int tap_run, tap_bad;

__attribute__((format(printf, 2, 3), unused)) static int
tap_ok(int good, const char *fmt, ...)
{
	__builtin_va_list ap;

	printf("%sok %d - ", good ? "" : "not ", ++tap_run);
	__builtin_va_start(ap, fmt);
	vprintf(fmt, ap);
	__builtin_va_end(ap);
	printf("\n");
	fflush(stdout);
	tap_bad += !good;
	return good;
}

#define ok(good, ...) ((tap_ok(!!(good), __VA_ARGS__)) ? 1 : \
	(printf("# at %s:%d: %s\n", __FILE__, __LINE__, #good), 0))

#define is(got, want, ...) do { \
	long long g_ = (long long)(got), w_ = (long long)(want); \
	if (!tap_ok(g_ == w_, __VA_ARGS__)) \
		printf("# at %s:%d: got %lld, want %lld\n", __FILE__, __LINE__, g_, w_); \
} while (0)

#define is_str(got, want, ...) do { \
	const char *g_ = (got), *w_ = (want); \
	if (!tap_ok(g_ != NULL && strcmp(g_, w_) == 0, __VA_ARGS__)) \
		printf("# at %s:%d: got '%s', want '%s'\n", __FILE__, __LINE__, g_ ? g_ : "(null)", w_); \
} while (0)

#define near(got, want, within, ...) do { \
	double g_ = (got), w_ = (want); \
	if (!tap_ok(fabs(g_ - w_) <= (within), __VA_ARGS__)) \
		printf("# at %s:%d: got %.9g, want %.9g\n", __FILE__, __LINE__, g_, w_); \
} while (0)

#define skip(what, why) (printf("ok %d - %s # SKIP %s\n", ++tap_run, (what), (why)), fflush(stdout))

__attribute__((unused)) static int
done(void)
{
	printf("1..%d\n", tap_run);
	return tap_bad != 0;
}

#endif
