/* batch_micro_test - workers divide each step's records, and read each record once an epoch. */
#include "batches.h"
#include "numbers.h"
#include "tap.h"

/* The batches of several workers are the micro-batches of one worker. */
static void
test_cut(uint32_t workers, uint32_t batch)
{
	struct batch_opt o = { .path = batches_rec, .batch = batch, .aug = { .c = 3, .h = 8, .w = 8, .seed = 4 }, .shuffle = true,
		.micros = workers, .my_micros = workers };
	struct batch_reader *whole = batches_open(&o), *part[8];
	int seen[BATCHES_N] = { 0 }, same = 1, once = 1, even = 1;
	const struct batch *a, *b;

	for (uint32_t w = 0; w < workers; w++) {
		struct batch_opt mine = o;

		mine.first_micro = w;
		mine.my_micros = 1;
		part[w] = batches_open(&mine);
		batch_start(part[w], 3, 0);
	}
	batch_start(whole, 3, 0);
	for (uint64_t step = 0; step < batch_steps(whole); step++) {
		uint32_t least = UINT32_MAX, most = 0;

		for (uint32_t w = 0; w < workers; w++) {
			same &= batch_next(whole, &a) == 1 && batch_next(part[w], &b) == 1;
			same &= a->s.n == b->s.n && a->step == step && b->step == step;
			same &= memcmp(numbers(&a->s), numbers(&b->s), (size_t)a->s.n * 3 * 8 * 8 * 4) == 0;
			for (uint32_t i = 0; i < a->s.n; i++) {
				same &= a->id[i] == b->id[i] && a->s.y[i] == b->s.y[i];
				seen[a->id[i] - 1000]++;
			}
			least = a->s.n < least ? a->s.n : least;
			most = a->s.n > most ? a->s.n : most;
		}
		even &= most - least <= 1;
	}
	same &= batch_next(whole, &a) == 0;
	for (uint32_t w = 0; w < workers; w++) {
		same &= batch_next(part[w], &b) == 0;
		batch_close(part[w]);
	}
	for (int i = 0; i < BATCHES_N; i++)
		once &= seen[i] == 1;
	batch_close(whole);
	ok(same, "%u workers of batch %u read what one worker with as many micro-batches reads", workers, batch);
	ok(once, "%u workers of batch %u read each record once", workers, batch);
	ok(even, "%u workers of batch %u divide the last step evenly", workers, batch);
}

/* Workers with different batches: steps of 7 + 2 + 11 = 20 records; the last step has one. */
static void
test_sizes(uint64_t limit, const char *want)
{
	static const uint32_t sizes[] = { 7, 2, 11 };
	char got[256] = "";
	int seen[BATCHES_N] = { 0 }, once = 1;
	const struct batch *b;

	for (uint32_t w = 0; w < 3; w++) {
		struct batch_opt o = { .path = batches_rec, .batch = sizes[w], .sizes = sizes, .aug = { .c = 3, .h = 8, .w = 8, .seed = 4 },
			.shuffle = true, .micros = 3, .first_micro = w, .my_micros = 1, .limit = limit };
		struct batch_reader *r = batches_open(&o);

		batch_start(r, 1, 0);
		while (batch_next(r, &b) == 1) {
			snprintf(got + strlen(got), sizeof(got) - strlen(got), " %u", b->s.n);
			for (uint32_t i = 0; i < b->s.n; i++)
				seen[b->id[i] - 1000]++;
		}
		batch_close(r);
	}
	is_str(got, want, "%u records are divided among workers of 7, 2 and 11", (unsigned)limit);
	for (uint64_t i = 0; i < BATCHES_N; i++)
		once &= seen[i] == (i < limit ? 1 : 0);
	ok(once, "workers of 7, 2 and 11 read each record once");
}

