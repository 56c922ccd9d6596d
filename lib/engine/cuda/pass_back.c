/*
 * pass_back - the gradients of the last batch, handed over in slices while the layers below compute.
 *
 * In f16 a gradient may be too small or too large for the type.  The gradient of the loss is therefore
 * multiplied by a scale, and all gradients are divided by it.  If a gradient comes out infinite, the
 * backward pass is done again with a quarter of the scale.  Each step begins with the same scale, so
 * that its bits do not depend on earlier steps.  Nothing is handed over before all gradients are finite.
 * With the device optimizer nobody waits for that check alone.  The update follows the backward pass at once, and
 * changes nothing if a gradient is infinite.  The next forward pass follows, and the host reads the check with its
 * loss.  If it failed, the host repeats the pass from a copy of its inputs, the update, and that forward pass.  Other
 * calls that need the result wait for it, and so does forward() if its batch replaces the samples of the last one, or
 * after an overflow, because another one is likely.
 * Joined devices check the sum, which is the same on all.  If it is infinite, each repeats its pass, at
 * first with the same scale, so that its part has the bits that it would have alone.
 * Source: Micikevicius et al., "Mixed Precision Training", ICLR 2018, 3.2.
 */
#include "engine/cuda/join.h"
#include "engine/cuda/learn.h"
#include "engine/cuda/timeline.h"

#include "base/err.h"

#include <string.h>

/*
 * Scales.  The gradient of the loss is a sum over the batch, of at most 1 per sample.  A large batch
 * begins with a smaller scale, so that scale and batch multiply to at most the range of f16.
 */
#define MOST	256.0f
#define LARGEST	0x1p16f
#define LEAST	0x1p-20f

void
pass_slice_range(const struct engine_plan *p, uint32_t slice, size_t *first, size_t *end)
{
	*first = SIZE_MAX;
	*end = 0;
	for (uint32_t s = p->slice[slice]; s < p->slice[slice + 1]; s++) {
		const struct graph_node *l = exec_node_at(p, p->step[s].node);

		for (uint32_t last, a = graph_learned(l, &last); a < last; a++) {
			const struct graph_array *w = &p->graph->w[a];

			if (w->first < *first)
				*first = w->first;
			if (w->first + w->count > *end)
				*end = w->first + w->count;
		}
	}
}

int
pass_download_slice(struct engine_plan *p, uint32_t k, bool gradients)
{
	struct device *d = p->dev->d;
	size_t first, end, at;
	int e;

	pass_slice_range(p, k, &first, &end);
	at = first * sizeof(float);
	if ((e = timeline_begin(p, TIMELINE_DOWN + k)) < 0)
		return e;
	if (gradients && end > first && (e = device_download(d, DEVICE_DOWNLOAD, p->pinned_down + p->down_g + at,
	    p->kept_base + p->kept.g + at, (end - first) * sizeof(float))) < 0)
		return e;
	if (k + 1 == p->nslice && (e = device_download(d, DEVICE_DOWNLOAD, p->pinned_down + p->down_stats,
	    p->kept_base + p->kept.stats, p->graph->A * sizeof(float))) < 0)
		return e;
	if ((e = timeline_end(p, TIMELINE_DOWN + k)) < 0)
		return e;
	return device_event_record(d, p->downloaded[k], DEVICE_DOWNLOAD);
}

/* Enqueues the download of slice k after its kernels; of joined devices, when all have it. */
static int
download_slice(struct engine_plan *p, uint32_t k, bool joined)
{
	int e = device_event_record(p->dev->d, p->computed[k], DEVICE_MAIN);

	if (e < 0 || joined)
		return e < 0 ? e : join_submit(p, k);
	e = device_event_follow(p->dev->d, p->computed[k], DEVICE_DOWNLOAD);
	return e < 0 ? e : pass_download_slice(p, k, true);
}

static int
launch_slice(struct engine_plan *p, struct exec_set *set, uint32_t k)
{
	int e;

	if ((e = timeline_begin(p, TIMELINE_BACK + k)) < 0 || (e = pass_launch(p, set, EXEC_GRAPH_BACK + k)) < 0)
		return e;
	return timeline_end(p, TIMELINE_BACK + k);
}

