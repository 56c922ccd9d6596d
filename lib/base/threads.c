/* threads - threads that work on a ring of slots; what is done is taken in the order in which it was given. */
#include "base/threads.h"
#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#define THREADS_CHOSEN 8u	/* at most, when nobody says how many */

struct slot {
	uint32_t parts, begun, done;
};

struct threads {
	pthread_mutex_t	 lock;
	pthread_cond_t	 work;		/* there is a part to begin, or the end */
	pthread_cond_t	 ready;		/* a slot is done; when dropping, nobody is busy */
	threads_fn		*fn;
	void		*ctx;
	struct slot	*slot;
	uint32_t	 slots;
	uint64_t	 given, taken;	/* slots, counted from the start */
	uint64_t	 front;		/* the first with a part not begun; taken <= front <= given */
	unsigned	 busy;		/* threads */
	bool		 stop, dropping;
	unsigned	 threads;
	pthread_t	 thread[];
};

struct start {
	struct threads	*c;
	unsigned	 worker;
};

unsigned
threads_count(void)
{
	cpu_set_t set;
	unsigned n = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 1)
		n = (unsigned)CPU_COUNT(&set);
	return n < THREADS_CHOSEN ? n : THREADS_CHOSEN;
}

static struct slot *
slot_of(struct threads *c, uint64_t count)
{
	return &c->slot[count % c->slots];
}

/* Moves front over slots all of whose parts are begun. */
static void
advance(struct threads *c)
{
	while (c->front < c->given && slot_of(c, c->front)->begun == slot_of(c, c->front)->parts)
		c->front++;
}

static void *
worker_main(void *arg)
{
	struct start start = *(struct start *)arg;
	struct threads *c = start.c;

	free(arg);
	pthread_mutex_lock(&c->lock);
	for (;;) {
		struct slot *s;
		uint32_t number, part;

		while (!c->stop && c->front == c->given)
			pthread_cond_wait(&c->work, &c->lock);
		if (c->stop)
			break;
		number = (uint32_t)(c->front % c->slots);
		s = &c->slot[number];
		part = s->begun++;
		advance(c);
		c->busy++;
		pthread_mutex_unlock(&c->lock);
		c->fn(c->ctx, start.worker, number, part);
		pthread_mutex_lock(&c->lock);
		c->busy--;
		if (++s->done == s->parts || (c->dropping && c->busy == 0))
			pthread_cond_signal(&c->ready);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* Signals are the main thread's: the new threads inherit a mask that takes none. */
static int
hire(struct threads *c, unsigned threads)
{
	sigset_t all, old;
	int errnum = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (c->threads < threads && errnum == 0) {
		struct start *start = malloc(sizeof(*start));

		if (start == NULL) {
			errnum = ENOMEM;
			break;
		}
		*start = (struct start){ c, c->threads };
		errnum = pthread_create(&c->thread[c->threads], NULL, worker_main, start);
		if (errnum == 0)
			c->threads++;
		else
			free(start);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (errnum == 0)
		return 0;
	err_note(errnum, "a thread cannot be started");
	return ERR_SYS;
}

int
threads_new(struct threads **out, unsigned threads, uint32_t slots, threads_fn *fn, void *ctx)
{
	struct threads *c;
	int e;

	assert(threads > 0 && slots > 0);
	*out = NULL;
	if ((c = calloc(1, sizeof(*c) + threads * sizeof(c->thread[0]))) == NULL)
		return err_nomem();
	if ((c->slot = calloc(slots, sizeof(*c->slot))) == NULL) {
		free(c);
		return err_nomem();
	}
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->work, NULL);
	pthread_cond_init(&c->ready, NULL);
	c->fn = fn;
	c->ctx = ctx;
	c->slots = slots;
	if ((e = hire(c, threads)) < 0) {
		threads_free(c);
		return e;
	}
	*out = c;
	return 0;
}

void
threads_free(struct threads *c)
{
	if (c == NULL)
		return;
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_broadcast(&c->work);
	pthread_mutex_unlock(&c->lock);
	for (unsigned i = 0; i < c->threads; i++)
		pthread_join(c->thread[i], NULL);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->work);
	pthread_cond_destroy(&c->ready);
	free(c->slot);
	free(c);
}

/* given and taken are changed by the caller's thread alone, which may read them without the lock. */
int64_t
threads_next_slot(const struct threads *c)
{
	return c->given - c->taken < c->slots ? (int64_t)(c->given % c->slots) : -1;
}

void
threads_submit(struct threads *c, uint32_t parts)
{
	assert(threads_next_slot(c) >= 0);
	pthread_mutex_lock(&c->lock);
	*slot_of(c, c->given) = (struct slot){ .parts = parts };
	c->given++;
	advance(c);
	if (parts == 1)
		pthread_cond_signal(&c->work);
	else if (parts > 1)
		pthread_cond_broadcast(&c->work);
	pthread_mutex_unlock(&c->lock);
}

int64_t
threads_wait(struct threads *c)
{
	struct slot *s;

	if (c->taken == c->given)
		return -1;
	pthread_mutex_lock(&c->lock);
	s = slot_of(c, c->taken);
	while (s->done < s->parts)
		pthread_cond_wait(&c->ready, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return (int64_t)(c->taken++ % c->slots);
}

int64_t
threads_peek(struct threads *c)
{
	const struct slot *s;
	bool done;

	if (c->taken == c->given)
		return -1;
	pthread_mutex_lock(&c->lock);
	s = slot_of(c, c->taken);
	done = s->done == s->parts;
	pthread_mutex_unlock(&c->lock);
	return done ? (int64_t)(c->taken % c->slots) : -1;
}

int
threads_run(struct threads *c, threads_fill_fn *fill, threads_drain_fn *drain)
{
	uint32_t parts = 1;
	int64_t slot;
	int e = 0;

	do {
		while (parts > 0 && (slot = threads_next_slot(c)) >= 0)
			if ((parts = fill(c->ctx, (uint32_t)slot)) > 0)
				threads_submit(c, parts);
		if ((slot = threads_wait(c)) >= 0)
			e = drain(c->ctx, (uint32_t)slot);
	} while (e == 0 && slot >= 0);
	return e;
}

void
threads_cancel(struct threads *c)
{
	pthread_mutex_lock(&c->lock);
	c->front = c->given;
	c->dropping = true;
	while (c->busy > 0)
		pthread_cond_wait(&c->ready, &c->lock);
	c->dropping = false;
	c->taken = c->given;
	pthread_mutex_unlock(&c->lock);
}
