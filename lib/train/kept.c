/* kept - what a worker leaves to its successor, in a memory that outlives it. */
#include "train/kept.h"
#include "base/err.h"

#include <assert.h>
#include <string.h>

#define NO_JOB_YET	1u	/* the job of a memory for which there is room */

/* Numbers that name a step are 1 + the step; 0: none. */
struct kept_page {
	_Atomic uint64_t job;
	_Atomic uint64_t since;		/* the bits of a double */
	_Atomic uint64_t began;
	_Atomic uint64_t parting;
	_Atomic uint64_t warned;	/* enum kept_warning, added */
	_Atomic uint64_t told;		/* the newest step << KEPT_KINDS | the kinds of events at it */
	struct {
		_Atomic uint64_t  step;
		struct kept_place place;
	} record[2];			/* places of the newest two steps */
	struct {
		_Atomic uint64_t step;
		double		 v[KEPT_NUMBERS];
	} sum[KEPT_PHASES][2];		/* answers at even and odd steps */
	struct {
		_Atomic uint64_t step;
		uint64_t	 next;
		uint32_t	 batch[KEPT_NUMBERS];
	} batches[2];			/* from the newest two steps at which they could change */
};

/* Places the parts, or only measures them if base is NULL.  Returns the size. */
static size_t
lay_out_memory(void *base, size_t rest, struct kept *k)
{
	size_t at = 0;

	k->page = memory_place(base, &at, sizeof(*k->page));
	k->rest = rest > 0 ? memory_place(base, &at, rest) : NULL;
	return at;
}

int
kept_reserve(struct memory *m, size_t rest)
{
	struct kept none;
	int e = memory_resize(m, lay_out_memory(NULL, rest, &none));
	struct kept_page *page = m->base;

	if (e == 0 && page->job == 0)
		memory_store_number(m, &page->job, NO_JOB_YET);
	return e;
}

int
kept_open(struct kept *k, struct memory *m, uint64_t job, size_t rest)
{
	int e = kept_reserve(m, rest);

	*k = (struct kept){ .memory = m };
	if (e < 0)
		return e;
	lay_out_memory(m->base, rest, k);
	job = job <= NO_JOB_YET ? NO_JOB_YET + 1 : job;
	if (k->page->job != NO_JOB_YET && k->page->job != job)
		return err_fail(ERR_ARG, "the worker's state is another run's; remove it");
	memory_store_number(m, &k->page->job, job);
	k->told = k->page->told;
	return 0;
}

static bool
has_page(const struct kept *k)
{
	return k != NULL && k->page != NULL;
}

double
kept_since(struct kept *k, double now)
{
	uint64_t bits;

	if (!has_page(k))
		return now;
	memcpy(&bits, &now, sizeof(bits));
	if (k->page->since == 0)
		memory_store_number(k->memory, &k->page->since, bits);
	bits = k->page->since;
	memcpy(&now, &bits, sizeof(now));
	return now;
}

/* The index of the record of a step, or -1. */
static int
find_record(const struct kept *k, uint64_t step)
{
	for (int i = 0; i < 2; i++)
		if (k->page->record[i].step == 1 + step)
			return i;
	return -1;
}

void
kept_put(struct kept *k, uint64_t step, const struct kept_place *p)
{
	unsigned at;

	/*
	 * The servers may have closed a step that is repeated.  A worker that dies while it stores its figures again
	 * would have none for the step at which its successor goes on.
	 */
	if (!has_page(k) || find_record(k, step) >= 0)
		return;
	at = k->page->record[1].step < k->page->record[0].step;
	memory_store_number(k->memory, &k->page->record[at].step, 0);
	k->page->record[at].place = *p;
	memory_report_change(k->memory, &k->page->record[at].place, sizeof(*p));
	memory_store_number(k->memory, &k->page->record[at].step, 1 + step);
}

bool
kept_find(const struct kept *k, uint64_t step, struct kept_place *p)
{
	int at = has_page(k) ? find_record(k, step) : -1;

	if (at < 0)
		return false;
	*p = k->page->record[at].place;
	return true;
}

bool
kept_newest(const struct kept *k, uint64_t *step, struct kept_place *p)
{
	unsigned at;

	if (!has_page(k))
		return false;
	at = k->page->record[1].step > k->page->record[0].step;
	if (k->page->record[at].step == 0)
		return false;
	*step = k->page->record[at].step - 1;
	*p = k->page->record[at].place;
	return true;
}

