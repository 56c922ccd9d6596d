/* worker_state_handle - handles a server's message: serves worker_state. */
#include "ps/worker/worker_state_in.h"
#include "base/err.h"
#include "ps/hello.h"

#include <inttypes.h>
#include <string.h>

/* The offset of slice i in the staged floats, which are w and then aux. */
static size_t
find_staged_offset(const struct worker_state *ws, uint32_t i)
{
	const struct shard_plan_slice *s = &ws->plan->slice[i];

	return s->kind == SHARD_PLAN_AUX ? ws->graph->P + s->first : s->first;
}

/*
 * Only a synchronous job determines the step of an answer.  There an answer to a dead worker may reach its successor,
 * which must not mistake it for its own.
 */
static bool
is_answer_wanted(const struct worker_state *ws, const struct worker_part *p, uint64_t step)
{
	if (!p->waiting || p->want == WORKER_ANY)
		return p->waiting;
	return worker_state_exact_steps(ws) ? step == p->want : step >= p->want;
}

void *
worker_state_place(const struct worker_state *ws, uint32_t server, const struct msg *m)
{
	const struct shard_plan_slice *s = m->slice < ws->plan->n ? &ws->plan->slice[m->slice] : NULL;

	if (m->type != MSG_WEIGHTS || s == NULL || s->owner != server || codec_updates(s->codec) ||
	    shard_plan_codec(s, m, ws->w->slack == STALE_SYNC).kind != CODEC_F32 ||
	    m->len != s->count * sizeof(float) || !is_answer_wanted(ws, &ws->part[m->slice], m->step))
		return NULL;
	return ws->staged + find_staged_offset(ws, m->slice);
}

void
worker_state_keep(struct worker_state *ws, uint32_t server)
{
	for (uint32_t i = 0; i < ws->plan->n; i++) {
		const struct shard_plan_slice *s = &ws->plan->slice[i];
		struct worker_part *p = &ws->part[i];

		if (s->owner == server && p->lent != NULL && s->count > 0)
			memcpy(ws->staged + find_staged_offset(ws, i), p->lent, s->count * sizeof(float));
		if (s->owner == server)
			p->lent = NULL;
	}
}

static int
store_state(struct worker_state *ws, uint32_t i, const struct msg *m)
{
	const struct shard_plan_slice *s = &ws->plan->slice[i];
	uint16_t is = m->flags & (MSG_AVERAGE_OF | MSG_EXACT);
	uint32_t states = is != 0 ? 1 : opt_states(ws->w->hyper.rule);

	if (m->len != s->count * states * sizeof(float) || (is != MSG_AVERAGE_OF && s->kind != SHARD_PLAN_WEIGHTS))
		return err_fail(ERR_FORMAT, "the state of slice %" PRIu32 " has %" PRIu32 " bytes", i, m->len);
	/* In a synchronous job an answer to an earlier request may come twice. */
	if (!ws->part[i].asked || ws->wants != (is != 0 ? is : MSG_STATE_OF) ||
	    (worker_state_exact_steps(ws) && m->step != ws->step))
		return 0;
	ws->part[i].asked = false;
	if (m->len > 0)
		memcpy(ws->to + find_staged_offset(ws, i) * states, m->payload, m->len);
	ws->averaged = is == MSG_AVERAGE_OF && m->samples > ws->averaged ? m->samples : ws->averaged;
	return 0;
}

/* A slice of weights or statistics has arrived. */
static void
finish_slice(struct worker_state *ws, const struct msg *m)
{
	struct worker_part *p = &ws->part[m->slice];

	p->waiting = false;
	p->got = m->step;
	if (ws->begin_done && !worker_state_exact_steps(ws) && p->push.type == MSG_PUSH && m->rate >= 0 &&
	    m->rate < 0x1p32f)
		staleness_add(&ws->staleness, (uint32_t)m->rate);
	if (m->slice == ws->plan->lead) {
		ws->last = m->flags & MSG_LAST;
		ws->updates = m->samples;
	}
}

/* The server has the first weights that this worker sent it.  An answer to a dead worker may reach its successor. */
static int
keep_first(struct worker_state *ws, const struct msg *m)
{
	const struct shard_plan_slice *s = &ws->plan->slice[m->slice];
	const float *from = s->kind == SHARD_PLAN_AUX ? ws->w->aux : ws->w->w;

	if (m->len > 0)
		return err_fail(ERR_FORMAT, "slice %" PRIu32 " has %" PRIu32 " bytes", m->slice, m->len);
	if (!ws->begin_called || ws->begin_done || !worker_state_starts(ws, m->slice) ||
	    !is_answer_wanted(ws, &ws->part[m->slice], m->step))
		return 0;
	if (s->count > 0)
		memcpy(ws->staged + find_staged_offset(ws, m->slice), from + s->first, s->count * sizeof(float));
	ws->part[m->slice].lent = NULL;
	finish_slice(ws, m);
	return 0;
}

