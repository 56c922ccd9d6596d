/* dnn_race - the run time of a planned convolution. */
#include "engine/cuda/device/dnn_race.h"
#include "engine/cuda/device/choose.h"
#include "engine/cuda/device/device_in.h"
#include "engine/cuda/kernel/kernel.h"
#include "engine/memplan.h"

#define WARM	2	/* runs before the timed ones */
#define EACH	4	/* runs per measurement, since a launch takes as long as a small kernel */
#define FILL	0x3c	/* every byte: values of about 0.01 in f32 and bf16, of about 1 in f16 */

static int
run_times(struct dnn *c, uint32_t times)
{
	int e = 0;

	for (uint32_t i = 0; i < times && e == 0; i++)
		e = dnn_run(c);
	return e;
}

/* Measures CHOOSE_RUNS times between two events. */
static int
measure_runs(struct device *d, struct dnn *c, cudaEvent_t from, cudaEvent_t to, double *us)
{
	cudaStream_t s = d->stream[DEVICE_MAIN];
	int e = run_times(c, WARM);

	for (uint32_t i = 0; i < CHOOSE_RUNS && e == 0; i++) {
		float ms = 0;

		if ((e = device_check(d, cudaEventRecord(from, s), "an event")) < 0 || (e = run_times(c, EACH)) < 0 ||
		    (e = device_check(d, cudaEventRecord(to, s), "an event")) < 0 ||
		    (e = device_check(d, cudaEventSynchronize(to), "a convolution")) < 0)
			break;
		e = device_check(d, cudaEventElapsedTime(&ms, from, to), "a time");
		us[i] = (double)ms * 1e3 / EACH;
	}
	return e;
}

static int
time_plan(struct device *d, struct dnn *c, double *us)
{
	cudaEvent_t from = NULL, to = NULL;
	int e = device_check(d, cudaEventCreate(&from), "an event");

	if (e == 0 && (e = device_check(d, cudaEventCreate(&to), "an event")) == 0)
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
	size_t x = memplan_round((size_t)s->n * s->c * s->h * s->w * each);
	size_t w = memplan_round((size_t)s->k * (s->c / s->groups) * s->r * s->s * each);
	size_t y = memplan_round((size_t)s->n * s->k * s->oh * s->ow * each);
	size_t bias = memplan_round(s->k * sizeof(float)), addend = s->addend ? y : 0;
	size_t all = x + w + y + bias + addend + scratch;
	void *memory;
	char *at;
	int e = device_alloc(d, all, &memory);

	if (e < 0)
		return e;
	at = memory;
	if ((e = device_check(d, cudaMemsetAsync(at, FILL, all, d->stream[DEVICE_MAIN]), "numbers")) == 0 &&
	    (e = dnn_bind(c, &(struct dnn_places){ .x = at, .w = at + x, .y = at + x + w, .bias = at + x + w + y,
	    .addend = at + x + w + y + bias, .scratch = at + x + w + y + bias + addend })) == 0)
		e = time_plan(d, c, us);
	device_wait(d);
	device_free(d, memory);
	return e;
}
