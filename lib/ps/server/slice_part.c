/* slice_part - the gradients of a slice's open step, held or lent, and their sum: serves slice. */
#include "ps/server/slice_in.h"
#include "base/err.h"

#include <string.h>

uint64_t
slice_room(const struct shard_plan_slice *at, uint32_t nworkers)
{
	return sizeof(struct slice) + at->count * sizeof(float) + nworkers * (uint64_t)(sizeof(struct slice_part) + 2);
}

/* Adds a gradient to the first one, which is lent: the sum has the buffer of the other, or the spare one. */
static void
add_to_first(struct slice *s, struct slice_part *p)
{
	s->sum = p->g != NULL ? p->g : s->spare;
	s->spare = p->g != NULL ? s->spare : NULL;
	opt_add_to(s->first, p->g != NULL ? p->g : p->lent, s->at->count, s->sum);
	s->first = NULL;
	p->g = NULL;
}

void
slice_add(struct slice *s, uint32_t w)
{
	struct slice_part *p = &s->part[w];

	if (!p->here || (p->g == NULL && p->lent == NULL))
		return;
	if (s->first != NULL) {
		add_to_first(s, p);
	} else if (s->sum != NULL) {
		opt_add(s->sum, p->g != NULL ? p->g : p->lent, s->at->count);
		if (p->g != NULL)
			slice_pool_put(s->pool, p->g, s->at->count);
	} else {
		s->sum = p->g;
		s->first = p->lent;
		s->lender = w;
	}
	s->samples += p->samples;
	p->g = NULL;
	p->lent = NULL;
}

const float *
slice_sum(const struct slice *s)
{
	return s->first != NULL ? s->first : s->sum;
}

bool
slice_lent(const struct slice *s, const struct msg *m)
{
	return m->lasting && slice_codec(s, m).kind == CODEC_F32;
}

void
slice_release(struct slice *s, uint32_t w)
{
	if (s->part[w].g != NULL)
		slice_pool_put(s->pool, s->part[w].g, s->at->count);
	s->part[w].g = NULL;
}

/* The gradient of m is read where it is.  With those of others it needs one buffer, for the sum. */
static bool
borrow_gradient(struct slice *s, const struct msg *m)
{
	slice_release(s, m->worker);
	if (s->stale.slack == STALE_SYNC && s->stale.n > 1 && s->spare == NULL &&
	    (s->spare = slice_pool_get(s->pool, s->at->count)) == NULL)
		return false;
	s->part[m->worker].lent = m->payload;
	return true;
}

bool
slice_hold(struct slice *s, const struct msg *m)
{
	struct slice_part *p = &s->part[m->worker];

	if (slice_lent(s, m))
		return borrow_gradient(s, m);
	if (p->g == NULL && (p->g = slice_pool_get(s->pool, s->at->count)) == NULL)
		return false;
	if (m->payload != p->g)
		codec_decode(slice_codec(s, m), m->payload, s->at->count, p->g);
	return true;
}

/* The only copy of a gradient that is lent, in a buffer; NULL if out of memory. */
static float *
copy_gradient(struct slice *s, const float *lent)
{
	float *g = slice_pool_get(s->pool, s->at->count);

	if (g != NULL)
		memcpy(g, lent, s->at->count * sizeof(float));
	return g;
}

int
slice_keep(struct slice *s, uint32_t w)
{
	struct slice_part *p = &s->part[w];

	if (p->lent != NULL && (p->g = copy_gradient(s, p->lent)) == NULL)
		return err_nomem();
	p->lent = NULL;
	if (s->first == NULL || s->lender != w)
		return 0;
	if ((s->sum = copy_gradient(s, s->first)) == NULL)
		return err_nomem();
	s->first = NULL;
	return 0;
}
