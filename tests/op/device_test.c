/* device_test - device.c and blas.c over the stand-ins of tests/emu, which notice calls that break CUDA's rules. */
#include "tap.h"

#include "base/buf.h"
#include "engine/cuda/device/blas.h"
#include "engine/cuda/device/device.h"
#include "engine/cuda/device/device_in.h"
#include "engine/cuda/device/dnn.h"
#include "engine/cuda/kernel/kernel.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define N	64	/* floats of each array */

static struct cuda_host host = { .note = err_note, .within = err_within, .put = buf_put_fmt };

static struct device *
open_device(uint32_t number)
{
	struct device *d;

	if (device_open(&host, number, &d) < 0 || device_make_current(d) < 0)
		abort();
	return d;
}

static float *
alloc_floats(struct device *d)
{
	void *p;

	if (device_alloc(d, N * sizeof(float), &p) < 0)
		abort();
	return p;
}

/* Whether fn ends its process by abort(), with a line that contains why. */
static bool
is_fault(void (*fn)(struct device *d), const char *why)
{
	char line[512] = "";
	int at[2], status;
	pid_t pid;

	if (pipe(at) < 0 || (pid = fork()) < 0)
		return false;
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		dup2(at[1], 2);
		fn(open_device(0));
		_exit(0);
	}
	close(at[1]);
	for (size_t n = 0; n + 1 < sizeof(line);) {
		ssize_t got = read(at[0], line + n, sizeof(line) - 1 - n);

		if (got <= 0)
			break;
		n += (size_t)got;
	}
	close(at[0]);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(line, why) != NULL;
}

static void
launch_elsewhere(struct device *d)
{
	float *p = alloc_floats(d);

	open_device(1);
	device_zero(d, p, sizeof(*p));
}

static void
record_elsewhere(struct device *d)
{
	struct device *other = open_device(1);
	struct device_event *v;

	device_event_new(other, false, &v);
	device_event_record(d, v, DEVICE_MAIN);
}

static void
copy_too_much(struct device *d)
{
	static float from[N + 1];

	device_upload(d, DEVICE_MAIN, alloc_floats(d), from, sizeof(from));
}

static void
copy_from_other_device(struct device *d)
{
	struct device *other = open_device(1);

	device_download(d, DEVICE_MAIN, (float[1]){ 0 }, alloc_floats(other), sizeof(float));
}

static void
copy_between_devices(struct device *d)
{
	device_upload(d, DEVICE_MAIN, alloc_floats(d), alloc_floats(d), sizeof(float));
}

static void
free_twice(struct device *d)
{
	float *p = alloc_floats(d);

	device_free(d, p);
	device_free(d, p);
}

static void
alloc_while_capturing(struct device *d)
{
	device_graph_begin(d);
	alloc_floats(d);
}

static void
wait_while_capturing(struct device *d)
{
	device_graph_begin(d);
	device_wait(d);
}

static void
follow_while_capturing(struct device *d)
{
	struct device_event *v;

	device_event_new(d, false, &v);
	device_event_record(d, v, DEVICE_UPLOAD);
	device_graph_begin(d);
	device_event_follow(d, v, DEVICE_MAIN);
}

static void
time_untimed(struct device *d)
{
	struct device_event *v;
	double us;

	device_event_new(d, false, &v);
	device_event_record(d, v, DEVICE_MAIN);
	device_event_elapsed_us(d, v, v, &us);
}

static void
follow_unrecorded(struct device *d)
{
	struct device_event *v;

	device_event_new(d, false, &v);
	device_event_follow(d, v, DEVICE_MAIN);
}

static void
await_unrecorded(struct device *d)
{
	struct device_event *v;

	device_event_new(d, false, &v);
	device_event_wait(d, v);
}

static void
change_upload(struct device *d)
{
	float from = 1;

	device_upload(d, DEVICE_MAIN, alloc_floats(d), &from, sizeof(from));
	from = 2;
	device_wait(d);
}

/* Exchanges count values of an array with those of another device's memory or of the same device's. */
static void
swap_with(struct device *d, struct device *other, uint32_t count)
{
	struct kernel_swap a = { .a = alloc_floats(d) };

	device_make_current(other);
	a.b = alloc_floats(other);
	device_make_current(d);
	kernel_run_swap(d, &a, count, KERNEL_F32);
	device_wait(d);
}

