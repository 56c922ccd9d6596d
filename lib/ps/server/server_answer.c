/* server_answer - what a server answers to workers about its slices: serves server_state. */
#include "ps/server/server_state_in.h"

/* `due`: SLICE_ bits.  A worker that begins has nothing that an update could be added to. */
static void
send_weights(struct server_state *s, uint32_t i, uint32_t w, unsigned due)
{
	struct slice *sl = &s->shard.slice[i];
	const struct shard_head *head = s->shard.head;
	bool sync = s->hello.slack == STALE_SYNC, before = due & SLICE_BEFORE;
	bool whole = sl->worker_w[0] != NULL && (due != SLICE_W || !sl->began);
	unsigned half = before ? !sl->half : sl->half;
	const struct codec codec = slice_answer(sl, half);
	struct msg m = { .type = MSG_WEIGHTS, .slice = i, .step = slice_step(sl, w) - before,
	    .samples = sync ? 0 : (uint32_t)sl->updates };

	if (i == s->shard.plan->lead && (sync ? head->last > 0 && m.step >= head->last : head->stop))
		m.flags = MSG_LAST;
	if (due == SLICE_READY) {
		m.flags |= MSG_EMPTY;
		server_state_emit(s, w, m);
		return;
	}
	if (!sync || sl->backup > 0)
		m.rate = !sync || due & SLICE_W ? slice_read(sl, w) : MSG_UNKNOWN;
	m.flags |= whole ? MSG_EXACT : shard_plan_codec_flags(sl->answer, codec);
	m.len = (uint32_t)(whole ? sl->at->count * sizeof(float) : codec_bytes(codec, sl->at->count));
	m.payload = whole ? sl->worker_w[half] : slice_coded(sl, half);
	/*
	 * This half is written again two steps later, which needs a push of this worker after it has these weights.
	 * Other answers are copied: the next update may change them.
	 */
	m.lasting = sync && sl->backup == 0 && !before;
	server_state_emit(s, w, m);
}

static void
send_state(struct server_state *s, uint32_t i, uint32_t w)
{
	const struct slice *sl = &s->shard.slice[i];

	server_state_emit(s, w, (struct msg){ .type = MSG_STATE, .slice = i, .step = slice_step(sl, w),
	    .len = (uint32_t)(sl->at->count * opt_states(sl->hyper.rule) * sizeof(float)),
	    .payload = sl->m[sl->half] });
}

/* An average over no weights yet is the newest weights, not the first ones. */
static void
send_average(struct server_state *s, uint32_t i, uint32_t w)
{
	const struct slice *sl = &s->shard.slice[i];

	server_state_emit(s, w, (struct msg){ .type = MSG_STATE, .flags = MSG_AVERAGE_OF, .slice = i,
	    .step = slice_step(sl, w),
	    .samples = sl->averaged, .len = (uint32_t)(sl->at->count * sizeof(float)),
	    .payload = sl->averaged > 0 ? sl->average[sl->average_half] : sl->w[sl->half] });
}

static void
send_exact(struct server_state *s, uint32_t i, uint32_t w)
{
	const struct slice *sl = &s->shard.slice[i];

	server_state_emit(s, w, (struct msg){ .type = MSG_STATE, .flags = MSG_EXACT, .slice = i,
	    .step = slice_step(sl, w), .len = (uint32_t)(sl->at->count * sizeof(float)), .payload = sl->w[sl->half] });
}

/* The SLICE_ bits that the next message to worker w about this slice answers; 0: none yet. */
static unsigned
find_due(struct slice *sl, uint32_t w)
{
	unsigned due = sl->due[w];
	bool open = due & SLICE_W && !sl->full && stale_may_step(&sl->stale, w);

	if (due & SLICE_READY)
		return SLICE_READY;
	if (due & (SLICE_STATE | SLICE_AVERAGE | SLICE_BEFORE | SLICE_EXACT))
		return due & SLICE_STATE ? SLICE_STATE : due & SLICE_AVERAGE ? SLICE_AVERAGE :
		    due & SLICE_EXACT ? SLICE_EXACT : SLICE_BEFORE;
	return (due & SLICE_PULL) | (open ? SLICE_W : 0);
}

void
server_answer_worker(struct server_state *s, uint32_t i, uint32_t w)
{
	struct slice *sl = &s->shard.slice[i];
	unsigned due;

	while ((due = find_due(sl, w)) != 0) {
		if (s->o.room != NULL && !s->o.room(s->o.arg, w)) {
			s->peer[w].answer_waits = true;
			return;
		}
		sl->due[w] &= (uint8_t)~due;
		if (due & SLICE_STATE)
			send_state(s, i, w);
		else if (due & SLICE_AVERAGE)
			send_average(s, i, w);
		else if (due & SLICE_EXACT)
			send_exact(s, i, w);
		else
			send_weights(s, i, w, due);
	}
}

void
server_answer(struct server_state *s, uint32_t i, uint64_t was, uint32_t worker)
{
	struct slice *sl = &s->shard.slice[i];
	struct shard_head *head = s->shard.head;
	uint64_t least = sl->stale.slack != STALE_ASYNC ? stale_least(&sl->stale) : 0;

	if (!sl->ready)
		return;
	if (i == s->shard.plan->lead && head->stop && head->last == 0 && sl->step > was)
		memory_store_number(s->shard.memory, &head->last, sl->step);
	if (worker != SERVER_ALL && sl->step <= was && least == sl->answered) {
		server_answer_worker(s, i, worker);
		return;
	}
	sl->answered = least;
	for (uint32_t w = 0; w < s->o.nworkers; w++)
		server_answer_worker(s, i, w);
}
