/*
 * pass - the forward pass over a batch, evaluation, and the upload of weights.
 *
 * The event batch_uploaded orders the first step of a pass after the upload of its images.  It is outside the CUDA
 * graph.
 */
#include "engine/cuda/join.h"
#include "engine/cuda/learn.h"
#include "engine/cuda/timeline.h"

#include "base/err.h"

#include <string.h>

void *
pass_input_at(const struct engine_plan *p, size_t kept)
{
	return p->pinned_up + (kept - p->kept.inputs);
}

int
pass_upload_inputs(struct engine_plan *p)
{
	return device_upload(p->dev->d, DEVICE_MAIN, p->kept_base + p->kept.inputs, p->pinned_up, p->kept.input_bytes);
}

static int
enqueue_graph(struct engine_plan *p, const struct exec_set *set, uint32_t graph)
{
	switch (graph) {
	case EXEC_GRAPH_WEIGHTS:
	case EXEC_GRAPH_WEIGHTS_FOLDED:
		return run_weights(p, graph == EXEC_GRAPH_WEIGHTS_FOLDED);
	case EXEC_GRAPH_TRAIN:
	case EXEC_GRAPH_TRAIN_PIXELS:
		return run_steps(p, set, 0, p->nforward, true, graph == EXEC_GRAPH_TRAIN_PIXELS);
	case EXEC_GRAPH_EVAL:
	case EXEC_GRAPH_EVAL_PIXELS:
		return run_steps(p, set, 0, p->nforward, false, graph == EXEC_GRAPH_EVAL_PIXELS);
	case EXEC_GRAPH_SUM_FIRST:
	case EXEC_GRAPH_SUM_NEXT:
		return learn_enqueue_sum(p, set->n, graph == EXEC_GRAPH_SUM_FIRST);
	case EXEC_GRAPH_UPDATE:
		return learn_enqueue_update(p);
	case EXEC_GRAPH_BACKWARD:
		return pass_enqueue_backward(p, set);
	default:
		graph -= EXEC_GRAPH_BACK;
		return run_steps(p, set, p->slice[graph], p->slice[graph + 1], true, false);
	}
}

/*
 * The first time the steps are enqueued one by one, because libraries load their kernels then, which
 * cannot be captured.  The second time they are captured.  If the device refuses, they are always
 * enqueued one by one.
 */
int
pass_launch(struct engine_plan *p, struct exec_set *set, uint32_t graph)
{
	struct device *d = p->dev->d;
	int e, ended;

	if (set->graph[graph] == NULL && set->seen[graph] == 1) {
		set->seen[graph] = 2;
		if ((e = device_graph_begin(d)) < 0)
			return e;
		e = enqueue_graph(p, set, graph);
		if ((ended = device_graph_end(d, &set->graph[graph])) < 0)
			return ended;
		/* What a library refuses to have captured it may still run. */
		if (e < 0) {
			device_graph_free(set->graph[graph]);
			set->graph[graph] = NULL;
		}
		p->captured += set->graph[graph] != NULL;
		p->refused += set->graph[graph] == NULL;
	}
	if (set->graph[graph] != NULL)
		return device_graph_launch(d, set->graph[graph]);
	if (set->seen[graph] == 0)
		set->seen[graph] = 1;
	return enqueue_graph(p, set, graph);
}

int
pass_wait_for_uploads(struct engine_plan *p)
{
	int e = device_make_current(p->dev->d);

	if (e == 0 && p->uploading)
		e = device_wait(p->dev->d);
	p->uploading = false;
	return e;
}

int
pass_load(struct engine_plan *p, uint32_t a, const float *w)
{
	const struct graph_array *to = &p->graph->w[a];
	int e = pass_wait_for_uploads(p);

	assert(a < p->graph->nw);
	if (e < 0)
		return e;
	memcpy((float *)(p->pinned_up + p->up_w) + to->first, w, to->count * sizeof(*w));
	p->dirty[a] = p->any_dirty = true;
	return 0;
}

int
pass_load_aux(struct engine_plan *p, const float *aux)
{
	int e = pass_wait_for_uploads(p);

	if (e < 0 || p->graph->A == 0)
		return e;
	if (p->weights == EXEC_WEIGHTS_FOLDED)
		p->weights = EXEC_WEIGHTS_STALE;
	/* pinned_down is unused between passes. */
	memcpy(p->pinned_down + p->down_stats, aux, p->graph->A * sizeof(*aux));
	p->uploading = true;
	return device_upload(p->dev->d, DEVICE_MAIN, p->kept_base + p->kept.aux, p->pinned_down + p->down_stats,
	    p->graph->A * sizeof(*aux));
}

