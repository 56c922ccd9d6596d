/* wire_due - when each connection has something to do: serves wire. */
#include "law/sim/wire_in.h"
#include "law/sim/sys.h"

#include <stdlib.h>

static bool
precedes(const struct wire_due *a, const struct wire_due *b)
{
	return a->at < b->at || (a->at == b->at && a->wire < b->wire);
}

static void
sink_due(size_t i)
{
	struct wire_due *d = wires.due;

	for (size_t least = i;; i = least) {
		for (size_t child = 2 * i + 1; child < wires.ndue && child <= 2 * i + 2; child++)
			least = precedes(&d[child], &d[least]) ? child : least;
		if (least == i)
			return;
		struct wire_due x = d[i];

		d[i] = d[least];
		d[least] = x;
	}
}

static void
add_due(struct wire_due x)
{
	size_t i = wires.ndue++;

	if (i == wires.room) {
		wires.room = 2 * i + 64;
		if ((wires.due = __real_realloc(wires.due, wires.room * sizeof(*wires.due))) == NULL)
			abort();
	}
	for (; i > 0 && precedes(&x, &wires.due[(i - 1) / 2]); i = (i - 1) / 2)
		wires.due[i] = wires.due[(i - 1) / 2];
	wires.due[i] = x;
}

void
wire_due_add(struct wire *w, uint64_t at)
{
	if (at >= w->due)
		return;
	w->due = at;
	add_due((struct wire_due){ at, w });
}

struct wire *
wire_due_take(void)
{
	while (wires.ndue > 0 && wires.due[0].at <= sim_now()) {
		const struct wire_due x = wires.due[0];

		wires.due[0] = wires.due[--wires.ndue];
		sink_due(0);
		if (x.wire->used && x.at == x.wire->due) {
			x.wire->due = SIM_NEVER;
			return x.wire;
		}
	}
	return NULL;
}

uint64_t
wire_next(void)
{
	return wires.ndue > 0 ? wires.due[0].at : SIM_NEVER;
}
