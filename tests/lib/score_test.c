/* score_test - ranks, losses and the first classes, with equals and with what is no number. */
#include "engine/score.h"
#include "tap.h"

#include <math.h>

/* The first classes are those of which the rank is 0, 1, ... */
static int
agrees(const float *p, uint32_t classes)
{
	for (uint32_t top = 1; top <= classes; top++) {
		uint32_t order[8];

		score_top(p, classes, order, top);
		for (uint32_t k = 0; k < top; k++)
			if (score_rank(p, classes, order[k]) != k)
				return 0;
	}
	return 1;
}

int
main(void)
{
	const float p[] = { 0.1f, 0.3f, 0.2f, 0.3f, 0.1f }, broken[] = { NAN, 0.5f, NAN, 0.7f };
	uint32_t order[4];

	is(score_rank(p, 5, 1), 0, "the most probable is first");
	is(score_rank(p, 5, 3), 1, "of equals the lower number comes before");
	is(score_rank(p, 5, 4), 4, "the last");
	ok(agrees(p, 5), "the first classes are those of the lowest ranks");

	is(score_rank(broken, 4, 0), 4, "a class without a number is behind all");
	score_top(broken, 4, order, 4);
	ok(order[0] == 3 && order[1] == 1 && order[2] == 0 && order[3] == 2, "... and behind them in the order");

	ok(fabs(score_loss(0.25f) - log(4)) < 1e-12, "a quarter costs log 4");
	ok(score_loss(0) > 85 && score_loss(0) < 86, "none costs what the least number does");
	ok(isnan(score_loss(NAN)), "and no number, no number");
	return done();
}
