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
	const struct total_record *r;
	int half = memory_half(&kept->word);

	t->memory = m;
	t->kept = kept;
	if (half < 0)
		return;
	r = &kept->record[half];
	t->any = true;
	t->step = r->step;
	t->index = r->index;
	t->n = r->n < TOTAL_MOST ? r->n : TOTAL_MOST;
	memcpy(t->sum, r->sum, sizeof(t->sum));
}

static void
keep_sum(const struct total *t)
{
	unsigned to = memory_other(&t->kept->word);
	struct total_record *r = &t->kept->record[to];

	*r = (struct total_record){ .step = t->step, .index = t->index, .n = t->n };
	memcpy(r->sum, t->sum, sizeof(r->sum));
	memory_stored(t->memory, r, sizeof(*r));
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
	memset(t->sum, 0, sizeof(t->sum));
	for (uint32_t w = 0; w < t->nworkers; w++) {
		const double *p = t->part + (size_t)w * TOTAL_MOST;

		for (uint32_t i = 0; t->here[w] && i < t->n; i++)
			t->sum[i] += p[i];
		t->here[w] = false;
	}
	t->open = false;
	keep_sum(t);
}

int
total_add(struct total *t, uint32_t w, uint64_t step, uint32_t index, const void *v, uint32_t n)
{
	bool same = t->any && step == t->step && index == t->index;
	bool later = !t->any || step > t->step || (step == t->step && index > t->index);

	if (n > TOTAL_MOST || (same && n != t->n))
		return err_fail(ERR_FORMAT, "a sum of %" PRIu32 " numbers", n);
	if (!same && !later)
		return 0;
	if (!same && t->open)
		return err_fail(ERR_FORMAT, "sum %" PRIu64 ".%" PRIu32 " is requested before %" PRIu64 ".%" PRIu32
		    " is complete", step, index, t->step, t->index);
	if (!same) {
		t->any = t->open = true;
		t->step = step;
		t->index = index;
		t->n = n;
	}
	t->due[w] = true;
	if (!t->open)
		return 0;
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
	t->due[w] = false;
	close_complete_sum(t);
}

void
total_join(struct total *t, uint32_t w)
{
	t->gone[w] = false;
	t->due[w] = false;
}
