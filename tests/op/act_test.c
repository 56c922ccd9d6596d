/* act_test - gelu and its slope in bf16, for every number of it, against the error function in f64. */
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

int
main(void)
{
	const struct graph_node gelu = { .op = GRAPH_ACT, .act = GRAPH_GELU };
	const struct cpu_view in = view(x), out = view(y), grad = view(dy), to = view(dx);

	for (uint32_t i = 0; i < ALL; i++) {
		x[i] = (uint16_t)i;
		dy[i] = 0x3f80;
	}
	cpu_act_forward(&gelu, &in, &out, 1);
	cpu_act_backward(&gelu, &in, &grad, 1, &to, 1);
	ok(count_tails() == 0, "gelu in bf16 is 0 from -4 down");
	ok(isinf(widen(y[0x7f80])) && isnan(widen(y[0xff80])), "gelu of infinity is infinite, that of -infinity NaN");
	ok(find_error(y, false) < 2e-4, "gelu in bf16 is within rounding and 2e-4: %g", find_error(y, false));
	ok(find_error(dx, true) < 7e-4, "the slope of gelu in bf16 is within rounding and 7e-4: %g", find_error(dx, true));
	ok(keeps_nan(y) && keeps_nan(dx), "NaN stays NaN");
	return done();
}
