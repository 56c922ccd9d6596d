/*
 * trace - what a worker did when, for some of its steps, as a file that viewers of time lines draw.
 *
 * Format: Chrome's Trace Event Format, a JSON object; log(5) tells what stands in it.  After each step that is recorded the
 * file is whole, however the process ends.
 *
 *	uint64_t from = trace_now(t);
 *	...
 *	trace_span(t, TRACE_STEPS, from, "forward");
 *
 * Without a trace, t NULL, and outside of the recorded steps this costs a comparison.
 * Threads: trace_now(), trace_span(), trace_device() and trace_flight() from any; the spans of a row nest when one thread writes them.
 * Names are text without quotes, backslashes and control bytes.
 */
#ifndef PS_WORKER_TRACE_H
#define PS_WORKER_TRACE_H

#include <stdint.h>

enum trace_row {
	TRACE_STEPS = 1,	/* the thread that trains */
	TRACE_LAYERS,		/* what of it layers take */
	TRACE_NETWORK,		/* the thread of the connections */
	TRACE_CHECKPOINTS,		/* the thread that writes checkpoints */
	TRACE_ROWS
};

#define TRACE_DEVICE_ROWS	256u

struct trace;

/* Steps first, first + 1 ... of this run, from 1, n of them, go into the file at path.  ERR_SYS, ERR_NOMEM. */
int	 trace_open(struct trace **t, const char *path, uint32_t rank, uint64_t first, uint64_t n);
/* NULL is fine.  Returns 0 or what kept the file from being whole: ERR_SYS, ERR_NOMEM; the line names it. */
int	 trace_close(struct trace *t);

/* A step begins, done are behind it: what came before goes to the file.  By the thread that trains. */
void	 trace_step(struct trace *t, uint64_t done);
/* Nanoseconds since the trace was opened; 0: nothing is recorded now. */
uint64_t trace_now(const struct trace *t);
/* Something that lasted from `from` until now; nothing where that is 0. */
void	 trace_span(struct trace *t, enum trace_row row, uint64_t from, const char *name);
/* ... and moved so many bytes. */
void	 trace_moved(struct trace *t, enum trace_row row, uint64_t from, const char *name, uint64_t sent, uint64_t got);
/*
 * What a device did, on a row of its own of that name: from..to of clk_ns().  It is told late, so whether anything is recorded
 * now does not matter.  Of more than TRACE_DEVICE_ROWS rows the last ones are left out.
 */
void	 trace_device(struct trace *t, const char *row, const char *name, uint64_t from, uint64_t to);
/* Slice `slice`'s way to a server and back, which may overlap others. */
void	 trace_flight(struct trace *t, uint64_t from, uint32_t slice, uint64_t bytes);

#endif
