/* batch - records in, batches out: what one training step eats. */
#include "base/err.h"
#include "base/num.h"
#include "record/recs.h"
#include "batch/batch_in.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFETCH (128u << 20)	/* bytes of samples in the ring, when nobody says how many */
#define WINDOW	1024u		/* records of a stream's, likewise */
#define ALIGN	64u		/* bytes; of a batch's samples, for vector loads ... */
#define ASIDE	16u		/* ... and pixels so far beside: rows that begin at 32 bytes libjpeg-turbo writes past the caches */

/*
 * In the order in which they will be read: one behind a part is read for it, and again for its own.  What the cache holds
 * is not read; what was wanted for nothing would stay with the records until the epoch's end.
 */
static void
request_records(const struct batch_reader *r, const struct batch_piece *p)
{
	struct batch_item kept;

	for (uint32_t i = 0; r->recs->want != NULL && r->held == NULL && i < p->n + p->more; i++) {
		if (r->cache != NULL && batch_cache_get(r->cache, p->record[i], &kept))
			continue;
		r->recs->want(r->recs, p->record[i]);
		if (r->cache == NULL && aug_mixes(&r->opt.aug) && i > 0 && i < p->n && i % r->part == 0)
			r->recs->want(r->recs, p->record[i]);
	}
}

/* What a piece holds; a stream's pieces are all full, up to its end. */
static void
plan_piece(struct batch_reader *r, struct batch_piece *p)
{
	if (r->stream != NULL) {
		p->first = r->planned;
		p->n = r->opt.batch;
		r->planned += p->n;
		return;
	}
	batch_cut(r, r->step, r->opt.first_piece + r->piece, &p->first, &p->n);
	p->more = aug_mixes(&r->opt.aug) && p->n > 0 && p->first + p->n < r->records;
	batch_order_take(r->order, p->first, p->n + p->more, p->record);
	request_records(r, p);
}

static void
forget_why(const struct batch_reader *r, struct batch_piece *p)
{
	for (uint32_t i = 0; i < r->opt.batch; i++) {
		free(p->why[i]);
		p->why[i] = NULL;
	}
}

/* Gives the threads as many pieces as there is room for. */
static void
read_ahead(struct batch_reader *r)
{
	uint32_t slot;

	while (!r->over && r->step < r->steps && threads_next_slot(r->crew, &slot)) {
		struct batch_piece *p = &r->ring[slot];

		p->step = r->step;
		p->fail_at = BATCH_NONE;
		p->came = 0;
		forget_why(r, p);
		plan_piece(r, p);
		threads_submit(r->crew, (p->n + r->part - 1) / r->part);
		if (++r->piece == r->opt.my_pieces) {
			r->piece = 0;
			r->step++;
		}
	}
}

/* Moves the samples that were made up to each other, and why others were not. */
static uint32_t
close_gaps(struct batch_piece *p, size_t sample)
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
			p->held[n] = p->held[i];
			p->y[n] = p->y[i];
			p->mix[n] = p->mix[i];
			p->id[n] = p->id[i];
		}
		n++;
	}
	return n;
}

static struct samples
samples_of(const struct batch_reader *r, struct batch_piece *p)
{
	const struct aug *a = &r->opt.aug;

	return (struct samples){
		.n = close_gaps(p, r->held != NULL ? 0 : r->sample), .c = a->c, .h = a->h, .w = a->w,
		.y = p->y,
		.mix = aug_mixes(a) ? p->mix : NULL,
		.x = r->pixels ? NULL : p->sample,
		.pixel = r->pixels && r->held == NULL ? p->sample : NULL,
		.held = r->held != NULL ? p->held : NULL,
		.fill = a->fill,
		.mirror = r->pixels ? p->mirror : NULL,
		.norm = r->norm,
	};
}

int
batch_start(struct batch_reader *r, uint64_t epoch, uint64_t step)
{
	threads_cancel(r->crew);
	r->peeked = false;
	r->epoch = epoch;
	r->step = step;
	r->piece = 0;
	if (r->stream != NULL) {
		r->over = r->over || r->planned > 0;	/* what was read ahead is gone */
	} else {
		if (r->recs->forget != NULL)
			r->recs->forget(r->recs);
		batch_order_start(r->order, r->opt.aug.seed, epoch);
	}
	read_ahead(r);
	return 0;
}

/* A step of a stream that has begun is given whole, with empty pieces behind the stream's end. */
static bool
begins_step(const struct batch_reader *r, const struct batch_piece *p)
{
	return p->first / r->opt.batch % r->opt.my_pieces == 0;
}

