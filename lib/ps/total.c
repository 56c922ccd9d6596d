/* total - a few numbers summed over all workers, in the order of ranks. */
#include "ps/total.h"
#include "base/err.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int
total_init(struct total *t, uint32_t nworkers)
{
	*t = (struct total){ .nworkers = nworkers };
	t->part = calloc(nworkers, TOTAL_MOST * sizeof(*t->part));
	t->here = calloc(nworkers, sizeof(*t->here));
	t->gone = calloc(nworkers, sizeof(*t->gone));
	t->due = calloc(nworkers, sizeof(*t->due));
	if (t->part != NULL && t->here != NULL && t->gone != NULL && t->due != NULL)
		return 0;
	total_free(t);
	return err_nomem();
}

void
total_free(struct total *t)
{
	free(t->part);
	free(t->here);
	free(t->gone);
	free(t->due);
	*t = (struct total){ 0 };
}

void
total_attach(struct total *t, const struct memory *m, struct total_kept *kept)
{
	int half = memory_half(&kept->word);

	t->memory = m;
	t->kept = kept;
	t->any = half >= 0;
	if (!t->any)
		return;
	t->last = kept->record[half];
	t->last.name.n = t->last.name.n < TOTAL_MOST ? t->last.name.n : TOTAL_MOST;
}

static void
keep_sum(const struct total *t)
{
	unsigned to = memory_other(&t->kept->word);
	struct total_record *r = &t->kept->record[to];

	*r = t->last;
	memory_report_change(t->memory, r, sizeof(*r));
	memory_publish(t->memory, &t->kept->word, to);
}

/* Adds the parts once every worker that has not left gave its own. */
static void
close_complete_sum(struct total *t)
{
	bool any = false;

	for (uint32_t w = 0; w < t->nworkers; w++) {
		if (!t->here[w] && !t->gone[w])
			return;
		any |= t->here[w];
	}
	if (!t->open || !any)
		return;
	t->last = (struct total_record){ .name = t->now };
	for (uint32_t w = 0; w < t->nworkers; w++) {
		const double *p = t->part + (size_t)w * TOTAL_MOST;

		for (uint32_t i = 0; t->here[w] && i < t->now.n; i++)
			t->last.sum[i] += p[i];
		t->here[w] = false;
		t->due[w] = t->due[w] == TOTAL_WAITS ? TOTAL_DUE : t->due[w];
	}
	t->open = false;
	t->any = true;
	keep_sum(t);
}

static bool
is_same(const struct total_name *a, const struct total_name *b)
{
	return a->step == b->step && a->index == b->index;
}

static bool
is_later(const struct total_name *a, const struct total_name *b)
{
	return a->step > b->step || (a->step == b->step && a->index > b->index);
}

int
total_add(struct total *t, uint32_t w, uint64_t step, uint32_t index, const void *v, uint32_t n)
{
	const struct total_name name = { step, index, n };
	const bool last = t->any && is_same(&name, &t->last.name), now = t->open && is_same(&name, &t->now);

	if (n > TOTAL_MOST || (last && n != t->last.name.n) || (now && n != t->now.n))
		return err_fail(ERR_FORMAT, "a sum of %" PRIu32 " numbers", n);
	if (last)
		t->due[w] = TOTAL_DUE;
	if (last || (t->any && !is_later(&name, &t->last.name)))
		return 0;
	if (t->open && !now)
		return err_fail(ERR_FORMAT, "sum %" PRIu64 ".%" PRIu32 " is requested before %" PRIu64 ".%" PRIu32
		    " is complete", step, index, t->now.step, t->now.index);
	t->open = true;
	t->now = name;
	t->due[w] = TOTAL_WAITS;
	if (n > 0)
		memcpy(t->part + (size_t)w * TOTAL_MOST, v, n * sizeof(double));
	t->here[w] = true;
	close_complete_sum(t);
	return 0;
}

void
total_leave(struct total *t, uint32_t w)
{
	t->gone[w] = true;
	t->due[w] = TOTAL_NOT_DUE;
	close_complete_sum(t);
}

void
total_join(struct total *t, uint32_t w)
{
	t->gone[w] = false;
	t->due[w] = TOTAL_NOT_DUE;
}
