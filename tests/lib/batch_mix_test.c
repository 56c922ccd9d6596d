/* batch_mix_test - mixtures of samples: partners and shares,
    for any division of the epoch and any number of threads. */
#include "batches.h"
#include "tap.h"

#include <math.h>

#define SIZE	(3 * 8 * 8)

static const struct batch_opt plain = { .path = batches_rec, .batch = 10, .shuffle = true, .threads = 3,
	.aug = { .c = 3, .h = 8, .w = 8, .seed = 9, .rand_crop = true, .rand_mirror = true, .scale = 0.01f } };

/* The samples of an epoch, in order. */
struct epoch {
	uint32_t n;
	uint64_t id[BATCHES_N];
	int32_t	 y[BATCHES_N];
	struct samples_mix mix[BATCHES_N];
	float	 x[BATCHES_N][SIZE];
};

static void
read_epoch(const struct batch_opt *o, uint64_t epoch, struct epoch *to)
{
	struct batch_reader *r = batches_open(o);
	const struct batch *b;

	to->n = 0;
	batch_start(r, epoch, 0);
	while (batch_next(r, &b) > 0)
		for (uint32_t i = 0; i < b->s.n; i++, to->n++) {
			to->id[to->n] = b->id[i];
			to->y[to->n] = b->s.y[i];
			if (b->s.mix != NULL)
				to->mix[to->n] = b->s.mix[i];
			samples_f32(&b->s, i, 1, to->x[to->n]);
		}
	batch_close(r);
}

static struct epoch raw, mixed, again;

static bool
is_blend(uint32_t i)
{
	/* share is of `other`, which is the lighter class: this sample's own, or the next one's. */
	double share = (double)mixed.mix[i].share;
	bool one = true, two = true;

	for (size_t k = 0; k < SIZE; k++) {
		double a = (double)raw.x[i][k], b = (double)raw.x[i + 1][k], x = (double)mixed.x[i][k];

		one &= fabs(a + share * (b - a) - x) < 1e-6;
		two &= fabs(b + share * (a - b) - x) < 1e-6;
	}
	one &= mixed.y[i] == raw.y[i] && mixed.mix[i].other == raw.y[i + 1];
	two &= mixed.y[i] == raw.y[i + 1] && mixed.mix[i].other == raw.y[i];
	return share <= 0.5 && (one || two);
}

/* A rectangle of the next sample, whose part of the area is the share. */
static bool
is_paste(uint32_t i)
{
	int from_next = 0, from_own = 0, both = 0;
	double share = (double)mixed.mix[i].share;

	for (size_t k = 0; k < SIZE / 3; k++) {
		bool own = true, next = true;

		for (size_t at = k; at < SIZE; at += SIZE / 3) {
			own &= mixed.x[i][at] == raw.x[i][at];
			next &= mixed.x[i][at] == raw.x[i + 1][at];
		}
		from_own += own && !next;
		from_next += next && !own;
		both += next && own;
	}
	if (from_own + from_next + both < SIZE / 3)
		return false;
	/* Two samples of one class may be in either order. */
	return (mixed.y[i] == raw.y[i] && mixed.mix[i].other == raw.y[i + 1] && fabs(from_next - share * SIZE / 3) <= both + 1e-3) ||
	    (mixed.y[i] == raw.y[i + 1] && mixed.mix[i].other == raw.y[i] && fabs(from_own - share * SIZE / 3) <= both + 1e-3);
}

static void
test_shares(void)
{
	struct batch_opt o = plain;
	uint32_t blends = 0, pastes = 0, last = BATCHES_N - 1;

	read_epoch(&plain, 3, &raw);
	o.aug.mixup = 0.4f;
	read_epoch(&o, 3, &mixed);
	ok(memcmp(raw.id, mixed.id, sizeof(raw.id)) == 0, "mixing does not change the order of records");
	for (uint32_t i = 0; i < last; i++)
		blends += is_blend(i);
	is(blends, last, "mixup blends each sample with the next, the larger share first");
	ok(mixed.mix[last].share == 0 && memcmp(raw.x[last], mixed.x[last], sizeof(raw.x[0])) == 0,
	    "mixup leaves the last sample unmixed");
	o.aug.mixup = 0;
	o.aug.cutmix = 1;
	read_epoch(&o, 3, &mixed);
	for (uint32_t i = 0; i < last; i++)
		pastes += is_paste(i);
	is(pastes, last, "cutmix pastes a rectangle of the next sample, whose area is the share");
	o.aug.mixup = 1;
	read_epoch(&o, 3, &mixed);
	for (uint32_t i = blends = pastes = 0; i < last; i++)
		is_blend(i) ? blends++ : is_paste(i) ? pastes++ : 0;
	ok(blends + pastes == last && blends > 20 && pastes > 20,
	    "mixup and cutmix together alternate at random: %u and %u", blends, pastes);
}

