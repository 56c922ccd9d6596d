/* join - sums the gradients of several GPUs of one process during their backward passes. */
#include "engine/cuda/join.h"

#include "engine/cuda/device/nccl.h"
#include "engine/cuda/timeline.h"

#include "base/err.h"

#include <pthread.h>
#include <stdlib.h>

struct join {
	struct nccl	   *nccl;
	uint32_t	    n;
	struct device	  **d;		/* [n] */
	float		  **at;		/* [n] the slice on each */
	struct join_member *member;	/* [n] */
	/* The lock guards what follows and the members.  Slices are counted over all passes. */
	pthread_mutex_t	    lock;
	pthread_cond_t	    summed_or_failed;
	uint64_t	    summed;	/* slices whose sum is enqueued */
	bool		    failed;
};

struct join_member {
	struct engine_dev  *dev;
	struct engine_plan *plan;	/* plan of the current pass */
	uint64_t	    submitted;	/* slices */
};

static void
join_free(struct join *j)
{
	pthread_cond_destroy(&j->summed_or_failed);
	pthread_mutex_destroy(&j->lock);
	nccl_close(j->nccl);
	free(j->d);
	free(j->at);
	free(j->member);
	free(j);
}

int
join_open(struct engine_dev *const *dev, uint32_t n)
{
	const struct cuda_host *host = dev[0]->host;
	struct join *j = calloc(1, sizeof(*j));
	int e;

	if (j == NULL)
		return device_nomem(host);
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->summed_or_failed, NULL);
	j->n = n;
	j->d = calloc(n, sizeof(struct device *));
	j->at = calloc(n, sizeof(float *));
	j->member = calloc(n, sizeof(*j->member));
	if (j->d == NULL || j->at == NULL || j->member == NULL) {
		join_free(j);
		return device_nomem(host);
	}
	for (uint32_t r = 0; r < n; r++) {
		j->member[r].dev = dev[r];
		j->d[r] = dev[r]->d;
	}
	if ((e = nccl_open(host, j->d, n, &j->nccl)) < 0) {
		join_free(j);
		return e;
	}
	for (uint32_t r = 0; r < n; r++) {
		dev[r]->join = j;
		dev[r]->rank = r;
	}
	return 0;
}

void
join_close(struct engine_dev *dev)
{
	struct join *j = dev->join;

	if (j == NULL)
		return;
	for (uint32_t r = 0; r < j->n; r++) {
		device_make_current(j->d[r]);
		device_wait(j->d[r]);
		j->member[r].dev->join = NULL;
	}
	join_free(j);
}

int
join_describe(const struct engine_dev *dev, struct buf *out)
{
	unsigned v[3];

	nccl_version(dev->join->nccl, v);
	return dev->host->put(out, "NCCL %u.%u.%u", v[0], v[1], v[2]);
}

/* Enqueues the sums of the statistics on all devices. */
static int
sum_statistics(struct join *j)
{
	const size_t count = j->member[0].plan->graph->A;

	for (uint32_t r = 0; r < j->n; r++)
		j->at[r] = exec_floats(j->member[r].plan, j->member[r].plan->kept.stats);
	return count > 0 ? nccl_sum(j->nccl, j->at, count, true) : 0;
}

/*
 * Enqueues the sum of slice k, which all have submitted.  With the device optimizer each device gets the sum, and with
 * the last slice that of the statistics; else the first one gets it and downloads it.
 */
static int
sum_slice(struct join *j, uint32_t k)
{
	const bool all = j->member[0].plan->learn != NULL;
	size_t first, end;
	int e = 0;

	pass_slice_range(j->member[0].plan, k, &first, &end);
	for (uint32_t r = 0; r < j->n && e == 0; r++) {
		struct engine_plan *p = j->member[r].plan;

		j->at[r] = exec_floats(p, p->kept.g) + first;
		if ((e = device_event_follow(j->d[r], p->computed[k], DEVICE_DOWNLOAD)) == 0)
			e = timeline_begin(p, TIMELINE_SUM + k);
	}
	if (e == 0 && end > first)
		e = nccl_sum(j->nccl, j->at, end - first, all);
	if (e == 0 && all && k + 1 == j->member[0].plan->nslice)
		e = sum_statistics(j);
	for (uint32_t r = 0; r < j->n && e == 0; r++) {
		struct engine_plan *p = j->member[r].plan;

		if ((e = timeline_end(p, TIMELINE_SUM + k)) == 0)
			e = all ? device_event_record(j->d[r], p->downloaded[k], DEVICE_DOWNLOAD) :
			    pass_download_slice(p, k, r == 0);
	}
	return e;
}

/* With the lock held. */
static void
fail_group(struct join *j)
{
	if (!j->failed)
		nccl_abort(j->nccl);
	j->failed = true;
	pthread_cond_broadcast(&j->summed_or_failed);
}

int
join_submit(struct engine_plan *p, uint32_t k)
{
	struct join *j = p->dev->join;
	struct join_member *own = &j->member[p->dev->rank];
	uint64_t at;
	bool all = true;
	int e;

	pthread_mutex_lock(&j->lock);
	e = j->failed ? ERR_STOP : 0;
	own->plan = p;
	at = own->submitted++;
	for (uint32_t r = 0; r < j->n; r++)
		all &= j->member[r].submitted > at;
	if (e == 0 && all) {
		assert(j->summed == at);
		if ((e = sum_slice(j, k)) < 0)
			fail_group(j);
		j->summed += e == 0;
		pthread_cond_broadcast(&j->summed_or_failed);
	}
	pthread_mutex_unlock(&j->lock);
	return e;
}

int
join_wait(struct engine_plan *p, uint32_t k)
{
	struct join *j = p->dev->join;
	uint64_t at;
	int e;

	pthread_mutex_lock(&j->lock);
	at = j->member[p->dev->rank].submitted - p->nslice + k;
	while (j->summed <= at && !j->failed)
		pthread_cond_wait(&j->summed_or_failed, &j->lock);
	e = j->failed ? ERR_STOP : 0;
	pthread_mutex_unlock(&j->lock);
	return e;
}

void
join_fail(struct engine_plan *p)
{
	struct join *j = p->dev->join;

	pthread_mutex_lock(&j->lock);
	fail_group(j);
	pthread_mutex_unlock(&j->lock);
}
