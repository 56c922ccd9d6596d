/*
 * measure - the numbers of a tensor, as a few numbers.
 *
 * Sums are taken in double precision in the order of the elements; those that
 * are not finite are counted and left out of all else.
 */
#ifndef NET_MEASURE_H
#define NET_MEASURE_H

#include "tensor/tensors.h"

struct measure {
	double	 min, max, mean, rms;	/* of the finite elements; 0 when there is none */
	uint64_t odd;			/* elements that are not finite */
};

struct measure_diff {
	double	 max;		/* the largest |a - b| */
	double	 relative;	/* sqrt(sum (a - b)^2 / sum a^2); infinite when a is 0 and b is not */
	uint64_t differ;	/* elements that are not equal; two that are not numbers count as equal */
};

/* Each returns 0, ERR_SYS, ERR_SHORT or ERR_NOMEM. */
int	 measure_tensor(const struct tensors *t, const struct tensor *x, struct measure *m);
/* Tensors of the same number of elements. */
int	 measure_pair(const struct tensors *ta, const struct tensor *a, const struct tensors *tb, const struct tensor *b,
	     struct measure_diff *d);

#endif