/* After the first step the sizes are others with the same sum. */
static void
test_changed_sizes(void)
{
	char got[256] = "";
	int seen[BATCHES_N] = { 0 }, once = 1;

	for (uint32_t w = 0; w < 2; w++) {
		uint32_t sizes[] = { 8, 8 };
		struct batch_opt o = { .path = batches_rec, .batch = 13, .sizes = sizes, .aug = { .c = 3, .h = 8, .w = 8, .seed = 4 },
			.shuffle = true, .micros = 2, .first_micro = w, .my_micros = 1, .limit = 40 };
		struct batch_reader *r = batches_open(&o);
		const struct batch *b;

		batch_start(r, 1, 0);
		while (batch_next(r, &b) == 1) {
			snprintf(got + strlen(got), sizeof(got) - strlen(got), " %u", b->s.n);
			for (uint32_t i = 0; i < b->s.n; i++)
				seen[b->id[i] - 1000]++;
			if (b->step == 0) {
				sizes[0] = 13;
				sizes[1] = 3;
				batch_start(r, 1, 1);
			}
		}
		batch_close(r);
	}
	is_str(got, " 8 13 6 8 3 2", "40 records are divided among workers of 8 and 8, then of 13 and 3");
	for (uint64_t i = 0; i < BATCHES_N; i++)
		once &= seen[i] == (i < 40 ? 1 : 0);
	ok(once, "workers whose sizes change read each record once");
}

static void
test_no_sizes(void)
{
	struct batch_opt o = { .path = batches_rec, .batch = 6, .sizes = (const uint32_t[]){ 7, 2 }, .aug = { .c = 3, .h = 8, .w = 8 },
		.micros = 2, .my_micros = 1 };
	struct batch_reader *r;

	is(batch_open(&o, &r), ERR_ARG, "a worker's batch above the batch is refused");
	o.sizes = (const uint32_t[]){ 6, 0 };
	is(batch_open(&o, &r), ERR_ARG, "an empty batch is refused");
}

/* 101 records and steps of 20: an epoch has 5 steps and leaves out one record, another in another epoch. */
static void
test_drop_last(void)
{
	struct batch_opt o = { .path = batches_rec, .batch = 10, .aug = { .c = 3, .h = 8, .w = 8, .seed = 4 }, .shuffle = true,
		.micros = 2, .my_micros = 2, .drop_last = true };
	struct batch_reader *r = batches_open(&o);
	int full = 1, left[2] = { -1, -1 };
	const struct batch *b;

	is(batch_steps(r), 5, "drop_last: an epoch ends with the last full step");
	is(batch_records(r), BATCHES_N - 1, "drop_last: an epoch has the records of its steps");
	for (uint64_t epoch = 0; epoch < 2; epoch++) {
		int seen[BATCHES_N] = { 0 }, twice = 0, none = 0;

		batch_start(r, epoch, 0);
		while (batch_next(r, &b) == 1) {
			full &= b->s.n == 10;
			for (uint32_t i = 0; i < b->s.n; i++)
				seen[b->id[i] - 1000]++;
		}
		for (int i = 0; i < BATCHES_N; i++) {
			twice += seen[i] > 1;
			none += seen[i] == 0;
			left[epoch] = seen[i] == 0 ? i : left[epoch];
		}
		ok(twice == 0 && none == 1, "drop_last: epoch %d has each record once, but for the one left out", (int)epoch);
	}
	ok(full, "drop_last: all micro-batches are full");
	ok(left[0] != left[1], "drop_last: another epoch leaves out another record");
	batch_close(r);
	o.batch = 51;
	is(batch_open(&o, &r), ERR_ARG, "drop_last: fewer records than a step are refused");
}

int
main(void)
{
	batches_make();
	test_cut(1, 10);
	test_cut(2, 10);
	test_cut(3, 7);
	test_cut(8, 16);
	test_cut(7, 1);
	test_sizes(40, " 7 7 2 2 11 11");
	test_sizes(47, " 7 7 2 2 2 1 11 11 4");
	test_changed_sizes();
	test_no_sizes();
	test_drop_last();
	pics_clean();
	return done();
}
