/* staleness - how many updates gradients were behind. */
#include "ps/staleness.h"

static uint32_t
find_bin(uint32_t behind)
{
	uint32_t bin = STALENESS_EXACT;

	if (behind < STALENESS_EXACT)
		return behind;
	while (behind >>= 1, behind >= STALENESS_EXACT)
		bin++;
	return bin;
}

void
staleness_add(struct staleness *s, uint32_t behind)
{
	s->least = s->n == 0 || behind < s->least ? behind : s->least;
	s->most = s->n == 0 || behind > s->most ? behind : s->most;
	s->n++;
	s->sum += behind;
	s->bin[find_bin(behind)]++;
}

void
staleness_bin(uint32_t bin, uint32_t *from, uint32_t *to)
{
	*from = *to = bin;
	if (bin < STALENESS_EXACT)
		return;
	*from = STALENESS_EXACT << (bin - STALENESS_EXACT);
	*to = *from + (*from - 1);
}