static void
swap_beyond(struct device *d)
{
	swap_with(d, d, N + 1);
}

static void
swap_elsewhere(struct device *d)
{
	swap_with(d, open_device(1), N);
}

static void
swap_freed(struct device *d)
{
	struct kernel_swap a = { alloc_floats(d), alloc_floats(d) };
	struct device_graph *graph;

	device_graph_begin(d);
	kernel_run_swap(d, &a, N, KERNEL_F32);
	device_graph_end(d, &graph);
	device_free(d, a.b);
	device_graph_launch(d, graph);
	device_wait(d);
}

static void
leave_counters(struct device *d)
{
	struct kernel_column_sums a = { { alloc_floats(d), 1, 1, KERNEL_F32 }, { .m = 64, .c = 1, .channels = 1, .strips = 8,
		.rows = 4, .blocks = 2, .sums = alloc_floats(d), .arrived = (uint32_t *)alloc_floats(d) }, alloc_floats(d),
		NULL };

	a.strips.arrived[0] = 1;
	kernel_run_column_sums(d, &a, KERNEL_F32);
	device_wait(d);
}

static const struct blas_shape shape = { .m = 2, .n = 3, .k = 4, .alpha = 1, .count = 1 };

/* Multiplies arrays of which the first begins `apart` floats after an allocation, with scratch `room` bytes after one. */
static void
multiply_at(struct device *d, size_t apart, size_t room)
{
	struct blas *b;
	size_t scratch;
	void *s;

	blas_open(d, &shape, &b, &scratch);
	device_alloc(d, scratch + room, &s);
	blas_bind(b, &(struct blas_places){ .a = alloc_floats(d) + apart, .b = alloc_floats(d), .c = alloc_floats(d),
		.scratch = (char *)s + room });
	blas_run(b);
}

static void
multiply_unaligned(struct device *d)
{
	multiply_at(d, 1, 0);
}

static void
multiply_beyond(struct device *d)
{
	multiply_at(d, N - 4, 0);
}

static void
multiply_with_unaligned_scratch(struct device *d)
{
	multiply_at(d, 0, 128);
}

static void
read_unaligned(struct device *d)
{
	kernel_read_words(alloc_floats(d) + 1);
}

static void
refuse_broken_rules(void)
{
	ok(is_fault(launch_elsewhere, "while device 1 is current"), "work for a device that is not current is noticed");
	ok(is_fault(record_elsewhere, "an event of device 1"), "an event of another device is noticed");
	ok(is_fault(copy_too_much, "end beyond their allocation"), "a copy beyond its allocation is noticed");
	ok(is_fault(copy_from_other_device, "is no memory of device 0"), "memory of another device is noticed");
	ok(is_fault(copy_between_devices, "not of the host"), "an upload from memory of the device is noticed");
	ok(is_fault(free_twice, "is not allocated"), "memory freed twice is noticed");
	ok(is_fault(alloc_while_capturing, "cudaMalloc: not while a stream captures"), "a captured allocation is noticed");
	ok(is_fault(wait_while_capturing, "not while a stream captures"), "waiting in a capture is noticed");
	ok(is_fault(follow_while_capturing, "outside its graph"), "captured work that follows an upload is noticed");
	ok(is_fault(time_untimed, "record none"), "the time of an event without a clock is noticed");
	ok(is_fault(multiply_unaligned, "is no multiple of 256"), "a product's factor that is not aligned is noticed");
	ok(is_fault(read_unaligned, ""), "16 bytes that are read at an address which is no multiple of them are noticed");
	ok(is_fault(multiply_beyond, "end beyond"), "a product's factor beyond its allocation is noticed");
	ok(is_fault(multiply_with_unaligned_scratch, "is no multiple of 256"), "unaligned scratch of a product is noticed");
	ok(is_fault(follow_unrecorded, "never recorded"), "a stream that waits for an event without a record is noticed");
	ok(is_fault(await_unrecorded, "never recorded"), "a host that waits for an event without a record is noticed");
	ok(is_fault(change_upload, "changed memory before its upload"), "a changed source of an upload is noticed");
	ok(is_fault(swap_beyond, "swap: "), "a kernel's array beyond its allocation is noticed");
	ok(is_fault(swap_elsewhere, "is no memory of device 0"), "a kernel's array on another device is noticed");
	ok(is_fault(swap_freed, "is no memory of device 0"), "a graph with memory that was freed is noticed");
	ok(is_fault(leave_counters, "a counter of arrivals is 1, not 0"), "a counter of arrivals that is not 0 is noticed");
}

