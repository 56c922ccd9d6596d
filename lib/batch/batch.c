/* batch - reads records and makes batches: opening, the ring of micro-batches, closing. */
#include "base/err.h"
#include "base/num.h"
#include "record/recs.h"
#include "batch/batch_in.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PREFETCH (128u << 20)	/* default bytes of samples in the ring */
#define WINDOW	1024u		/* default window of a stream, in records */
#define WAIT_S	3.0		/* time before a wait for a pipe is reported */
#define TICK_S	0.1		/* time between looks at the stop flag meanwhile */
#define ALIGN	64u		/* alignment of a batch's samples, for vector loads */
#define ASIDE	16u		/* offset of pixels: libjpeg-turbo bypasses the caches for rows aligned to 32 bytes */

/*
 * Requests records in the order of reading.  A record after a part is read twice: to mix, and for its own part.  Skips
 * records that the cache holds: nobody would read them, and recs would keep them until the end of the epoch.
 */
static void
request_records(const struct batch_reader *r, const struct batch_micro *p)
{
	struct batch_item kept;

	for (uint32_t i = 0; r->recs->want != NULL && r->cached == NULL && i < p->n + p->more; i++) {
		if (r->cache != NULL && batch_cache_get(r->cache, p->record[i], &kept))
			continue;
		r->recs->want(r->recs, p->record[i]);
		if (r->cache == NULL && aug_mixes(&r->opt.aug) && i > 0 && i < p->n && i % r->part == 0)
			r->recs->want(r->recs, p->record[i]);
	}
}

/* Assigns records to a micro-batch.  Those of a stream are full until it ends. */
static void
plan_micro(struct batch_reader *r, struct batch_micro *p)
{
	if (r->stream != NULL) {
		p->first = r->planned;
		p->n = r->opt.batch;
		r->planned += p->n;
		return;
	}
	batch_cut(r, r->step, r->opt.first_micro + r->micro, &p->first, &p->n);
	p->more = aug_mixes(&r->opt.aug) && p->n > 0 && p->first + p->n < batch_records(r);
	batch_order_take(r->order, p->first, p->n + p->more, p->record);
	request_records(r, p);
}

static void
forget_why(const struct batch_reader *r, struct batch_micro *p)
{
	for (uint32_t i = 0; i < r->opt.batch; i++) {
		free(p->why[i]);
		p->why[i] = NULL;
	}
}

/* Submits micro-batches to the thread pool while the ring has free slots. */
static void
read_ahead(struct batch_reader *r)
{
	uint32_t slot;

	while (!r->over && r->step < r->steps && threads_next_slot(r->pool, &slot)) {
		struct batch_micro *p = &r->ring[slot];

		p->step = r->step;
		p->fail_at = BATCH_NONE;
		p->received = 0;
		forget_why(r, p);
		plan_micro(r, p);
		threads_submit(r->pool, (p->n + r->part - 1) / r->part);
		if (++r->micro == r->opt.my_micros) {
			r->micro = 0;
			r->step += r->every;
		}
	}
}

/* Moves the good samples together, and the reasons of the bad ones. */
static uint32_t
close_gaps(struct batch_micro *p, size_t sample, size_t targets)
{
	uint8_t *at = p->sample;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		if (!p->good[i]) {
			char *why = p->why[i];

			p->why[i] = NULL;
			p->why[i - n] = why;
			continue;
		}
		if (i > n) {
			if (sample > 0)
				memcpy(at + n * sample, at + i * sample, sample);
			p->mirror[n] = p->mirror[i];
			p->cached[n] = p->cached[i];
			p->y[n] = p->y[i];
			if (targets > 0)
				memcpy(p->target + n * targets, p->target + i * targets, targets * sizeof(float));
			p->mix[n] = p->mix[i];
			p->id[n] = p->id[i];
		}
		n++;
	}
	return n;
}

static struct samples
get_samples(const struct batch_reader *r, struct batch_micro *p)
{
	const struct aug *a = &r->opt.aug;

	return (struct samples){
		.n = close_gaps(p, r->cached != NULL ? 0 : r->sample, r->opt.targets), .c = a->c, .h = a->h, .w = a->w,
		.y = p->y, .target = p->target, .targets = r->opt.targets,
		.positive = r->opt.targets > 0 ? r->opt.class_weight : NULL,
		.mix = aug_mixes(a) || r->opt.class_weight != NULL || r->opt.weighted ? p->mix : NULL,
		.x = r->pixels ? NULL : p->sample,
		.pixel = r->pixels && r->cached == NULL ? p->sample : NULL,
		.cached = r->cached != NULL ? p->cached : NULL,
		.fill = a->fill,
		.reflect = a->pad_reflect,
		.mirror = r->pixels ? p->mirror : NULL,
		.norm = r->norm,
	};
}