/* Enqueues the whole backward pass.  Its gradients stay on the device. */
static int
launch_backward(struct engine_plan *p, struct exec_set *set)
{
	int e;

	if ((e = timeline_begin(p, TIMELINE_BACK)) < 0 || (e = pass_launch(p, set, EXEC_GRAPH_BACKWARD)) < 0)
		return e;
	return timeline_end(p, TIMELINE_BACK);
}

/* Enqueues the kernels of all slices and their downloads. */
static int
enqueue_slices(struct engine_plan *p, struct exec_set *set, bool joined)
{
	int e = 0;

	for (uint32_t k = 0; k < p->nslice && e == 0; k++)
		if ((e = launch_slice(p, set, k)) == 0)
			e = download_slice(p, k, joined);
	return e;
}

/* Hands the downloaded gradients of node i to the caller.  g NULL: another device hands them over. */
static int
hand_over_grads(const struct engine_plan *p, uint32_t i, float *g, const struct engine_hook *hook)
{
	const float *from = (const float *)(p->pinned_down + p->down_g);
	int e = 0;

	for (uint32_t end, a = graph_learned(exec_node_at(p, i), &end); a < end && e == 0; a++) {
		if (p->graph->w[a].frozen)
			continue;
		if (g != NULL)
			memcpy(g + p->graph->w[a].first, from + p->graph->w[a].first,
			    p->graph->w[a].count * sizeof(*g));
		if (hook != NULL && hook->grad_ready != NULL)
			e = hook->grad_ready(hook->arg, a);
	}
	return e;
}

static int
receive_slices(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook)
{
	const bool joined = hook != NULL && hook->joined;
	int e = 0;

	/* Statistics come with the last slice.  Hooks may want them before that is handed over. */
	for (uint32_t k = 0; k < p->nslice && e == 0; k++) {
		if ((joined && (e = join_wait(p, k)) < 0) ||
		    (e = device_event_wait(p->dev->d, p->downloaded[k])) < 0) {
			if (joined)
				join_fail(p);
			return e;
		}
		if (k + 1 == p->nslice && p->graph->A > 0)
			memcpy(stats, p->pinned_down + p->down_stats, p->graph->A * sizeof(*stats));
		for (uint32_t s = p->slice[k]; s < p->slice[k + 1] && e == 0; s++)
			if (s + 1 == p->nstep || p->step[s + 1].node != p->step[s].node)
				e = hand_over_grads(p, p->step[s].node, g, hook);
	}
	return e;
}

/* Enqueues the check for infinite gradients and the download of its result. */
static int
enqueue_check(struct engine_plan *p)
{
	const struct kernel_finite a = { exec_floats(p, p->kept.g), (uint32_t *)(p->kept_base + p->kept.bad) };
	struct device *d = p->dev->d;
	int e;

	if ((e = device_zero(d, p->kept_base + p->kept.bad, sizeof(uint32_t))) < 0 ||
	    (e = kernel_run_finite(d, &a, (uint32_t)p->graph->P, KERNEL_F32)) < 0 ||
	    (e = device_download(d, DEVICE_MAIN, p->pinned_down + p->down_bad, a.bad, sizeof(uint32_t))) < 0)
		return e;
	return device_event_record(d, p->checked, DEVICE_MAIN);
}

/* Sets the loss scale, which goes up with kept.inputs. */
static void
set_scale(struct engine_plan *p, float scale)
{
	float *factor = pass_input_at(p, p->kept.scale);

	factor[0] = p->scale = scale;
	factor[1] = 1 / scale;
}

void
pass_begin_scale(struct engine_plan *p, uint32_t n)
{
	float scale = MOST;

	while (scale * (float)n > LARGEST)
		scale /= 2;
	set_scale(p, scale);
}

/* Waits for the check.  Returns 1 if a gradient is infinite, 0, or an error. */
static int
await_check(struct engine_plan *p)
{
	int e = device_event_wait(p->dev->d, p->checked);

	return e < 0 ? e : *(const uint32_t *)(p->pinned_down + p->down_bad) != 0;
}

