/* act_test - gelu and its slope in bf16, for every number of it, against the error function in f64. */
#include "engine/cpu/bn/bn_bf16.h"
#include "engine/cpu/cpu.h"
#include "tap.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define ALL		65536
#define ROUNDING	0x1p-8	/* largest relative error of rounding to bf16 */

static uint16_t x[ALL], y[ALL], dy[ALL], dx[ALL];

static double
widen(uint16_t half)
{
	const uint32_t bits = (uint32_t)half << 16;
	float f;

	memcpy(&f, &bits, sizeof(f));
	return (double)f;
}

static struct cpu_view
view(uint16_t *numbers)
{
	return (struct cpu_view){ .p = numbers, .c = 1, .h = 256, .w = 256, .block = 1, .step = ALL, .pitch = 1,
	    .bf16 = true };
}

/* Compares got with the slope of gelu, or with gelu itself.  Returns the largest error beyond that of rounding. */
static double
find_error(const uint16_t *got, bool slope)
{
	double most = 0;

	for (uint32_t i = 0; i < ALL; i++) {
		const double v = widen((uint16_t)i), normal = 0.5 * erfc(-v / sqrt(2));
		const double want = slope ? normal + (isinf(v) ? 0 : v * exp(-0.5 * v * v) / sqrt(2 * M_PI)) : v * normal;
		const double error = fabs(widen(got[i]) - want) - ROUNDING * fabs(want);

		if (isnan(v) || isinf(v))
			continue;
		if (error > most || isnan(error))
			most = isnan(error) ? INFINITY : error;
	}
	return most;
}

/* The numbers up to -4 whose gelu is not 0. */
static uint32_t
count_tails(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ALL; i++) {
		const double v = widen((uint16_t)i);

		n += !isinf(v) && v <= -4 && widen(y[i]) != 0;
	}
	return n;
}

static bool
keeps_nan(const uint16_t *got)
{
	for (uint32_t i = 0; i < ALL; i++)
		if (isnan(widen((uint16_t)i)) && !isnan(widen(got[i])))
			return false;
	return true;
}

/* y and dx are gelu of x, and its slope. */
static void
check(const char *layer)
{
	ok(count_tails() == 0, "%s: gelu is 0 from -4 down", layer);
	ok(isinf(widen(y[0x7f80])) && isnan(widen(y[0xff80])), "%s: gelu of infinity is infinite, that of -infinity NaN",
	    layer);
	ok(find_error(y, false) < 2e-4, "%s: gelu is within rounding and 2e-4: %g", layer, find_error(y, false));
	ok(find_error(dx, true) < 7e-4, "%s: the slope of gelu is within rounding and 7e-4: %g", layer,
	    find_error(dx, true));
	ok(keeps_nan(y) && keeps_nan(dx), "%s: NaN stays NaN", layer);
}

static void
check_act(void)
{
	const struct graph_node gelu = { .op = GRAPH_ACT, .act = GRAPH_GELU };
	const struct cpu_view in = view(x), out = view(y), grad = view(dy), to = view(dx);

	cpu_act_forward(&gelu, &in, &out, 1);
	cpu_act_backward(&gelu, &in, &grad, 1, &to, 1);
	check("an activation in bf16");
}

/* The same numbers as a map of 16 channels. */
static struct cpu_view
view_channels(uint16_t *numbers)
{
	return (struct cpu_view){ .p = numbers, .c = 16, .h = 64, .w = 64, .block = 16, .step = ALL, .pitch = 16,
	    .bf16 = true };
}

/* A batch norm whose own output is its input, and whose statistics are constants. */
static void
check_bn(void)
{
	float one[16], zero[16] = { 0 }, scratch[2 * 16];
	struct cpu_bn bn = { .lanes = 16, .gamma = one, .beta = zero, .mean = zero, .var = zero, .scale = one,
		.shift = zero, .dgamma = scratch, .dbeta = scratch, .k1 = zero, .k0 = zero };
	const struct cpu_view in = view_channels(x), out = view_channels(y), grad = view_channels(dy),
	    to = view_channels(dx);

	for (size_t l = 0; l < 16; l++)
		one[l] = 1;
	memset(y, 0xff, sizeof(y));
	memset(dx, 0xff, sizeof(dx));
	cpu_bn_forward(&in, &out, 1, &bn, BN_GELU);
	cpu_bn_backward(&in, &grad, 1, NULL, &to, 1, scratch, &bn, BN_GELU, true, 0);
	check("a batch norm in bf16");
}

int
main(void)
{
	for (uint32_t i = 0; i < ALL; i++) {
		x[i] = (uint16_t)i;
		dy[i] = 0x3f80;
	}
	check_act();
	if (bn_bf16_fits_channels(16))
		check_bn();
	else
		skip("gelu of a batch norm in bf16", "no avx512_bf16");
	return done();
}
