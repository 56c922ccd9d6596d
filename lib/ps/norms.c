/* norms - the norms that an update needs, of arrays whose floats are spread over several servers. */
#include "ps/norms.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

uint32_t
norms_count(const struct shard_plan *p, const struct opt_hyper *h)
{
	unsigned needs = opt_needs(h);

	return needs & OPT_NORMS ? 2 * p->ngroup : needs & OPT_NORM ? 1 : 0;
}

int
norms_init(struct norms *s, const struct shard_plan *p, const struct opt_hyper *h, uint32_t nworkers)
{
	*s = (struct norms){ .plan = p, .hyper = *h, .n = norms_count(p, h), .each = opt_needs(h) & OPT_NORMS };
	s->now = calloc(s->n + 1, sizeof(*s->now));
	s->before = calloc(s->n + 1, sizeof(*s->before));
	s->all = calloc(s->n + 1, sizeof(*s->all));
	s->bytes = calloc(s->n + 1, NORM_BYTES);
	s->sent = calloc(nworkers, sizeof(*s->sent));
	s->scale.rate = calloc(p->ngroup + 1, sizeof(*s->scale.rate));
	return s->now != NULL && s->before != NULL && s->all != NULL && s->bytes != NULL && s->sent != NULL &&
	    s->scale.rate != NULL ? 0 : err_nomem();
}

void
norms_free(struct norms *s)
{
	free(s->now);
	free(s->before);
	free(s->all);
	free(s->bytes);
	free(s->sent);
	free(s->scale.rate);
}

void
norms_add(struct norms *s, const struct shard_plan_slice *at, const float *w, const float *g)
{
	size_t first = at->first, end = first + at->count;

	s->full++;
	if (g == NULL)
		return;
	if (!s->each) {
		norm_add(s->now, g, at->count);
		return;
	}
	for (uint32_t a = 0; a < s->plan->ngroup; a++) {
		const struct shard_plan_group *p = &s->plan->group[a];
		size_t from = p->first > first ? p->first : first;
		size_t to = p->first + p->count < end ? p->first + p->count : end;

		if (from >= to)
			continue;
		norm_add(&s->now[2 * a], g + (from - first), to - from);
		norm_add(&s->now[2 * a + 1], w + (from - first), to - from);
	}
}

/* The norm of the mean gradient over all arrays.  The sums are integers, so that their order does not matter. */
static double
compute_mean_norm(const struct norms *s, const struct norm *sums, double n)
{
	struct norm all = { { 0 } };

	for (uint32_t i = 0; i < s->n; i += s->each ? 2 : 1)
		norm_add_sum(&all, &sums[i]);
	return norm_root(&all) / n;
}

static void
compute_scale(struct norms *s, const struct norm *sums, uint64_t samples)
{
	double n = (double)samples, shrink = 1;

	if (samples > 0 && opt_needs(&s->hyper) & OPT_NORM)
		shrink = opt_shrink(compute_mean_norm(s, sums, n), &s->hyper);
	s->scale.shrink = shrink;
	for (uint32_t a = 0; a < s->plan->ngroup; a++) {
		const struct shard_plan_group *x = &s->plan->group[a];

		s->scale.rate[a] = 1;
		if (s->each && x->rows > 0 && samples > 0)
			s->scale.rate[a] *= (float)opt_trust(norm_root(&sums[2 * a + 1]),
			    shrink * norm_root(&sums[2 * a]) / n, (double)s->hyper.wd * (double)x->wd, &s->hyper);
	}
}

size_t
norms_kept_size(const struct norms *s)
{
	return sizeof(*s->kept) + 4 * s->n * sizeof(struct norm);
}

bool
norms_attach(struct norms *s, const struct memory *m, struct norms_kept *kept)
{
	const struct norm *sum;
	int half = memory_half(&kept->word);

	s->memory = m;
	s->kept = kept;
	if (s->n == 0 || half < 0)
		return false;
	sum = kept->sum + 2 * (size_t)half * s->n;
	memcpy(s->before, sum, s->n * sizeof(*sum));
	s->before_step = kept->record[half].step;
	s->has_before = kept->record[half].samples > 0;
	compute_scale(s, sum + s->n, kept->record[half].samples);
	return true;
}

static void
keep_norms(const struct norms *s, uint64_t step, const struct norm *sums, uint64_t samples)
{
	unsigned to = memory_other(&s->kept->word);
	struct norm *sum = s->kept->sum + 2 * (size_t)to * s->n;

	memcpy(sum, s->now, s->n * sizeof(*sum));
	memcpy(sum + s->n, sums, s->n * sizeof(*sum));
	memory_report_change(s->memory, sum, 2 * s->n * sizeof(*sum));
	s->kept->record[to].step = step;
	s->kept->record[to].samples = samples;
	memory_report_change(s->memory, &s->kept->record[to], sizeof(s->kept->record[to]));
	memory_publish(s->memory, &s->kept->word, to);
}

void
norms_close(struct norms *s, uint64_t step, const struct norm *sums, uint64_t samples)
{
	struct norm *part = s->now;

	compute_scale(s, sums, samples);
	keep_norms(s, step, sums, samples);
	s->now = s->before;
	s->before = part;
	s->before_step = step;
	s->has_before = samples > 0;
	memset(s->now, 0, s->n * sizeof(*s->now));
	s->full = 0;
	s->open = false;
}

void
norms_put(struct norms *s, const struct norm *sums)
{
	for (uint32_t i = 0; i < s->n; i++)
		norm_put(&sums[i], s->bytes + i * NORM_BYTES);
}

bool
norms_get(const void *payload, size_t len, struct norm *sums, uint32_t n)
{
	if (len != (size_t)n * NORM_BYTES)
		return false;
	for (uint32_t i = 0; i < n; i++)
		norm_get(&sums[i], (const uint8_t *)payload + i * NORM_BYTES);
	return true;
}