/* Uploads the arrays that were loaded, neighbours in one copy. */
static int
send_arrays(struct engine_plan *p)
{
	const struct graph *g = p->graph;
	int e = 0;

	p->uploading = true;
	for (uint32_t a = 0, b; a < g->nw && e == 0; a = b + 1) {
		size_t first = g->w[a].first * sizeof(float), end = first;

		for (b = a; b < g->nw && p->dirty[b]; b++)
			end = (g->w[b].first + g->w[b].count) * sizeof(float);
		e = device_upload(p->dev->d, DEVICE_MAIN, p->kept_base + p->kept.w + first,
		    p->pinned_up + p->up_w + first, end - first);
	}
	if (e < 0)
		return e;
	memset(p->dirty, 0, g->nw * sizeof(*p->dirty));
	p->any_dirty = false;
	p->weights = EXEC_WEIGHTS_STALE;
	return 0;
}

int
pass_prepare_weights(struct engine_plan *p, struct exec_set *set, enum exec_weights as)
{
	int e = p->any_dirty ? send_arrays(p) : 0;

	if (e < 0 || p->weights == as)
		return e;
	p->weights = EXEC_WEIGHTS_STALE;
	if ((e = timeline_begin(p, TIMELINE_WEIGHTS)) < 0 || (e = pass_launch(p, set,
	    as == EXEC_WEIGHTS_FOLDED ? EXEC_GRAPH_WEIGHTS_FOLDED : EXEC_GRAPH_WEIGHTS)) < 0)
		return e;
	p->weights = as;
	return timeline_end(p, TIMELINE_WEIGHTS);
}

static int
ask_params(const struct engine_plan *p, const struct engine_hook *hook)
{
	int e = 0;

	for (uint32_t a = 0; hook != NULL && hook->param_needed != NULL && a < p->graph->nw && e == 0; a++)
		e = hook->param_needed(hook->arg, a);
	return e;
}

/* Enqueues a forward pass over the batch that pass_load_batch() took; as: the weights that it needs. */
static int
enqueue_pass(struct engine_plan *p, struct exec_set *set, enum exec_weights as, uint32_t graph, uint32_t span)
{
	int e = pass_upload_inputs(p);

	p->uploading = true;
	if (e < 0 || (e = device_event_follow(p->dev->d, p->batch_uploaded[p->slot], DEVICE_MAIN)) < 0 ||
	    (e = pass_prepare_weights(p, set, as)) < 0 || (e = timeline_begin(p, span)) < 0 ||
	    (e = pass_launch(p, set, graph)) < 0)
		return e;
	return timeline_end(p, span);
}

static int
download_result(struct engine_plan *p, uint32_t n, size_t prob_bytes)
{
	struct device *d = p->dev->d;
	int e;

	if ((e = timeline_begin(p, TIMELINE_RESULT)) < 0 ||
	    (e = device_download(d, DEVICE_MAIN, p->pinned_down + p->down_loss, p->kept_base + p->kept.loss,
	    n * sizeof(float))) < 0 ||
	    (e = device_download(d, DEVICE_MAIN, p->pinned_down + p->down_rank, p->kept_base + p->kept.rank,
	    n * sizeof(uint32_t))) < 0 ||
	    (e = device_download(d, DEVICE_MAIN, p->pinned_down + p->down_prob, p->kept_base + p->kept.prob,
	    prob_bytes)) < 0 ||
	    (e = learn_download_check(p)) < 0)
		return e;
	return timeline_end(p, TIMELINE_RESULT);
}

/* Waits for the result of a pass.  set: that of a forward pass in training, whose backward pass may follow; or NULL. */
static int
await_result(struct engine_plan *p, struct exec_set *set)
{
	int e = set != NULL ? device_event_record(p->dev->d, p->result, DEVICE_MAIN) : 0;

	if (e < 0 || (set != NULL && (e = pass_go_ahead(p, set)) < 0))
		return e;
	return p->ahead ? device_event_wait(p->dev->d, p->result) : device_wait(p->dev->d);
}

/* Bytes of the probabilities of n samples, if they are wanted. */
static size_t
count_prob_bytes(const struct engine_plan *p, uint32_t n, const float *prob)
{
	return prob != NULL ? (size_t)n * p->graph->classes * sizeof(*prob) : 0;
}

