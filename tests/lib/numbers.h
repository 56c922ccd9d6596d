/* numbers - a batch's samples as numbers, for the tests that compare them. */
#ifndef TESTS_LIB_NUMBERS_H
#define TESTS_LIB_NUMBERS_H

#include "batch/samples.h"

#include <stdlib.h>

/* x [n,c,h,w], lent until the call after the next. */
static const float *
numbers(const struct samples *s)
{
	static float *x[2];
	static int turn;

	turn = !turn;
	free(x[turn]);
	x[turn] = calloc((size_t)s->n * s->c * s->h * s->w + 1, sizeof(**x));
	samples_f32(s, 0, s->n, x[turn]);
	return x[turn];
}

#endif
