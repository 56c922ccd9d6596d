/*
 * cudart_stream - streams, events and graphs of the stand-in for libcudart.
 *
 * Each stream runs its work in order and as late as possible: when the host waits for it, or another stream's work follows
 * one of its events.  So a read without a wait finds junk.  With TALLY_EMU=early all streams of a device but its first run
 * at once instead, as far as their events allow, so that an upload over memory in use spoils it.  Captured work keeps its
 * arguments, as on a GPU.  TALLY_EMU=nocapture: a capture is invalid at its end.  TALLY_EMU=nograph: a graph cannot be
 * instantiated.
 */
#include "emu/cudart.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct work {
	void	 (*run)(void *arg);
	void	*arg;
	size_t	 bytes;
};

struct CUgraph_st {
	struct work *work;
	size_t	 n;
};

struct CUgraphExec_st {
	struct CUgraph_st graph;
	int	 device;
};

/* Work in order: work [n], of which `begun` are done or run.  Numbers count from `gone`. */
struct CUstream_st {
	struct emu_stream api;
	int	 device, number;
	struct CUgraph_st *capture;	/* NULL: captures nothing */
	struct work *work;
	size_t	 n, begun, gone;
	struct CUstream_st *next;
};

struct CUevent_st {
	int	 device;
	bool	 timed;
	struct CUstream_st *stream;	/* NULL: never recorded */
	size_t	 number;		/* of the stream's work before it */
	uint64_t ns;			/* when it was reached; 0: not since it was recorded */
};

/* Guards all queues.  Recursive: work of one stream may run that of another. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct CUstream_st *streams;

static _Thread_local int capturing;	/* streams that this thread captures */

static void
append_work(struct work **list, size_t *n, struct work w)
{
	if ((*n & (*n - 1)) == 0)
		*list = realloc(*list, (*n > 0 ? 2 * *n : 1) * sizeof(w));
	(*list)[(*n)++] = w;
}

static struct work
make_work(void (*run)(void *arg), const void *arg, size_t bytes)
{
	struct work w = { run, malloc(bytes + 1), bytes };

	memcpy(w.arg, arg, bytes);
	return w;
}

/* Runs the work before number `end`. */
static void
run_work(struct CUstream_st *s, size_t end)
{
	pthread_mutex_lock(&lock);
	while (s->gone + s->begun < end) {
		struct work w = s->work[s->begun++];

		w.run(w.arg);
		free(w.arg);
	}
	if (s->begun == s->n) {
		s->gone += s->n;
		free(s->work);
		s->work = NULL;
		s->n = s->begun = 0;
	}
	pthread_mutex_unlock(&lock);
}

void
cudart_run_all(int device)
{
	for (struct CUstream_st *s = streams; s != NULL; s = s->next)
		if (s->device == device)
			run_work(s, s->gone + s->n);
}

void
cudart_check_no_capture(const char *call)
{
	if (capturing > 0)
		emu_fault("%s: not while a stream captures", call);
}

/* Enqueues work, or captures it. */
static size_t
enqueue_work(struct CUstream_st *s, void (*run)(void *arg), const void *arg, size_t bytes)
{
	size_t number;

	pthread_mutex_lock(&lock);
	if (s->capture != NULL) {
		append_work(&s->capture->work, &s->capture->n, make_work(run, arg, bytes));
		number = 0;
	} else {
		append_work(&s->work, &s->n, make_work(run, arg, bytes));
		number = s->gone + s->n;
		if (s->number > 0 && cudart_is_set("early"))
			run_work(s, number);
	}
	pthread_mutex_unlock(&lock);
	return number;
}

static size_t
enqueue_for_stub(struct emu_stream *s, void (*run)(void *arg), const void *arg, size_t bytes)
{
	return enqueue_work((struct CUstream_st *)s, run, arg, bytes);
}

static void
reach_for_stub(struct emu_stream *s, size_t number)
{
	run_work((struct CUstream_st *)s, number);
}

static void
tie_for_stub(struct emu_stream *s, int by)
{
	cudart_tie(((struct CUstream_st *)s)->device, by);
}

