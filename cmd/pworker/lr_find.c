/* lr_find - finds a learning rate from the losses of a run whose rate grows with each step. */
#include "pworker/lr_find.h"

#include "base/err.h"
#include "base/grow.h"

#include <math.h>
#include <stdlib.h>

#define LATEST	5	/* steps whose mean loss tells divergence from noise */
#define DIVERGED	4	/* times the lowest mean */

static double
average_losses(const struct lr_find *f, size_t first, size_t n)
{
	double sum = 0;

	for (size_t i = first; i < first + n; i++)
		sum += f->point[i][1];
	return sum / (double)n;
}

int
lr_find_add(struct lr_find *f, double rate, double loss)
{
	double (*p)[2], mean;

	if (!isfinite(loss))
		return 0;
	if ((p = grow_by_one(f->point, f->n, &f->cap, sizeof(*p))) == NULL)
		return ERR_NOMEM;
	f->point = p;
	p[f->n][0] = rate;
	p[f->n++][1] = loss;
	if (f->n < LATEST)
		return 1;
	mean = average_losses(f, f->n - LATEST, LATEST);
	if (f->n == LATEST || mean < f->lowest)
		f->lowest = mean;
	return mean <= DIVERGED * f->lowest;
}

/* The standard deviation of the first n losses. */
static double
measure_noise(const struct lr_find *f, size_t n)
{
	double mean = average_losses(f, 0, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (f->point[i][1] - mean) * (f->point[i][1] - mean);
	return sqrt(sum / (double)n);
}

bool
lr_find_rates(const struct lr_find *f, double *lowest, double *steepest)
{
	size_t side = f->n / 20 + 1, wide = 2 * side + 1, best = 0, steep = 0;
	double least = INFINITY, fall = 0;

	if (f->n < 4 * wide)
		return false;
	for (size_t i = 0; i + wide <= f->n; i++) {
		double loss = average_losses(f, i, wide);

		if (loss < least) {
			least = loss;
			best = i;
		}
	}
	for (size_t i = 0; i + wide <= best; i++) {
		double change = average_losses(f, i + wide, wide) - average_losses(f, i, wide);

		if (change < fall) {
			fall = change;
			steep = i;
		}
	}
	*lowest = f->point[best + side][0];
	*steepest = f->point[steep + wide][0];
	return average_losses(f, 0, wide) - least > measure_noise(f, wide);
}

void
lr_find_free(struct lr_find *f)
{
	free(f->point);
}
