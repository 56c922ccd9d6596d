/*
 * measure - summary statistics of a tensor, and the difference of two.
 *
 * Sums are in double precision, in the order of the elements, and neither overflow nor vanish.  NaN and infinite
 * elements are counted and left out of everything else.
 */
#ifndef NET_MEASURE_H
#define NET_MEASURE_H

#include "tensor/tensors.h"

struct measure {
	double	 min, max, mean, rms;	/* figures of the finite elements; NaN if there are none */
	uint64_t nonfinite;		/* elements that are NaN or infinite */
};

struct measure_diff {
	double	 max;		/* the largest |a - b| */
	double	 relative;	/* sqrt(sum (a - b)^2 / sum a^2); infinite if a is 0 and b is not */
	uint64_t differ;	/* elements that are not equal; two NaNs count as equal */
};

/* Returns 0, ERR_SYS, ERR_SHORT or ERR_NOMEM. */
int	 measure_tensor(const struct tensors *t, const struct tensor *x, struct measure *m);
/* a and b must have the same number of elements.  Returns as measure_tensor(). */
int	 measure_pair(const struct tensors *ta, const struct tensor *a, const struct tensors *tb,
    const struct tensor *b,
	     struct measure_diff *d);

#endif
