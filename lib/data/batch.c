/* batch - records in, batches out: what one training step eats. */
#include "data/batch.h"
#include "data/aug.h"
#include "data/crew.h"
#include "data/recimg.h"
#include "base/err.h"
#include "base/num.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD	16u			/* most pieces in the ring */
#define PREFETCH (128u << 20)		/* bytes of samples in the ring, when nobody says how many */
#define PART	4u			/* records that a thread decodes at a time */
#define ALIGN	64u			/* bytes; of a batch's samples, for vector loads */
#define SIDE	65536u			/* pixels; a sample's longest */
#define ORDER	0x6f72646572u		/* "order": the stream of the epoch's permutation */
#define NONE	UINT32_MAX

/* A piece in the ring, in work or done. */
struct piece {
	uint64_t	 step;
	uint64_t	 first;		/* of the permutation */
	uint32_t	 n;
	float		*x;
	int32_t		*y;
	uint64_t	*id;
	uint8_t		*good;		/* [n] whether a sample was made */
	pthread_mutex_t	 lock;		/* of what follows */
	uint32_t	 bad_at, fail_at;	/* the first record that does not decode, cannot be read; or NONE */
	int		 fail;
	char		 why[512], line[512];
};

struct batch_reader {
	struct batch_opt opt;
	struct recs	*recs, *own;	/* own: opened here */
	struct crew	*crew;
	struct recimg	**decoder;	/* one a thread */
	struct aug_room	**room;		/* likewise */
	uint32_t	*order;		/* the epoch's permutation */
	uint64_t	 records, steps, epoch;
	uint64_t	 whole;		/* records of a step */
	size_t		 sample;	/* floats */
	uint64_t	 step;		/* of the piece to be given next ... */
	uint32_t	 piece;		/* ... and which of mine it is */
	struct piece	 ring[AHEAD];
	uint32_t	 ahead;		/* pieces in use of it */
	struct batch	 out;
};

static void
note(struct piece *p, uint32_t i, int e)
{
	pthread_mutex_lock(&p->lock);
	if (e == ERR_ITEM && i < p->bad_at) {
		p->bad_at = i;
		snprintf(p->why, sizeof(p->why), "%s", err_line());
	} else if (e != ERR_ITEM && i < p->fail_at) {
		p->fail_at = i;
		p->fail = e;
		snprintf(p->line, sizeof(p->line), "%s", err_line());
	}
	pthread_mutex_unlock(&p->lock);
}

static int
class_of(const struct batch_reader *r, const struct imrec *rec, int32_t *y)
{
	float label = imrec_label(rec, 0);
	float end = r->opt.classes > 0 ? (float)r->opt.classes : 0x1p24f;	/* beyond, f32 has gaps */

	if (!(label >= 0 && label < end) || label != floorf(label))
		return err_fail(ERR_ITEM, "its label %g is not a class from 0 to %g", (double)label,
		    (double)end - 1);
	*y = (int32_t)label;
	return 0;
}

/* Sample i of a piece, from its record. */
static int
make_sample(struct batch_reader *r, unsigned worker, struct piece *p, uint32_t i)
{
	const struct aug *aug = &r->opt.aug;
	uint64_t number = r->order[p->first + i];
	char name[RECS_NAME];
	struct aug_plan plan;
	struct imrec rec;
	struct img pic;
	int e;

	if ((e = recimg_get(r->decoder[worker], number, &rec, &pic)) < 0)
		return e;
	if ((e = class_of(r, &rec, &p->y[i])) < 0 || (e = aug_choose(aug, r->epoch, rec.id, &pic, &plan)) < 0 ||
	    (e = aug_apply(aug, &plan, r->room[worker], &pic, p->x + i * r->sample)) < 0) {
		r->recs->name(r->recs, number, name, sizeof(name));
		err_within("%s, id %llu", name, (unsigned long long)rec.id);
		return e == ERR_NOMEM ? e : ERR_ITEM;
	}
	p->id[i] = rec.id;
	return 0;
}

static void
make_part(void *ctx, unsigned worker, uint32_t slot, uint32_t part)
{
	struct batch_reader *r = ctx;
	struct piece *p = &r->ring[slot];
	uint32_t i = part * PART, end = p->n - i < PART ? p->n : i + PART;

	for (; i < end; i++) {
		int e = make_sample(r, worker, p, i);

		if (!(p->good[i] = e == 0))
			note(p, i, e);
	}
}