static int
handle_slice_answer(struct worker_state *ws, uint32_t server, const struct msg *m)
{
	const struct shard_plan_slice *s;
	struct worker_part *p;
	struct codec codec;
	float *to;

	if (m->slice >= ws->plan->n || ws->plan->slice[m->slice].owner != server)
		return err_fail(ERR_FORMAT, "slice %" PRIu32 " belongs to another server", m->slice);
	if (m->type == MSG_STATE)
		return store_state(ws, m->slice, m);
	if (m->flags & MSG_EMPTY)
		return keep_first(ws, m);
	s = &ws->plan->slice[m->slice];
	p = &ws->part[m->slice];
	codec = shard_plan_codec(s, m, ws->w->slack == STALE_SYNC);
	if (m->len != codec_bytes(codec, s->count))
		return err_fail(ERR_FORMAT, "slice %" PRIu32 " has %" PRIu32 " bytes", m->slice, m->len);
	if (m->flags & MSG_LENT && codec.kind != CODEC_F32)
		return err_fail(ERR_FORMAT, "slice %" PRIu32 " is lent", m->slice);
	/* An update for a dead worker may reach its successor, which has no weights yet to add it to. */
	if (!is_answer_wanted(ws, p, m->step) || (codec_updates(codec) && (!ws->begin_done || p->got + 1 != m->step)))
		return 0;
	if (!codec_valid(codec, m->payload, s->count))
		return err_fail(ERR_FORMAT, "slice %" PRIu32 " has invalid indices", m->slice);
	to = ws->staged + find_staged_offset(ws, m->slice);
	/* Later updates are added to what is staged. */
	p->lent = m->lasting && s->kind == SHARD_PLAN_WEIGHTS && codec.kind == CODEC_F32 && !codec_updates(s->codec) ?
	    m->payload : NULL;
	if (p->lent == NULL && codec_updates(codec))
		codec_add(codec, m->payload, s->count, to);
	else if (p->lent == NULL && m->payload != to)
		codec_decode(codec, m->payload, s->count, to);
	finish_slice(ws, m);
	return 0;
}

static int
handle_total(struct worker_state *ws, const struct msg *m)
{
	if (!ws->summing || m->step != ws->sum_step || m->slice != TOTAL_INDEX(ws->sum_phase, ws->sum_index))
		return 0;
	if (m->len != ws->sum_n * sizeof(double))
		return err_fail(ERR_FORMAT, "a sum of %" PRIu32 " bytes", m->len);
	if (m->len > 0)
		memcpy(ws->sum, m->payload, m->len);
	ws->summing = false;
	ws->sum_index++;
	return 0;
}

static void
send_norms_total(struct worker_state *ws, uint32_t server, uint64_t step)
{
	worker_state_emit(ws, server, (struct msg){ .type = MSG_NORMS, .step = step, .len = ws->norms.n * NORM_BYTES,
	    .payload = ws->norms.bytes[step % 2] });
}

/*
 * Adds a server's part of a step's norms.  With the last part the total goes to all servers.  If a part arrives again
 * after that, the server was restarted and gets the total again.  Parts that arrive before worker_state_begin() are
 * dropped, as servers send them again.
 */
static int
handle_norms_part(struct worker_state *ws, uint32_t server, const struct msg *m)
{
	struct worker_norms *n = &ws->norms;
	uint8_t *bytes = n->bytes[m->step % 2];

	if (n->n == 0 || m->len != n->n * NORM_BYTES)
		return err_fail(ERR_FORMAT, "%" PRIu32 " bytes of norms", m->len);
	if (!ws->begin_called || m->step < n->step)
		return 0;
	if (m->step == n->step && n->has[server]) {
		if (n->missing == 0)
			send_norms_total(ws, server, m->step);
		return 0;
	}
	if (m->step > n->step) {
		memset(n->has, 0, ws->o.nservers * sizeof(*n->has));
		memset(n->sum, 0, n->n * sizeof(*n->sum));
		n->missing = ws->o.nservers;
		n->step = m->step;
	}
	for (uint32_t i = 0; i < n->n; i++) {
		struct norm part;

		norm_get(&part, (const uint8_t *)m->payload + i * NORM_BYTES);
		norm_add_sum(&n->sum[i], &part);
	}
	n->has[server] = true;
	if (--n->missing > 0)
		return 0;
	for (uint32_t i = 0; i < n->n; i++)
		norm_put(&n->sum[i], bytes + i * NORM_BYTES);
	for (uint32_t s = 0; s < ws->o.nservers; s++)
		send_norms_total(ws, s, m->step);
	return 0;
}

/* All changes are told again after each welcome; one before it was meant for the predecessor of this worker. */
static int
handle_deal(struct worker_state *ws, uint32_t server, const struct msg *m)
{
	if (ws->w->elastic == 0 || server != 0 || m->samples == 0 || m->samples > ws->w->nworkers ||
	    m->step >= DEAL_BATCHES)
		return err_fail(ERR_FORMAT, "%" PRIu32 " workers from batch %" PRIu64 " on", m->samples, m->step);
	if (ws->link[server].welcome)
		deal_add(&ws->deal, m->step, m->samples);
	return 0;
}

static int
fail_refused_job(bool welcome, const struct msg *m)
{
	char why[ERR_LINE];

	msg_reason(m, why);
	return err_fail(welcome ? ERR_PEER : ERR_ARG, "%s", why);
}

int
worker_state_take(struct worker_state *ws, uint32_t server, const struct msg *m)
{
	struct worker_server *l = &ws->link[server];

	switch (m->type) {
	case MSG_WELCOME:
		if (!l->welcome)
			*l = (struct worker_server){ .welcome = true, .empty = m->flags & MSG_EMPTY,
			    .kept = m->flags & MSG_KEPT, .step = m->step };
		return 0;
	case MSG_REFUSE:
		return fail_refused_job(l->welcome, m);
	case MSG_WEIGHTS:
	case MSG_STATE:
		return handle_slice_answer(ws, server, m);
	case MSG_TOTAL:
		return handle_total(ws, m);
	case MSG_NORMS:
		return handle_norms_part(ws, server, m);
	case MSG_DEAL:
		return handle_deal(ws, server, m);
	case MSG_SET:
		return worker_state_handle_set(ws, server, m);
	case MSG_BYE:
		l->bye = true;
		return 0;
	default:
		return err_fail(ERR_FORMAT, "%s is not for a worker", msg_name(m->type));
	}
}
