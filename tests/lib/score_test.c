/* score_test - ranks, losses and top classes, with equal probabilities and NaN. */
#include "engine/score.h"
#include "tap.h"

#include <math.h>

/* Whether the classes of score_top() have the ranks 0, 1, 2 and so on. */
static int
agrees(const float *p, uint32_t classes)
{
	for (uint32_t top = 1; top <= classes; top++) {
		uint32_t order[8];

		score_top(p, classes, top, order);
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

	is(score_rank(p, 5, 1), 0, "the most probable class has rank 0");
	is(score_rank(p, 5, 3), 1, "the lower number of equal classes comes first");
	is(score_rank(p, 5, 4), 4, "the last class has rank 4");
	ok(agrees(p, 5), "score_top returns the classes of the lowest ranks");

	is(score_rank(broken, 4, 0), 4, "a class with NaN is after all others");
	is(score_rank(broken, 4, 3), 2, "the sample of a net that has diverged is wrong");
	score_top(broken, 4, 4, order);
	ok(order[0] == 3 && order[1] == 1 && order[2] == 0 && order[3] == 2, "score_top puts NaN last");

	ok(fabs(score_loss(0.25f) - log(4)) < 1e-12, "the loss of 1/4 is log 4");
	ok(score_loss(0) > 85 && score_loss(0) < 86, "the loss of 0 is that of the least probability");
	ok(isnan(score_loss(NAN)), "the loss of NaN is NaN");
	return done();
}
