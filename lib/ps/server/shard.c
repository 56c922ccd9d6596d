/* shard - the slices of one server, in one memory (ps/memory.h). */
#include "ps/server/shard.h"
#include "base/err.h"
#include "net/optim/muon.h"

#include <stdlib.h>

struct shard_head *
shard_find_head(const struct memory *m)
{
	struct shard_head *h = m->base;

	return h != NULL && m->size >= sizeof(*h) && h->job != 0 && h->nworkers <= m->size - sizeof(*h) ? h : NULL;
}

/* Places all parts in a memory at base, or only measures them if that is NULL.  Returns the size. */
static size_t
place_parts(struct shard *s, void *base, uint32_t nworkers, bool once)
{
	size_t at = 0;

	s->head = memory_place(base, &at, sizeof(*s->head) + nworkers);
	s->total = memory_place(base, &at, sizeof(*s->total));
	s->deal = memory_place(base, &at, sizeof(*s->deal));
	s->settings = memory_place(base, &at, sizeof(*s->settings));
	s->norms.kept = memory_place(base, &at, norms_kept_size(&s->norms));
	for (uint32_t i = 0; i < s->plan->n; i++)
		if (shard_mine(s, i))
			slice_place(&s->slice[i], base, &at, once);
	return at;
}

/* A server before this one was closing a step: the slices that it did not reach close with the same norms. */
static void
attach_norms(struct shard *s)
{
	if (!norms_attach(&s->norms, s->memory, s->norms.kept))
		return;
	for (uint32_t i = 0; i < s->plan->nweights; i++)
		s->closing += shard_learns(s, i) && s->slice[i].step == s->norms.before_step;
}

static int
attach_memory(struct shard *s, uint32_t nworkers, uint64_t hash, bool once)
{
	hash += hash == 0;
	ERR_TRY(memory_resize(s->memory, place_parts(s, NULL, nworkers, once)));
	place_parts(s, s->memory->base, nworkers, once);
	if (s->head->job != 0 && s->head->job != hash)
		return err_fail(ERR_ARG, "the server's state is another job's");
	s->head->nworkers = nworkers;
	memory_store_number(s->memory, &s->head->job, hash);
	for (uint32_t i = 0; i < s->plan->n; i++) {
		struct slice *sl = &s->slice[i];

		if (!shard_mine(s, i))
			continue;
		sl->settings = s->settings;
		slice_attach(sl, s->memory);
		for (uint32_t w = 0; w < nworkers; w++)
			if (s->head->worker[w] >= SHARD_LEFT)
				slice_leave(sl, w);
	}
	attach_norms(s);
	return shard_follow_settings(s);
}

static int
alloc_work(struct shard *s)
{
	size_t most = 0;

	for (uint32_t i = 0; i < s->plan->n; i++) {
		const struct shard_plan_slice *at = &s->plan->slice[i];
		size_t room = at->rows > 0 ? muon_room(at->rows, at->count / at->rows) : 0;

		room = codec_updates(at->codec) && room < at->count ? at->count : room;
		most = shard_mine(s, i) && room > most ? room : most;
	}
	if (most > 0 && (s->pool.work = malloc(most * sizeof(float))) == NULL)
		return err_nomem();
	return 0;
}

/*
 * A worker chooses the graph and the size of slices, so it is refused before memory is taken for what does not fit.  A
 * server that follows another one takes what that had.
 */
static int
check_room(const struct shard *s, uint32_t nworkers)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < s->plan->n; i++)
		if (shard_mine(s, i))
			bytes += slice_room(&s->plan->slice[i], nworkers);
	return s->memory->base != NULL ? 0 : memory_fits(bytes);
}

static int
init_slices(struct shard *s, const struct hello *job)
{
	int e;

	if ((s->slice = calloc(s->plan->n, sizeof(*s->slice))) == NULL)
		return err_nomem();
	ERR_TRY(alloc_work(s));
	for (uint32_t i = 0; i < s->plan->nweights; i++)
		s->nlearned += shard_learns(s, i);
	for (uint32_t i = 0; i < s->plan->n; i++)
		if (shard_mine(s, i)) {
			s->slice[i].elastic = job->elastic > 0;
			s->slice[i].backup = job->backup;
			if ((e = slice_init(&s->slice[i], s->plan, i, job->nworkers, job->slack, &job->hyper,
			    &s->pool)) < 0)
				return e;
		}
	return 0;
}