static struct batch
batch_of(const struct batch_reader *r, struct batch_piece *p)
{
	struct batch b = { .s = samples_of(r, p), .id = p->id, .step = p->step, .why = (const char *const *)p->why };

	b.bad = p->n - b.s.n;
	return b;
}

int
batch_peek(struct batch_reader *r, const struct batch **b)
{
	uint32_t slot;
	struct batch_piece *p = !r->over && threads_peek(r->crew, &slot) ? &r->ring[slot] : NULL;

	if (p == NULL || p->fail_at != BATCH_NONE || (r->stream != NULL && p->came == 0))
		return 0;
	if (!r->peeked && r->stream != NULL)
		p->n = p->came;
	if (!r->peeked)
		r->next = batch_of(r, p);
	r->peeked = true;
	*b = &r->next;
	return 1;
}

int
batch_next(struct batch_reader *r, const struct batch **b)
{
	struct batch_piece *p;
	uint32_t slot;

	read_ahead(r);
	if (r->over || !threads_wait(r->crew, &slot))
		return 0;
	p = &r->ring[slot];
	if (p->fail_at != BATCH_NONE)
		return err_fail(p->fail, "%s", p->line);
	if (r->stream != NULL && (p->n = p->came) == 0 && begins_step(r, p)) {
		r->over = true;
		return 0;
	}
	r->out = r->peeked ? r->next : batch_of(r, p);
	r->peeked = false;
	*b = &r->out;
	return 1;
}

/* Pieces in the ring, of so many bytes each. */
static uint32_t
count_ring_slots(const struct batch_opt *o, size_t bytes)
{
	size_t n;

	assert(bytes > 0);	/* a graph's pictures and a batch are of something */
	n = (o->prefetch > 0 ? o->prefetch : PREFETCH) / bytes;
	return n < 2 ? 2 : n < BATCH_AHEAD ? (uint32_t)n : BATCH_AHEAD;
}

uint64_t
batch_takes(const struct batch_opt *o)
{
	struct samples_norm norm;
	size_t bytes;

	if (num_mul((size_t)o->aug.c * o->aug.h * o->aug.w * (aug_plain_norm(&o->aug, &norm) ? 1 : sizeof(float)), o->batch,
	    &bytes) < 0)
		return UINT64_MAX;
	return bytes * count_ring_slots(o, bytes);
}