/* Enqueues the forward pass again, parts of which the backward pass has overwritten, for a pass with this scale. */
static int
repeat_forward(struct engine_plan *p, struct exec_set *set, float scale)
{
	int e;

	set_scale(p, scale);
	e = pass_upload_inputs(p);
	return e < 0 ? e : pass_launch(p, set, p->pixels ? EXEC_GRAPH_TRAIN_PIXELS : EXEC_GRAPH_TRAIN);
}

/* The backward pass in f16, whose gradients the host gets.  Joined devices add up the last attempt. */
static int
run_scaled(struct engine_plan *p, struct exec_set *set, bool joined)
{
	int e = joined ? launch_backward(p, set) : enqueue_slices(p, set, false);

	if (e < 0 || (e = pass_upload_next(p)) < 0 || (e = enqueue_check(p)) < 0)
		return e;
	while ((e = await_check(p)) > 0 && p->scale / 4 >= LEAST)
		if ((e = repeat_forward(p, set, p->scale / 4)) < 0 ||
		    (e = joined ? launch_backward(p, set) : enqueue_slices(p, set, false)) < 0 ||
		    (e = enqueue_check(p)) < 0)
			return e;
	e = e < 0 ? e : 0;
	for (uint32_t k = 0; joined && k < p->nslice && e == 0; k++)
		e = download_slice(p, k, true);
	return e;
}

/* ------ gradients that stay on the device ------ */

int
pass_enqueue_backward(struct engine_plan *p, const struct exec_set *set)
{
	int e = 0;

	if (p->learn == NULL || !p->learn->joined)
		return run_steps(p, set, p->slice[0], p->slice[p->nslice], true, false);
	/* The sum of a slice begins while the next one is computed. */
	for (uint32_t k = 0; k < p->nslice && e == 0; k++) {
		e = run_steps(p, set, p->slice[k], p->slice[k + 1], true, false);
		if (e == 0 && k + 1 == p->nslice)
			e = learn_weigh_statistics(p, set->n);
		if (e == 0)
			e = device_event_record(p->dev->d, p->computed[k], DEVICE_MAIN);
	}
	return e;
}

/* A joined device without samples adds zeros. */
static int
enqueue_zeros(struct engine_plan *p)
{
	int e = learn_zero_batch(p);

	for (uint32_t k = 0; k < p->nslice && e == 0; k++)
		e = device_event_record(p->dev->d, p->computed[k], DEVICE_MAIN);
	return e;
}

/* Enqueues the sums of all slices over the joined devices, and what follows on this device after them. */
static int
enqueue_sums(struct engine_plan *p)
{
	const uint32_t last = p->nslice - 1;
	int e = 0;

	for (uint32_t k = 0; k <= last && e == 0; k++)
		e = join_submit(p, k);
	if (e < 0 || (e = join_wait(p, last)) < 0)
		return e;
	return device_event_follow(p->dev->d, p->downloaded[last], DEVICE_MAIN);
}

/* After the kernels of back_n samples: their sums, if devices are joined, and in f16 the check. */
static int
complete_backward(struct engine_plan *p)
{
	int e = p->learn->joined ? enqueue_sums(p) : 0;

	return e < 0 || p->type != KERNEL_F16 ? e : enqueue_check(p);
}

/* The kernels of the last batch. */
static int
get_back_set(struct engine_plan *p, struct exec_set **set)
{
	*set = &p->set[0];
	return p->back_n > 0 ? exec_set_get(p, p->back_n, set) : device_make_current(p->dev->d);
}

/* A timeline reports after a wait for the whole GPU. */
int
pass_go_ahead(struct engine_plan *p, struct exec_set *set)
{
	const bool expected = p->followed;
	int e;

	p->followed = false;
	if (!expected || p->learn == NULL || p->timeline != NULL)
		return 0;
	if ((e = launch_backward(p, set)) == 0)
		p->ahead = true;
	return e;
}

/* Enqueues the backward pass, unless forward() has, and what it takes to complete it. */
static int
learn_gradients(struct engine_plan *p)
{
	struct exec_set *set;
	int e;

	p->back_n = p->n;
	if ((e = get_back_set(p, &set)) < 0)
		return e;
	if (p->n == 0)
		e = enqueue_zeros(p);
	else if (!p->ahead)
		e = launch_backward(p, set);
	p->followed = p->n > 0;
	p->ahead = false;
	if (e < 0 || (p->type == KERNEL_F16 && (e = pass_upload_next(p)) < 0) || (e = complete_backward(p)) < 0)
		return e;
	p->unchecked = p->type == KERNEL_F16;
	return learn_add_batch(p, set);
}

