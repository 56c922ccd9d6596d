/*
 * device - a GPU that is none: its memory is the host's, its kernels are loops.  tests/emu is a module of it.
 *
 * Work is as late as it may be: what is enqueued is done when somebody waits for it, so that who reads before that
 * finds junk.  DEVICE_UP is later still, behind all other work but for what follows a mark of its; with TALLY_EMU=early
 * it is done at once instead, so that who writes over what other work has yet to read spoils that.
 * Memory begins as no numbers.  What is recorded keeps its arguments, as on a GPU.
 */
#include "emu/emu.h"

#include "base/err.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {
	void	 (*run)(void *arg);
	void	*arg;
};

struct device_tape {
	struct work *work;
	size_t	     n;
};

struct device_mark {
	size_t	 at;	/* work that was given before it: of DEVICE_UP's, or of the other streams' */
	bool	 up;
	bool	 timed;
	uint64_t ns;	/* when it was reached last, by the host's clock; 0: not since it was put */
	const struct cuda_host *host;
};

/* Work in order: work [n], of which `begun` pieces are done; counted from `gone`. */
struct queue {
	struct work *work;
	size_t	 n, begun, gone;
};

struct device {
	const struct cuda_host *host;
	struct queue main, up;	/* up: DEVICE_UP's; main: the other streams' */
	bool	 early;
	struct device_tape *tape;	/* what is being recorded, or NULL */
	int	 number;
	size_t	 taken;
	struct emu_stream copies;
	/*
	 * Threads of other devices enqueue copies here; what is done may wait for other devices,
	 * lower ones for higher ones.
	 */
	pthread_mutex_t lock;
};

static void
append(struct work **list, size_t *n, struct work w)
{
	if ((*n & (*n - 1)) == 0)
		*list = realloc(*list, (*n > 0 ? 2 * *n : 1) * sizeof(w));
	(*list)[(*n)++] = w;
}

void
emu_enqueue(struct device *d, void (*run)(void *arg), const void *arg, size_t bytes)
{
	struct work w = { run, malloc(bytes + 1) };

	memcpy(w.arg, arg, bytes);
	pthread_mutex_lock(&d->lock);
	if (d->tape != NULL)
		append(&d->tape->work, &d->tape->n, w);
	else
		append(&d->main.work, &d->main.n, w);
	pthread_mutex_unlock(&d->lock);
}

/* A copy is never recorded, whatever DEVICE_MAIN is at. */
static size_t
enqueue_on(struct device *d, struct queue *q, void (*run)(void *arg), const void *arg, size_t bytes)
{
	struct work w = { run, malloc(bytes + 1) };
	size_t number;

	memcpy(w.arg, arg, bytes);
	pthread_mutex_lock(&d->lock);
	append(&q->work, &q->n, w);
	number = q->gone + q->n;
	pthread_mutex_unlock(&d->lock);
	return number;
}

static size_t
enqueue_copy(struct device *d, void (*run)(void *arg), const void *arg, size_t bytes)
{
	return enqueue_on(d, &d->main, run, arg, bytes);
}

/* Does what was given before piece `end`. */
static void
work_off(struct queue *q, size_t end)
{
	for (; q->begun + q->gone < end; q->begun++) {
		q->work[q->begun].run(q->work[q->begun].arg);
		free(q->work[q->begun].arg);
	}
	if (q->begun == q->n) {
		q->gone += q->n;
		free(q->work);
		q->work = NULL;
		q->n = q->begun = 0;
	}
}

static void
catch_up(struct device *d, size_t end)
{
	pthread_mutex_lock(&d->lock);
	work_off(&d->main, end);
	pthread_mutex_unlock(&d->lock);
}

/* What a stream does that follows a mark of DEVICE_UP. */
struct follow {
	struct queue *q;
	size_t	      end;
};

static void
follow(void *arg)
{
	const struct follow *f = arg;

	work_off(f->q, f->end);
}

/* TALLY_EMU=none: as where there is no device. */
int
device_open(const struct cuda_host *host, uint32_t number, struct device **d)
{
	const char *how = getenv("TALLY_EMU");

	*d = NULL;
	if (number > 1 || (how != NULL && strcmp(how, "none") == 0)) {
		host->note(0, "no GPU: no device");
		return ERR_NOTSUP;
	}
	*d = calloc(1, sizeof(**d));
	(*d)->host = host;
	(*d)->number = (int)number;
	(*d)->early = how != NULL && strcmp(how, "early") == 0;
	(*d)->copies = (struct emu_stream){ *d, enqueue_copy, catch_up };
	pthread_mutex_init(&(*d)->lock, NULL);
	return 0;
}

