/* epoch_traffic - traffic between a server and its workers, by epoch. */
#include "ps/server/epoch_traffic.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

int
epoch_traffic_init(struct epoch_traffic *l, uint32_t n, uint32_t present)
{
	*l = (struct epoch_traffic){ .n = n, .epoch = EPOCH_TRAFFIC_NONE };
	if ((l->page = calloc(n, sizeof(*l->page))) == NULL)
		return err_nomem();
	for (uint32_t w = 0; w < n; w++)
		l->page[w] = (struct epoch_traffic_worker){ .epoch = EPOCH_TRAFFIC_NONE, .gone = w >= present };
	return 0;
}

void
epoch_traffic_free(struct epoch_traffic *l)
{
	free(l->page);
	*l = (struct epoch_traffic){ 0 };
}

void
epoch_traffic_join(struct epoch_traffic *l, uint32_t w)
{
	struct epoch_traffic_worker *p = &l->page[w];

	memcpy(p->wire, p->now.wire, sizeof(p->wire));
	p->epoch = EPOCH_TRAFFIC_NONE;
	p->gone = false;
}

void
epoch_traffic_wire(struct epoch_traffic *l, uint32_t w, uint64_t in, uint64_t out)
{
	struct epoch_traffic_worker *p = &l->page[w];

	p->now.wire[PEER_TRAFFIC_RECEIVED] = p->wire[PEER_TRAFFIC_RECEIVED] + in;
	p->now.wire[PEER_TRAFFIC_SENT] = p->wire[PEER_TRAFFIC_SENT] + out;
}

bool
epoch_traffic_turn(struct epoch_traffic *l, uint32_t w, uint64_t next, struct peer_traffic *t, uint64_t *epoch)
{
	struct epoch_traffic_worker *p = &l->page[w];

	if (p->gone || (p->epoch != EPOCH_TRAFFIC_NONE && next != EPOCH_TRAFFIC_NONE && next <= p->epoch))
		return false;
	*t = peer_traffic_since(&p->before, &p->now);
	*epoch = next != EPOCH_TRAFFIC_NONE ? p->epoch : EPOCH_TRAFFIC_NONE;
	for (int way = 0; p->epoch != EPOCH_TRAFFIC_NONE && way < PEER_TRAFFIC_WAYS; way++)
		l->sum[way] += peer_traffic_steps(t, (enum peer_traffic_way)way);
	p->before = p->now;
	p->gone = next == EPOCH_TRAFFIC_NONE;
	p->epoch = next;
	return true;
}

bool
epoch_traffic_over(struct epoch_traffic *l, uint64_t *epoch, uint64_t sum[PEER_TRAFFIC_WAYS])
{
	uint64_t least = EPOCH_TRAFFIC_NONE;
	bool first;

	for (uint32_t w = 0; w < l->n; w++) {
		if (l->page[w].gone)
			continue;
		if (l->page[w].epoch == EPOCH_TRAFFIC_NONE)
			return false;
		least = l->page[w].epoch < least ? l->page[w].epoch : least;
	}
	first = l->epoch == EPOCH_TRAFFIC_NONE;
	if (least == EPOCH_TRAFFIC_NONE || (!first && least <= l->epoch))
		return false;
	l->epoch = least;
	if (first)
		return false;
	*epoch = least - 1;
	memcpy(sum, l->sum, sizeof(l->sum));
	memset(l->sum, 0, sizeof(l->sum));
	return true;
}
