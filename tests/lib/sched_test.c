/* sched_test - the rate of a step, and texts that are no schedule. */
#include "base/err.h"
#include "net/optim/sched.h"
#include "tap.h"

static double
rate(const char *text, uint64_t step, uint64_t steps)
{
	struct sched s;

	return sched_parse(text, &s) == 0 ? (double)sched_rate(&s, step, steps, 1) : -1;
}

static bool
within(const char *text)
{
	struct sched s;

	return sched_parse(text, &s) == 0 && sched_within(&s);
}

static void
wrong(const char *text, int e)
{
	struct sched s;

	is(sched_parse(text, &s), e, "refused: '%.40s': %.100s", text, err_line());
}

int
main(void)
{
	const struct sched sweep = { .curve = SCHED_SWEEP, .from = 0.001, .end = 10, .steps = 5 };
	char text[4096] = "0.1";

	near(rate("0.1", 0, 390), 0.1, 1e-8, "a constant");
	near(rate("0.1", 123456, 390), 0.1, 1e-8, "a constant rate stays");
	near(rate("0.1,x0.1@80,x0.5@120", 80 * 390 - 1, 390), 0.1, 1e-8, "up to the last step of epoch 79");
	near(rate("0.1,x0.1@80,x0.5@120", 80 * 390, 390), 0.01, 1e-9, "changed from the first of epoch 80");
	near(rate("0.1,x0.1@80,x0.5@120", 120 * 390, 390), 0.005, 1e-9, "changes multiply");
	near(rate("1,x0.5@0.5", 4, 10), 1, 0, "a change at half an epoch does not apply before");
	near(rate("1,x0.5@0.5", 5, 10), 0.5, 0, "a change at half an epoch applies from there on");
	near(rate("1,x0.5@0.7", 7, 10), 0.5, 0, "fractions that no double holds");
	near(rate("warmup:5,0.4", 0, 10), 0.4 / 50, 1e-9, "the first step of a warm-up is one step up from 0");
	near(rate("warmup:5,0.4", 24, 10), 0.2, 1e-7, "a warm-up is at half its rate half way");
	near(rate("warmup:5,0.4", 49, 10), 0.4, 1e-7, "the last step of a warm-up has the rate");
	near(rate("warmup:5,0.4", 50, 10), 0.4, 1e-7, "the step after a warm-up has the rate");
	near(rate("warmup:2,0.4,x0.5@1", 9, 10), 0.2, 1e-7, "a change inside a warm-up: the steps before have the old rate");
	near(rate("warmup:2,0.4,x0.5@1", 19, 10), 0.2, 1e-7, "a change inside a warm-up: the steps after have the new rate");

	near(rate("0.4,cosine@30", 0, 10), 0.4, 1e-7, "a cosine begins at the rate");
	near(rate("0.4,cosine@30", 150, 10), 0.2, 1e-7, "half way it is at the half");
	near(rate("0.4,cosine@30", 75, 10), 0.4 * (1 + sqrt(0.5)) / 2, 1e-7, "a cosine follows its formula at a quarter of the way");
	near(rate("0.4,cosine:0.1@30", 300, 10), 0.1, 1e-7, "a cosine ends at its last rate");
	near(rate("0.4,cosine:0.1@30", 999, 10), 0.1, 1e-7, "a cosine stays at its last rate");
	near(rate("warmup:10,0.4,linear@30", 49, 10), 0.2, 1e-7, "a triangle of warm-up and decay rises");
	near(rate("warmup:10,0.4,linear@30", 200, 10), 0.2, 1e-7, "a triangle of warm-up and decay falls from the warm-up's end");
	near(rate("1,poly:2@10", 5, 1), 0.25, 1e-7, "a polynomial of power 2 falls as a square");
	near(rate("1,poly:2:0.2@10", 5, 1), 0.4, 1e-7, "a polynomial falls to another end");
	near(rate("1,exp:0.5", 29, 10), 0.25, 1e-7, "an exponential halves the rate in each epoch");
	near(sched_rate(&sweep, 0, 3, 1), 0.001, 1e-9, "a sweep begins at its first rate");
	near(sched_rate(&sweep, 2, 3, 4), 0.1, 1e-7, "a sweep is at the geometric mean half way, whatever the epochs and workers");
	near(sched_rate(&sweep, 4, 3, 1), 10, 1e-5, "a sweep ends at its last rate");
	ok(!sched_within(&sweep), "a sweep needs no steps per epoch");
	near(rate("1,triangle:0.2@4", 0, 10), 1, 1e-7, "a cycle begins above");
	near(rate("1,triangle:0.2@4", 20, 10), 0.2, 1e-7, "a cycle is low in its middle");
	near(rate("1,triangle:0.2@4", 70, 10), 0.6, 1e-7, "a cycle repeats");
	near(rate("1,x0.1@3,cosine@10", 5, 1), 0.05, 1e-7, "changes multiply a curve");
	near(rate("warmup:5:0.1,0.4", 0, 10), 0.1 + 0.3 / 50, 1e-8, "a warm-up from another rate: one step up from it");
	near(rate("warmup:5:0.1,0.4", 49, 10), 0.4, 1e-7, "the last step of the warm-up has the rate");
	near(rate("warmup:5:0.6,0.4", 24, 10), 0.5, 1e-7, "a warm-up may start above the rate");
	near(rate("warmup:0:0.1,0.4", 0, 10), 0.4, 1e-7, "a warm-up of no epochs is none");
	ok(within("warmup:1,1") && within("1,cosine@3") && within("1,x2@0.5") && within("1,triangle:0@2"), "some change within epochs");
	ok(!within("1") && !within("1,x2@3,exp:0.5") && !within("warmup:0,1"), "some do not");
	wrong("warmup:5:,1", ERR_FORMAT);
	wrong("warmup:5:0.1:0.2,1", ERR_FORMAT);
	wrong("warmup:5:-1,1", ERR_LIMIT);
	wrong("1,cosine", ERR_FORMAT);
	wrong("1,cosine:1:2@3", ERR_FORMAT);
	wrong("1,poly@3", ERR_FORMAT);
	wrong("1,exp:0.5@3", ERR_FORMAT);
	wrong("1,cosine@3,linear@4", ERR_FORMAT);
	wrong("warmup:5,1,cosine@5", ERR_FORMAT);
	wrong("1,sine@3", ERR_FORMAT);
	wrong("", ERR_FORMAT);
	wrong("fast", ERR_FORMAT);
	wrong("-1", ERR_LIMIT);
	wrong("1e9", ERR_LIMIT);
	wrong("0.1,", ERR_FORMAT);
	wrong("0.1,0.2", ERR_FORMAT);
	wrong("0.1,x0.1", ERR_FORMAT);
	wrong("0.1,x@3", ERR_FORMAT);
	wrong("0.1,x0.1@", ERR_FORMAT);
	wrong("0.1,x0.1@2,x0.1@2", ERR_FORMAT);
	wrong("0.1,warmup:5", ERR_FORMAT);
	wrong("warmup:5", ERR_FORMAT);
	wrong("warmup:5,warmup:5,1", ERR_FORMAT);
	wrong("0.10000000000000000000000000000000000000000000000000000000000000000000000000000001", ERR_FORMAT);
	for (int i = 1; i <= SCHED_PARTS; i++)
		snprintf(text + strlen(text), 24, ",x0.5@%d", i);
	near(rate(text, SCHED_PARTS - 1, 1), 0.1 * pow(0.5, SCHED_PARTS - 1), 1e-25, "as many changes as there may be are accepted");
	snprintf(text + strlen(text), 24, ",x0.5@%d", SCHED_PARTS + 1);
	wrong(text, ERR_LIMIT);
	return done();
}