/* The gradients stay on the device, for its optimizer. */
static int
backward_on_device(struct engine_plan *p)
{
	int e;

	assert(p->n > 0 || p->learn->joined);
	e = learn_gradients(p);
	if (p->learn->joined)
		p->n = 0;
	if (e < 0 && p->learn->joined)
		join_fail(p);
	return e;
}

/* Repeats the pass with this scale, and smaller ones until the gradients of this device are finite. */
static int
repeat_pass(struct engine_plan *p, struct exec_set *set, float scale)
{
	int e = 1;

	for (; e > 0 && scale >= LEAST; scale /= 4)
		if ((e = repeat_forward(p, set, scale)) == 0 && (e = launch_backward(p, set)) == 0 &&
		    (e = enqueue_check(p)) == 0)
			e = await_check(p);
	return e < 0 ? e : 0;
}

/* If the sum of the joined devices is infinite: all get here. */
static int
repeat_sum(struct engine_plan *p, struct exec_set *set)
{
	int e = p->back_n > 0 ? repeat_pass(p, set, p->scale) : enqueue_zeros(p);

	return e < 0 ? e : enqueue_sums(p);
}

static int
repeat_gradients(struct engine_plan *p)
{
	struct exec_set *set;
	int e;

	if ((e = get_back_set(p, &set)) < 0 ||
	    (e = p->learn->joined ? repeat_sum(p, set) : repeat_pass(p, set, p->scale / 4)) < 0)
		return e;
	return learn_repeat(p, set);
}

/* Reads the check, which the host has waited for.  Returns 1 if the pass was repeated, 0, or an error. */
static int
read_check(struct engine_plan *p)
{
	int e;

	p->unchecked = false;
	p->overflowed = *(const uint32_t *)(p->pinned_down + p->down_bad) != 0;
	if (!p->overflowed)
		return 0;
	if ((e = repeat_gradients(p)) < 0 && p->learn->joined)
		join_fail(p);
	return e < 0 ? e : 1;
}

int
pass_settle(struct engine_plan *p)
{
	int e;

	if (!p->unchecked)
		return 0;
	if ((e = device_event_wait(p->dev->d, p->checked)) == 0)
		e = read_check(p);
	else if (p->learn->joined)
		join_fail(p);
	return e < 0 ? e : 0;
}

/* Exchanges the inputs in pinned_up, of which none are being uploaded, for the kept ones. */
static void
exchange_inputs(struct engine_plan *p)
{
	const size_t bytes = p->kept.input_bytes;

	memcpy(p->inputs + bytes, p->pinned_up, bytes);
	memcpy(p->pinned_up, p->inputs, bytes);
	memcpy(p->inputs, p->inputs + bytes, bytes);
	p->scale = *(const float *)pass_input_at(p, p->kept.scale);
}

int
pass_check_before(struct engine_plan *p)
{
	const bool failed = p->unchecked && *(const uint32_t *)(p->pinned_down + p->down_bad) != 0;
	int e;

	if (!failed) {
		p->unchecked = false;
		return 0;
	}
	p->ahead = false;
	exchange_inputs(p);
	e = read_check(p);
	exchange_inputs(p);
	return e;
}

int
pass_backward(struct engine_plan *p, float *g, float *stats, const struct engine_hook *hook)
{
	bool joined = hook != NULL && hook->joined;
	struct exec_set *set;
	int e;

	assert((g == NULL) == (p->learn != NULL));
	if (g == NULL)
		return backward_on_device(p);
	assert(p->n > 0 && (!joined || p->dev->join != NULL));
	if ((e = exec_set_get(p, p->n, &set)) == 0)
		e = p->type == KERNEL_F16 ? run_scaled(p, set, joined) : enqueue_slices(p, set, joined);
	if (e == 0)
		e = pass_upload_next(p);
	if (e < 0 && joined)
		join_fail(p);
	if (e < 0 || (e = receive_slices(p, joined && p->dev->rank > 0 ? NULL : g, stats, hook)) != 0) {
		device_wait(p->dev->d);
		return e;
	}
	return 0;
}
