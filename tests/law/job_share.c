/* job_share - shares of the batch that change by a log or by measured speed, in jobs of whole processes: serves job. */
#include "law/job_in.h"

#include <stdlib.h>
#include <string.h>

#define OFTEN	6u		/* one job in so many */
#define BATCH	6u		/* most samples of a worker at first */
#define STEPS	24u		/* of a job by speed: shares change after 10 steps, or 10 later */
#define SHARES_NS	(40 * SIM_S)	/* most time in which a worker dies after a change, which is several steps */
#define SAMPLE	(40 * SIM_MS)	/* least time of a sample then; at most 8 times that */

/* Some workers give samples to others. */
static void
draw_change(struct job *j, struct rng *c, uint32_t *batch)
{
	for (uint32_t r = 0; r < j->x.W; r++) {
		const uint32_t some = (uint32_t)rng_below(c, batch[r]);

		batch[r] -= some;
		batch[rng_below(c, j->x.W)] += some;
	}
}

void
job_share_draw(struct job *j)
{
	struct rng c = rng_start(j->x.seed, 3, 7);
	struct balance_schedule *s = &j->schedule;

	if (j->x.counting || j->x.slack != STALE_SYNC || j->x.W < 2 || rng_below(&c, OFTEN) > 0)
		return;
	j->x.shares = true;
	for (uint32_t r = 0; r < j->x.W; r++) {
		j->batch[r] = 1 + (uint32_t)rng_below(&c, BATCH);
		j->sample_ns[r] = SAMPLE + rng_below(&c, 7 * SAMPLE);
	}
	if (rng_below(&c, 3) == 0) {
		j->steps = STEPS;
		return;
	}
	s->change = j->change;
	for (uint64_t step = 0; step < j->steps; step++) {
		const uint32_t *last = s->n > 0 ? s->change[s->n - 1].batch : j->batch;

		if (s->n < JOB_CHANGES && rng_below(&c, 3) == 0) {
			struct balance_change *to = &s->change[s->n];

			*to = (struct balance_change){ step, j->changed[s->n++] };
			memcpy(to->batch, last, sizeof(j->batch));
			draw_change(j, &c, to->batch);
			last = to->batch;
		}
		memcpy(j->x.share[step], last, sizeof(j->batch));
	}
}

/* By speed, the next attempt begins with the first shares. */
void
job_share_lose(struct job *j)
{
	for (uint64_t step = j->newest; j->schedule.n == 0 && step < j->steps; step++)
		memset(j->x.share[step], 0, sizeof(j->x.share[step]));
}

void
job_share_options(struct job_life *l)
{
	l->o.batches = l->p->job->batch;
	l->o.balance = &l->p->job->schedule;
}

/* Before a step: all workers have the same shares, and a step has the same samples in all. */
int
job_share_step(struct job_life *l)
{
	const struct job *j = l->p->job;
	const size_t size = j->x.W * sizeof(uint32_t);
	uint32_t *share = l->x->share[l->step], all = 0;
	int e;

	if ((e = train_balance(&l->t)) < 0)
		return e;
	j->figures->shares[j->schedule.n == 0] += e > 0;
	if (e > 0) {
		l->p->job->deaths++;	/* earlier ones must not use all up */
		job_fault_worker(l->p, SHARES_NS);
	}
	if (share[0] == 0)
		memcpy(share, l->t.batches, size);
	if (memcmp(share, l->t.batches, size) != 0)
		return err_fail(ERR_FORMAT, "has other shares of its step");
	for (uint32_t r = 0; r < j->x.W; r++)
		all += share[r] - j->batch[r];
	if (all != 0)
		return err_fail(ERR_FORMAT, "the shares of its step have other samples in all");
	if (j->schedule.n == 0)
		sim_poll(NULL, 0, sim_now() + share[l->p->index] * j->sample_ns[l->p->index]);
	return 0;
}

/* After it. */
void
job_share_time(struct job_life *l, uint32_t samples)
{
	const uint64_t now = sim_now();
	uint64_t sent, received;
	double waited_s;

	worker_traffic(l->wk, &sent, &received, &waited_s);
	train_count_time(&l->t, (double)(now - l->since) * 1e-9, waited_s - l->waited_s, samples);
	l->since = now;
	l->waited_s = waited_s;
}