void
kept_begin(struct kept *k, uint64_t step, const struct kept_place *p)
{
	if (!has_page(k))
		return;
	kept_put(k, step, p);
	memory_store_number(k->memory, &k->page->began, 1 + step);
}

bool
kept_began(const struct kept *k, uint64_t *step)
{
	if (!has_page(k) || k->page->began == 0)
		return false;
	*step = k->page->began - 1;
	return true;
}

void
kept_put_sum(struct kept *k, uint64_t step, uint32_t phase, const double *v, uint32_t n)
{
	const unsigned at = step % 2;

	assert(phase < KEPT_PHASES && n <= KEPT_NUMBERS);
	if (!has_page(k))
		return;
	memory_store_number(k->memory, &k->page->sum[phase][at].step, 0);
	memcpy(k->page->sum[phase][at].v, v, n * sizeof(*v));
	memory_report_change(k->memory, k->page->sum[phase][at].v, n * sizeof(*v));
	memory_store_number(k->memory, &k->page->sum[phase][at].step, 1 + step);
}

bool
kept_find_sum(const struct kept *k, uint64_t step, uint32_t phase, double *v, uint32_t n)
{
	const unsigned at = step % 2;

	assert(phase < KEPT_PHASES && n <= KEPT_NUMBERS);
	if (!has_page(k) || k->page->sum[phase][at].step != 1 + step)
		return false;
	if (n > 0)
		memcpy(v, k->page->sum[phase][at].v, n * sizeof(*v));
	return true;
}

void
kept_put_batches(struct kept *k, uint64_t step, uint64_t next, const uint32_t *batch, uint32_t n)
{
	unsigned at;

	assert(n <= KEPT_NUMBERS);
	if (!has_page(k) || k->page->batches[0].step == 1 + step || k->page->batches[1].step == 1 + step)
		return;
	at = k->page->batches[1].step < k->page->batches[0].step;
	memory_store_number(k->memory, &k->page->batches[at].step, 0);
	k->page->batches[at].next = next;
	memcpy(k->page->batches[at].batch, batch, n * sizeof(*batch));
	memory_report_change(k->memory, &k->page->batches[at], sizeof(k->page->batches[at]));
	memory_store_number(k->memory, &k->page->batches[at].step, 1 + step);
}

bool
kept_find_batches(const struct kept *k, uint64_t step, uint64_t *next, uint32_t *batch, uint32_t n)
{
	unsigned at;

	assert(n <= KEPT_NUMBERS);
	if (!has_page(k))
		return false;
	at = k->page->batches[1].step > k->page->batches[0].step;
	if (k->page->batches[at].step > 1 + step)
		at = !at;
	if (k->page->batches[at].step == 0 || k->page->batches[at].step > 1 + step)
		return false;
	*next = k->page->batches[at].next;
	memcpy(batch, k->page->batches[at].batch, n * sizeof(*batch));
	return true;
}

bool
kept_tell(struct kept *k, uint64_t step, unsigned kind)
{
	uint64_t told, bit;

	assert(kind < KEPT_KINDS);
	if (!has_page(k))
		return true;
	bit = UINT64_C(1) << kind;
	if (step < k->told >> KEPT_KINDS || (step == k->told >> KEPT_KINDS && (k->told & bit) != 0))
		return false;
	told = k->page->told;
	memory_store_number(k->memory, &k->page->told, (step > told >> KEPT_KINDS ? step << KEPT_KINDS : told) | bit);
	return true;
}

uint64_t
kept_last_told(const struct kept *k)
{
	return has_page(k) ? k->told >> KEPT_KINDS : 0;
}

void
kept_warn(struct kept *k, enum kept_warning w)
{
	if (has_page(k))
		memory_store_number(k->memory, &k->page->warned, k->page->warned | w);
}

bool
kept_warned(const struct kept *k, enum kept_warning w)
{
	return has_page(k) && (k->page->warned & w) != 0;
}

void
kept_part(struct kept *k)
{
	if (has_page(k))
		memory_store_number(k->memory, &k->page->parting, 1);
}

bool
kept_parting(const struct kept *k)
{
	return has_page(k) && k->page->parting != 0;
}
