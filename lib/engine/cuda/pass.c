/*
 * pass - the forward pass over a batch, evaluation, and the upload of weights.
 *
 * Images are uploaded on a stream of their own, DEVICE_UPLOAD, while the GPU still computes the batch
 * before.  They have two places.  Only the first step of a forward pass reads a place, and the host
 * waits for each forward pass, so an upload never overwrites a place that is being read.
 *
 * With the device optimizer nobody waits for a backward pass, and the next forward() is early enough
 * to upload its batch.  Without it, prefetch() has named the next batch, and its upload is enqueued
 * after the kernels of the backward pass.  It goes to the other place, because in f16 the backward
 * pass may need its own batch again.
 *
 * The event batch_uploaded orders the first step after the upload.  It is outside the CUDA graph.
 * What a backward pass reads of its batch too, kept.inputs, is uploaded on DEVICE_MAIN.
 */
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

/* Waits until pinned memory may be written. */
static int
wait_for_uploads(struct engine_plan *p)
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
	int e = wait_for_uploads(p);

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
	int e = wait_for_uploads(p);

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

static void
fill_labels(struct engine_plan *p, const struct samples *s, bool train)
{
	struct kernel_label *l = pass_input_at(p, p->kept.label);
	uint32_t *key = pass_input_at(p, p->kept.key);

	for (uint32_t i = 0; i < s->n; i++) {
		l[i] = (struct kernel_label){ .y = s->y[i], .weight = 1 };
		if (train && s->mix != NULL)
			l[i] = (struct kernel_label){ s->y[i], s->mix[i].other, s->mix[i].share,
			    s->mix[i].weight };
	}
	if (s->target != NULL)
		memcpy(pass_input_at(p, p->kept.target), s->target, (size_t)s->n * s->targets * sizeof(*s->target));
	for (uint32_t i = 0; train && p->ndrop > 0 && i < p->graph->n; i++)
		for (uint32_t k = 0; p->graph->node[i].op == GRAPH_DROPOUT && k < s->n; k++)
			key[(size_t)p->node[i].state * p->batch + k] = p->dev->host->drop_key(&p->draw, k, i);
}

/* Bytes from up_batch and kept.batch to a place. */
static size_t
slot_offset(const struct engine_plan *p, uint32_t slot)
{
	const struct graph_node *in = &p->graph->node[0];

	return slot * memplan_round((size_t)p->batch * in->c * in->h * in->w * sizeof(float) / 2);
}

/* Waits until a place of pinned_up may be written. */
static int
wait_for_slot(struct engine_plan *p, uint32_t slot)
{
	int e = p->batch_uploading[slot] ? device_event_wait(p->dev->d, p->batch_uploaded[slot]) : 0;

	p->batch_uploading[slot] = false;
	return e;
}

/* Enqueues the upload of images to a place. */
static int
upload_images(struct engine_plan *p, uint32_t slot, const void *from, size_t bytes, uint32_t span)
{
	char *up = p->pinned_up + p->up_batch + slot_offset(p, slot);
	char *to = p->kept_base + p->kept.batch + slot_offset(p, slot);
	int e = wait_for_slot(p, slot);

	if (e < 0)
		return e;
	memcpy(up, from, bytes);
	p->batch_uploading[slot] = true;
	if ((e = timeline_begin(p, span)) < 0 || (e = device_upload(p->dev->d, DEVICE_UPLOAD, to, up, bytes)) < 0)
		return e;
	return timeline_end(p, span);
}

void
pass_prefetch(struct engine_plan *p, const struct samples *s)
{
	p->next = s != NULL && s->n > 0 && s->n <= p->batch ? *s : (struct samples){ 0 };
	p->next_uploaded = false;
}

int
pass_upload_next(struct engine_plan *p)
{
	const struct samples *s = &p->next;
	int e;

	if (s->pixel == NULL || !p->pixels || p->next_uploaded)
		return 0;
	if ((e = upload_images(p, !p->slot, s->pixel, (size_t)s->n * s->c * s->h * s->w, TIMELINE_AHEAD)) < 0)
		return e;
	p->next_uploaded = true;
	return device_event_record(p->dev->d, p->batch_uploaded[!p->slot], DEVICE_UPLOAD);
}

/* Chooses the place of a batch.  Returns true if pass_upload_next() has enqueued its upload. */
static bool
choose_slot(struct engine_plan *p, const struct samples *s)
{
	bool uploaded = p->next_uploaded && s->pixel != NULL && s->pixel == p->next.pixel && s->n == p->next.n;

	if (uploaded)
		p->slot = !p->slot;
	else if (s->x != NULL)
		p->slot = 0;
	if (uploaded || s->x != NULL)
		pass_prefetch(p, NULL);
	return uploaded;
}

/* Tells the GPU where the pixels of each sample are: in the uploaded batch or in the device cache. */
static void
place_images(struct engine_plan *p, const struct samples *s)
{
	const uint8_t *batch = (const uint8_t *)p->kept_base + p->kept.batch + slot_offset(p, p->slot);
	struct kernel_image *to = pass_input_at(p, p->kept.image);
	size_t size = (size_t)s->c * s->h * s->w;

	assert(s->cached == NULL || p->dev->images != NULL);
	for (uint32_t i = 0; i < s->n; i++) {
		to[i] = (struct kernel_image){ batch + i * size, s->h, s->w, 0, 0, 0 };
		if (s->cached != NULL)
			to[i] = (struct kernel_image){ p->dev->images + s->cached[i].at, s->cached[i].h, s->cached[i].w,
				s->cached[i].y, s->cached[i].x, 0 };
		to[i].mirror = s->mirror != NULL && s->mirror[i] != 0;
	}
}

