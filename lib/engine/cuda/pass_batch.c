/*
 * pass_batch - a batch on its way to the GPU.
 *
 * Images are uploaded on a stream of their own, DEVICE_UPLOAD, while the GPU still computes the batch
 * before.  They have two places.  Only the first step of a forward pass reads a place, and the host
 * waits for each forward pass, so an upload never overwrites a place that is being read.
 *
 * With the device optimizer nobody waits for a backward pass, and the next forward() is early enough
 * to upload its batch.  Without it, prefetch() has named the next batch, and its upload is enqueued
 * after the kernels of the backward pass.  It goes to the other place, because in f16 the backward
 * pass may need its own batch again, with the device optimizer even after the next forward pass.
 *
 * What a backward pass reads of its batch too, kept.inputs, is uploaded on DEVICE_MAIN.
 */
#include "engine/cuda/timeline.h"

#include "base/err.h"

#include <string.h>

static void
fill_labels(struct engine_plan *p, const struct samples *s, bool train)
{
	struct kernel_label *l = pass_input_at(p, p->kept.label);
	uint32_t *key = pass_input_at(p, p->kept.key);
	float *positive = pass_input_at(p, p->kept.positive);

	for (uint32_t i = 0; i < s->n; i++) {
		l[i] = (struct kernel_label){ .y = s->y[i], .weight = 1 };
		if (train && s->mix != NULL)
			l[i] = (struct kernel_label){ s->y[i], s->mix[i].other, s->mix[i].share,
			    s->mix[i].weight };
	}
	if (s->target != NULL)
		memcpy(pass_input_at(p, p->kept.target), s->target, (size_t)s->n * s->targets * sizeof(*s->target));
	for (uint32_t k = 0; k < graph_targets(p->graph); k++)
		positive[k] = train && s->positive != NULL ? s->positive[k] : 1;
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

	*norm = (struct kernel_norm){ .by_mean = s->norm.mean != NULL, .fill = s->fill,
	    .reflect = s->reflect };
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

/* If the last backward pass may be repeated: uploads images to the place that it does not use. */
static int
upload_early(struct engine_plan *p, const struct samples *s)
{
	int e;

	if (!p->unchecked || (p->next.pixel != NULL && p->next.pixel == s->pixel && p->next.n == s->n))
		return 0;
	pass_prefetch(p, s);
	e = pass_upload_next(p);
	if (!p->next_uploaded)
		pass_prefetch(p, NULL);
	return e;
}

/*
 * Is the check of the last backward pass to be read before this batch is loaded?  Its samples are still there
 * afterwards if both batches are pixels without a mean image, since that has one place only.
 */
static bool
settles_first(const struct engine_plan *p, const struct samples *s, bool train)
{
	return !train || p->overflowed || !p->pixels || s->x != NULL || s->norm.mean != NULL;
}

int
pass_load_batch(struct engine_plan *p, const struct samples *s, bool train)
{
	const struct graph_node *in = &p->graph->node[0];
	int e;

	assert(s->n > 0 && s->n <= p->batch && s->c == in->c && s->h == in->h && s->w == in->w);
	if ((e = p->dev->host->check(s, p->graph->classes, graph_targets(p->graph))) < 0 ||
	    (e = upload_early(p, s)) < 0 || (settles_first(p, s, train) && (e = pass_settle(p)) < 0) ||
	    (e = pass_wait_for_uploads(p)) < 0)
		return e;
	if (p->unchecked)
		memcpy(p->inputs, p->pinned_up, p->kept.input_bytes);
	p->n = 0;
	p->ahead = false;
	p->pixels = s->x == NULL;
	fill_labels(p, s, train);
	pass_begin_scale(p, s->n);
	return send_images(p, s);
}
