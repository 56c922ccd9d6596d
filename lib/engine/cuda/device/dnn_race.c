/* dnn_race - how long a planned convolution takes on this device. */
#include "engine/cuda/device/dnn_race.h"
#include "engine/cuda/device/choose.h"
#include "engine/cuda/device/device_in.h"
#include "engine/cuda/kernel/kernel.h"

#define WARM	2	/* runs before the first that counts */
#define EACH	4	/* runs between two looks at the clock: a launch alone takes as long as a small kernel */
#define FILL	0x3c	/* in each byte: numbers of about 0.01 in f32 and bf16, of about 1 in f16 */

static size_t
round_to_256(size_t bytes)
{
	return (bytes + 255) / 256 * 256;
}

static int
run_times(struct dnn *c, uint32_t times)
{
	int e = 0;

	for (uint32_t i = 0; i < times && e == 0; i++)
		e = dnn_run(c);
	return e;
}

/* Between two events, CHOOSE_RUNS times. */
static int
measure_runs(struct device *d, struct dnn *c, cudaEvent_t from, cudaEvent_t to, double *us)
{
	cudaStream_t s = d->stream[DEVICE_MAIN];
	int e = run_times(c, WARM);

	for (uint32_t i = 0; i < CHOOSE_RUNS && e == 0; i++) {
		float ms = 0;

		if ((e = device_ok(d, cudaEventRecord(from, s), "an event")) < 0 || (e = run_times(c, EACH)) < 0 ||
		    (e = device_ok(d, cudaEventRecord(to, s), "an event")) < 0 ||
		    (e = device_ok(d, cudaEventSynchronize(to), "a convolution")) < 0)
			break;
		e = device_ok(d, cudaEventElapsedTime(&ms, from, to), "a time");
		us[i] = (double)ms * 1e3 / EACH;
	}
	return e;
}

static int
time_plan(struct device *d, struct dnn *c, double *us)
{
	cudaEvent_t from = NULL, to = NULL;
	int e = device_ok(d, cudaEventCreate(&from), "an event");

	if (e == 0 && (e = device_ok(d, cudaEventCreate(&to), "an event")) == 0)
		e = measure_runs(d, c, from, to, us);
	if (to != NULL)
		cudaEventDestroy(to);
	if (from != NULL)
		cudaEventDestroy(from);
	return e;
}

int
dnn_race(struct device *d, struct dnn *c, const struct dnn_shape *s, size_t scratch, double *us)
{
	size_t each = kernel_size(s->type);
	size_t x = round_to_256((size_t)s->n * s->c * s->h * s->w * each);
	size_t w = round_to_256((size_t)s->k * (s->c / s->groups) * s->r * s->s * each);
	size_t y = round_to_256((size_t)s->n * s->k * s->oh * s->ow * each);
	size_t bias = round_to_256(s->k * sizeof(float)), more = s->more ? y : 0,
	    all = x + w + y + bias + more + scratch;
	void *memory;
	char *at;
	int e = device_take(d, all, &memory);

	if (e < 0)
		return e;
	at = memory;
	if ((e = device_ok(d, cudaMemsetAsync(at, FILL, all, d->stream[DEVICE_MAIN]), "numbers")) == 0 &&
	    (e = dnn_bind(c, &(struct dnn_places){ .x = at, .w = at + x, .y = at + x + w, .bias = at + x + w + y,
	    .more = at + x + w + y + bias, .scratch = at + x + w + y + bias + more })) == 0)
		e = time_plan(d, c, us);
	device_wait(d);
	device_give(d, memory);
	return e;
}
