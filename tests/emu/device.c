/*
 * device - a stand-in for a GPU: its memory is the host's, its kernels are loops.
 *
 * Work runs as late as possible: when the host waits for it, so that a read without a wait finds junk.
 * DEVICE_UPLOAD runs even later, after all other work except what follows one of its events.  With
 * TALLY_EMU=early it runs at once instead, so that an upload over memory in use spoils it.  With
 * TALLY_EMU=nograph the device captures nothing.  Memory begins as NaN.  Captured work keeps its
 * arguments, as on a GPU.
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

struct device_graph {
	struct work *work;
	size_t	     n;
};

struct device_event {
	size_t	 at;	/* work that was enqueued before it, on DEVICE_UPLOAD or on the other streams */
	bool	 up;
	bool	 timed;
	/* when it was reached last, by the host's clock; 0: not since it was recorded */
	uint64_t ns;
	const struct cuda_host *host;
};

/* Work in order: work [n], of which `begun` are done.  Numbers count from `gone`. */
struct queue {
	struct work *work;
	size_t	 n, begun, gone;
};

struct device {
	const struct cuda_host *host;
	struct queue main, up;	/* up: DEVICE_UPLOAD; main: the other streams */
	bool	 early, nograph;
	struct device_graph *capture;	/* the graph that is being captured, or NULL */
	int	 number;
	size_t	 taken;
	struct emu_stream copies;
};

/*
 * Guards the queues of all devices: threads of other devices enqueue copies here, and work of one device may run that
 * of another which it waits for.
 */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void
emu_log(const char *what)
{
	const char *path = getenv("TALLY_EMU_LOG");
	FILE *f = path != NULL ? fopen(path, "a") : NULL;

	if (f != NULL && fprintf(f, "%s\n", what) > 0)
		fclose(f);
}

static void
append(struct work **list, size_t *n, struct work w)
{
	if ((*n & (*n - 1)) == 0)
		*list = realloc(*list, (*n > 0 ? 2 * *n : 1) * sizeof(w));
	(*list)[(*n)++] = w;
}

static struct work
make_work(void (*run)(void *arg), const void *arg, size_t bytes)
{
	struct work w = { run, malloc(bytes + 1) };

	memcpy(w.arg, arg, bytes);
	return w;
}

/* Enqueues work that is never captured, whatever DEVICE_MAIN does. */
static size_t
enqueue_on(struct queue *q, void (*run)(void *arg), const void *arg, size_t bytes)
{
	size_t number;

	pthread_mutex_lock(&lock);
	append(&q->work, &q->n, make_work(run, arg, bytes));
	number = q->gone + q->n;
	pthread_mutex_unlock(&lock);
	return number;
}

void
emu_enqueue(struct device *d, void (*run)(void *arg), const void *arg, size_t bytes)
{
	if (d->capture != NULL)
		append(&d->capture->work, &d->capture->n, make_work(run, arg, bytes));
	else
		enqueue_on(&d->main, run, arg, bytes);
}

static size_t
enqueue_copy(struct device *d, void (*run)(void *arg), const void *arg, size_t bytes)
{
	return enqueue_on(&d->main, run, arg, bytes);
}

/* Runs the work before number `end`. */
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
	pthread_mutex_lock(&lock);
	work_off(&d->main, end);
	pthread_mutex_unlock(&lock);
}

/* Work of a stream that follows an event of DEVICE_UPLOAD. */
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

/* TALLY_EMU=none: there is no device. */
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
	(*d)->nograph = how != NULL && strcmp(how, "nograph") == 0;
	(*d)->copies = (struct emu_stream){ *d, enqueue_copy, catch_up };
	return 0;
}

void
device_close(struct device *d)
{
	if (d == NULL)
		return;
	device_wait(d);
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
	return s == DEVICE_DOWNLOAD ? &d->copies : NULL;
}

int
device_make_current(struct device *d)
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

/* TALLY_EMU_MB: megabytes of device memory. */
int
device_memory(struct device *d, size_t *left, size_t *all)
{
	const char *mb = getenv("TALLY_EMU_MB");

	*all = mb != NULL ? (size_t)(strtod(mb, NULL) * 1e6) : SIZE_MAX;
	*left = *all > d->taken ? *all - d->taken : 0;
	return 0;
}