/* Uploads the images and their mean, and fills in their normalization. */
static int
send_images(struct engine_plan *p, const struct samples *s)
{
	size_t values = (size_t)s->c * s->h * s->w, bytes = s->n * values * (s->x != NULL ? sizeof(float) : 1);
	struct kernel_norm *norm = pass_input_at(p, p->kept.norm);
	struct device *d = p->dev->d;
	bool uploaded = choose_slot(p, s), mean = s->x == NULL && s->norm.mean != NULL;
	int e = 0;

	*norm = (struct kernel_norm){ .by_mean = s->norm.mean != NULL, .fill = s->fill };
	memcpy(norm->flat, s->norm.flat, sizeof(norm->flat));
	memcpy(norm->by, s->norm.by, sizeof(norm->by));
	if (s->x == NULL)
		place_images(p, s);
	if ((mean || s->x != NULL) && ((e = wait_for_slot(p, 0)) < 0 || (e = wait_for_slot(p, 1)) < 0))
		return e;
	if (mean) {
		memcpy(p->pinned_up + p->up_mean, s->norm.mean, values * sizeof(float));
		e = device_upload(d, DEVICE_UPLOAD, p->kept_base + p->kept.mean, p->pinned_up + p->up_mean,
		    values * sizeof(float));
	}
	if (e == 0 && s->cached == NULL && !uploaded)
		e = upload_images(p, p->slot, s->x != NULL ? (const void *)s->x : s->pixel, bytes, TIMELINE_BATCH);
	if (e < 0 || (uploaded && !mean))
		return e;
	p->batch_uploading[p->slot] = true;
	return device_event_record(d, p->batch_uploaded[p->slot], DEVICE_UPLOAD);
}

/* Before the host waits for the check of a backward pass: uploads images to the place that it does not use. */
static int
upload_early(struct engine_plan *p, const struct samples *s)
{
	int e;

	if (!p->unchecked || p->next.pixel != NULL)
		return 0;
	pass_prefetch(p, s);
	e = pass_upload_next(p);
	if (!p->next_uploaded)
		pass_prefetch(p, NULL);
	return e;
}

/* Checks a batch, enqueues the upload of its images, and fills in its other inputs. */
static int
load_batch(struct engine_plan *p, const struct samples *s, bool train)
{
	const struct graph_node *in = &p->graph->node[0];
	int e;

	assert(s->n > 0 && s->n <= p->batch && s->c == in->c && s->h == in->h && s->w == in->w);
	if ((e = p->dev->host->check(s, p->graph->classes, graph_targets(p->graph))) < 0 ||
	    (e = upload_early(p, s)) < 0 || (e = pass_settle(p)) < 0 || (e = wait_for_uploads(p)) < 0)
		return e;
	p->n = 0;
	p->ahead = false;
	p->pixels = s->x == NULL;
	fill_labels(p, s, train);
	pass_begin_scale(p, s->n);
	return send_images(p, s);
}

/* Enqueues a forward pass over the batch that load_batch() took; as: the weights that it needs. */
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

/* Waits for a pass, and sums its results in the order of the samples.  set: as for await_result(). */
static int
read_result(struct engine_plan *p, uint32_t n, struct exec_set *set, float *prob, struct engine_result *r)
{
	const float *loss = (const float *)(p->pinned_down + p->down_loss);
	const uint32_t *rank = (const uint32_t *)(p->pinned_down + p->down_rank);
	size_t bytes = prob != NULL ? (size_t)n * p->graph->classes * sizeof(*prob) : 0;
	int e;

	if ((e = download_result(p, n, bytes)) < 0 || (e = await_result(p, set)) < 0 ||
	    (e = timeline_report(p)) < 0)
		return e;
	p->uploading = p->batch_uploading[0] = p->batch_uploading[1] = false;
	if ((e = learn_read_check(p)) < 0)
		return e;
	*r = (struct engine_result){ 0 };
	for (uint32_t i = 0; i < n; i++) {
		r->loss += loss[i];
		r->correct += rank[i] == 0;
		r->top5 += rank[i] < ENGINE_TOP;
	}
	if (prob != NULL)
		memcpy(prob, p->pinned_down + p->down_prob, bytes);
	return 0;
}

int
pass_forward(struct engine_plan *p, const struct samples *s, const struct engine_draw *draw,
	const struct engine_hook *hook, struct engine_result *r)
{
	struct exec_set *set;
	int e;

	p->draw = draw != NULL ? *draw : (struct engine_draw){ 0 };
	/* ask_params() may wait for weights, while the images are being uploaded. */
	if ((e = exec_set_get(p, s->n, &set)) < 0 || (e = load_batch(p, s, true)) < 0 ||
	    (e = ask_params(p, hook)) != 0 ||
	    (e = enqueue_pass(p, set, EXEC_WEIGHTS_PLAIN, p->pixels ? EXEC_GRAPH_TRAIN_PIXELS : EXEC_GRAPH_TRAIN,
	    TIMELINE_FORWARD)) < 0 ||
	    (e = read_result(p, s->n, set, NULL, r)) < 0)
		return e;
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
	    (e = load_batch(p, s, false)) < 0 ||
	    (e = enqueue_pass(p, set, EXEC_WEIGHTS_FOLDED, p->pixels ? EXEC_GRAPH_EVAL_PIXELS : EXEC_GRAPH_EVAL,
	    TIMELINE_EVALUATE)) < 0)
		return e;
	return read_result(p, s->n, NULL, prob, r);
}
