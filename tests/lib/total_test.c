/* total_test - sums over workers: their names, and the answers that a worker that returns may still need. */
#include "tap.h"

#include "base/err.h"
#include "ps/total.h"

#include <string.h>

#define W		2
#define VALIDATION	1	/* a phase before another of the same step */
#define END		2

static double one = 1, two = 2;

static int
add(struct total *t, uint32_t w, uint64_t step, uint32_t phase, const double *v)
{
	return total_add(t, w, step, TOTAL_INDEX(phase, 0), v, 1);
}

/* Whether worker w alone is to get the last sum, v.  It has it then. */
static bool
gets(struct total *t, uint32_t w, double v)
{
	const bool alone = t->due[w] == TOTAL_DUE && t->due[1 - w] != TOTAL_DUE && t->last.sum[0] == v;

	t->due[w] = TOTAL_NOT_DUE;
	return alone;
}

int
main(void)
{
	struct total_kept kept = { 0 };
	struct memory m = { .fd = -1 };
	struct total t, next;

	is(total_init(&t, W), 0, "sums of two workers are made");
	total_attach(&t, &m, &kept);
	is(add(&t, 0, 7, VALIDATION, &one), 0, "the sum of a validation opens");
	ok(t.due[0] == TOTAL_WAITS && t.open, "a sum waits for the other worker");
	is(add(&t, 1, 7, END, &two), ERR_FORMAT, "the sum of another phase is not mixed with that of the validation: %s", err_line());
	ok(!t.here[1] && t.open, "the refused number is not added");
	is(add(&t, 1, 7, VALIDATION, &two), 0, "the validation's second number is added");
	ok(t.due[0] == TOTAL_DUE && t.due[1] == TOTAL_DUE && t.last.sum[0] == 3, "both workers get the sum of their numbers");
	t.due[0] = t.due[1] = TOTAL_NOT_DUE;
	is(add(&t, 1, 7, END, &two), 0, "the next phase of the same step opens a sum of its own");
	is(add(&t, 0, 7, VALIDATION, &one), 0, "worker 0 was started again and requests the closed sum");
	ok(gets(&t, 0, 3) && t.open && !t.here[0], "a sum that has closed stays answerable while the next one is open");
	is(total_init(&next, W), 0, "another server follows");
	total_attach(&next, &m, &kept);
	is(add(&next, 0, 7, VALIDATION, &one), 0, "the server after it is asked for the closed sum");
	ok(gets(&next, 0, 3), "a closed sum is answerable by the next server, as it is kept before it is answered");
	is(add(&next, 0, 6, END, &one), 0, "an older sum is requested");
	ok(next.due[0] == TOTAL_NOT_DUE && !next.open, "an older sum opens no sum and has no answer");
	total_free(&next);
	total_free(&t);
	return done();
}
