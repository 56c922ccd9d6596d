/*
 * train_balance - the batch of each worker, which may follow the speeds of the workers: serves train.
 *
 * All workers give their times to a sum over the workers (ps/total.h) before the same step, and all compute the same
 * batches from its answer.  So they need no message of their own, and a successor gets the answer as that of any sum.
 */
#include "train/train_in.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define LOOK	10	/* least steps between two comparisons */
#define SKIP	2	/* steps that are not measured: other batches need other kernels */
#define LEAST_S	1.0	/* least time that is measured before batches change */
#define EVERY_S	10.0	/* from one comparison to the next */

/* All micro-batches of a worker have the size of its batch. */
static void
set_sizes(struct train *t)
{
	for (size_t p = 0; p < (size_t)t->o->accumulate * t->o->ps.nworkers; p++)
		t->sizes[p] = t->batches[p / t->o->accumulate];
}

int
train_open_batches(struct train *t)
{
	const struct train_opt *o = t->o;

	if (o->batches == NULL && o->balance == NULL)
		return 0;
	t->batches = calloc(o->ps.nworkers, sizeof(*t->batches));
	t->sizes = calloc((size_t)o->accumulate * o->ps.nworkers, sizeof(*t->sizes));
	if (t->batches == NULL || t->sizes == NULL)
		return err_nomem();
	for (uint32_t w = 0; w < o->ps.nworkers; w++)
		t->batches[w] = o->batches != NULL ? o->batches[w] : o->data.batch;
	set_sizes(t);
	return 0;
}

int
train_tell_batches(struct train *t, bool change)
{
	struct buf text = { 0 };
	int e = 0;

	if (t->o->balance != NULL && (e = balance_put_change(&text, t->batches, t->o->ps.nworkers, t->step)) == 0)
		train_tell(t, &(struct train_event){ .kind = TRAIN_BATCHES, .batch = change, .text = (char *)text.p });
	buf_free(&text);
	return e;
}

void
train_join_batches(struct train *t)
{
	const struct train_opt *o = t->o;
	const uint32_t *batch;

	if (o->balance == NULL)
		return;
	t->balance = (struct train_balance){ .next = t->first + LOOK, .skip = SKIP };
	if ((batch = balance_at(o->balance, t->step)) != NULL)
		memcpy(t->batches, batch, o->ps.nworkers * sizeof(*batch));
	else
		kept_find_batches(t->kept, t->step, &t->balance.next, t->batches, o->ps.nworkers);
	set_sizes(t);
}

static void
use_batches(struct train *t)
{
	set_sizes(t);
	t->balance = (struct train_balance){ .next = t->balance.next, .skip = SKIP };
}

void
train_count_time(struct train *t, double seconds, double waited_s, double samples)
{
	struct train_balance *b = &t->balance;

	if (b->skip > 0) {
		b->skip--;
		return;
	}
	b->steps++;
	b->all_s += seconds;
	b->own_s += seconds - waited_s;
	b->samples += samples;
}

/* Nanoseconds from 1 to most as a whole number. */
static double
round_time(double s, double most)
{
	return fmin(fmax(rint(s * 1e9), 1), most);
}

/* Sets v to the times of all workers for a sample, 0: not known, and after them to that of worker 0 for a step. */
static int
compare_times(struct train *t, double *v)
{
	const struct train_balance *b = &t->balance;
	const uint32_t n = t->o->ps.nworkers;

	if (b->all_s >= LEAST_S && b->samples > 0)
		v[t->o->ps.rank] = round_time(b->own_s / b->samples, BALANCE_SAMPLE);
	if (t->o->ps.rank == 0 && b->steps > 0)
		v[n] = round_time(b->all_s / (double)b->steps, 0x1p52);
	return train_sum(t, TRAIN_BALANCES, v, n + 1);
}

static int
balance_by_times(struct train *t)
{
	const uint32_t n = t->o->ps.nworkers;
	uint64_t ns[BALANCE_WORKERS], steps = LOOK;
	uint32_t most[BALANCE_WORKERS];
	double v[BALANCE_WORKERS + 1] = { 0 }, wait_s = EVERY_S;
	bool changes;

	if (t->step < t->balance.next)
		return 0;
	ERR_TRY(compare_times(t, v));
	for (uint32_t w = 0; w < n; w++) {
		ns[w] = (uint64_t)v[w];
		most[w] = BALANCE_TIMES * (t->o->batches != NULL ? t->o->batches[w] : t->o->data.batch);
		wait_s = ns[w] > 0 ? wait_s : LEAST_S;
	}
	changes = wait_s > LEAST_S && balance_divide(ns, most, n, t->batches);
	if (v[n] > 0 && wait_s * 1e9 > LOOK * v[n])
		steps = (uint64_t)(wait_s * 1e9 / v[n]);
	t->balance.next = t->step + steps;
	/* If this worker dies in between, the log has the change twice, and never lacks it. */
	if (changes)
		ERR_TRY(train_tell_batches(t, true));
	kept_put_batches(t->kept, t->step, t->balance.next, t->batches, n);
	if (changes)
		use_batches(t);
	else if (wait_s > LEAST_S)
		t->balance = (struct train_balance){ .next = t->balance.next };
	return changes;
}

int
train_balance(struct train *t)
{
	const size_t size = t->o->ps.nworkers * sizeof(*t->batches);
	const uint32_t *batch;

	if (t->o->balance == NULL)
		return 0;
	if (t->o->balance->n == 0)
		return balance_by_times(t);
	batch = balance_at(t->o->balance, t->step);
	if (batch == NULL || memcmp(batch, t->batches, size) == 0)
		return 0;
	memcpy(t->batches, batch, size);
	ERR_TRY(train_tell_batches(t, true));
	use_batches(t);
	return 1;
}
