/* slice - one slice of a model at its server: gradients of workers in, weights out. */
#include "ps/server/slice_in.h"
#include "base/err.h"
#include "ps/deal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int
slice_init(struct slice *s, const struct shard_plan *p, uint32_t i, uint32_t nworkers, uint32_t slack,
	const struct opt_hyper *hyper, struct slice_pool *pool)
{
	s->plan = p;
	s->at = &p->slice[i];
	s->hyper = *hyper;
	s->pool = pool;
	s->missing = nworkers;
	s->waits = s->at->kind == SHARD_PLAN_WEIGHTS && norms_count(p, hyper) > 0;
	s->part = calloc(nworkers, sizeof(*s->part));
	s->due = calloc(nworkers, sizeof(*s->due));
	for (uint32_t w = 0; s->part != NULL && w < nworkers; w++)
		s->part[w] = (struct slice_part){ .read = slack != STALE_SYNC ? SLICE_NONE : 0, .behind = MSG_UNKNOWN };
	if (s->part == NULL || s->due == NULL || slice_alloc_coded(s, slack == STALE_SYNC) < 0)
		return err_nomem();
	return stale_init(&s->stale, NULL, nworkers, slack);
}

void
slice_free(struct slice *s)
{
	for (uint32_t w = 0; s->part != NULL && w < s->stale.n; w++)
		free(s->part[w].g);
	free(s->part);
	free(s->sum);
	free(s->spare);
	free(s->coded[0]);
	free(s->due);
	stale_free(&s->stale);
}

void
slice_place(struct slice *s, void *base, size_t *at, bool once)
{
	size_t bytes = s->at->count * sizeof(float);

	s->kept = memory_place(base, at, sizeof(*s->kept));
	s->clock = memory_place(base, at, s->stale.n * sizeof(*s->clock));
	for (int h = 0; h < 2; h++) {
		bool same = once && h > 0;

		if (s->at->frozen && h > 0)
			break;
		s->w[h] = same ? s->w[0] : memory_place(base, at, bytes);
		if (s->at->frozen)
			break;
		if (slice_count_states(s) > 0)
			s->m[h] = same ? s->m[0] : memory_place(base, at, slice_count_states(s) * bytes);
		if (codec_updates(s->answer))
			s->worker_w[h] = same ? s->worker_w[0] : memory_place(base, at, bytes);
		if (s->hyper.average.kind != AVERAGE_NONE)
			s->average[h] = same ? s->average[0] : memory_place(base, at, bytes);
	}
}

void
slice_attach(struct slice *s, const struct memory *m)
{
	bool sync = s->stale.slack == STALE_SYNC;
	int half = memory_half(&s->kept->word);
	const struct slice_record *r;

	s->memory = m;
	stale_attach(&s->stale, s->clock);
	if (half < 0)
		return;
	s->half = s->at->frozen ? 0 : (unsigned)half;
	r = &s->kept->record[half];
	s->step = r->step;
	s->updates = r->updates;
	s->averaged = r->averaged;
	s->average_half = r->average % 2;
	s->ready = true;
	s->began = s->step > 0 && s->kept->record[!half].step == s->step - 1;
	for (uint32_t w = 0; w < s->stale.n; w++)
		if (sync)
			s->clock[w] = s->part[w].read = s->step;
		else
			stale_done(&s->stale, w, s->step);
	if (!sync && r->worker < s->stale.n)
		stale_done(&s->stale, r->worker, r->clock);
}

/* The clock of a worker goes on, in the server's memory, too. */
static void
advance_clock(struct slice *s, uint32_t w, uint64_t step)
{
	stale_done(&s->stale, w, step);
	memory_report_change(s->memory, &s->clock[w], sizeof(s->clock[w]));
}

/* Returns the half to write; until it is published, its record says that it is incomplete. */
static unsigned
begin_half(struct slice *s)
{
	unsigned to = memory_other(&s->kept->word);

	s->encoded[to] = false;
	memory_store_number(s->memory, &s->kept->record[to].step, SLICE_NONE);
	return to;
}

/* Publishes a half, after the update by worker w that makes its clock `clock`; both are 0 if synchronous. */
static void
publish_half(struct slice *s, unsigned to, uint32_t w, uint64_t clock)
{
	struct slice_record *r = &s->kept->record[to];

	r->updates = s->updates;
	r->averaged = s->averaged;
	r->average = s->average_half;
	r->worker = w;
	r->clock = clock;
	memory_report_change(s->memory, (char *)r + sizeof(r->step), sizeof(*r) - sizeof(r->step));
	memory_store_number(s->memory, &r->step, s->step);
	memory_publish(s->memory, &s->kept->word, to);
	s->half = to;
}

