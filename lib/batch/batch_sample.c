/* batch_sample - a record in, a sample in its place of the piece out: serves batch. */
#include "base/err.h"
#include "batch/batch_in.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A sample: where its pixels or numbers go, or which pixels it is, and what is known of it. */
struct made {
	uint8_t		*to;
	struct samples_held *held;
	uint64_t	 id;
	int32_t		 y;
	struct aug_plan	 plan;
};

static void
note_sample_error(struct batch_piece *p, uint32_t i, int e)
{
	if (e == ERR_ITEM && (p->why[i] = strdup(err_line())) == NULL)
		e = err_nomem();
	pthread_mutex_lock(&p->lock);
	if (e != ERR_ITEM && i < p->fail_at) {
		p->fail_at = i;
		p->fail = e;
		snprintf(p->line, sizeof(p->line), "%s", err_line());
	}
	pthread_mutex_unlock(&p->lock);
}

static int
class_of(const struct batch_reader *r, float label, int32_t *y)
{
	float end = r->opt.classes > 0 ? (float)r->opt.classes : 0x1p24f;	/* beyond, f32 has gaps */

	if (!(label >= 0 && label < end) || label != floorf(label))
		return err_fail(ERR_ITEM, "its label %g is not a class from 0 to %g", (double)label,
		    (double)end - 1);
	*y = (int32_t)label;
	return 0;
}

int
batch_class(const struct batch_reader *r, const struct imrec *rec, float *label)
{
	if (r->opt.label_at >= rec->labels)
		return err_fail(ERR_ITEM, "it has %u label%s, and none at %u", rec->labels, rec->labels == 1 ? "" : "s",
		    r->opt.label_at);
	*label = imrec_label(rec, r->opt.label_at);
	return 0;
}

/* Of a record whose picture's size is known. */
static int
item_of(const struct batch_reader *r, const struct imrec *rec, const struct img *pic, struct batch_item *item)
{
	item->id = rec->id;
	item->pic = *pic;
	return batch_class(r, rec, &item->label);
}

/* Puts the name of sample i's record in front of the line. */
static void
name_sample(const struct batch_reader *r, const struct batch_lane *l, const struct batch_piece *p, uint32_t i, const struct imrec *rec)
{
	char name[RECS_NAME];

	if (r->stream != NULL) {
		recs_stream_blame(r->stream, &l->taken[i % BATCH_PART], rec);
		return;
	}
	r->recs->name(r->recs, p->record[i], name, sizeof(name));
	recimg_blame(rec, name);
}

/* The picture through what the plan says, pixels or numbers. */
static int
finish_sample(const struct batch_reader *r, struct batch_lane *l, const struct aug_plan *plan, const struct img *pic, uint8_t *to)
{
	const struct aug *a = &r->opt.aug;
	size_t row = (size_t)a->w * a->c;
	struct planes_view v;
	int e;

	if (!r->pixels)
		return aug_apply(a, plan, l->room, pic, (void *)to);
	e = aug_pixels(a, plan, l->room, pic, &v);
	for (uint32_t y = 0; e == 0 && y < a->h; y++)
		memcpy(to + y * row, v.p + y * v.stride, row);
	return e;
}

/* What nobody kept is decoded as far as the plan needs it: a part, in the sample's place if that is all there is to do. */
static int
decode_sample(const struct batch_reader *r, struct batch_lane *l, const struct imrec *rec, struct aug_plan *plan, struct img *pic,
    uint8_t *to)
{
	struct img_region part;
	int e;

	if (!aug_part(plan, pic, &part)) {
		if ((e = recimg_pixels(l->decoder, rec, pic)) == 0)
			e = finish_sample(r, l, plan, pic, to);
		return e;
	}
	if (r->pixels && aug_part_is_all(&r->opt.aug, plan))
		return recimg_part(l->decoder, rec, pic, &part, to);
	l->part.n = 0;
	if ((e = buf_room(&l->part, (size_t)part.h * part.w * pic->c)) < 0 ||
	    (e = recimg_part(l->decoder, rec, pic, &part, l->part.p)) < 0)
		return e;
	*pic = (struct img){ l->part.p, pic->c, part.h, part.w };
	plan->y = plan->x = 0;
	return finish_sample(r, l, plan, pic, to);
}

static int
sample_of(const struct batch_reader *r, struct batch_lane *l, const struct imrec *rec, struct batch_item *item,
    struct made *m)
{
	int e;

	m->id = item->id;
	if ((e = class_of(r, item->label, &m->y)) < 0 ||
	    (e = aug_choose(&r->opt.aug, r->epoch, item->id, &item->pic, &m->plan)) < 0)
		return e;
	return item->pic.p != NULL ? finish_sample(r, l, &m->plan, &item->pic, m->to) :
	    decode_sample(r, l, rec, &m->plan, &item->pic, m->to);
}

/* What is to be kept of a record is decoded whole. */
static int
cache_sample(struct batch_reader *r, struct batch_lane *l, const struct imrec *rec, uint64_t record, struct batch_item *item)
{
	int e = recimg_pixels(l->decoder, rec, &item->pic);

	if (e == 0)
		batch_cache_put(r->cache, record, item);
	return e;
}

