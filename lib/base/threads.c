/* threads - a thread pool that works on a ring of slots and hands them back in the order of submission. */
#include "base/threads.h"
#include "base/clk.h"
#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#define THREADS_DEFAULT_MAX 8u
#define PROCESSORS_MOST	(1u << 20)

struct slot {
	uint32_t parts, begun, done;
};

struct threads {
	pthread_mutex_t	 lock;
	pthread_cond_t	 work;		/* there is a part to start, or stop is set */
	pthread_cond_t	 ready;		/* a slot is done; while cancelling: no thread is busy */
	threads_fn	*fn;
	void		*ctx;
	struct slot	*slot;
	uint32_t	 slots;
	uint64_t	 submitted, collected;	/* slots since the start */
	uint64_t	 front;		/* first slot with a part not started; collected <= front <= submitted */
	unsigned	 busy;		/* threads that do a part */
	bool		 stop, cancelling;
	unsigned	 threads;
	pthread_t	 thread[];
};

struct start {
	struct threads	*c;
	unsigned	 worker;
};

/* The kernel refuses a set with fewer bits than it has processors, whose number it does not tell. */
unsigned
threads_processors(void)
{
	int n = 0, errnum = EINVAL;

	for (size_t bits = CPU_SETSIZE; errnum == EINVAL && bits <= PROCESSORS_MOST; bits *= 2) {
		const size_t size = CPU_ALLOC_SIZE(bits);
		cpu_set_t *set = CPU_ALLOC(bits);

		if (set == NULL)
			break;
		errnum = sched_getaffinity(0, size, set) == 0 ? 0 : errno;
		if (errnum == 0)
			n = CPU_COUNT_S(size, set);
		CPU_FREE(set);
	}
	return n > 0 ? (unsigned)n : 1;
}

unsigned
threads_count(void)
{
	unsigned n = threads_processors();

	return n < THREADS_DEFAULT_MAX ? n : THREADS_DEFAULT_MAX;
}

static struct slot *
get_slot(struct threads *c, uint64_t count)
{
	return &c->slot[count % c->slots];
}

/* Moves front past slots of which all parts are started. */
static void
advance_front(struct threads *c)
{
	while (c->front < c->submitted && get_slot(c, c->front)->begun == get_slot(c, c->front)->parts)
		c->front++;
}