int
slice_first(struct slice *s, const struct msg *m)
{
	bool state = m->flags & MSG_STATE_OF, average = m->flags & MSG_AVERAGE_OF;
	float *to = state ? s->m[0] : average ? s->average[0] : s->w[0];

	if (m->len != s->at->count * sizeof(float) * (state ? opt_states(s->hyper.rule) : 1) || to == NULL)
		return err_fail(ERR_FORMAT, "first weights of slice %" PRIu32 " have %" PRIu32 " bytes", m->slice,
		    m->len);
	if (s->ready)
		return 0;
	if (m->len > 0)
		memcpy(to, m->payload, m->len);
	memory_report_change(s->memory, to, m->len);
	if (average)
		s->averaged = m->samples;
	if (state || average)
		return 0;
	if (s->worker_w[0] != NULL) {
		slice_copy_floats(s->worker_w[0], s->w[0], s->at->count);
		slice_note_stored(s, s->worker_w[0], s->at->count);
	}
	if (s->averaged == 0 && s->average[0] != NULL)
		slice_copy_floats(s->average[0], s->w[0], s->at->count);
	s->averaged += s->averaged == 0 && s->hyper.average.kind == AVERAGE_LOOKAHEAD;
	s->step = m->step;
	s->updates = m->samples > 0 ? m->samples : m->step;
	memory_store_number(s->memory, &s->kept->record[1].step, SLICE_NONE);
	publish_half(s, 0, 0, 0);
	s->ready = true;
	slice_read(s, m->worker);
	for (uint32_t w = 0; w < s->stale.n; w++)
		advance_clock(s, w, m->step);
	return 0;
}

void
slice_update(struct slice *s, const struct norms_scale *k)
{
	unsigned to = begin_half(s);

	slice_apply_rule(s, to, slice_sum(s), s->samples, s->step, k);
	slice_update_average(s, to, s->samples > 0);
	slice_update_worker_w(s, to);
	s->step++;
	publish_half(s, to, 0, 0);
	if (s->sum != NULL)
		slice_pool_put(s->pool, s->sum, s->at->count);
	s->sum = NULL;
	s->first = NULL;
	s->samples = 0;
	s->full = s->counted = false;
	s->rated = false;
	s->began = true;
	/* A pull for the weights of the step that closes has no answer yet. */
	for (uint32_t w = 0; s->backup == 0 && w < s->stale.n; w++)
		if (s->due[w] & SLICE_PULL)
			s->due[w] ^= SLICE_PULL | SLICE_BEFORE;
}

static void
close_sum(struct slice *s)
{
	for (; s->next < s->stale.n; s->next++)
		slice_add(s, s->next);
	s->here = s->missing = s->given = 0;
	for (uint32_t w = 0; w < s->stale.n; w++) {
		s->part[w].here = false;
		if (s->backup > 0)	/* one that is late, too */
			stale_done(&s->stale, w, s->step + 1);
		s->missing += !s->stale.gone[w];
	}
	s->next = 0;
	s->full = true;
	if (!s->waits)
		slice_update(s, NULL);
}

/*
 * Adds the gradients that are next in the order of ranks, and closes the step when all are there, or with backup
 * workers enough.
 */
static void
advance_sum(struct slice *s)
{
	if (s->full)
		return;
	for (; s->next < s->stale.n && s->part[s->next].here; s->next++)
		slice_add(s, s->next);
	if (s->here > 0 && (s->missing == 0 || (s->backup > 0 && s->given + s->backup >= s->stale.n)))
		close_sum(s);
}

/* Whether m is the worker's next push, and no repetition. */
static bool
is_next_push(const struct slice *s, const struct msg *m)
{
	uint64_t done = s->stale.clock[m->worker];

	return m->step == done || (s->elastic && m->step > done && m->step < DEAL_BATCHES);
}

void *
slice_reserve(struct slice *s, const struct msg *m)
{
	struct slice_part *p = &s->part[m->worker];

	if (s->at->frozen || !s->ready || p->here || !is_next_push(s, m) || slice_codec(s, m).kind != CODEC_F32 ||
	    m->len != s->at->count * sizeof(float))
		return NULL;
	if (p->g == NULL)
		p->g = slice_pool_get(s->pool, s->at->count);
	return p->g;
}

static int
push_sync(struct slice *s, const struct msg *m)
{
	struct slice_part *p = &s->part[m->worker];

	if (m->samples > 0 && s->rated && m->rate != s->rate)
		return err_fail(ERR_FORMAT, "step %" PRIu64 " has rate %.9g, the others' %.9g", m->step,
		    (double)m->rate, (double)s->rate);
	if (m->samples > 0 && !slice_hold(s, m))
		return err_nomem();
	if (m->samples > 0) {
		s->rate = m->rate;
		s->rated = true;
	} else {
		slice_release(s, m->worker);
	}
	p->samples = m->samples;
	p->here = true;
	s->here++;
	s->given += m->samples > 0;
	s->missing -= !s->stale.gone[m->worker];
	s->marked |= (m->flags & MSG_MARK) != 0;
	stale_done(&s->stale, m->worker, m->step + 1);
	if (s->backup > 0)
		slice_add(s, m->worker);
	advance_sum(s);
	return 0;
}

