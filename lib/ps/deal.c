/* deal - which worker of an elastic job computes which batch. */
#include "ps/deal.h"

#include <string.h>

#define AHEAD	3u	/* batches of each worker that may be begun before it hears of a change, and one more */

static uint64_t
get_end(const struct deal *d, uint64_t i)
{
	return i + 1 < d->n ? d->change[i + 1].from : DEAL_NONE;
}

bool
deal_add(struct deal *d, uint64_t from, uint32_t workers)
{
	if (workers == 0 || (d->n > 0 && from <= d->change[d->n - 1].from))
		return false;
	if (d->n == DEAL_CHANGES) {
		memmove(d->change, d->change + 1, (DEAL_CHANGES - 1) * sizeof(d->change[0]));
		d->change[0].from = 0;	/* for a worker that is as far behind */
		d->n--;
	}
	d->change[d->n++] = (struct deal_change){ from, workers };
	return true;
}

/* Workers that joined with the last change begin there, before any of their batches is done. */
void
deal_decide(struct deal *d, uint64_t done, uint32_t workers)
{
	const struct deal_change *last = &d->change[d->n - 1];
	uint64_t most = last->workers, begun = last->from + last->workers;

	if (d->n > 1 && last[-1].workers > most)
		most = last[-1].workers;
	deal_add(d, (done > begun ? done : begun) + AHEAD * most, workers);
}

uint32_t
deal_workers(const struct deal *d)
{
	return d->n > 0 ? (uint32_t)d->change[d->n - 1].workers : 0;
}

uint64_t
deal_since(const struct deal *d, uint32_t rank)
{
	uint64_t i = d->n;

	while (i > 0 && rank < d->change[i - 1].workers)
		i--;
	return i < d->n ? d->change[i].from : DEAL_NONE;
}

uint64_t
deal_next(const struct deal *d, uint32_t rank, uint64_t at, uint32_t *workers)
{
	for (uint64_t i = 0; i < d->n; i++) {
		uint64_t n = d->change[i].workers, from = at > d->change[i].from ? at : d->change[i].from, k;

		if (rank >= n || get_end(d, i) <= from)
			continue;
		k = from + (rank + n - from % n) % n;
		*workers = (uint32_t)n;
		if (k < get_end(d, i))
			return k;
	}
	return DEAL_NONE;
}