int
shard_init(struct shard *s, const struct hello *job, const struct graph *g, uint64_t hash, struct memory *m, bool once)
{
	int e;

	*s = (struct shard){ .index = job->server, .slack = job->slack, .memory = m };
	if ((e = hello_check(&job->hyper, job->slack)) < 0 || (e = hello_check_workers(job)) < 0 ||
	    (e = shard_plan_new(g, job->nservers, job->slice, job->mults, &job->hyper, &s->plan)) < 0 ||
	    (e = check_room(s, job->nworkers)) < 0 ||
	    (e = norms_init(&s->norms, s->plan, &job->hyper, job->nworkers)) < 0 || (e = init_slices(s, job)) < 0 ||
	    (e = attach_memory(s, job->nworkers, hash, once)) < 0)
		shard_free(s);
	if (e == ERR_NOMEM)
		err_within("the shard");
	return e;
}

int
shard_follow_settings(struct shard *s)
{
	uint32_t slack = s->slack, most;

	settings_slack(settings_kept(s->settings), &slack, &most);
	for (uint32_t i = 0; i < s->plan->n; i++) {
		if (!shard_mine(s, i))
			continue;
		ERR_TRY(slice_realloc_coded(&s->slice[i]));
		stale_set(&s->slice[i].stale, slack, most);
	}
	return 0;
}

void
shard_free(struct shard *s)
{
	for (uint32_t i = 0; s->slice != NULL && i < s->plan->n; i++)
		slice_free(&s->slice[i]);
	free(s->slice);
	shard_plan_free(s->plan);
	slice_pool_free(&s->pool);
	norms_free(&s->norms);
	*s = (struct shard){ 0 };
}

bool
shard_mine(const struct shard *s, uint32_t i)
{
	return i < s->plan->n && s->plan->slice[i].owner == s->index;
}

bool
shard_learns(const struct shard *s, uint32_t i)
{
	return i < s->plan->nweights && shard_mine(s, i) && !s->plan->slice[i].frozen;
}

void
shard_slice_filled(struct shard *s, uint32_t i)
{
	struct slice *sl = &s->slice[i];

	if (!sl->full || sl->counted)
		return;
	if (s->closing > 0) {
		slice_update(sl, &s->norms.scale);
		s->closing--;
		return;
	}
	sl->counted = true;
	norms_add(&s->norms, sl->at, sl->w[sl->half], sl->samples > 0 ? slice_sum(sl) : NULL);
}

bool
shard_full(const struct shard *s)
{
	return s->norms.n > 0 && s->norms.full == s->nlearned;
}

/* Every server has a slice of weights that is not frozen. */
static const struct slice *
get_first_learned(const struct shard *s)
{
	uint32_t i = 0;

	while (!shard_learns(s, i))
		i++;
	return &s->slice[i];
}

uint64_t
shard_at(const struct shard *s)
{
	return s->closing > 0 ? s->norms.before_step : get_first_learned(s)->step;
}

uint64_t
shard_samples(const struct shard *s)
{
	return get_first_learned(s)->samples;
}

void
shard_update(struct shard *s, const struct norm *sums)
{
	norms_close(&s->norms, shard_at(s), sums, shard_samples(s));
	for (uint32_t i = 0; i < s->plan->nweights; i++)
		if (shard_learns(s, i))
			slice_update(&s->slice[i], &s->norms.scale);
}

void
shard_join(struct shard *s, uint32_t w)
{
	for (uint32_t i = 0; i < s->plan->n; i++)
		if (shard_mine(s, i))
			slice_join(&s->slice[i], w);
}

int
shard_keep(struct shard *s, uint32_t w)
{
	int e = 0;

	for (uint32_t i = 0; i < s->plan->n && e == 0; i++)
		if (shard_mine(s, i))
			e = slice_keep(&s->slice[i], w);
	return e;
}

uint64_t
shard_step(const struct shard *s, uint32_t w)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < s->plan->n; i++)
		if (shard_mine(s, i) && !s->plan->slice[i].frozen) {
			uint64_t step = slice_step(&s->slice[i], w);

			least = step < least ? step : least;
		}
	return least;
}

uint64_t
shard_furthest(const struct shard *s)
{
	const struct stale *g = &get_first_learned(s)->stale;
	uint64_t most = 0;

	for (uint32_t w = 0; w < g->n; w++)
		most = g->clock[w] > most ? g->clock[w] : most;
	return most;
}

bool
shard_ready(const struct shard *s)
{
	for (uint32_t i = 0; i < s->plan->n; i++)
		if (shard_mine(s, i) && !s->slice[i].ready)
			return false;
	return true;
}