/* DEVICE_MAIN writes zeros, and DEVICE_DOWNLOAD reads them, after an event or not. */
static float
download_after_zeros(struct device *d, bool follows)
{
	struct device_event *v;
	float *p = alloc_floats(d), got = 1;

	device_event_new(d, false, &v);
	device_zero(d, p, sizeof(*p));
	device_event_record(d, v, DEVICE_MAIN);
	if (follows)
		device_event_follow(d, v, DEVICE_DOWNLOAD);
	device_download(d, DEVICE_DOWNLOAD, &got, p, sizeof(got));
	device_event_record(d, v, DEVICE_DOWNLOAD);
	device_event_wait(d, v);
	device_wait(d);
	device_event_free(v);
	device_free(d, p);
	return got;
}

/* DEVICE_MAIN downloads what an earlier upload wrote, and DEVICE_UPLOAD replaces it without waiting. */
static float
download_before_upload(struct device *d)
{
	float *p = alloc_floats(d), first = 1, second = 2, got = 0;

	device_upload(d, DEVICE_MAIN, p, &first, sizeof(first));
	device_download(d, DEVICE_MAIN, &got, p, sizeof(got));
	device_upload(d, DEVICE_UPLOAD, p, &second, sizeof(second));
	device_wait(d);
	return got;
}

static void
order_streams(struct device *d)
{
	is(download_after_zeros(d, true), 0, "a stream that follows an event reads what was written before it");
	ok(download_after_zeros(d, false) != 0, "a stream that follows none reads junk");
	is(download_before_upload(d), 1, "an upload of another stream runs late");
	setenv("TALLY_EMU", "early", 1);
	ok(download_after_zeros(d, true) == 0, "streams that run early still follow their events");
	unsetenv("TALLY_EMU");
}

/* The graph of zeros into p, or NULL; *pending gets the error that a later call would report. */
static struct device_graph *
capture_zeros(struct device *d, float *p, const char *mode, cudaError_t *pending)
{
	struct device_graph *graph;

	setenv("TALLY_EMU", mode, 1);
	device_graph_begin(d);
	device_zero(d, p, N * sizeof(*p));
	device_graph_end(d, &graph);
	*pending = cudaGetLastError();
	unsetenv("TALLY_EMU");
	return graph;
}

/* A graph records an event between zeros into p[0] and p[1]: does a stream that follows it read the first alone? */
static bool
follow_within_graph(struct device *d, float *p)
{
	struct device_graph *graph;
	struct device_event *v;
	float got[2];

	device_event_new(d, false, &v);
	device_graph_begin(d);
	device_zero(d, p, sizeof(*p));
	device_event_record(d, v, DEVICE_MAIN);
	device_zero(d, p + 1, sizeof(*p));
	device_graph_end(d, &graph);
	device_graph_launch(d, graph);
	device_event_follow(d, v, DEVICE_DOWNLOAD);
	device_download(d, DEVICE_DOWNLOAD, got, p, sizeof(got));
	device_event_record(d, v, DEVICE_DOWNLOAD);
	device_event_wait(d, v);
	device_graph_free(graph);
	device_event_free(v);
	return got[0] == 0 && got[1] != 0;
}

static void
capture_graphs(struct device *d)
{
	float *p = alloc_floats(d), got = 1;
	cudaError_t pending;
	struct device_graph *graph = capture_zeros(d, p, "", &pending);

	ok(follow_within_graph(d, alloc_floats(d)), "a stream that follows an event within a graph waits for the work before it");
	device_download(d, DEVICE_MAIN, &got, p, sizeof(got));
	device_wait(d);
	ok(graph != NULL && got != 0, "captured work does not run");
	device_graph_launch(d, graph);
	device_download(d, DEVICE_MAIN, &got, p, sizeof(got));
	device_wait(d);
	is(got, 0, "a graph that is launched runs its work");
	device_graph_free(graph);
	ok(capture_zeros(d, p, "nocapture", &pending) == NULL && pending == cudaSuccess,
	    "an invalid capture gives no graph and leaves no error");
	ok(capture_zeros(d, p, "nograph", &pending) == NULL && pending == cudaSuccess,
	    "a graph that cannot be instantiated gives none and leaves no error");
}