/* Where a piece begins, of pieces of the sizes given that share `of` records: products stay below 2^64 (check). */
static uint64_t
begin_of(const struct batch_reader *r, uint32_t piece, uint64_t of)
{
	uint64_t before = 0;

	for (uint32_t p = 0; p < piece; p++)
		before += r->opt.sizes[p];
	return before * of / r->whole;
}

/* Which of the epoch's records make up a piece of a step. */
static void
cut(const struct batch_reader *r, uint64_t step, uint32_t piece, uint64_t *first, uint32_t *n)
{
	uint64_t begin = step * r->whole, left = r->records - begin;

	if (r->opt.sizes != NULL) {
		uint64_t of = left < r->whole ? left : r->whole, from = begin_of(r, piece, of);

		*first = begin + from;
		*n = (uint32_t)(begin_of(r, piece + 1, of) - from);
	} else if (left >= r->whole) {
		*first = begin + (uint64_t)piece * r->opt.batch;
		*n = r->opt.batch;
	} else {
		uint64_t each = left / r->opt.pieces, longer = left % r->opt.pieces;

		*first = begin + piece * each + (piece < longer ? piece : longer);
		*n = (uint32_t)(each + (piece < longer));
	}
}

/* Gives the threads as many pieces as there is room for. */
static void
read_ahead(struct batch_reader *r)
{
	int64_t slot;

	while (r->step < r->steps && (slot = crew_free_slot(r->crew)) >= 0) {
		struct piece *p = &r->ring[slot];

		p->step = r->step;
		p->bad_at = p->fail_at = NONE;
		p->why[0] = 0;
		cut(r, r->step, r->opt.first_piece + r->piece, &p->first, &p->n);
		for (uint32_t i = 0; r->recs->want != NULL && i < p->n; i++)
			r->recs->want(r->recs, r->order[p->first + i]);
		crew_give(r->crew, (p->n + PART - 1) / PART);
		if (++r->piece == r->opt.my_pieces) {
			r->piece = 0;
			r->step++;
		}
	}
}

/* Moves the samples that were made up to each other. */
static uint32_t
close_gaps(struct piece *p, size_t sample)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		if (!p->good[i])
			continue;
		if (i > n) {
			memcpy(p->x + n * sample, p->x + i * sample, sample * sizeof(*p->x));
			p->y[n] = p->y[i];
			p->id[n] = p->id[i];
		}
		n++;
	}
	return n;
}

int
batch_start(struct batch_reader *r, uint64_t epoch, uint64_t step)
{
	struct rng rng = rng_start(r->opt.aug.seed, epoch, ORDER);

	crew_drop(r->crew);
	if (r->recs->forget != NULL)
		r->recs->forget(r->recs);
	r->epoch = epoch;
	r->step = step;
	r->piece = 0;
	for (uint64_t i = 0; i < r->records; i++)
		r->order[i] = (uint32_t)i;
	if (r->opt.shuffle)
		rng_shuffle_u32(&rng, r->order, r->records);
	read_ahead(r);
	return 0;
}

int
batch_next(struct batch_reader *r, const struct batch **b)
{
	struct piece *p;
	int64_t slot;

	read_ahead(r);
	if ((slot = crew_take(r->crew)) < 0)
		return 0;
	p = &r->ring[slot];
	if (p->fail_at != NONE)
		return err_fail(p->fail, "%s", p->line);
	r->out = (struct batch){
		.n = close_gaps(p, r->sample),
		.x = p->x,
		.y = p->y,
		.id = p->id,
		.step = p->step,
		.why = p->why,
	};
	r->out.bad = p->n - r->out.n;
	*b = &r->out;
	return 1;
}

static int
check_sizes(const struct batch_opt *o)
{
	uint64_t whole = 0;

	for (uint32_t p = 0; o->sizes != NULL && p < o->pieces; p++) {
		bool mine = p >= o->first_piece && p - o->first_piece < o->my_pieces;

		whole += o->sizes[p];
		if (o->sizes[p] == 0 || (mine && o->sizes[p] > o->batch) || whole > UINT32_MAX)
			return err_fail(ERR_ARG, "piece %u of a step: %u records", p, o->sizes[p]);
	}
	return 0;
}

/* The records of a step. */
static uint64_t
whole_of(const struct batch_opt *o)
{
	uint64_t whole = 0;

	if (o->sizes == NULL)
		return (uint64_t)o->pieces * o->batch;
	for (uint32_t p = 0; p < o->pieces; p++)
		whole += o->sizes[p];
	return whole;
}

