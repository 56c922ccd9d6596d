/* sched - learning rate schedules. */
#include "net/optim/sched.h"
#include "base/err.h"
#include "base/num.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define PI   3.14159265358979323846
#define PART 64		/* bytes of a part's text with its zero */

/* xFACTOR@EPOCH */
static int
parse_part(char *text, struct sched *s)
{
	char *at = strchr(text, '@');
	double factor, epoch, last = s->n == 0 ? 0 : s->part[s->n - 1].at;

	if (at == NULL)
		return err_fail(ERR_FORMAT, "is not xFACTOR@EPOCH");
	*at = 0;
	ERR_TRY(num_f64(text + 1, 0, 1e6, &factor));
	ERR_TRY(num_f64(at + 1, 0, 1e9, &epoch));
	if (s->n > 0 && epoch <= last)
		return err_fail(ERR_FORMAT, "epoch %g is not after %g", epoch, last);
	if (s->n == SCHED_PARTS)
		return err_fail(ERR_LIMIT, "more than %d factors", SCHED_PARTS);
	s->part[s->n].factor = factor;
	s->part[s->n++].at = epoch;
	return 0;
}

/* Parses the numbers after a curve's name, as :0.9:0.001.  *n is the most, then the number found. */
static int
parse_curve_numbers(char *text, double *v, uint32_t *n)
{
	uint32_t most = *n;
	char *one;
	int e;

	for (*n = 0; (one = strsep(&text, ":")) != NULL; (*n)++)
		if (*n == most)
			return err_fail(ERR_FORMAT, "has more than %u numbers", most);
		else if ((e = num_f64(one, 0, 1e6, &v[*n])) < 0)
			return e;
	return 0;
}

/* NAME[:NUMBER...][@EPOCH] */
static int
parse_curve(char *text, struct sched *s)
{
	static const struct {
		const char	*name, *form;
		enum sched_curve curve;
		uint32_t	 least, most;	/* numbers */
	} curves[] = {
		{ "cosine", "cosine[:END]@EPOCH", SCHED_COSINE, 0, 1 },
		{ "linear", "linear[:END]@EPOCH", SCHED_POLY, 0, 1 },
		{ "poly", "poly:POWER[:END]@EPOCH", SCHED_POLY, 1, 2 },
		{ "exp", "exp:FACTOR", SCHED_EXP, 1, 1 },
		{ "triangle", "triangle:LOW@PERIOD", SCHED_TRIANGLE, 1, 1 },
	};
	char *at = strchr(text, '@'), *rest = strchr(text, ':');
	double v[2] = { 0, 0 };
	size_t i = 0;
	uint32_t n;

	if (at != NULL)
		*at++ = 0;
	if (rest != NULL)
		*rest++ = 0;
	while (i < sizeof(curves) / sizeof(*curves) && strcmp(text, curves[i].name) != 0)
		i++;
	if (i == sizeof(curves) / sizeof(*curves))
		return err_fail(ERR_FORMAT, "is neither xFACTOR@EPOCH nor a curve: cosine, linear, poly, exp or "
		    "triangle");
	n = curves[i].most;
	if (s->curve != SCHED_FLAT)
		return err_fail(ERR_FORMAT, "a second curve");
	ERR_TRY(parse_curve_numbers(rest, v, &n));
	if (n < curves[i].least || (at == NULL) != (curves[i].curve == SCHED_EXP))
		return err_fail(ERR_FORMAT, "is not %s", curves[i].form);
	if (at != NULL)
		ERR_TRY(num_f64(at, 1e-6, 1e9, &s->until));
	if (at != NULL && curves[i].curve != SCHED_TRIANGLE && s->until <= s->warmup)
		return err_fail(ERR_FORMAT, "ends within the warm-up");
	s->curve = curves[i].curve;
	s->power = curves[i].least == 1 && s->curve != SCHED_TRIANGLE ? v[0] : 1;
	s->end = s->curve == SCHED_TRIANGLE ? v[0] : curves[i].least == 1 ? v[1] : v[0];
	return 0;
}

/* EPOCHS[:FROM] */
static int
parse_warmup(char *text, struct sched *s)
{
	char *from = strchr(text, ':');

	if (from != NULL)
		*from++ = 0;
	ERR_TRY(num_f64(text, 0, 1e9, &s->warmup));
	return from != NULL ? num_f64(from, 0, 1e6, &s->from) : 0;
}

/* Parses the parts in order: optional warm-up, rate, then factors and a curve. */
static int
parse_next(char *text, struct sched *s, int *have_rate)
{
	if (*have_rate)
		return *text == 'x' ? parse_part(text, s) : parse_curve(text, s);
	if (strncmp(text, "warmup:", 7) == 0 && s->warmup == 0)
		return parse_warmup(text + 7, s);
	*have_rate = 1;
	return num_f64(text, 0, 1e6, &s->base);
}

int
sched_parse(const char *text, struct sched *s)
{
	int have_rate = 0;
	char part[PART], copy[PART];

	*s = (struct sched){ 0 };
	for (;; text++) {
		size_t n = strcspn(text, ",");

		if (n >= sizeof(part))
			return err_fail(ERR_FORMAT, "'%.64s': a part of more than %d bytes", text, PART - 1);
		memcpy(part, text, n);
		part[n] = 0;
		memcpy(copy, part, n + 1);
		ERR_TRY(err_wrap(parse_next(part, s, &have_rate), "'%s'", copy));
		text += n;
		if (*text == 0)
			break;
	}
	return have_rate ? 0 : err_fail(ERR_FORMAT, "'%s': has no rate", copy);
}

/* The rate of the curve, without factors, at an epoch, which may have a fraction. */
static double
compute_curve(const struct sched *s, double epoch)
{
	double p = (epoch - s->warmup) / (s->until - s->warmup);

	p = p < 0 ? 0 : p > 1 ? 1 : p;
	switch (s->curve) {
	case SCHED_FLAT: case SCHED_SWEEP:
		break;
	case SCHED_COSINE:
		return s->end + (s->base - s->end) * (1 + cos(PI * p)) / 2;
	case SCHED_POLY:
		return s->end + (s->base - s->end) * pow(1 - p, s->power);
	case SCHED_EXP:
		return s->base * pow(s->power, floor(epoch));
	case SCHED_TRIANGLE:
		return s->end + (s->base - s->end) * fabs(1 - 2 * fmod(epoch / s->until, 1));
	}
	return s->base;
}

float
sched_rate(const struct sched *s, uint64_t step, uint64_t steps, double scale)
{
	double epoch, rate, part;

	assert(steps > 0);
	if (s->curve == SCHED_SWEEP)
		return (float)(s->from * pow(s->end / s->from, (double)step / ((double)s->steps - 1)));
	epoch = (double)step / (double)steps;
	/*
	 * The first step is above the first rate, so that it has an effect; the last step of the
	 * warm-up has the full rate.
	 */
	part = s->warmup > 0 ? ((double)step + 1) / (s->warmup * (double)steps) : 1;
	rate = compute_curve(s, epoch) * scale;
	if (part < 1)
		rate = s->from * (1 - part) + rate * part;
	for (uint32_t i = 0; i < s->n && s->part[i].at <= epoch; i++)
		rate *= s->part[i].factor;
	return (float)rate;
}

bool
sched_within(const struct sched *s)
{
	bool within = s->warmup > 0 || (s->curve != SCHED_FLAT && s->curve != SCHED_EXP && s->curve != SCHED_SWEEP);

	for (uint32_t i = 0; i < s->n; i++)
		within |= s->part[i].at != floor(s->part[i].at);
	return within;
}
