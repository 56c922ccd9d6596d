/* batch_far_test - records from a dataset server are requested ahead if they will be read. */
#include "batches.h"
#include "record/recs.h"
#include "tap.h"

#include <pthread.h>

static void
read_epoch(struct batch_reader *r, uint64_t epoch)
{
	const struct batch *b;

	batch_start(r, epoch, 0);
	while (batch_next(r, &b) > 0)
		;
}

/* Records of a file; owed: how often each was requested but not read. */
struct counted {
	struct recs	 recs;
	struct recs	*file;
	int		 wants, owed;
	pthread_mutex_t	 lock;
};

static int
counted_read(const struct recs *r, uint64_t i, struct buf *room, const uint8_t **data, size_t *n)
{
	struct counted *c = (struct counted *)(uintptr_t)r;

	pthread_mutex_lock(&c->lock);
	c->owed--;
	pthread_mutex_unlock(&c->lock);
	return c->file->read(c->file, i, room, data, n);
}

static void
counted_want(const struct recs *r, uint64_t i)
{
	struct counted *c = (struct counted *)(uintptr_t)r;

	(void)i;
	pthread_mutex_lock(&c->lock);
	c->owed++;
	c->wants++;
	pthread_mutex_unlock(&c->lock);
}

/* Remote records are requested as often as they are read, and cached ones are not requested. */
static void
test_wants(void)
{
	struct counted c = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct batch_opt o = { .recs = &c.recs, .batch = 40, .shuffle = true, .threads = 2,
		.aug = { .c = 3, .h = 8, .w = 8, .seed = 9 } };

	if (recs_open(batches_rec, &c.file) < 0)
		return;
	for (int mixes = 0; mixes < 2; mixes++) {
		struct batch_reader *r;

		c.recs = *c.file;
		c.recs.read = counted_read;
		c.recs.want = counted_want;
		c.wants = c.owed = 0;
		o.aug.mixup = mixes ? 1.0f : 0;
		o.cache = 0;
		read_epoch(r = batches_open(&o), 0);
		batch_close(r);
		is(c.owed, 0, "%s: records are requested as often as read", mixes ? "mixed" : "unmixed");
		o.cache = 1 << 20;
		r = batches_open(&o);
		read_epoch(r, 0);
		c.wants = c.owed = 0;
		read_epoch(r, 1);
		is(c.wants, 0, "cached records are not requested");
		is(c.owed, 0, "cached records are not read");
		batch_close(r);
	}
	recs_close(c.file);
}

int
main(void)
{
	batches_make();
	test_wants();
	pics_clean();
	return done();
}