/* With backup workers: how many steps a gradient came too late. */
static void
count_late(struct slice *s, const struct msg *m)
{
	struct slice_part *p = &s->part[m->worker];

	if (m->samples == 0 || m->step < p->read || s->at->kind != SHARD_PLAN_WEIGHTS)
		return;
	p->behind = (float)(s->step + s->full - m->step);
	p->read = m->step + 1;
}

static int
push_async(struct slice *s, const struct msg *m)
{
	unsigned to;

	if (m->samples > 0 && !slice_hold(s, m))
		return err_nomem();
	if (m->samples > 0 && s->part[m->worker].read <= s->updates)
		s->part[m->worker].behind = (float)(s->updates - s->part[m->worker].read);
	to = begin_half(s);
	s->rate = m->rate;
	slice_apply_rule(s, to, slice_lent(s, m) ? m->payload : s->part[m->worker].g, m->samples, m->step,
	    NULL);
	slice_update_average(s, to, m->samples > 0);
	publish_half(s, to, m->worker, m->step + 1);
	advance_clock(s, m->worker, m->step + 1);
	slice_release(s, m->worker);
	s->part[m->worker].lent = NULL;
	return 0;
}

int
slice_push(struct slice *s, const struct msg *m)
{
	bool empty = m->flags & MSG_EMPTY;
	bool next = is_next_push(s, m);
	const struct codec codec = slice_codec(s, m);

	if (s->at->frozen)
		return err_fail(ERR_FORMAT, "slice %" PRIu32 " is frozen", m->slice);
	if (!s->ready || (!next && m->step > s->stale.clock[m->worker]) ||
	    (next && (s->full || !stale_may_have_begun(&s->stale, m->worker))))
		return err_fail(ERR_FORMAT, "step %" PRIu64 " of slice %" PRIu32 " is out of turn", m->step, m->slice);
	if (m->len != (empty ? 0 : codec_bytes(codec, s->at->count)) || empty != (m->samples == 0) ||
	    !isfinite(m->rate))
		return err_fail(ERR_FORMAT, "push of slice %" PRIu32 " has %" PRIu32 " bytes, %" PRIu32
		    " samples, rate %g", m->slice, m->len, m->samples, (double)m->rate);
	/* Its indices could change after the look at them. */
	if (m->flags & MSG_LENT && codec.kind != CODEC_F32)
		return err_fail(ERR_FORMAT, "push of slice %" PRIu32 " is lent", m->slice);
	/* A repeated gradient may have other bytes by now, as its worker goes on when it is answered. */
	if (next && !empty && !codec_valid(codec, m->payload, s->at->count))
		return err_fail(ERR_FORMAT, "push of slice %" PRIu32 " has invalid indices", m->slice);
	if (s->backup > 0)
		count_late(s, m);
	if (next)
		ERR_TRY(s->stale.slack != STALE_SYNC ? push_async(s, m) : push_sync(s, m));
	s->due[m->worker] |= SLICE_W;
	return 0;
}

void
slice_leave(struct slice *s, uint32_t w)
{
	s->due[w] = 0;
	s->missing -= !s->stale.gone[w] && !s->part[w].here;
	stale_leave(&s->stale, w);
	if (s->stale.slack == STALE_SYNC)
		advance_sum(s);
}

void
slice_join(struct slice *s, uint32_t w)
{
	s->due[w] = 0;
	s->missing += s->stale.gone[w] && !s->part[w].here;
	/* Server 0 may have dealt it a batch that this server's slowest worker has passed. */
	if (s->elastic)
		stale_return(&s->stale, w);
	else
		stale_join(&s->stale, w);
	if (s->stale.slack == STALE_SYNC)
		stale_done(&s->stale, w, s->step + s->full);	/* a full step is closed to a worker that joins now */
}

float
slice_read(struct slice *s, uint32_t w)
{
	float behind = s->part[w].behind;

	if (s->stale.slack != STALE_SYNC)
		s->part[w].read = s->at->kind == SHARD_PLAN_WEIGHTS ? s->updates : SLICE_NONE;
	s->part[w].behind = MSG_UNKNOWN;
	return behind;
}

uint64_t
slice_step(const struct slice *s, uint32_t w)
{
	return s->stale.slack == STALE_SYNC ? s->step : s->stale.clock[w];
}