/* Sample i of a piece, whose record is in memory or in the lane; errors of the records themselves pass through. */
static int
make_sample(struct batch_reader *r, struct batch_lane *l, const struct batch_piece *p, uint32_t i, struct made *m)
{
	const struct recs_stream_record *t = &l->taken[i % BATCH_PART];
	struct batch_item item;
	struct imrec rec = { 0 };
	struct img pic;
	int e = 0;

	if (r->held != NULL && r->held[p->record[i]].why != NULL)
		return err_fail(ERR_ITEM, "%s", r->held[p->record[i]].why);
	if (r->stream != NULL && t->bad)
		return err_fail(ERR_ITEM, "%s", (const char *)t->room.p);
	if (r->held != NULL) {
		rec.labels = 1;
		if ((e = batch_hold_sample(r, p->record[i], &item, m->held, &m->plan)) == 0)
			e = class_of(r, item.label, &m->y);
		m->id = rec.id = item.id;
	} else if (r->cache == NULL || !batch_cache_get(r->cache, p->record[i], &item)) {
		if (r->stream == NULL && (e = recimg_head(l->decoder, p->record[i], &rec, &pic)) < 0)
			return e;
		if ((r->stream == NULL || (e = recimg_head_of(l->decoder, t->room.p, t->room.n, &rec, &pic)) == 0) &&
		    (e = item_of(r, &rec, &pic, &item)) == 0 && r->cache != NULL)
			e = cache_sample(r, l, &rec, p->record[i], &item);
	} else {
		rec.labels = 1;
		rec.id = item.id;
	}
	if (e == 0 && r->held == NULL)
		e = sample_of(r, l, &rec, &item, m);
	if (e < 0) {
		name_sample(r, l, p, i, &rec);
		return e == ERR_NOMEM ? e : ERR_ITEM;
	}
	return 0;
}

/*
 * Records i to end of a piece out of the stream, when it is their turn: threads take them in the pieces' order, since
 * who waits here began after whose turn it is.  Returns how many came before the end.
 */
static uint32_t
take_turn(struct batch_reader *r, struct batch_lane *l, struct batch_piece *p, uint32_t i, uint32_t end)
{
	uint32_t n = 0;
	int e = 1;

	pthread_mutex_lock(&r->turn_lock);
	while (r->turn != p->first + i)
		pthread_cond_wait(&r->turn_came, &r->turn_lock);
	while (i + n < end && (e = recs_stream_take(r->stream, &l->taken[(i + n) % BATCH_PART])) > 0)
		n++;
	if (e < 0)
		note_sample_error(p, i + n, e);
	p->came += n;
	r->turn = p->first + end;
	pthread_cond_broadcast(&r->turn_came);
	pthread_mutex_unlock(&r->turn_lock);
	return n;
}

/* Mixes sample i, which m tells of, with another, whose class is y; the heavier class comes first. */
static void
mix_sample(const struct batch_reader *r, struct batch_piece *p, uint32_t i, const struct made *m, const uint8_t *other, int32_t y)
{
	float share = m->plan.share;

	aug_mix(&r->opt.aug, &m->plan, (const void *)other, (void *)m->to);
	p->y[i] = share > 0.5f ? y : m->y;
	p->mix[i] = share > 0.5f ? (struct samples_mix){ m->y, 1 - share } : (struct samples_mix){ y, share };
}

/* The sample behind a part, which is another's. */
static int
make_other(struct batch_reader *r, struct batch_lane *l, const struct batch_piece *p, uint32_t i, struct made *m)
{
	int e;

	l->other.n = 0;
	if ((e = buf_room(&l->other, r->sample)) < 0)
		return e;
	m->to = l->other.p;
	return make_sample(r, l, p, i, m);
}

/* Samples i to end, of whose records so many came; each is mixed when the one behind it is there and not mixed itself. */
static void
make_part(struct batch_reader *r, struct batch_lane *l, struct batch_piece *p, uint32_t i, uint32_t came, uint32_t end)
{
	bool mixes = aug_mixes(&r->opt.aug), before = false;
	struct made last, m;
	int e;

	for (; i < end; i++) {
		m.to = (uint8_t *)p->sample + i * r->sample;
		m.held = &p->held[i];
		e = i < came ? make_sample(r, l, p, i, &m) : 0;
		if ((p->good[i] = i < came && e == 0)) {
			p->id[i] = m.id;
			p->y[i] = m.y;
			p->mirror[i] = m.plan.mirror;
			p->mix[i] = (struct samples_mix){ .other = m.y };
		} else if (e < 0) {
			note_sample_error(p, i, e);
		}
		if (mixes && before && p->good[i])
			mix_sample(r, p, i - 1, &last, m.to, m.y);
		before = p->good[i];
		last = m;
	}
	if (!mixes || !before || end == p->n + p->more)
		return;
	if ((e = make_other(r, l, p, end, &m)) == 0)
		mix_sample(r, p, end - 1, &last, m.to, m.y);
	else if (e != ERR_ITEM)
		note_sample_error(p, end - 1, e);
}

void
batch_sample_part(void *ctx, unsigned worker, uint32_t slot, uint32_t part)
{
	struct batch_reader *r = ctx;
	struct batch_lane *l = &r->lane[worker];
	struct batch_piece *p = &r->ring[slot];
	uint32_t i = part * r->part, end = p->n - i < r->part ? p->n : i + r->part;

	make_part(r, l, p, i, r->stream != NULL ? i + take_turn(r, l, p, i, end) : end, end);
}