static void
test_cuts(void)
{
	struct batch_opt o = plain;
	uint32_t at = 0, same = 0;

	o.aug.mixup = 0.4f;
	for (int window = 0; window < 2; window++) {
		o.window = window ? 16 : 0;
		o.threads = 3;
		o.batch = 30;
		o.micros = 1;
		read_epoch(&o, 1, &mixed);
		o.threads = 1;
		o.batch = 7;
		read_epoch(&o, 1, &again);
		ok(memcmp(&mixed, &again, sizeof(mixed)) == 0,
		    "window %u: other batches and threads give the same samples", (unsigned)o.window);
		o.batch = 5;
		o.micros = 2;
		o.first_micro = 1;
		o.my_micros = 1;
		read_epoch(&o, 1, &again);
		for (uint32_t i = same = 0; i < again.n; i++) {
			for (at = 0; mixed.id[at] != again.id[i]; at++)
				;
			same += memcmp(again.x[i], mixed.x[at], sizeof(mixed.x[at])) == 0 && again.y[i] == mixed.y[at] &&
			    again.mix[i].share == mixed.mix[at].share;
		}
		ok(same == again.n && same > 40,
		    "window %u: one worker of two has the same samples: %u", (unsigned)o.window, same);
		o.first_micro = 0;
	}
	read_epoch(&o, 2, &again);
	ok(memcmp(again.mix, mixed.mix, sizeof(mixed.mix)) != 0, "another epoch has other shares");
}

static void
test_bad(void)
{
	struct batch_opt o = { .path = pics_path("bad.rec"), .batch = 4, .aug = { .c = 3, .h = 8, .w = 8, .mixup = 1 } };
	int fd = pics_create(o.path);
	struct batch_reader *r;
	const struct batch *b;

	pics_put(fd, 0, 1, 3, 8, 8);
	pics_put_bad(fd, 1);
	pics_put(fd, 2, 2, 3, 8, 8);
	pics_put(fd, 3, 3, 3, 8, 8);
	close(fd);
	r = batches_open(&o);
	batch_start(r, 0, 0);
	ok(batch_next(r, &b) == 1 && b->s.n == 3 && b->bad == 1, "a batch of four with a bad record has three samples");
	ok(b->s.mix[0].share == 0 && b->s.y[0] == 1, "the sample before the bad record is not mixed");
	ok(b->s.mix[1].share > 0 && b->s.y[1] + b->s.mix[1].other == 5, "the other samples are mixed");
	batch_close(r);
}

/* Beta(a, a) has the mean 1/2 and the variance 1 / (8 a + 4); with a = 1/2 a third of it lies below 1/4, with 1 a quarter. */
static void
test_beta(void)
{
	static const struct { float alpha; double low; } of[] = { { 0.1f, 0 }, { 0.5f, 1.0 / 3 }, { 1, 0.25 }, { 4, 0 } };
	const struct img pic = { .c = 3, .h = 8, .w = 8 };
	enum { N = 40000 };

	for (size_t k = 0; k < sizeof(of) / sizeof(*of); k++) {
		struct aug a = { .c = 3, .h = 8, .w = 8, .seed = 1, .mixup = of[k].alpha };
		double sum = 0, square = 0, low = 0, var = 1 / (8 * (double)of[k].alpha + 4);
		struct aug_plan plan;

		for (uint64_t id = 0; id < N; id++) {
			aug_choose(&a, 0, id, &pic, &plan);
			sum += (double)plan.share;
			square += pow((double)plan.share - 0.5, 2);
			low += plan.share < 0.25f;
		}
		near(sum / N, 0.5, 0.01, "alpha %g: the mean share is 1/2", (double)of[k].alpha);
		near(square / N, var, 0.03 * var, "alpha %g: the variance is that of Beta(a, a)", (double)of[k].alpha);
		if (of[k].low > 0)
			near(low / N, of[k].low, 0.01,
			    "alpha %g: the share below a quarter is that of Beta(a, a)", (double)of[k].alpha);
	}
}

/* The epoch of 100 of 101 records ends with a sample that is not mixed with the record left out. */
static void
test_drop_last(void)
{
	struct batch_opt o = plain;
	uint32_t last = BATCHES_N - 2;

	o.drop_last = true;
	read_epoch(&o, 3, &raw);
	o.aug.mixup = 0.4f;
	read_epoch(&o, 3, &mixed);
	is(mixed.n, BATCHES_N - 1, "drop_last: a mixed epoch ends with the last full step");
	ok(mixed.mix[0].share != 0 && mixed.mix[last].share == 0 && memcmp(raw.x[last], mixed.x[last], sizeof(raw.x[0])) == 0,
	    "drop_last: mixup leaves the last sample unmixed");
}

int
main(void)
{
	batches_make();
	test_shares();
	test_cuts();
	test_bad();
	test_beta();
	test_drop_last();
	pics_clean();
	return done();
}
