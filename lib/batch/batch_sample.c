/* batch_sample - makes the samples of a micro-batch from its records: internal to batch. */
#include "base/err.h"
#include "batch/batch_in.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A sample in progress. */
struct made {
	uint8_t		*to;		/* destination of pixels or floats */
	struct samples_cached *cached;	/* destination of the place in a device cache */
	uint64_t	 id;
	int32_t		 y;
	const float	*label;		/* [labels]; valid until the thread makes its next sample */
	float		 weight;	/* weight of its loss */
	struct aug_plan	 plan;
};

static void
note_sample_error(struct batch_micro *p, uint32_t i, int e)
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

/* What an output is compared with; NaN: unknown, which lists of labels write as nan, or -1 where 0 and 1 are known. */
static float
convert_target(const struct batch_reader *r, float label)
{
	return r->opt.unit_targets && label == -1 ? NAN : label;
}

/* Numbers that outputs are compared with: any finite ones, or from 0 to 1.  One of them must be known. */
static int
check_targets(const struct batch_reader *r, const float *label)
{
	uint32_t known = 0;

	for (uint32_t k = 0; k < r->opt.targets; k++) {
		float t = convert_target(r, label[k]);

		if (isinf(t) || (r->opt.unit_targets && (t < 0 || t > 1)))
			return err_fail(ERR_ITEM, "its label %u is %g, not %s", r->opt.label_at + k, (double)t,
			    r->opt.unit_targets ? "a number from 0 to 1, or -1" : "a finite number");
		known += !isnan(t);
	}
	return known > 0 || r->opt.targets == 0 ? 0 : err_fail(ERR_ITEM, "none of its labels is known");
}

static int
convert_class(const struct batch_reader *r, float label, int32_t *y)
{
	bool named = r->opt.class_of != NULL;
	uint32_t most = named ? r->opt.labels : r->opt.classes;
	float end = most > 0 ? (float)most : 0x1p24f;	/* f32 has gaps above 2^24 */

	*y = r->opt.targets > 0 ? 0 : -1;
	if (r->opt.targets > 0)
		return 0;
	if (label >= 0 && label < end && label == floorf(label))
		*y = named ? (int32_t)r->opt.class_of[(uint32_t)label] : (int32_t)label;
	return *y >= 0 || r->opt.unlabelled ? 0 : err_fail(ERR_ITEM, "its label %g is not a class from 0 to %g",
	    (double)label, (double)end - 1);
}

int
batch_labels(const struct batch_reader *r, const struct imrec *rec, float *label)
{
	const struct batch_opt *o = &r->opt;
	uint32_t n = o->targets > 0 ? o->targets : 1, at = o->single_label && rec->labels == 1 ? 0 : o->label_at;
	uint64_t last = (uint64_t)at + n - 1;

	if (o->unlabelled) {
		*label = at < rec->labels ? imrec_label(rec, at) : -1;
		return 0;
	}
	if (o->weighted && o->weight_at > last)
		last = o->weight_at;
	if (last >= rec->labels)
		return err_fail(ERR_ITEM, "it has %u label%s, and none at %llu", rec->labels,
		    rec->labels == 1 ? "" : "s", (unsigned long long)last);
	for (uint32_t k = 0; k < n; k++)
		label[k] = imrec_label(rec, at + k);
	if (!o->weighted)
		return 0;
	label[n] = imrec_label(rec, o->weight_at);
	return label[n] >= 0 && label[n] <= 1e6f ? 0 : err_fail(ERR_ITEM,
	    "its weight %g, label %u, is not from 0 to 1000000", (double)label[n], o->weight_at);
}

/* Fills the item of a record, whose image's size is pic's. */
static int
fill_batch_item(const struct batch_reader *r, const struct batch_lane *l, const struct imrec *rec,
    const struct img *pic, struct batch_item *item)
{
	item->id = rec->id;
	item->pic = *pic;
	item->label = l->label;
	return batch_labels(r, rec, l->label);
}

/* Puts the name of sample i's record in front of the message. */
static void
name_sample(const struct batch_reader *r, const struct batch_lane *l, const struct batch_micro *p, uint32_t i,
    const struct imrec *rec)
{
	char name[RECS_NAME];

	if (r->stream != NULL) {
		recs_stream_blame(r->stream, &l->taken[i % BATCH_PART], rec);
		return;
	}
	r->recs->name(r->recs, p->record[i], name, sizeof(name));
	recimg_blame(rec, name);
}