/* Freed memory is not counted back, which is enough for plans that are made once. */
int
device_alloc(struct device *d, size_t bytes, void **p)
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
device_free(struct device *d, void *p)
{
	device_wait(d);
	free(p);
}

int
device_alloc_pinned(struct device *d, size_t bytes, void **p)
{
	(void)d;
	return take(bytes, p);
}

void
device_free_pinned(struct device *d, void *p)
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
device_upload(struct device *d, enum device_stream s, void *to, const void *from, size_t bytes)
{
	const struct copy c = { to, from, bytes };

	if (bytes > 0 && s == DEVICE_UPLOAD && d->early)
		memcpy(to, from, bytes);
	else if (bytes > 0 && s != DEVICE_MAIN)
		enqueue_on(s == DEVICE_UPLOAD ? &d->up : &d->main, copy, &c, sizeof(c));
	else if (bytes > 0)
		emu_enqueue(d, copy, &c, sizeof(c));
	return 0;
}

int
device_download(struct device *d, enum device_stream s, void *to, const void *from, size_t bytes)
{
	return device_upload(d, s, to, from, bytes);
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
	emu_log("wait");
	pthread_mutex_lock(&lock);
	work_off(&d->main, d->main.gone + d->main.n);
	work_off(&d->up, d->up.gone + d->up.n);
	pthread_mutex_unlock(&lock);
	return 0;
}

int
device_event_new(struct device *d, bool timed, struct device_event **v)
{
	*v = calloc(1, sizeof(**v));
	(*v)->host = d->host;
	(*v)->timed = timed;
	return 0;
}

int
device_event_elapsed_us(struct device *d, const struct device_event *from, const struct device_event *to, double *us)
{
	(void)d;
	assert(from->ns > 0 && to->ns > 0);
	*us = ((double)to->ns - (double)from->ns) * 1e-3;
	return 0;
}

static void
reached(void *arg)
{
	struct device_event *v = *(struct device_event **)arg;

	v->ns = v->host->now();
}

void
device_event_free(struct device_event *v)
{
	free(v);
}

int
device_event_record(struct device *d, struct device_event *v, enum device_stream s)
{
	struct queue *q = s == DEVICE_UPLOAD ? &d->up : &d->main;

	assert(d->capture == NULL || s != DEVICE_MAIN);
	v->ns = 0;
	if (v->timed)
		enqueue_on(q, reached, &v, sizeof(v));
	pthread_mutex_lock(&lock);
	v->at = q->gone + q->n;
	v->up = s == DEVICE_UPLOAD;
	pthread_mutex_unlock(&lock);
	return 0;
}

int
device_event_follow(struct device *d, struct device_event *v, enum device_stream s)
{
	const struct follow f = { &d->up, v->at };

	/*
	 * The other streams run in order. Captured work cannot wait for an event outside the graph.
	 */
	assert(s != DEVICE_UPLOAD && (!v->up || d->capture == NULL));
	if (v->up)
		emu_enqueue(d, follow, &f, sizeof(f));
	return 0;
}

int
device_event_wait(struct device *d, struct device_event *v)
{
	emu_log("wait");
	pthread_mutex_lock(&lock);
	work_off(v->up ? &d->up : &d->main, v->at);
	pthread_mutex_unlock(&lock);
	return 0;
}

int
device_graph_begin(struct device *d)
{
	d->capture = calloc(1, sizeof(*d->capture));
	return 0;
}

int
device_graph_end(struct device *d, struct device_graph **graph)
{
	*graph = d->capture;
	d->capture = NULL;
	if (d->nograph) {
		device_graph_free(*graph);
		*graph = NULL;
	}
	return 0;
}

static void
play(void *arg)
{
	const struct device_graph *graph = *(struct device_graph *const *)arg;

	for (size_t i = 0; i < graph->n; i++)
		graph->work[i].run(graph->work[i].arg);
}

int
device_graph_launch(struct device *d, struct device_graph *graph)
{
	emu_enqueue(d, play, &graph, sizeof(graph));
	return 0;
}

void
device_graph_free(struct device_graph *graph)
{
	for (size_t i = 0; graph != NULL && i < graph->n; i++)
		free(graph->work[i].arg);
	if (graph != NULL)
		free(graph->work);
	free(graph);
}