static int
make_ring(struct batch_reader *r)
{
	size_t bytes;
	int e;

	if ((e = num_mul(r->sample, r->opt.batch, &bytes)) < 0)
		return e;
	r->ahead = count_ring_slots(&r->opt, bytes);
	for (uint32_t i = 0; i < r->ahead; i++) {
		struct batch_piece *p = &r->ring[i];

		if (bytes > SIZE_MAX - ASIDE || posix_memalign(&p->room, ALIGN, bytes + ASIDE) != 0)
			return err_nomem();
		p->sample = (uint8_t *)p->room + (r->pixels ? ASIDE : 0);
		p->mirror = calloc(r->opt.batch, sizeof(*p->mirror));
		p->y = calloc(r->opt.batch, sizeof(*p->y));
		p->held = calloc(r->opt.batch, sizeof(*p->held));
		p->id = calloc(r->opt.batch, sizeof(*p->id));
		p->good = calloc(r->opt.batch, sizeof(*p->good));
		p->mix = calloc(r->opt.batch, sizeof(*p->mix));
		p->why = calloc(r->opt.batch, sizeof(*p->why));
		p->record = calloc((size_t)r->opt.batch + 1, sizeof(*p->record));
		if (p->held == NULL || p->mirror == NULL || p->y == NULL || p->id == NULL || p->good == NULL || p->mix == NULL ||
		    p->why == NULL || p->record == NULL)
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
		return err_fail(ERR_ARG, "%s: a pipe's records cannot be mixed", o->path);
	r->steps = UINT64_MAX;
	if ((r->stream = o->stream) != NULL)
		return 0;
	/* Each worker's stream is its own, and so is what chance makes of it. */
	if ((e = recs_stream_open(&r->own_stream, o->path, window, o->aug.seed + o->first_piece)) == 0)
		r->stream = r->own_stream;
	return e;
}

static int
open_records(struct batch_reader *r)
{
	const struct batch_opt *o = &r->opt;
	int e;

	if (o->recs == NULL && (e = recs_open(&r->own, o->path)) < 0)
		return e;
	r->recs = o->recs != NULL ? o->recs : r->own;
	r->records = r->recs->count;
	if (o->limit > 0 && o->limit < r->records)
		r->records = o->limit;
	if (r->records == 0)
		return err_fail(ERR_FORMAT, "%s: holds no record", r->recs->path);
	if (r->records > UINT32_MAX)
		return err_fail(ERR_LIMIT, "%s: more than %u records", r->recs->path, UINT32_MAX);
	r->whole = batch_cut_whole(o);
	r->steps = (r->records + r->whole - 1) / r->whole;
	if (o->cache > 0 && (e = batch_cache_new(&r->cache, r->recs->count, o->cache)) < 0)
		return e;
	return batch_order_new(&r->order, r->records, o->shuffle, o->window);
}

/* A label that the records do not have is known by the first of them, not by an epoch without a sample. */
static int
check_label(struct batch_reader *r)
{
	struct imrec rec = { 0 };
	struct img size;
	char name[RECS_NAME];
	float label;
	int e;

	if (r->recs == NULL || r->opt.label_at == 0)
		return 0;
	if (r->recs->want != NULL)
		r->recs->want(r->recs, 0);
	if ((e = recimg_head(r->lane[0].decoder, 0, &rec, &size)) < 0)
		return e == ERR_ITEM ? 0 : e;
	if (batch_class(r, &rec, &label) == 0)
		return 0;
	r->recs->name(r->recs, 0, name, sizeof(name));
	recimg_blame(&rec, name);
	return ERR_ARG;
}

static int
open_in(struct batch_reader *r)
{
	struct batch_opt *o = &r->opt;
	int e;

	o->threads = o->threads > 0 ? o->threads : (threads_count() + 1) / 2;
	if ((e = batch_cut_check(o)) < 0 ||
	    (e = o->stream != NULL || (o->recs == NULL && recs_stream_is(o->path)) ? open_stream(r) : open_records(r)) < 0)
		return e;
	if ((r->lane = calloc(o->threads, sizeof(*r->lane))) == NULL)
		return err_nomem();
	for (unsigned i = 0; i < o->threads; i++)
		if ((e = recimg_new(&r->lane[i].decoder, r->recs, o->aug.c)) < 0 ||
		    (e = aug_room_new(&r->lane[i].room)) < 0)
			return e;
	if ((e = check_label(r)) < 0)
		return e;
	r->step = r->steps;	/* nothing to read before batch_start() */
	if ((e = make_ring(r)) < 0)
		return e;
	return threads_new(&r->crew, o->threads, r->ahead, batch_sample_part, r);
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
	o->pieces = o->pieces > 0 ? o->pieces : 1;
	o->my_pieces = o->my_pieces > 0 ? o->my_pieces : 1;
	r->part = aug_mixes(&o->aug) ? BATCH_MIXED : BATCH_PART;
	r->pixels = aug_plain_norm(&o->aug, &r->norm);
	r->sample = (size_t)o->aug.c * o->aug.h * o->aug.w * (r->pixels ? 1 : sizeof(float));
	pthread_mutex_init(&r->turn_lock, NULL);
	pthread_cond_init(&r->turn_came, NULL);
	for (uint32_t i = 0; i < BATCH_AHEAD; i++)
		pthread_mutex_init(&r->ring[i].lock, NULL);
	if ((e = open_in(r)) < 0) {
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
	for (uint32_t i = 0; i < BATCH_PART; i++)
		buf_free(&l->taken[i].room);
}

static void
free_piece(struct batch_piece *p)
{
	free(p->room);
	free(p->mirror);
	free(p->y);
	free(p->held);
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
	threads_free(r->crew);
	for (unsigned i = 0; r->lane != NULL && i < r->opt.threads; i++)
		free_lane(&r->lane[i]);
	for (uint32_t i = 0; i < BATCH_AHEAD; i++) {
		if (r->ring[i].why != NULL)
			forget_why(r, &r->ring[i]);
		free_piece(&r->ring[i]);
	}
	free(r->lane);
	batch_order_free(r->order);
	batch_cache_free(r->cache);
	batch_hold_free(r);
	recs_stream_close(r->own_stream);
	recs_close(r->own);
	pthread_mutex_destroy(&r->turn_lock);
	pthread_cond_destroy(&r->turn_came);
	free(r);
}

uint64_t
batch_records(const struct batch_reader *r)
{
	return r->records;
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