static void
limit_memory(struct device *d)
{
	size_t left, all, before;
	void *p;

	device_memory(d, &before, &all);
	setenv("TALLY_EMU_MB", "1", 1);
	is(device_alloc(d, 2000000, &p), ERR_NOMEM, "memory that the device lacks is refused");
	ok(strstr(err_line(), "2.0 MB more of its memory are needed, and 1.0 of 1.0 are free") != NULL,
	    "the line has the needed and the free memory: %s", err_line());
	is(cudaGetLastError(), cudaSuccess, "a refused allocation leaves no error");
	unsetenv("TALLY_EMU_MB");
	device_memory(d, &left, &all);
	is(left, before, "all memory is freed");
}

/* c = alpha a b + beta d of small whole numbers, for each kind of transposition; two products side by side. */
static void
multiply(struct device *d, bool a_transposed, bool b_transposed)
{
	const struct blas_shape s = { .m = 3, .n = 2, .k = 4, .a_transposed = a_transposed, .b_transposed = b_transposed,
		.alpha = 2, .beta = 1, .count = 2 };
	float a[24], b[16], c[12], got[12];
	float *pa = alloc_floats(d), *pb = alloc_floats(d), *pc = alloc_floats(d);
	struct blas *p;
	size_t scratch;
	void *room;
	int wrong = 0;

	for (int i = 0; i < 24; i++) {
		a[i] = (float)(i % 7);
		b[i % 16] = (float)(i % 16 % 5);
		c[i % 12] = (float)(i % 12);
	}
	blas_open(d, &s, &p, &scratch);
	device_alloc(d, scratch, &room);
	device_upload(d, DEVICE_MAIN, pa, a, sizeof(a));
	device_upload(d, DEVICE_MAIN, pb, b, sizeof(b));
	device_upload(d, DEVICE_MAIN, pc, c, sizeof(c));
	blas_bind(p, &(struct blas_places){ .a = pa, .b = pb, .d = pc, .c = pc, .scratch = room });
	blas_run(p);
	device_download(d, DEVICE_MAIN, got, pc, sizeof(got));
	device_wait(d);
	for (int q = 0; q < 2; q++)
		for (int i = 0; i < 3; i++)
			for (int j = 0; j < 2; j++) {
				float sum = 0;
				for (int l = 0; l < 4; l++)
					sum += a[q * 12 + (a_transposed ? l * 3 + i : i * 4 + l)] *
					    b[q * 8 + (b_transposed ? j * 4 + l : l * 2 + j)];
				wrong += got[q * 6 + i * 2 + j] != 2 * sum + c[q * 6 + i * 2 + j];
			}
	is(wrong, 0, "products with a%s and b%s", a_transposed ? " transposed" : "", b_transposed ? " transposed" : "");
	blas_close(p);
}

static void
race_convolutions(struct device *d)
{
	const struct dnn_shape s = { .n = 2, .c = 3, .h = 5, .w = 5, .k = 4, .oh = 5, .ow = 5, .r = 3, .s = 3,
		.stride = { 1, 1 }, .pad = { 1, 1 }, .dilate = { 1, 1 }, .groups = 1, .bias = 4, .relu = true };
	size_t left, before, all, scratch;
	struct dnn *c;
	struct buf name = { 0 };

	device_memory(d, &before, &all);
	is(dnn_open(d, &s, &(struct engine_tune){ .measure = true }, &c, &scratch), 0, "convolutions race");
	dnn_name(c, &name);
	ok(name.p != NULL && memcmp(name.p, "loops 2 0=1 3=-1", 16) == 0, "the fastest convolution wins");
	device_memory(d, &left, &all);
	is(left, before, "a race frees its memory");
	buf_free(&name);
	dnn_close(c);
}

int
main(void)
{
	struct device *d;

	refuse_broken_rules();
	d = open_device(0);
	order_streams(d);
	capture_graphs(d);
	limit_memory(d);
	race_convolutions(d);
	for (int k = 0; k < 4; k++)
		multiply(d, (k & 1) != 0, (k & 2) != 0);
	device_close(d);
	return done();
}
