/*
 * staleness - how many updates gradients were behind.
 *
 * These are the updates of a slice by others between the weights that a gradient was computed from and its arrival.
 * Counts below STALENESS_EXACT have a bin of their own; above, the bins double.  Threads: no state.
 */
#ifndef PS_STALENESS_H
#define PS_STALENESS_H

#include <stdint.h>

#define STALENESS_EXACT	32u
#define STALENESS_BINS	59u

struct staleness {
	uint64_t n, sum;		/* number of gradients, and of the updates that all together were behind */
	uint32_t least, most;		/* the fewest and the most updates that one was behind, if n > 0 */
	uint64_t bin[STALENESS_BINS];	/* gradients in each bin */
};

void	 staleness_add(struct staleness *s, uint32_t behind);
/* The bounds of a bin, both within it. */
void	 staleness_bin(uint32_t bin, uint32_t *from, uint32_t *to);

#endif