void
emu_launch(void *stream, void (*run)(void *arg), const void *arg, size_t bytes)
{
	struct CUstream_st *s = stream;

	if (s->device != cudart_device)
		emu_fault("a launch on a stream of device %d while device %d is current", s->device, cudart_device);
	enqueue_work(s, run, arg, bytes);
}

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
	if (flags != cudaStreamNonBlocking)
		emu_fault("a stream that waits for the legacy stream");
	*s = calloc(1, sizeof(**s));
	(*s)->api = (struct emu_stream){ enqueue_for_stub, reach_for_stub, tie_for_stub };
	(*s)->device = cudart_device;
	pthread_mutex_lock(&lock);
	for (struct CUstream_st *other = streams; other != NULL; other = other->next)
		(*s)->number += other->device == cudart_device;
	(*s)->next = streams;
	streams = *s;
	pthread_mutex_unlock(&lock);
	return cudaSuccess;
}

cudaError_t
cudaStreamDestroy(cudaStream_t s)
{
	struct CUstream_st **at;

	run_work(s, s->gone + s->n);
	pthread_mutex_lock(&lock);
	for (at = &streams; *at != s; at = &(*at)->next)
		;
	*at = s->next;
	pthread_mutex_unlock(&lock);
	free(s);
	return cudaSuccess;
}

/* The log gets one line a device, whose streams are waited for one after another. */
cudaError_t
cudaStreamSynchronize(cudaStream_t s)
{
	cudaError_t e;

	cudart_check_no_capture("cudaStreamSynchronize");
	if (s->number == 0)
		emu_log("wait", 0);
	if ((e = cudart_begin_wait(s->device)) == cudaSuccess)
		run_work(s, s->gone + s->n);
	return e;
}

struct copy {
	void	*to;
	const void *from;
	size_t	 bytes;
	bool	 up;
	uint64_t hash;		/* up: of the bytes when the copy was enqueued */
};

static uint64_t
hash_bytes(const void *p, size_t n)
{
	const unsigned char *at = p;
	uint64_t hash = n;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash;
}

static void
run_copy(void *arg)
{
	const struct copy *c = arg;

	if (c->up && hash_bytes(c->from, c->bytes) != c->hash)
		emu_fault("the host changed memory before its upload");
	memcpy(c->to, c->from, c->bytes);
	emu_log(c->up ? "upload" : "download", c->bytes);
}

cudaError_t
cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t s)
{
	const bool up = kind == cudaMemcpyHostToDevice;
	const struct copy c = { to, from, bytes, up, up ? hash_bytes(from, bytes) : 0 };

	if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToHost)
		emu_fault("a copy of kind %d", (int)kind);
	cudart_check_range("a copy", up ? to : from, bytes, s->device);
	/* Until the copy is done the host must not read what is there. */
	if (cudart_check_host("a copy", up ? from : to) && !up)
		memset(to, 0xff, bytes);
	enqueue_work(s, run_copy, &c, sizeof(c));
	return cudaSuccess;
}

struct fill {
	void	*p;
	int	 value;
	size_t	 bytes;
};

static void
run_fill(void *arg)
{
	const struct fill *f = arg;

	memset(f->p, f->value, f->bytes);
	emu_log("zeros", f->bytes);
}

cudaError_t
cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s)
{
	cudart_check_range("cudaMemsetAsync", p, bytes, s->device);
	emu_launch(s, run_fill, &(struct fill){ p, value, bytes }, sizeof(struct fill));
	return cudaSuccess;
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *v, unsigned flags)
{
	*v = calloc(1, sizeof(**v));
	(*v)->device = cudart_device;
	(*v)->timed = (flags & cudaEventDisableTiming) == 0;
	return cudaSuccess;
}

cudaError_t
cudaEventCreate(cudaEvent_t *v)
{
	return cudaEventCreateWithFlags(v, cudaEventDefault);
}

/* An event may be destroyed before it is reached. */
cudaError_t
cudaEventDestroy(cudaEvent_t v)
{
	if (v->stream != NULL)
		run_work(v->stream, v->number);
	free(v);
	return cudaSuccess;
}

