/* sched - the learning rate of a step. */
#include "net/sched.h"
#include "base/err.h"
#include "base/num.h"

#include <assert.h>
#include <string.h>

#define PART 64		/* bytes that a part's text fits, its zero counted */

/* xFACTOR@EPOCH */
static int
parse_part(char *text, struct sched *s)
{
	char *at = strchr(text, '@');
	double factor, epoch, last = s->n == 0 ? 0 : s->part[s->n - 1].at;
	int e;

	if (*text != 'x' || at == NULL)
		return err_fail(ERR_FORMAT, "is not xFACTOR@EPOCH");
	*at = 0;
	if ((e = num_f64(text + 1, 0, 1e6, &factor)) < 0 || (e = num_f64(at + 1, 0, 1e9, &epoch)) < 0)
		return e;
	if (s->n > 0 && epoch <= last)
		return err_fail(ERR_FORMAT, "epoch %g does not come after %g", epoch, last);
	if (s->n == SCHED_PARTS)
		return err_fail(ERR_LIMIT, "is more than %d changes", SCHED_PARTS);
	s->part[s->n].factor = factor;
	s->part[s->n++].at = epoch;
	return 0;
}

/* The parts in their order: perhaps the warm-up, the rate, then changes. */
static int
parse_next(char *text, struct sched *s, int *have_rate)
{
	if (*have_rate)
		return parse_part(text, s);
	if (strncmp(text, "warmup:", 7) == 0 && s->warmup == 0)
		return num_f64(text + 7, 0, 1e9, &s->warmup);
	*have_rate = 1;
	return num_f64(text, 0, 1e6, &s->base);
}

int
sched_parse(const char *text, struct sched *s)
{
	int have_rate = 0, e;
	char part[PART], copy[PART];

	*s = (struct sched){ 0 };
	for (;; text++) {
		size_t n = strcspn(text, ",");

		if (n >= sizeof(part))
			return err_fail(ERR_FORMAT, "'%.64s': a part of more than %d bytes", text, PART - 1);
		memcpy(part, text, n);
		part[n] = 0;
		memcpy(copy, part, n + 1);
		if ((e = parse_next(part, s, &have_rate)) < 0) {
			err_within("'%s'", copy);
			return e;
		}
		text += n;
		if (*text == 0)
			break;
	}
	return have_rate ? 0 : err_fail(ERR_FORMAT, "'%s': no rate follows", copy);
}

float
sched_rate(const struct sched *s, uint64_t step, uint64_t steps)
{
	double epoch, rate = s->base, warm;

	assert(steps > 0);
	epoch = (double)step / (double)steps;
	warm = s->warmup * (double)steps;
	for (uint32_t i = 0; i < s->n && s->part[i].at <= epoch; i++)
		rate *= s->part[i].factor;
	/* The first step is one step up from 0, so that none is lost; the last of the warm-up has the full rate. */
	if ((double)step + 1 < warm)
		rate *= ((double)step + 1) / warm;
	return (float)rate;
}