void
device_close(struct device *d)
{
	if (d == NULL)
		return;
	device_wait(d);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

const struct cuda_host *
emu_host(const struct device *d)
{
	return d->host;
}

int
device_number(const struct device *d)
{
	return d->number;
}

int
device_bus(const struct device *d, char bus[ENGINE_BUS])
{
	snprintf(bus, ENGINE_BUS, "0000:00:%02x.0", (unsigned)d->number);
	return 0;
}

void *
device_stream(struct device *d, enum device_stream s)
{
	return s == DEVICE_COPY ? &d->copies : NULL;
}

int
device_enter(struct device *d)
{
	(void)d;
	return 0;
}

int
device_describe(const struct device *d, struct buf *out)
{
	return d->host->put(out, "no GPU but loops, for tests");
}

void
device_kind(const struct device *d, char text[DEVICE_KIND])
{
	(void)d;
	snprintf(text, DEVICE_KIND, "no GPU but loops\t0.0\t0\t0");
}

static int
take(size_t bytes, void **p)
{
	*p = NULL;
	if (bytes > 0) {
		*p = aligned_alloc(256, (bytes + 255) / 256 * 256);
		memset(*p, 0xff, bytes);
	}
	return 0;
}

/* TALLY_EMU_MB: so much memory the device has. */
int
device_memory(struct device *d, size_t *left, size_t *all)
{
	const char *mb = getenv("TALLY_EMU_MB");

	*all = mb != NULL ? (size_t)(strtod(mb, NULL) * 1e6) : SIZE_MAX;
	*left = *all > d->taken ? *all - d->taken : 0;
	return 0;
}

/* What is taken is not counted back when it is given: enough for plans that are made once. */
int
device_take(struct device *d, size_t bytes, void **p)
{
	size_t left, all;

	*p = NULL;
	device_memory(d, &left, &all);
	if (bytes > left) {
		d->host->note(0, "GPU %d: %.1f MB more of its memory are needed, and %.1f of %.1f are free", d->number,
		    (double)bytes * 1e-6, (double)left * 1e-6, (double)all * 1e-6);
		return ERR_NOMEM;
	}
	d->taken += bytes;
	return take(bytes, p);
}

void
device_give(struct device *d, void *p)
{
	device_wait(d);
	free(p);
}

int
device_pin(struct device *d, size_t bytes, void **p)
{
	(void)d;
	return take(bytes, p);
}

void
device_unpin(struct device *d, void *p)
{
	(void)d;
	free(p);
}

struct copy {
	void	*to;
	const void *from;
	size_t	 bytes;
};

static void
copy(void *arg)
{
	const struct copy *c = arg;

	memcpy(c->to, c->from, c->bytes);
}

static void
zero(void *arg)
{
	const struct copy *c = arg;

	memset(c->to, 0, c->bytes);
}

int
device_up(struct device *d, enum device_stream s, void *to, const void *from, size_t bytes)
{
	const struct copy c = { to, from, bytes };

	if (bytes > 0 && s == DEVICE_UP && d->early)
		memcpy(to, from, bytes);
	else if (bytes > 0 && s != DEVICE_MAIN)
		enqueue_on(d, s == DEVICE_UP ? &d->up : &d->main, copy, &c, sizeof(c));
	else if (bytes > 0)
		emu_enqueue(d, copy, &c, sizeof(c));
	return 0;
}

int
device_down(struct device *d, enum device_stream s, void *to, const void *from, size_t bytes)
{
	return device_up(d, s, to, from, bytes);
}

int
device_zero(struct device *d, void *p, size_t bytes)
{
	if (bytes > 0)
		emu_enqueue(d, zero, &(struct copy){ p, NULL, bytes }, sizeof(struct copy));
	return 0;
}

int
device_wait(struct device *d)
{
	pthread_mutex_lock(&d->lock);
	work_off(&d->main, d->main.gone + d->main.n);
	work_off(&d->up, d->up.gone + d->up.n);
	pthread_mutex_unlock(&d->lock);
	return 0;
}

int
device_mark_new(struct device *d, struct device_mark **m)
{
	*m = calloc(1, sizeof(**m));
	(*m)->host = d->host;
	return 0;
}

int
device_mark_timed(struct device *d, struct device_mark **m)
{
	device_mark_new(d, m);
	(*m)->timed = true;
	return 0;
}

int
device_mark_us(struct device *d, const struct device_mark *from, const struct device_mark *to, double *us)
{
	(void)d;
	assert(from->ns > 0 && to->ns > 0);
	*us = ((double)to->ns - (double)from->ns) * 1e-3;
	return 0;
}

static void
reached(void *arg)
{
	struct device_mark *m = *(struct device_mark **)arg;

	m->ns = m->host->now();
}

void
device_mark_free(struct device_mark *m)
{
	free(m);
}

int
device_mark_put(struct device *d, struct device_mark *m, enum device_stream s)
{
	struct queue *q = s == DEVICE_UP ? &d->up : &d->main;

	assert(d->tape == NULL || s != DEVICE_MAIN);
	m->ns = 0;
	if (m->timed)
		enqueue_on(d, q, reached, &m, sizeof(m));
	pthread_mutex_lock(&d->lock);
	m->at = q->gone + q->n;
	m->up = s == DEVICE_UP;
	pthread_mutex_unlock(&d->lock);
	return 0;
}

int
device_mark_follow(struct device *d, struct device_mark *m, enum device_stream s)
{
	const struct follow f = { &d->up, m->at };

	/* Between all but DEVICE_UP work is done in order; what is outside a tape nothing in it can follow. */
	assert(s != DEVICE_UP && (!m->up || d->tape == NULL));
	if (m->up)
		emu_enqueue(d, follow, &f, sizeof(f));
	return 0;
}

int
device_mark_wait(struct device *d, struct device_mark *m)
{
	pthread_mutex_lock(&d->lock);
	work_off(m->up ? &d->up : &d->main, m->at);
	pthread_mutex_unlock(&d->lock);
	return 0;
}

int
device_tape_start(struct device *d)
{
	d->tape = calloc(1, sizeof(*d->tape));
	return 0;
}

int
device_tape_stop(struct device *d, struct device_tape **tape)
{
	*tape = d->tape;
	d->tape = NULL;
	return 0;
}

static void
play(void *arg)
{
	const struct device_tape *tape = *(struct device_tape *const *)arg;

	for (size_t i = 0; i < tape->n; i++)
		tape->work[i].run(tape->work[i].arg);
}

int
device_tape_play(struct device *d, struct device_tape *tape)
{
	emu_enqueue(d, play, &tape, sizeof(tape));
	return 0;
}

void
device_tape_free(struct device_tape *tape)
{
	for (size_t i = 0; tape != NULL && i < tape->n; i++)
		free(tape->work[i].arg);
	if (tape != NULL)
		free(tape->work);
	free(tape);
}
