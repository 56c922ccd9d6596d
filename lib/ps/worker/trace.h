/*
 * trace - the time line of a worker for some of its steps, as a file for trace viewers.
 *
 * The format is Chrome's Trace Event Format, a JSON object; log(5) describes the events.  The file is valid after each
 * recorded step, however the process ends.
 *
 *	uint64_t from = trace_now(t);
 *	forward();
 *	trace_span(t, TRACE_STEPS, from, "forward");
 *
 * With t NULL, and outside the recorded steps, this costs a comparison.  Threads: any may call trace_now(),
 * trace_span(), trace_transfer(), trace_device() and trace_flight(); the spans of a row nest only if one thread writes
 * them.  Names contain no quotes, backslashes or control bytes.
 */
#ifndef PS_WORKER_TRACE_H
#define PS_WORKER_TRACE_H

#include <stdint.h>

enum trace_row {
	TRACE_STEPS = 1,	/* the thread that trains */
	TRACE_LAYERS,		/* the layers, on that thread */
	TRACE_NETWORK,		/* the thread of the connections */
	TRACE_CHECKPOINTS,		/* the thread that writes checkpoints */
	TRACE_ROWS
};

#define TRACE_DEVICE_ROWS	256u

struct trace;

/* Records n steps of this run, from step `first`, which counts from 1, to a file.  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 trace_open(const char *path, uint32_t rank, uint64_t first, uint64_t n, struct trace **t);
/* Returns 0, or ERR_SYS or ERR_NOMEM if the file is not complete; the line names it.  NULL does nothing. */
int	 trace_close(struct trace *t);

/* The training thread begins a step after `done` steps: writes the earlier events to the file. */
void	 trace_step(struct trace *t, uint64_t done);
/* Nanoseconds since the trace was opened, or 0 outside the recorded steps. */
uint64_t trace_now(const struct trace *t);
/* Records a span from `from` until now, unless `from` is 0. */
void	 trace_span(struct trace *t, enum trace_row row, uint64_t from, const char *name);
/* Records a span that sent and received bytes. */
void	 trace_transfer(struct trace *t, enum trace_row row, uint64_t from, const char *name, uint64_t sent,
	     uint64_t received);
/*
 * Records a span of a device, from..to of clk_ns(), on a row of that name.  Devices report late, so that this works
 * outside the recorded steps, too.  Rows above TRACE_DEVICE_ROWS are dropped.
 */
void	 trace_device(struct trace *t, const char *row, const char *name, uint64_t from, uint64_t to);
/* Records the time from the push of a slice until its weights arrived; such spans may overlap. */
void	 trace_flight(struct trace *t, uint64_t from, uint32_t slice, uint64_t bytes);

#endif