static void *
run_worker(void *arg)
{
	struct start start = *(struct start *)arg;
	struct threads *c = start.c;

	free(arg);
	pthread_mutex_lock(&c->lock);
	for (;;) {
		struct slot *s;
		uint32_t number, part;

		while (!c->stop && c->front == c->submitted)
			pthread_cond_wait(&c->work, &c->lock);
		if (c->stop)
			break;
		number = (uint32_t)(c->front % c->slots);
		s = &c->slot[number];
		part = s->begun++;
		advance_front(c);
		c->busy++;
		pthread_mutex_unlock(&c->lock);
		c->fn(c->ctx, start.worker, number, part);
		pthread_mutex_lock(&c->lock);
		c->busy--;
		if (++s->done == s->parts || (c->cancelling && c->busy == 0))
			pthread_cond_signal(&c->ready);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* pthread_create() returns EAGAIN in both cases. */
static bool
has_room_for_stack(void)
{
	pthread_attr_t a;
	size_t n = 0;
	void *p;

	pthread_attr_init(&a);
	pthread_attr_getstacksize(&a, &n);
	pthread_attr_destroy(&a);
	p = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	munmap(p, n);
	return true;
}

int
threads_fail(int errnum, const char *purpose)
{
	if (errnum != EAGAIN)
		err_note(errnum, "cannot start a thread for %s", purpose);
	else if (has_room_for_stack())
		err_note(0, "cannot start a thread for %s: too many processes and threads; raise ulimit -u, "
		    "or the limit of the control group", purpose);
	else
		err_note(0, "cannot start a thread for %s: no memory for its stack; raise the limit of address space "
		    "(ulimit -v)", purpose);
	return ERR_SYS;
}

/* The main thread handles all signals: new threads inherit a mask that blocks them. */
int
threads_start(pthread_t *t, void *(*fn)(void *), void *arg)
{
	sigset_t all, old;
	int errnum;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	errnum = pthread_create(t, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (errnum == 0)
		return 0;
	return threads_fail(errnum, "work");
}

static int
start_workers(struct threads *c, unsigned threads)
{
	int e;

	for (; c->threads < threads; c->threads++) {
		struct start *start = malloc(sizeof(*start));

		if (start == NULL)
			return err_nomem();
		*start = (struct start){ c, c->threads };
		if ((e = threads_start(&c->thread[c->threads], run_worker, start)) < 0) {
			free(start);
			return e;
		}
	}
	return 0;
}

int
threads_new(unsigned threads, uint32_t slots, threads_fn *fn, void *ctx, struct threads **out)
{
	struct threads *c;
	pthread_condattr_t a;
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
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&c->ready, &a);
	pthread_condattr_destroy(&a);
	c->fn = fn;
	c->ctx = ctx;
	c->slots = slots;
	if ((e = start_workers(c, threads)) < 0) {
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

/* Only the caller's thread changes submitted and collected, so it may read them without the lock. */
bool
threads_next_slot(const struct threads *c, uint32_t *slot)
{
	*slot = (uint32_t)(c->submitted % c->slots);
	return c->submitted - c->collected < c->slots;
}

void
threads_submit(struct threads *c, uint32_t parts)
{
	assert(c->submitted - c->collected < c->slots);
	pthread_mutex_lock(&c->lock);
	*get_slot(c, c->submitted) = (struct slot){ .parts = parts };
	c->submitted++;
	advance_front(c);
	if (parts == 1)
		pthread_cond_signal(&c->work);
	else if (parts > 1)
		pthread_cond_broadcast(&c->work);
	pthread_mutex_unlock(&c->lock);
}

bool
threads_wait(struct threads *c, uint32_t *slot)
{
	struct slot *s;

	if (c->collected == c->submitted)
		return false;
	pthread_mutex_lock(&c->lock);
	s = get_slot(c, c->collected);
	while (s->done < s->parts)
		pthread_cond_wait(&c->ready, &c->lock);
	pthread_mutex_unlock(&c->lock);
	*slot = (uint32_t)(c->collected++ % c->slots);
	return true;
}

bool
threads_wait_within(struct threads *c, double seconds)
{
	const uint64_t until = clk_ns() + (uint64_t)(seconds * 1e9);
	const struct timespec t = { .tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000) };
	const struct slot *s;
	bool done;

	if (c->collected == c->submitted)
		return true;
	pthread_mutex_lock(&c->lock);
	s = get_slot(c, c->collected);
	while (!(done = s->done == s->parts) && pthread_cond_timedwait(&c->ready, &c->lock, &t) != ETIMEDOUT)
		continue;
	pthread_mutex_unlock(&c->lock);
	return done;
}

bool
threads_peek(struct threads *c, uint32_t *slot)
{
	const struct slot *s;
	bool done;

	if (c->collected == c->submitted)
		return false;
	pthread_mutex_lock(&c->lock);
	s = get_slot(c, c->collected);
	done = s->done == s->parts;
	pthread_mutex_unlock(&c->lock);
	*slot = (uint32_t)(c->collected % c->slots);
	return done;
}

int
threads_run(struct threads *c, threads_fill_fn *fill, threads_drain_fn *drain)
{
	uint32_t parts = 1, slot;
	int e = 0;

	do {
		while (parts > 0 && threads_next_slot(c, &slot))
			if ((parts = fill(c->ctx, slot)) > 0)
				threads_submit(c, parts);
		if (!threads_wait(c, &slot))
			return 0;
		e = drain(c->ctx, slot);
	} while (e == 0);
	return e;
}

void
threads_cancel(struct threads *c)
{
	pthread_mutex_lock(&c->lock);
	c->front = c->submitted;
	c->cancelling = true;
	while (c->busy > 0)
		pthread_cond_wait(&c->ready, &c->lock);
	c->cancelling = false;
	c->collected = c->submitted;
	pthread_mutex_unlock(&c->lock);
}
