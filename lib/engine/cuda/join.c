/* join - slices of several GPUs' gradients into one sum, as soon as all of them have it. */
#include "engine/cuda/join.h"

#include "engine/cuda/device/nccl.h"
#include "engine/cuda/watch.h"

#include "base/err.h"

#include <pthread.h>
#include <stdlib.h>

struct join {
	struct nccl	   *nccl;
	uint32_t	    n;
	struct engine_dev **dev;	/* [n] */
	struct device	  **d;		/* [n] theirs */
	float		  **at;		/* [n] the slice on each */
	/* Guarded by the lock.  Slices are counted over all passes, in each of which every plan has the same. */
	pthread_mutex_t	    lock;
	pthread_cond_t	    turn;
	struct engine_plan **plan;	/* [n] of the pass under way */
	uint64_t	   *given;	/* [n] slices that each handed in */
	uint64_t	    summed;	/* slices that went on */
	bool		    failed;
};

static void
join_free(struct join *j)
{
	pthread_cond_destroy(&j->turn);
	pthread_mutex_destroy(&j->lock);
	nccl_close(j->nccl);
	free(j->dev);
	free(j->d);
	free(j->at);
	free(j->plan);
	free(j->given);
	free(j);
}

int
join_open(struct engine_dev *const *dev, uint32_t n)
{
	const struct cuda_host *host = dev[0]->host;
	struct join *j = calloc(1, sizeof(*j));
	int e;

	if (j == NULL) {
		host->note(0, "out of memory");
		return ERR_NOMEM;
	}
	pthread_mutex_init(&j->lock, NULL);
	pthread_cond_init(&j->turn, NULL);
	j->n = n;
	j->dev = calloc(n, sizeof(struct engine_dev *));
	j->d = calloc(n, sizeof(struct device *));
	j->at = calloc(n, sizeof(float *));
	j->plan = calloc(n, sizeof(struct engine_plan *));
	j->given = calloc(n, sizeof(*j->given));
	if (j->dev == NULL || j->d == NULL || j->at == NULL || j->plan == NULL || j->given == NULL) {
		join_free(j);
		host->note(0, "out of memory");
		return ERR_NOMEM;
	}
	for (uint32_t r = 0; r < n; r++) {
		j->dev[r] = dev[r];
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
		device_enter(j->d[r]);
		device_wait(j->d[r]);
		j->dev[r]->join = NULL;
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

/* Slice k, which all have handed in: its sum, and down from the first. */
static int
sum_slice(struct join *j, uint32_t k)
{
	size_t first, end;
	int e = 0;

	pass_slice(j->plan[0], k, &first, &end);
	for (uint32_t r = 0; r < j->n && e == 0; r++) {
		j->at[r] = (float *)(j->plan[r]->held + j->plan[r]->kept.g) + first;
		e = device_mark_follow(j->d[r], j->plan[r]->born[k], DEVICE_COPY);
	}
	for (uint32_t r = 0; r < j->n && e == 0; r++)
		e = watch_from(j->plan[r], WATCH_SUM + k);
	if (e == 0 && end > first)
		e = nccl_sum(j->nccl, j->at, end - first);
	for (uint32_t r = 0; r < j->n && e == 0; r++)
		e = watch_to(j->plan[r], WATCH_SUM + k);
	for (uint32_t r = 0; r < j->n && e == 0; r++)
		e = pass_down(j->plan[r], k, r == 0);
	return e;
}

int
join_slice(struct engine_plan *p, uint32_t k)
{
	struct join *j = p->dev->join;
	uint64_t at;
	bool all = true;
	int e;

	pthread_mutex_lock(&j->lock);
	e = j->failed ? ERR_STOP : 0;
	j->plan[p->dev->rank] = p;
	at = j->given[p->dev->rank]++;
	for (uint32_t r = 0; r < j->n; r++)
		all &= j->given[r] > at;
	if (e == 0 && all) {
		assert(j->summed == at);
		if ((e = sum_slice(j, k)) == 0)
			j->summed++;
		else
			j->failed = true;
		pthread_cond_broadcast(&j->turn);
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
	at = j->given[p->dev->rank] - p->nslice + k;
	while (j->summed <= at && !j->failed)
		pthread_cond_wait(&j->turn, &j->lock);
	e = j->failed ? ERR_STOP : 0;
	pthread_mutex_unlock(&j->lock);
	return e;
}

void
join_fail(struct engine_plan *p)
{
	struct join *j = p->dev->join;

	pthread_mutex_lock(&j->lock);
	j->failed = true;
	pthread_cond_broadcast(&j->turn);
	pthread_mutex_unlock(&j->lock);
}