/* Downloads the results of a pass and waits for it.  set: as for await_result(). */
static int
complete_pass(struct engine_plan *p, uint32_t n, struct exec_set *set, const float *prob)
{
	int e;

	if ((e = download_result(p, n, count_prob_bytes(p, n, prob))) < 0 || (e = await_result(p, set)) < 0 ||
	    (e = timeline_report(p)) < 0)
		return e;
	p->uploading = p->batch_uploading[0] = p->batch_uploading[1] = false;
	return 0;
}

/* Sums the results of a pass in the order of the samples. */
static int
read_result(struct engine_plan *p, uint32_t n, float *prob, struct engine_result *r)
{
	const float *loss = (const float *)(p->pinned_down + p->down_loss);
	const uint32_t *rank = (const uint32_t *)(p->pinned_down + p->down_rank);
	int e;

	if ((e = learn_read_check(p)) < 0)
		return e;
	*r = (struct engine_result){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		r->loss += loss[i];
		r->correct += rank[i] == 0;
		r->top5 += rank[i] < ENGINE_TOP;
	}
	if (prob != NULL)
		memcpy(prob, p->pinned_down + p->down_prob, count_prob_bytes(p, n, prob));
	return 0;
}

/* Enqueues a forward pass in training over n samples, and waits for it. */
static int
run_forward(struct engine_plan *p, uint32_t n)
{
	struct exec_set *set;
	int e;

	if ((e = exec_set_get(p, n, &set)) < 0 || (e = enqueue_pass(p, set, EXEC_WEIGHTS_PLAIN,
	    p->pixels ? EXEC_GRAPH_TRAIN_PIXELS : EXEC_GRAPH_TRAIN, TIMELINE_FORWARD)) < 0)
		return e;
	return complete_pass(p, n, set, NULL);
}

/*
 * Returns e.  A device that fails sums nothing more, for which the others would wait: their threads in a sum that is to
 * be repeated, and their GPUs in one that this GPU has not computed.  It goes on after samples or gradients that it
 * refuses.
 */
static int
fail_joined(struct engine_plan *p, int e)
{
	if (e < 0 && p->learn != NULL && p->learn->joined && (p->unchecked || e != ERR_FORMAT))
		join_fail(p);
	return e;
}

int
pass_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
	const struct engine_hook *hook, struct engine_result *r)
{
	struct exec_set *set;
	int e;

	p->draw = draw != NULL ? *draw : (struct engine_draw){ 0 };
	/* ask_params() may wait for weights, while the images are being uploaded. */
	if ((e = exec_set_get(p, s->n, &set)) < 0 || (e = pass_load_batch(p, s, true)) < 0 ||
	    (e = ask_params(p, hook)) != 0 || (e = run_forward(p, s->n)) < 0 || (e = pass_check_before(p)) < 0 ||
	    (e > 0 && (e = run_forward(p, s->n)) < 0) || (e = read_result(p, s->n, NULL, r)) < 0)
		return fail_joined(p, e);
	p->n = s->n;
	return 0;
}

int
pass_statistics(struct engine_plan *p, float *stats)
{
	size_t bytes = p->graph->A * sizeof(*stats);
	int e;

	assert(p->n > 0);
	if (bytes == 0)
		return 0;
	if ((e = device_download(p->dev->d, DEVICE_MAIN, p->pinned_down + p->down_stats,
	    p->kept_base + p->kept.stats, bytes)) < 0 || (e = device_wait(p->dev->d)) < 0)
		return e;
	memcpy(stats, p->pinned_down + p->down_stats, bytes);
	return 0;
}

int
pass_evaluate(struct engine_plan *p, const struct samples *s, struct engine_result *r, float *prob)
{
	struct exec_set *set;
	int e;

	if ((e = exec_set_get(p, s->n, &set)) < 0 || (e = exec_set_prepare_eval(p, set)) < 0 ||
	    (e = pass_load_batch(p, s, false)) < 0 ||
	    (e = enqueue_pass(p, set, EXEC_WEIGHTS_FOLDED, p->pixels ? EXEC_GRAPH_EVAL_PIXELS : EXEC_GRAPH_EVAL,
	    TIMELINE_EVALUATE)) < 0 ||
	    (e = complete_pass(p, s->n, NULL, prob)) < 0)
		return fail_joined(p, e);
	return read_result(p, s->n, prob, r);
}
