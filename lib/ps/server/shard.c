/* shard - the slices of one server, in one block of memory. */
#include "ps/server/shard.h"
#include "base/err.h"
#include "net/optim/muon.h"

#include <stdlib.h>

#define LINE 16		/* floats of a cache line, on which each array begins */

static size_t
pad_to_line(size_t count)
{
	return (count + LINE - 1) / LINE * LINE;
}

/* Floats of slice i, each of its arrays padded to *room.  A frozen slice has only weights. */
static size_t
count_slice_floats(const struct shard *s, uint32_t i, uint32_t more, size_t *room)
{
	*room = shard_mine(s, i) ? pad_to_line(s->plan->slice[i].count) : 0;
	return (s->plan->slice[i].frozen ? 1 : 3 + more) * *room;
}

/* One allocation with w, m, sum, before and average of each slice in turn: a step uses adjacent memory. */
static int
alloc_slice_arrays(struct shard *s, const struct opt_hyper *h)
{
	bool average = h->average.kind != AVERAGE_NONE;
	uint32_t states = opt_states(h->rule), more = states + average;
	size_t all = LINE, room;
	float *at;

	for (uint32_t i = 0; i < s->plan->n; i++)
		all += count_slice_floats(s, i, more, &room);
	if ((s->memory = calloc(all, sizeof(float))) == NULL)
		return err_nomem();
	at = s->memory + (64 - (uintptr_t)s->memory % 64) % 64 / sizeof(float);
	for (uint32_t i = 0; i < s->plan->n; at += count_slice_floats(s, i++, more, &room)) {
		count_slice_floats(s, i, more, &room);
		if (!shard_mine(s, i))
			continue;
		s->slice[i].w = at;
		if (s->plan->slice[i].frozen)
			continue;
		s->slice[i].m = s->plan->slice[i].kind == SHARD_PLAN_WEIGHTS ? at + room : NULL;
		s->slice[i].sum = at + (1 + states) * room;
		s->slice[i].before = at + (2 + states) * room;
		s->slice[i].average = average ? at + (3 + states) * room : NULL;
		if (s->plan->slice[i].count > s->pool.count)
			s->pool.count = s->plan->slice[i].count;
	}
	return 0;
}

static int
alloc_matrix_work(struct shard *s)
{
	size_t most = 0;

	for (uint32_t i = 0; i < s->plan->n; i++) {
		const struct shard_plan_slice *at = &s->plan->slice[i];
		size_t room = at->rows > 0 && shard_mine(s, i) ? muon_room(at->rows, at->count / at->rows) : 0;

		most = room > most ? room : most;
	}
	if (most > 0 && (s->pool.work = malloc(most * sizeof(float))) == NULL)
		return err_nomem();
	return 0;
}

static int
init_slices(struct shard *s, const struct hello *job)
{
	int e;

	if ((s->slice = calloc(s->plan->n, sizeof(*s->slice))) == NULL)
		return err_nomem();
	if ((e = alloc_slice_arrays(s, &job->hyper)) < 0 || (e = alloc_matrix_work(s)) < 0)
		return e;
	for (uint32_t i = 0; i < s->plan->n; i++)
		if (shard_mine(s, i) && (e = slice_init(&s->slice[i], s->plan, i, job->nworkers, job->slack,
		    &job->hyper, &s->pool)) < 0)
			return e;
	return 0;
}

int
shard_init(struct shard *s, const struct hello *job, const struct graph *g)
{
	int e;

	*s = (struct shard){ .index = job->server };
	if ((e = hello_check(&job->hyper, job->slack)) < 0 ||
	    (e = shard_plan_new(g, job->nservers, job->slice, job->mults, &job->hyper, &s->plan)) < 0 ||
	    (e = norms_init(&s->norms, s->plan, &job->hyper, job->nworkers)) < 0 || (e = init_slices(s, job)) < 0)
		shard_free(s);
	return e;
}

void
shard_free(struct shard *s)
{
	for (uint32_t i = 0; s->slice != NULL && i < s->plan->n; i++)
		slice_free(&s->slice[i]);
	free(s->slice);
	free(s->memory);
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
shard_count(struct shard *s, uint32_t i)
{
	struct slice *sl = &s->slice[i];

	if (!sl->full || sl->counted)
		return;
	sl->counted = true;
	norms_add(&s->norms, sl->at, sl->w, sl->samples > 0 ? sl->sum : NULL);
}

bool
shard_full(const struct shard *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->plan->nweights; i++)
		n += shard_learns(s, i);
	return s->norms.n > 0 && s->norms.full == n;
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
	return get_first_learned(s)->step;
}

uint64_t
shard_samples(const struct shard *s)
{
	return get_first_learned(s)->samples;
}

void
shard_update(struct shard *s, const struct norm *sums)
{
	norms_close(&s->norms, sums, shard_samples(s));
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

bool
shard_ready(const struct shard *s)
{
	for (uint32_t i = 0; i < s->plan->n; i++)
		if (shard_mine(s, i) && !s->slice[i].ready)
			return false;
	return true;
}