void
batch_every(struct batch_reader *r, uint32_t n)
{
	r->every = n;
}

void
batch_start(struct batch_reader *r, uint64_t epoch, uint64_t step)
{
	threads_cancel(r->pool);
	r->peeked = false;
	r->epoch = epoch;
	r->step = step;
	r->micro = 0;
	if (r->stream != NULL) {
		r->over = r->over || r->planned > 0;	/* records read ahead are lost */
	} else {
		if (r->recs->forget != NULL)
			r->recs->forget(r->recs);
		batch_order_start(r->order, r->opt.aug.seed, epoch);
	}
	read_ahead(r);
}

/* Whether the micro-batch is the first of a stream's step.  A step that has begun is completed with empty ones. */
static bool
begins_step(const struct batch_reader *r, const struct batch_micro *p)
{
	return p->first / r->opt.batch % r->opt.my_micros == 0;
}

static struct batch
describe_batch(const struct batch_reader *r, struct batch_micro *p)
{
	struct batch b = { .s = get_samples(r, p), .id = p->id, .step = p->step, .why = (const char *const *)p->why };

	b.bad = p->n - b.s.n;
	return b;
}

int
batch_peek(struct batch_reader *r, const struct batch **b)
{
	uint32_t slot;
	struct batch_micro *p = !r->over && threads_peek(r->pool, &slot) ? &r->ring[slot] : NULL;

	if (p == NULL || p->fail_at != BATCH_NONE || (r->stream != NULL && p->received == 0))
		return 0;
	if (!r->peeked && r->stream != NULL)
		p->n = p->received;
	if (!r->peeked)
		r->next = describe_batch(r, p);
	r->peeked = true;
	*b = &r->next;
	return 1;
}

/* Waits for the next micro-batch of a pipe, which may have nobody who writes. */
static int
wait_for_pipe(struct batch_reader *r)
{
	const char *path = r->opt.path;
	bool told = r->opt.waiting == NULL;

	while (r->stream != NULL && !r->over && !threads_wait_within(r->pool, TICK_S)) {
		double waited = recs_stream_waited(r->stream);

		if (waited > 0 && r->opt.stop != NULL && *r->opt.stop != 0)
			return err_fail(ERR_STOP, "stopped");
		if (waited < WAIT_S || told)
			continue;
		r->opt.waiting(r->opt.arg, strcmp(path, "-") == 0 ? "standard input" : path);
		told = true;
	}
	return 0;
}

int
batch_next(struct batch_reader *r, const struct batch **b)
{
	struct batch_micro *p;
	uint32_t slot;

	read_ahead(r);
	ERR_TRY(wait_for_pipe(r));
	if (r->over || !threads_wait(r->pool, &slot))
		return 0;
	p = &r->ring[slot];
	if (p->fail_at != BATCH_NONE)
		return err_fail(p->fail, "%s", p->line);
	if (r->stream != NULL && (p->n = p->received) == 0 && begins_step(r, p)) {
		r->over = true;
		return 0;
	}
	r->out = r->peeked ? r->next : describe_batch(r, p);
	r->peeked = false;
	*b = &r->out;
	return 1;
}

/* The number of micro-batches in the ring if each has `bytes` bytes. */
static uint32_t
count_ring_slots(const struct batch_opt *o, size_t bytes)
{
	size_t n;

	assert(bytes > 0);	/* batch_cut_check() refuses empty samples and batches */
	n = (o->prefetch > 0 ? o->prefetch : PREFETCH) / bytes;
	return n < 2 ? 2 : n < BATCH_AHEAD ? (uint32_t)n : BATCH_AHEAD;
}

uint64_t
batch_takes(const struct batch_opt *o)
{
	struct samples_norm norm;
	size_t bytes;

	if (num_mul((size_t)o->aug.c * o->aug.h * o->aug.w * (aug_plain_norm(&o->aug, &norm) ? 1 : sizeof(float)),
	    o->batch, &bytes) < 0)
		return UINT64_MAX;
	return bytes * count_ring_slots(o, bytes);
}