/* Augments a decoded image to pixels or floats. */
static int
finish_sample(const struct batch_reader *r, struct batch_lane *l, const struct aug_plan *plan, const struct img *pic,
    uint8_t *to)
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

/* Decodes the part of an image that the plan needs, directly into the sample if no more steps follow. */
static int
decode_sample(const struct batch_reader *r, struct batch_lane *l, const struct imrec *rec, struct aug_plan *plan,
    struct img *pic, uint8_t *to)
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
	ERR_TRY(buf_room(&l->part, (size_t)part.h * part.w * pic->c));
	ERR_TRY(recimg_part(l->decoder, rec, pic, &part, l->part.p));
	*pic = (struct img){ l->part.p, pic->c, part.h, part.w };
	plan->y = plan->x = 0;
	return finish_sample(r, l, plan, pic, to);
}

/* Takes the id, and the class or the targets with the weight. */
static int
take_labels(const struct batch_reader *r, const struct batch_item *item, struct made *m)
{
	int e = convert_class(r, item->label[0], &m->y);

	m->id = item->id;
	m->label = item->label;
	if (e < 0 || (e = check_targets(r, item->label)) < 0)
		return e;
	m->weight = (r->opt.weighted ? item->label[r->labels - 1] : 1) *
	    (r->opt.class_weight != NULL && r->opt.targets == 0 ? r->opt.class_weight[m->y] : 1);
	return 0;
}

static int
prepare_sample(const struct batch_reader *r, struct batch_lane *l, const struct imrec *rec, struct batch_item *item,
    struct made *m)
{
	ERR_TRY(take_labels(r, item, m));
	ERR_TRY(aug_choose(&r->opt.aug, r->epoch, item->id, &item->pic, &m->plan));
	return item->pic.p != NULL ? finish_sample(r, l, &m->plan, &item->pic, m->to) :
	    decode_sample(r, l, rec, &m->plan, &item->pic, m->to);
}

/* Decodes a whole image and puts it into the cache. */
static int
cache_sample(struct batch_reader *r, struct batch_lane *l, const struct imrec *rec, uint64_t record,
    struct batch_item *item)
{
	int e = recimg_pixels(l->decoder, rec, &item->pic);

	if (e == 0)
		batch_cache_put(r->cache, record, item);
	return e;
}

/* Makes sample i of a micro-batch.  Returns 0, ERR_ITEM for a bad record, or an error of reading records. */
static int
make_sample(struct batch_reader *r, struct batch_lane *l, const struct batch_micro *p, uint32_t i, struct made *m)
{
	const struct recs_stream_record *t = &l->taken[i % BATCH_PART];
	struct batch_item item;
	struct imrec rec = { 0 };
	struct img pic;
	int e = 0;

	if (r->cached != NULL && r->cached[p->record[i]].why != NULL)
		return err_fail(ERR_ITEM, "%s", r->cached[p->record[i]].why);
	if (r->stream != NULL && t->bad)
		return err_fail(ERR_ITEM, "%s", (const char *)t->room.p);
	if (r->cached != NULL) {
		rec.labels = 1;
		if ((e = batch_device_cache_sample(r, p->record[i], &item, m->cached, &m->plan)) == 0)
			e = take_labels(r, &item, m);
		rec.id = item.id;
	} else if (r->cache == NULL || !batch_cache_get(r->cache, p->record[i], &item)) {
		if (r->stream == NULL)
			ERR_TRY(recimg_head(l->decoder, p->record[i], &rec, &pic));
		if ((r->stream == NULL || (e = recimg_head_of(l->decoder, t->room.p, t->room.n, &rec, &pic)) == 0) &&
		    (e = fill_batch_item(r, l, &rec, &pic, &item)) == 0 && r->cache != NULL)
			e = cache_sample(r, l, &rec, p->record[i], &item);
	} else {
		rec.labels = 1;
		rec.id = item.id;
	}
	if (e == 0 && r->cached == NULL)
		e = prepare_sample(r, l, &rec, &item, m);
	if (e < 0) {
		name_sample(r, l, p, i, &rec);
		return e == ERR_NOMEM ? e : ERR_ITEM;
	}
	return 0;
}

