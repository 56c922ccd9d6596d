/* ledger - what moves between a server and its workers, by epoch. */
#include "ps/ledger.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

int
ledger_init(struct ledger *l, uint32_t n)
{
	*l = (struct ledger){ .n = n, .epoch = LEDGER_NONE };
	if ((l->page = calloc(n, sizeof(*l->page))) == NULL)
		return err_nomem();
	for (uint32_t w = 0; w < n; w++)
		l->page[w].epoch = LEDGER_NONE;
	return 0;
}

void
ledger_free(struct ledger *l)
{
	free(l->page);
	*l = (struct ledger){ 0 };
}

void
ledger_join(struct ledger *l, uint32_t w)
{
	struct ledger_page *p = &l->page[w];

	memcpy(p->wire, p->now.wire, sizeof(p->wire));
	p->epoch = LEDGER_NONE;
	p->gone = false;
}

void
ledger_wire(struct ledger *l, uint32_t w, uint64_t in, uint64_t out)
{
	struct ledger_page *p = &l->page[w];

	p->now.wire[TOLL_IN] = p->wire[TOLL_IN] + in;
	p->now.wire[TOLL_OUT] = p->wire[TOLL_OUT] + out;
}

bool
ledger_turn(struct ledger *l, uint32_t w, uint64_t next, struct toll *t, uint64_t *epoch)
{
	struct ledger_page *p = &l->page[w];

	if (p->gone || (p->epoch != LEDGER_NONE && next != LEDGER_NONE && next <= p->epoch))
		return false;
	*t = toll_since(&p->before, &p->now);
	*epoch = next != LEDGER_NONE ? p->epoch : LEDGER_NONE;
	for (int way = 0; p->epoch != LEDGER_NONE && way < TOLL_WAYS; way++)
		l->sum[way] += toll_steps(t, (enum toll_way)way);
	p->before = p->now;
	p->gone = next == LEDGER_NONE;
	p->epoch = next;
	return true;
}

bool
ledger_over(struct ledger *l, uint64_t *epoch, uint64_t sum[TOLL_WAYS])
{
	uint64_t least = LEDGER_NONE;
	bool first;

	for (uint32_t w = 0; w < l->n; w++) {
		if (l->page[w].gone)
			continue;
		if (l->page[w].epoch == LEDGER_NONE)
			return false;
		least = l->page[w].epoch < least ? l->page[w].epoch : least;
	}
	first = l->epoch == LEDGER_NONE;
	if (least == LEDGER_NONE || (!first && least <= l->epoch))
		return false;
	l->epoch = least;
	if (first)
		return false;
	*epoch = least - 1;
	memcpy(sum, l->sum, sizeof(l->sum));
	memset(l->sum, 0, sizeof(l->sum));
	return true;
}