static int
make_ring(struct batch_reader *r)
{
	size_t bytes;

	ERR_TRY(num_mul(r->sample, r->opt.batch, &bytes));
	r->ahead = count_ring_slots(&r->opt, bytes);
	for (uint32_t i = 0; i < r->ahead; i++) {
		struct batch_micro *p = &r->ring[i];

		if (bytes > SIZE_MAX - ASIDE || posix_memalign(&p->room, ALIGN, bytes + ASIDE) != 0)
			return err_nomem();
		p->sample = (uint8_t *)p->room + (r->pixels ? ASIDE : 0);
		p->mirror = calloc(r->opt.batch, sizeof(*p->mirror));
		p->y = calloc(r->opt.batch, sizeof(*p->y));
		if (r->opt.targets > 0 &&
		    (p->target = calloc((size_t)r->opt.batch * r->opt.targets, sizeof(*p->target))) == NULL)
			return err_nomem();
		p->cached = calloc(r->opt.batch, sizeof(*p->cached));
		p->id = calloc(r->opt.batch, sizeof(*p->id));
		p->good = calloc(r->opt.batch, sizeof(*p->good));
		p->mix = calloc(r->opt.batch, sizeof(*p->mix));
		p->why = calloc(r->opt.batch, sizeof(*p->why));
		p->record = calloc((size_t)r->opt.batch + 1, sizeof(*p->record));
		if (p->cached == NULL || p->mirror == NULL || p->y == NULL || p->id == NULL || p->good == NULL ||
		    p->mix == NULL || p->why == NULL || p->record == NULL)
			return err_nomem();
	}
	return 0;
}

static int
open_stream(struct batch_reader *r)
{
	const struct batch_opt *o = &r->opt;
	uint64_t window = !o->shuffle ? 0 : o->window > 0 ? o->window : WINDOW;
	int e;

	if (aug_mixes(&o->aug))
		return err_fail(ERR_ARG, "%s: samples of a pipe cannot be mixed", o->path);
	if (o->drop_last)
		return err_fail(ERR_ARG, "%s: a pipe is read to its end, and drops no last step", o->path);
	r->steps = UINT64_MAX;
	if ((r->stream = o->stream) != NULL)
		return 0;
	/* Each worker has its own stream and its own random order. */
	if ((e = recs_stream_open(o->path, window, o->aug.seed + o->first_micro, &r->own_stream)) == 0)
		r->stream = r->own_stream;
	return e;
}

static int
open_records(struct batch_reader *r)
{
	const struct batch_opt *o = &r->opt;

	if (o->recs == NULL)
		ERR_TRY(recs_open(o->path, &r->own));
	r->recs = o->recs != NULL ? o->recs : r->own;
	r->records = r->recs->count;
	if (o->limit > 0 && o->limit < r->records)
		r->records = o->limit;
	if (r->records == 0)
		return err_fail(ERR_FORMAT, "%s: holds no record", r->recs->path);
	if (r->records > UINT32_MAX)
		return err_fail(ERR_LIMIT, "%s: more than %u records", r->recs->path, UINT32_MAX);
	r->whole = batch_cut_whole(o);
	r->steps = o->drop_last ? r->records / r->whole : (r->records + r->whole - 1) / r->whole;
	if (r->steps == 0)
		return err_fail(ERR_ARG, "%s: %" PRIu64 " records are fewer than the %" PRIu64 " of a full step",
		    r->recs->path, r->records, r->whole);
	if (o->cache > 0)
		ERR_TRY(batch_cache_new(r->recs->count, r->labels, o->cache, &r->cache));
	return batch_order_new(r->records, o->shuffle, o->window, &r->order);
}

/*
 * Checks the labels of the first record, so that a wrong label_at fails at once and not after an
 * epoch without samples.
 */
static int
check_label(struct batch_reader *r)
{
	struct imrec rec = { 0 };
	struct img size;
	char name[RECS_NAME];
	int e;

	if (r->recs == NULL || (r->opt.label_at == 0 && r->labels == 1))
		return 0;
	if (r->recs->want != NULL)
		r->recs->want(r->recs, 0);
	if ((e = recimg_head(r->lane[0].decoder, 0, &rec, &size)) < 0)
		return e == ERR_ITEM ? 0 : e;
	if (batch_labels(r, &rec, r->lane[0].label) == 0)
		return 0;
	r->recs->name(r->recs, 0, name, sizeof(name));
	recimg_blame(&rec, name);
	return ERR_ARG;
}