/*
 * Takes records i to end of a micro-batch from the stream.  Waits until the preceding records are taken; their thread
 * started earlier, so it cannot wait for this one.  Returns the number of records before the stream's end.
 */
static uint32_t
take_turn(struct batch_reader *r, struct batch_lane *l, struct batch_micro *p, uint32_t i, uint32_t end)
{
	uint32_t n = 0;
	int e = 1;

	pthread_mutex_lock(&r->turn_lock);
	while (r->turn != p->first + i)
		pthread_cond_wait(&r->turn_changed, &r->turn_lock);
	while (i + n < end && (e = recs_stream_take(r->stream, &l->taken[(i + n) % BATCH_PART])) > 0)
		n++;
	if (e < 0)
		note_sample_error(p, i + n, e);
	p->received += n;
	r->turn = p->first + end;
	pthread_cond_broadcast(&r->turn_changed);
	pthread_mutex_unlock(&r->turn_lock);
	return n;
}

/* Mixes sample i, which is m, with another, whose label still exists.  The class with the larger share comes first. */
static void
mix_sample(const struct batch_reader *r, struct batch_micro *p, uint32_t i, const struct made *m,
    const struct made *other)
{
	float share = m->plan.share, weight = (1 - share) * m->weight + share * other->weight;

	aug_mix(&r->opt.aug, &m->plan, (const void *)other->to, (void *)m->to);
	for (uint32_t k = 0; k < r->opt.targets; k++) {
		float *t = &p->target[(size_t)i * r->opt.targets + k];

		*t = (1 - share) * *t + share * convert_target(r, other->label[k]);
	}
	p->y[i] = share > 0.5f ? other->y : m->y;
	p->mix[i] = share > 0.5f ? (struct samples_mix){ m->y, 1 - share, weight } :
	    (struct samples_mix){ other->y, share, weight };
}

/* Makes the sample after a part, which belongs to another part. */
static int
make_other(struct batch_reader *r, struct batch_lane *l, const struct batch_micro *p, uint32_t i, struct made *m)
{
	l->other.n = 0;
	ERR_TRY(buf_room(&l->other, r->sample));
	m->to = l->other.p;
	return make_sample(r, l, p, i, m);
}

/*
 * Makes samples i to end from the records before `received`.  Each is mixed once the next sample
 * exists, which is unmixed yet.
 */
static void
make_part(struct batch_reader *r, struct batch_lane *l, struct batch_micro *p, uint32_t i, uint32_t received,
    uint32_t end)
{
	bool mixes = aug_mixes(&r->opt.aug), before = false;
	struct made last, m;
	int e;

	for (; i < end; i++) {
		m.to = (uint8_t *)p->sample + i * r->sample;
		m.cached = &p->cached[i];
		e = i < received ? make_sample(r, l, p, i, &m) : 0;
		if ((p->good[i] = i < received && e == 0)) {
			p->id[i] = m.id;
			p->y[i] = m.y;
			p->mirror[i] = m.plan.mirror;
			p->mix[i] = (struct samples_mix){ .other = m.y, .weight = m.weight };
			for (uint32_t k = 0; k < r->opt.targets; k++)
				p->target[(size_t)i * r->opt.targets + k] = convert_target(r, m.label[k]);
		} else if (e < 0) {
			note_sample_error(p, i, e);
		}
		if (mixes && before && p->good[i])
			mix_sample(r, p, i - 1, &last, &m);
		before = p->good[i];
		last = m;
	}
	if (!mixes || !before || end == p->n + p->more)
		return;
	if ((e = make_other(r, l, p, end, &m)) == 0)
		mix_sample(r, p, end - 1, &last, &m);
	else if (e != ERR_ITEM)
		note_sample_error(p, end - 1, e);
}

void
batch_sample_part(void *ctx, unsigned worker, uint32_t slot, uint32_t part)
{
	struct batch_reader *r = ctx;
	struct batch_lane *l = &r->lane[worker];
	struct batch_micro *p = &r->ring[slot];
	uint32_t i = part * r->part, end = p->n - i < r->part ? p->n : i + r->part;

	make_part(r, l, p, i, r->stream != NULL ? i + take_turn(r, l, p, i, end) : end, end);
}
