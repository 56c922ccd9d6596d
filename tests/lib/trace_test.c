/* trace_test - a file of a few steps: whole after each of them, written by many threads, and nothing outside of its steps. */
#include "ps/worker/trace.h"
#include "base/buf.h"
#include "base/clk.h"
#include "base/err.h"
#include "base/io.h"
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define THREADS	4
#define SPANS	500
#define MOST	(1u << 22)

static struct buf file;

/* How often a text stands in the file now; -1: it does not end as it should. */
static int
count(const char *path, const char *text)
{
	int n = 0;

	file.n = 0;
	if (io_slurp(path, MOST, &file) < 0 || buf_terminate(&file) < 0 ||
	    file.n < 5 || strcmp((char *)file.p + file.n - 5, "}\n]}\n") != 0)
		return -1;
	for (const char *p = (char *)file.p; (p = strstr(p, text)) != NULL; p++)
		n++;
	return n;
}

static void *
many(void *arg)
{
	for (uint32_t i = 0; i < SPANS; i++) {
		trace_span(arg, TRACE_NETWORK, trace_now(arg), "many");
		trace_flight(arg, trace_now(arg), i, 4);
	}
	return NULL;
}

static void
steps(const char *path)
{
	struct trace *t;
	uint64_t from, now;

	is(trace_open(path, 3, 2, 2, &t), 0, "the second and the third step: %s", err_line());
	is(count(path, "\"worker 3\""), 1, "whole before the first");
	trace_step(t, 7);
	is(trace_now(t), 0, "a run that begins with the eighth: its first step is not recorded");
	trace_span(t, TRACE_STEPS, trace_now(t), "first");
	trace_step(t, 8);
	from = trace_now(t);
	ok(from > 0, "the second step is recorded");
	trace_span(t, TRACE_STEPS, from, "second");
	trace_transfer(t, TRACE_NETWORK, from, "moves", 12, 34);
	is(count(path, "\"second\""), 0, "a span is not written before its step ends");
	trace_step(t, 9);
	is(count(path, "\"second\""), 1, "a span is written whole after its step");
	is(count(path, "\"args\":{\"sent\":12,\"received\":34}}"), 1, "a transfer has the bytes that were sent and received");
	from = trace_now(t);
	trace_step(t, 9);
	ok(trace_now(t) > 0, "a step that was none is begun again");
	now = clk_ns();
	trace_step(t, 10);
	is(trace_now(t), 0, "the fourth is not recorded");
	trace_span(t, TRACE_STEPS, from, "late");
	trace_flight(t, from, 1, 1);
	trace_device(t, "gpu:0", "kernels", now, now + 2500);
	trace_device(t, "gpu:0 down", "copies", now, now);
	trace_device(t, "gpu:0", "backwards", now, now - 1);
	is(trace_close(t), 0, "closed");
	is(count(path, "\"ph\":\"X\""), 4, "two spans of its own, and two of a device, that come late");
	is(count(path, "\"kernels\",\"pid\":3,\"tid\":5,"), 1, "the device's spans have rows of their own");
	is(count(path, "\"dur\":2.500}"), 1, "the device's spans have their durations");
	is(count(path, "\"tid\":6,\"args\":{\"name\":\"gpu:0 down\"}"), 1, "the device's rows have names");
	is(count(path, "\"ph\":\"b\""), 0, "nothing that ends outside");
}

static void
threads(const char *path)
{
	pthread_t thread[THREADS];
	struct trace *t;

	if (!ok(trace_open(path, 0, 1, 100, &t) == 0, "another: %s", err_line()))
		return;
	trace_step(t, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, many, t);
	for (uint64_t i = 1; i < 50; i++)
		trace_step(t, i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	is(trace_close(t), 0, "closed");
	is(count(path, "\"many\""), THREADS * SPANS, "all spans of %d threads", THREADS);
	is(count(path, "\n{\"ph\":"), 9 + 3 * THREADS * SPANS, "each span has a line");
	is(count(path, ",\n{\"ph\":"), 8 + 3 * THREADS * SPANS, "commas separate the lines");
}

int
main(void)
{
	char dir[] = "/tmp/trace_test.XXXXXX", path[64];
	struct trace *t;

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/t.json", dir);
	steps(path);
	threads(path);
	unlink(path);
	rmdir(dir);
	is(trace_open(path, 0, 1, 1, &t), ERR_SYS, "a trace in a missing folder fails: %s", err_line());
	is(trace_open("/dev/full", 0, 1, 1, &t), ERR_SYS, "a trace on a full disk fails: %s", err_line());
	ok(t == NULL, "a failed trace_open() returns no trace");
	trace_step(NULL, 0);
	trace_span(NULL, TRACE_STEPS, trace_now(NULL), "none");
	trace_flight(NULL, 0, 0, 0);
	is(trace_close(NULL), 0, "calls without a trace do nothing");
	buf_free(&file);
	return done();
}