static int
check(const struct batch_opt *o)
{
	if (o->batch == 0)
		return err_fail(ERR_ARG, "a batch of no records");
	if (o->aug.c != 1 && o->aug.c != 3)
		return err_fail(ERR_ARG, "%u channels: a sample has 1 or 3", o->aug.c);
	if (o->aug.h == 0 || o->aug.w == 0 || o->aug.h > SIDE || o->aug.w > SIDE)
		return err_fail(ERR_ARG, "a sample of %ux%u pixels", o->aug.w, o->aug.h);
	if (o->first_piece >= o->pieces || o->my_pieces > o->pieces - o->first_piece)
		return err_fail(ERR_ARG, "pieces %u..%llu are not among the %u of a step", o->first_piece,
		    (unsigned long long)o->first_piece + o->my_pieces - 1, o->pieces);
	return check_sizes(o);
}

static int
make_ring(struct batch_reader *r)
{
	size_t bytes, n;
	int e;

	if ((e = num_mul(r->sample * sizeof(float), r->opt.batch, &bytes)) < 0)
		return e;
	n = (r->opt.prefetch > 0 ? r->opt.prefetch : PREFETCH) / bytes;
	r->ahead = n < 2 ? 2 : n < AHEAD ? (uint32_t)n : AHEAD;
	for (uint32_t i = 0; i < r->ahead; i++) {
		struct piece *p = &r->ring[i];
		void *x;

		if (posix_memalign(&x, ALIGN, bytes) != 0)
			return err_nomem();
		p->x = x;
		p->y = calloc(r->opt.batch, sizeof(*p->y));
		p->id = calloc(r->opt.batch, sizeof(*p->id));
		p->good = calloc(r->opt.batch, sizeof(*p->good));
		if (p->y == NULL || p->id == NULL || p->good == NULL)
			return err_nomem();
	}
	return 0;
}

static int
open_in(struct batch_reader *r)
{
	unsigned threads = r->opt.threads > 0 ? r->opt.threads : (crew_threads() + 1) / 2;
	int e;

	if ((e = check(&r->opt)) < 0 || (r->opt.recs == NULL && (e = recs_open(&r->own, r->opt.path)) < 0))
		return e;
	r->recs = r->opt.recs != NULL ? r->opt.recs : r->own;
	r->records = r->recs->count;
	if (r->opt.limit > 0 && r->opt.limit < r->records)
		r->records = r->opt.limit;
	if (r->records == 0)
		return err_fail(ERR_FORMAT, "%s: holds no record", r->recs->path);
	r->whole = whole_of(&r->opt);
	r->steps = (r->records + r->whole - 1) / r->whole;
	r->step = r->steps;	/* nothing to read before batch_start() */
	r->order = calloc(r->records, sizeof(*r->order));
	r->decoder = calloc(threads, sizeof(*r->decoder));
	r->room = calloc(threads, sizeof(*r->room));
	if (r->order == NULL || r->decoder == NULL || r->room == NULL)
		return err_nomem();
	r->opt.threads = threads;
	for (unsigned i = 0; i < threads; i++)
		if ((e = recimg_new(&r->decoder[i], r->recs, r->opt.aug.c)) < 0 || (e = aug_room_new(&r->room[i])) < 0)
			return e;
	if ((e = make_ring(r)) < 0)
		return e;
	return crew_new(&r->crew, threads, r->ahead, make_part, r);
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
	r->sample = (size_t)o->aug.c * o->aug.h * o->aug.w;
	for (uint32_t i = 0; i < AHEAD; i++)
		pthread_mutex_init(&r->ring[i].lock, NULL);
	if ((e = open_in(r)) < 0) {
		batch_close(r);
		return e;
	}
	*out = r;
	return 0;
}

void
batch_close(struct batch_reader *r)
{
	if (r == NULL)
		return;
	crew_free(r->crew);
	for (unsigned i = 0; r->decoder != NULL && i < r->opt.threads; i++)
		recimg_free(r->decoder[i]);
	for (unsigned i = 0; r->room != NULL && i < r->opt.threads; i++)
		aug_room_free(r->room[i]);
	for (uint32_t i = 0; i < AHEAD; i++) {
		free(r->ring[i].x);
		free(r->ring[i].y);
		free(r->ring[i].id);
		free(r->ring[i].good);
		pthread_mutex_destroy(&r->ring[i].lock);
	}
	free(r->decoder);
	free(r->room);
	free(r->order);
	recs_close(r->own);
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
	return r->steps;
}