static int
alloc_labels(const struct batch_reader *r, struct batch_lane *l)
{
	return (l->label = calloc(r->labels, sizeof(*l->label))) != NULL ? 0 : err_nomem();
}

static int
open_reader(struct batch_reader *r)
{
	struct batch_opt *o = &r->opt;
	int e;

	o->threads = o->threads > 0 ? o->threads : (threads_count() + 1) / 2;
	ERR_TRY(batch_cut_check(o));
	ERR_TRY(o->stream != NULL || (o->recs == NULL && recs_stream_is(o->path)) ? open_stream(r) : open_records(r));
	if ((r->lane = calloc(o->threads, sizeof(*r->lane))) == NULL)
		return err_nomem();
	for (unsigned i = 0; i < o->threads; i++)
		if ((e = recimg_new(r->recs, o->aug.c, &r->lane[i].decoder)) < 0 ||
		    (e = aug_room_new(&r->lane[i].room)) < 0 || (e = alloc_labels(r, &r->lane[i])) < 0)
			return e;
	ERR_TRY(check_label(r));
	r->step = r->steps;	/* nothing to read before batch_start() */
	ERR_TRY(make_ring(r));
	return threads_new(o->threads, r->ahead, batch_sample_part, r, &r->pool);
}

int
batch_open(const struct batch_opt *opt, struct batch_reader **out)
{
	struct batch_reader *r = calloc(1, sizeof(*r));
	struct batch_opt *o;
	int e;

	*out = NULL;
	if (r == NULL)
		return err_nomem();
	o = &r->opt;
	*o = *opt;
	o->micros = o->micros > 0 ? o->micros : 1;
	o->my_micros = o->my_micros > 0 ? o->my_micros : 1;
	r->every = 1;
	r->labels = (o->targets > 0 ? o->targets : 1) + o->weighted;
	r->part = aug_mixes(&o->aug) ? BATCH_MIXED : BATCH_PART;
	r->pixels = aug_plain_norm(&o->aug, &r->norm);
	r->sample = (size_t)o->aug.c * o->aug.h * o->aug.w * (r->pixels ? 1 : sizeof(float));
	pthread_mutex_init(&r->turn_lock, NULL);
	pthread_cond_init(&r->turn_changed, NULL);
	for (uint32_t i = 0; i < BATCH_AHEAD; i++)
		pthread_mutex_init(&r->ring[i].lock, NULL);
	if ((e = open_reader(r)) < 0) {
		batch_close(r);
		return e;
	}
	*out = r;
	return 0;
}

static void
free_lane(struct batch_lane *l)
{
	recimg_free(l->decoder);
	aug_room_free(l->room);
	buf_free(&l->part);
	buf_free(&l->other);
	free(l->label);
	for (uint32_t i = 0; i < BATCH_PART; i++)
		buf_free(&l->taken[i].room);
}

static void
free_micro(struct batch_micro *p)
{
	free(p->room);
	free(p->mirror);
	free(p->y);
	free(p->target);
	free(p->cached);
	free(p->mix);
	free(p->id);
	free(p->good);
	free(p->why);
	free(p->record);
	pthread_mutex_destroy(&p->lock);
}

void
batch_close(struct batch_reader *r)
{
	if (r == NULL)
		return;
	if (r->stream != NULL)
		recs_stream_stop(r->stream);
	threads_free(r->pool);
	for (unsigned i = 0; r->lane != NULL && i < r->opt.threads; i++)
		free_lane(&r->lane[i]);
	for (uint32_t i = 0; i < BATCH_AHEAD; i++) {
		if (r->ring[i].why != NULL)
			forget_why(r, &r->ring[i]);
		free_micro(&r->ring[i]);
	}
	free(r->lane);
	batch_order_free(r->order);
	batch_cache_free(r->cache);
	batch_device_cache_free(r);
	recs_stream_close(r->own_stream);
	recs_close(r->own);
	pthread_mutex_destroy(&r->turn_lock);
	pthread_cond_destroy(&r->turn_changed);
	free(r);
}

uint64_t
batch_records(const struct batch_reader *r)
{
	return r->opt.drop_last ? r->steps * r->whole : r->records;
}

uint64_t
batch_steps(const struct batch_reader *r)
{
	return r->stream != NULL ? 0 : r->steps;
}

uint64_t
batch_cached(const struct batch_reader *r, size_t *bytes)
{
	*bytes = 0;
	return r->cache != NULL ? batch_cache_kept(r->cache, bytes) : 0;
}
