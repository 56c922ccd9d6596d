/* dataset_read_pool - threads in which the senders of a dataset server read records. */
#include "dataset/dataset_read_pool.h"
#include "base/err.h"
#include "base/threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct dataset_read_pool {
	pthread_mutex_t	 lock;
	pthread_cond_t	 work;		/* a read is submitted, or stop is set */
	struct dataset_reads submitted, done;
	int		 fd;		/* eventfd: done is not empty */
	bool		 stop;
	unsigned	 threads;
	pthread_t	 thread[];
};

/* Waits for a read to start.  Returns NULL when the pool ends. */
static struct dataset_read *
wait_for_read(struct dataset_read_pool *p)
{
	struct dataset_read *r = NULL;

	pthread_mutex_lock(&p->lock);
	while (!p->stop && STAILQ_EMPTY(&p->submitted))
		pthread_cond_wait(&p->work, &p->lock);
	if (!p->stop) {
		r = STAILQ_FIRST(&p->submitted);
		STAILQ_REMOVE_HEAD(&p->submitted, link);
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

static void
hand_back_read(struct dataset_read_pool *p, struct dataset_read *r)
{
	bool first;

	pthread_mutex_lock(&p->lock);
	first = STAILQ_EMPTY(&p->done);
	STAILQ_INSERT_TAIL(&p->done, r, link);
	pthread_mutex_unlock(&p->lock);
	if (first)
		eventfd_write(p->fd, 1);
}

static void *
read_for_senders(void *arg)
{
	struct dataset_read_pool *p = arg;
	struct dataset_read *r;

	while ((r = wait_for_read(p)) != NULL) {
		dataset_sender_read(r->sender);
		hand_back_read(p, r);
	}
	return NULL;
}

int
dataset_read_pool_new(unsigned threads, struct dataset_read_pool **out)
{
	struct dataset_read_pool *p = calloc(1, sizeof(*p) + threads * sizeof(p->thread[0]));
	int e;

	if (p == NULL)
		return err_nomem();
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	STAILQ_INIT(&p->submitted);
	STAILQ_INIT(&p->done);
	e = (p->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0 ? err_sys("eventfd") : 0;
	for (; p->threads < threads && e == 0; p->threads += e == 0)
		e = threads_start(&p->thread[p->threads], read_for_senders, p);
	if (e < 0) {
		dataset_read_pool_free(p);
		return e;
	}
	*out = p;
	return 0;
}

void
dataset_read_pool_free(struct dataset_read_pool *p)
{
	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->threads; i++)
		pthread_join(p->thread[i], NULL);
	if (p->fd >= 0)
		close(p->fd);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

int
dataset_read_pool_fd(const struct dataset_read_pool *p)
{
	return p->fd;
}

void
dataset_read_pool_submit(struct dataset_read_pool *p, struct dataset_read *r)
{
	pthread_mutex_lock(&p->lock);
	STAILQ_INSERT_TAIL(&p->submitted, r, link);
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

void
dataset_read_pool_collect(struct dataset_read_pool *p, struct dataset_reads *done)
{
	eventfd_t n;

	/* Cleared first: a read that ends in between is in the list or makes it readable again. */
	eventfd_read(p->fd, &n);
	pthread_mutex_lock(&p->lock);
	STAILQ_CONCAT(done, &p->done);
	pthread_mutex_unlock(&p->lock);
}

void
dataset_read_pool_cancel(struct dataset_read_pool *p)
{
	bool first;

	pthread_mutex_lock(&p->lock);
	first = STAILQ_EMPTY(&p->done) && !STAILQ_EMPTY(&p->submitted);
	STAILQ_CONCAT(&p->done, &p->submitted);
	pthread_mutex_unlock(&p->lock);
	if (first)
		eventfd_write(p->fd, 1);
}
