/* score - rank, loss and top classes from a net's probabilities of a sample. */
#include "engine/score.h"

#include <math.h>

#define LEAST 1e-37f

size_t
score_rank(const float *p, size_t classes, size_t y)
{
	size_t before = 0;

	for (size_t k = 0; k < classes; k++)
		before += !(p[k] < p[y] || (p[k] == p[y] && k >= y));
	return before;
}

double
score_loss(float p)
{
	return -log((double)(p < LEAST ? LEAST : p));
}

double
score_targets(enum graph_loss loss, const float *p, const float *target, size_t n, bool *right)
{
	double sum = 0;

	*right = loss == GRAPH_LOSS_SIGMOID;
	for (size_t k = 0; k < n; k++) {
		double t = target[k];

		if (isnan(t))
			continue;
		sum += loss == GRAPH_LOSS_SQUARED ? (p[k] - t) * (p[k] - t) :
		    t * score_loss(p[k]) + (1 - t) * score_loss(1 - p[k]);
		*right &= t >= 0.5 ? p[k] >= 0.5f : p[k] < 0.5f;
	}
	return sum / (double)n;
}

static bool
is_score_better(float a, float b)
{
	return a > b || (isnan(b) && !isnan(a));
}

void
score_top(const float *p, uint32_t classes, uint32_t top, uint32_t *order)
{
	uint32_t n = 0;

	for (uint32_t c = 0; c < classes; c++) {
		uint32_t at;

		if (n == top && !is_score_better(p[c], p[order[n - 1]]))
			continue;
		at = n < top ? n++ : n - 1;
		for (; at > 0 && is_score_better(p[c], p[order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = c;
	}
}