static void
run_event(void *arg)
{
	struct CUevent_st *v = *(struct CUevent_st **)arg;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	v->ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
record_event(cudaEvent_t v, cudaStream_t s)
{
	v->ns = 0;
	v->stream = s;
	if (v->timed)
		enqueue_work(s, run_event, &v, sizeof(v));
	pthread_mutex_lock(&lock);
	v->number = s->gone + s->n;
	pthread_mutex_unlock(&lock);
}

/* In the work of a graph: its argument is an event that each launch records there. */
static void
mark_event(void *arg)
{
	(void)arg;
}

cudaError_t
cudaEventRecordWithFlags(cudaEvent_t v, cudaStream_t s, unsigned flags)
{
	if (v->device != s->device)
		emu_fault("an event of device %d on a stream of device %d", v->device, s->device);
	if ((s->capture != NULL) != (flags == cudaEventRecordExternal) || (s->capture != NULL && v->timed))
		emu_fault("an event with flags %u on a stream that captures%s", flags, s->capture != NULL ? "" : " nothing");
	if (s->capture != NULL)
		enqueue_work(s, mark_event, &v, sizeof(v));
	else
		record_event(v, s);
	return cudaSuccess;
}

cudaError_t
cudaEventRecord(cudaEvent_t v, cudaStream_t s)
{
	return cudaEventRecordWithFlags(v, s, cudaEventRecordDefault);
}

static void
run_wait(void *arg)
{
	const struct CUevent_st *v = arg;

	run_work(v->stream, v->number);
}

cudaError_t
cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t v, unsigned flags)
{
	if (flags != 0)
		emu_fault("cudaStreamWaitEvent: flags %u", flags);
	if (s->capture != NULL)
		emu_fault("captured work waits for an event outside its graph");
	if (v->stream == NULL)
		emu_fault("a stream waits for an event that was never recorded");
	enqueue_work(s, run_wait, v, sizeof(*v));
	return cudaSuccess;
}

cudaError_t
cudaEventSynchronize(cudaEvent_t v)
{
	cudaError_t e;

	cudart_check_no_capture("cudaEventSynchronize");
	emu_log("wait", 0);
	if (v->stream == NULL)
		emu_fault("the host waits for an event that was never recorded");
	if ((e = cudart_begin_wait(v->device)) == cudaSuccess)
		run_work(v->stream, v->number);
	return e;
}

cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	if (!from->timed || !to->timed || from->ns == 0 || to->ns == 0)
		emu_fault("the time between events that record none or are not reached");
	*ms = (float)((double)(int64_t)(to->ns - from->ns) * 1e-6);
	return cudaSuccess;
}

cudaError_t
cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
	if (mode != cudaStreamCaptureModeThreadLocal || s->capture != NULL)
		emu_fault("a capture of mode %d, or a second one", (int)mode);
	s->capture = calloc(1, sizeof(*s->capture));
	capturing++;
	return cudaSuccess;
}

cudaError_t
cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
	if (s->capture == NULL)
		emu_fault("the end of a capture that did not begin");
	*graph = s->capture;
	s->capture = NULL;
	capturing--;
	if (!cudart_is_set("nocapture"))
		return cudaSuccess;
	cudaGraphDestroy(*graph);
	*graph = NULL;
	return cudart_fail(cudaErrorStreamCaptureInvalidated);
}

static void
free_graph_work(struct CUgraph_st *graph)
{
	for (size_t i = 0; i < graph->n; i++)
		free(graph->work[i].arg);
	free(graph->work);
}

cudaError_t
cudaGraphDestroy(cudaGraph_t graph)
{
	free_graph_work(graph);
	free(graph);
	return cudaSuccess;
}

cudaError_t
cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	if (flags != 0)
		emu_fault("cudaGraphInstantiate: flags %llu", flags);
	if (cudart_is_set("nograph"))
		return cudart_fail(cudaErrorNotSupported);
	*exec = calloc(1, sizeof(**exec));
	(*exec)->device = cudart_device;
	for (size_t i = 0; i < graph->n; i++)
		append_work(&(*exec)->graph.work, &(*exec)->graph.n,
		    make_work(graph->work[i].run, graph->work[i].arg, graph->work[i].bytes));
	return cudaSuccess;
}

/* The work of a graph between two events that it records. */
struct section {
	struct CUgraphExec_st *exec;
	size_t	 from, to;
};

static void
run_section(void *arg)
{
	const struct section *s = arg;

	if (s->from == 0)
		emu_log("graph", 0);
	for (size_t i = s->from; i < s->to; i++)
		s->exec->graph.work[i].run(s->exec->graph.work[i].arg);
}

cudaError_t
cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
	if (exec->device != s->device)
		emu_fault("a graph of device %d on a stream of device %d", exec->device, s->device);
	for (size_t from = 0, to = 0; to <= exec->graph.n; to++)
		if (to == exec->graph.n || exec->graph.work[to].run == mark_event) {
			emu_launch(s, run_section, &(struct section){ exec, from, to }, sizeof(struct section));
			from = to + 1;
			if (to < exec->graph.n)
				record_event(*(struct CUevent_st **)exec->graph.work[to].arg, s);
		}
	return cudaSuccess;
}

/* Launches that have not run keep the graph, as on a GPU. */
cudaError_t
cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	cudart_run_all(exec->device);
	free_graph_work(&exec->graph);
	free(exec);
	return cudaSuccess;
}
