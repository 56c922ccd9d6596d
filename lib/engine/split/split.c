/* split - several devices as one: the devices, their plans, and lists of devices. */
#include "engine/split/split_in.h"
#include "base/err.h"

#include "base/num.h"
#include "base/threads.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct engine split, split_joined;

/* ------ devices ------ */

static void
split_close(struct engine_dev *dev)
{
	if (dev == NULL)
		return;
	for (uint32_t k = 0; k < dev->n; k++)
		dev->part[k].engine->close(dev->part[k].dev);
	free(dev);
}

static int
split_describe(const struct engine_dev *dev, struct buf *out)
{
	int e = 0;

	for (uint32_t k = 0; k < dev->n && e == 0; k++)
		if ((e = buf_put_fmt(out, k == 0 ? "split: " : "; ")) == 0)
			e = dev->part[k].engine->describe(dev->part[k].dev, out);
	return e;
}

static int
split_update(struct engine_dev *dev, float *w, float *state, const float *g, size_t count, double n,
    const struct opt_hyper *hyper)
{
	return dev->part[0].engine->update(dev->part[0].dev, w, state, g, count, n, hyper);
}

static void
split_tune(struct engine_dev *dev, const struct engine_tune *how)
{
	for (uint32_t k = 0; k < dev->n; k++)
		engine_tune(dev->part[k].engine, dev->part[k].dev, how);
}

/* Each device caches all images, because its samples are others in each epoch. */
static int
split_cache_images(struct engine_dev *dev, const uint8_t *pixels, size_t bytes)
{
	int e = 0;

	for (uint32_t k = 0; k < dev->n && e == 0; k++) {
		const struct split_part *part = &dev->part[k];

		e = part->engine->accel != NULL ? part->engine->accel->cache_images(part->dev, pixels, bytes) :
		    err_fail(ERR_NOTSUP, "%s:%u computes where the images are", part->engine->name, part->index);
	}
	return e;
}

/* ------ plans ------ */

static void
split_plan_free(struct engine_plan *p)
{
	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->job = SPLIT_END;
	for (uint32_t k = 0; k < p->n; k++)
		p->lane[k].busy = true;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
	for (uint32_t k = 0; k < p->n; k++) {
		struct split_lane *l = &p->lane[k];

		if (l->threaded)
			pthread_join(l->thread, NULL);
		l->engine->plan_free(l->plan);
		if (k > 0)
			free(l->g);
		free(l->stats);
		free(l->loaded);
		free(l->grad_ready);
	}
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p->w);
	free(p->version);
	free(p->param_ready);
	free(p);
}

static int
add_lane(struct engine_plan *p, const struct split_part *part, enum engine_precision precision)
{
	struct split_lane *l = &p->lane[p->n];
	const struct graph *g = p->graph;
	int e;

	*l = (struct split_lane){ .all = p, .k = p->n, .engine = part->engine };
	p->n++;
	l->stats = calloc(g->A + 1, sizeof(*l->stats));
	l->loaded = calloc(g->nw + 1, sizeof(*l->loaded));
	l->grad_ready = calloc(g->nw + 1, sizeof(*l->grad_ready));
	if (l->k > 0)
		l->g = calloc(g->P + 1, sizeof(*l->g));
	if (l->stats == NULL || l->loaded == NULL || l->grad_ready == NULL || (l->k > 0 && l->g == NULL))
		return err_nomem();
	ERR_TRY(part->engine->plan(part->dev, g, p->each, precision, &l->plan));
	if (l->k > 0 && (e = pthread_create(&l->thread, NULL, split_lane_main, l)) != 0)
		return threads_fail(e, part->engine->name);
	l->threaded = l->k > 0;
	return 0;
}

static int
split_plan(struct engine_dev *dev, const struct graph *graph, uint32_t batch, enum engine_precision precision,
    struct engine_plan **plan)
{
	struct engine_plan *p = calloc(1, sizeof(*p));
	int e = 0;

	*plan = NULL;
	if (p == NULL)
		return err_nomem();
	p->dev = dev;
	p->graph = graph;
	p->each = batch / dev->n + (batch % dev->n > 0);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	p->w = calloc(graph->P + 1, sizeof(*p->w));
	p->version = calloc(graph->nw + 1, sizeof(*p->version));
	p->param_ready = calloc(graph->nw + 1, sizeof(*p->param_ready));
	if (p->w == NULL || p->version == NULL || p->param_ready == NULL)
		e = err_nomem();
	/* With fewer samples than devices, the last devices have no lane. */
	for (uint32_t k = 0; k < dev->n && k < batch && e == 0; k++)
		e = add_lane(p, &dev->part[k], precision);
	if (e < 0)
		split_plan_free(p);
	else
		*plan = p;
	return e;
}

static int
split_commit(struct engine_plan *p)
{
	int e = 0;

	for (uint32_t k = 0; k < p->n && e == 0; k++)
		e = p->lane[k].engine->commit(p->lane[k].plan);
	return e;
}

static int
split_explain(const struct engine_plan *p, struct buf *out)
{
	int e = 0;

	for (uint32_t k = 0; k < p->n && e == 0; k++) {
		const struct split_part *part = &p->dev->part[k];

		if ((e = buf_put_fmt(out, "%s:%u, batches of %u:\n", part->engine->name, part->index, p->each)) == 0)
			e = part->engine->explain(p->lane[k].plan, out);
	}
	return e;
}

static void
split_memory(const struct engine_plan *p, struct engine_memory *m)
{
	size_t own = p->graph->P * p->n * sizeof(float);

	*m = (struct engine_memory){ .weights = own, .host = own };
	for (uint32_t k = 0; k < p->n; k++) {
		struct engine_memory one;

		p->lane[k].engine->memory(p->lane[k].plan, &one);
		m->activations += one.activations;
		m->weights += one.weights;
		m->scratch += one.scratch;
		m->host += one.host;
	}
}

static int
split_timeline(struct engine_plan *p, const struct engine_timeline *how)
{
	int e = 0;

	for (uint32_t k = 0; k < p->n && e == 0; k++)
		if (p->lane[k].engine->accel != NULL)
			e = p->lane[k].engine->accel->timeline(p->lane[k].plan, how);
	return e;
}

static int
split_summarize(const struct engine_plan *p, struct buf *out, uint32_t *refused)
{
	const char *before = "";
	uint32_t more = 0;
	int e = 0;

	*refused = 0;
	for (uint32_t k = 0; k < p->n && e == 0; k++) {
		const struct split_part *part = &p->dev->part[k];

		if (part->engine->accel == NULL || part->engine->accel->summarize == NULL)
			continue;
		if ((e = buf_put_fmt(out, "%s%s:%u ", before, part->engine->name, part->index)) == 0)
			e = part->engine->accel->summarize(p->lane[k].plan, out, &more);
		*refused += more;
		before = "; ";
	}
	return e;
}

static int
split_load_aux(struct engine_plan *p, const float *aux)
{
	int e = 0;

	for (uint32_t k = 0; k < p->n && e == 0; k++)
		e = p->lane[k].engine->load_aux(p->lane[k].plan, aux);
	return e;
}

static const struct engine_accel accel = {
	.tune = split_tune,
	.timeline = split_timeline,
	.prefetch = split_prefetch,
	.cache_images = split_cache_images,
	.summarize = split_summarize,
};

#define SPLIT_FUNCTIONS \
	.name = "split", \
	.close = split_close, \
	.describe = split_describe, \
	.plan = split_plan, \
	.commit = split_commit, \
	.plan_free = split_plan_free, \
	.explain = split_explain, \
	.memory = split_memory, \
	.load = split_load, \
	.load_aux = split_load_aux, \
	.forward = split_forward, \
	.backward = split_backward, \
	.evaluate = split_evaluate, \
	.update = split_update, \
	.accel = &accel

static const struct engine split = { SPLIT_FUNCTIONS };
static const struct engine split_joined = { SPLIT_FUNCTIONS, .device_opt = &split_device_opt };

/* ------ lists of devices ------ */

static int
parse_part(char *text, struct split_part *part)
{
	char *colon = strchr(text, ':');
	uint64_t index = 0;

	if (colon != NULL) {
		*colon = 0;
		if (num_u64(colon + 1, 0, UINT16_MAX, &index) < 0)
			return err_wrap(ERR_ARG, "%s:%s", text, colon + 1);
	}
	part->index = (uint32_t)index;
	return (part->engine = engine_find(text)) != NULL ? 0 : ERR_ARG;
}

/* Parses a list of devices without opening them. */
static int
parse_parts(char *list, struct engine_dev *d)
{
	char *one;
	int e = 0;

	while (e == 0 && (one = strsep(&list, ",")) != NULL) {
		struct split_part *part = &d->part[d->n];

		if (*one == 0)
			return err_fail(ERR_ARG, "a name is missing");
		if (d->n == SPLIT_MOST)
			return err_fail(ERR_ARG, "more than %d devices", SPLIT_MOST);
		if ((e = parse_part(one, part)) < 0)
			return e;
		for (uint32_t k = 0; k < d->n; k++)
			if (d->part[k].engine == part->engine && d->part[k].index == part->index)
				return err_fail(ERR_ARG, "%s:%u is named twice", part->engine->name, part->index);
		d->n++;
	}
	return e;
}

/* Opens the devices in order; d->n becomes the number that are open. */
static int
open_parts(struct engine_dev *d, unsigned threads)
{
	unsigned all = threads > 0 || d->n == 1 ? threads : (unsigned)omp_get_max_threads();
	int e = 0;

	for (uint32_t k = 0, n = d->n; k < n && e == 0; k++) {
		struct split_part *part = &d->part[k];
		unsigned mine = all / n + (k < all % n);

		if ((e = engine_open(&part->engine, part->index, n > 1 && mine == 0 ? 1 : mine, &part->dev)) < 0)
			d->n = k;
	}
	return e;
}

/* Connects devices of one kind, so that they add gradients themselves.  If they cannot, the host adds them. */
static int
join_parts(struct engine_dev *d)
{
	struct engine_dev *dev[SPLIT_MOST];
	const struct engine *engine = d->part[0].engine;
	int e;

	for (uint32_t k = 0; k < d->n; k++) {
		dev[k] = d->part[k].dev;
		if (d->part[k].engine != engine)
			return 0;
	}
	if (d->n == 1 || engine->accel == NULL)
		return 0;
	e = engine->accel->join(dev, d->n);
	d->joined = e == 0;
	if (e < 0)
		snprintf(d->why, sizeof(d->why), "gradients of several devices are added up on the host: %s",
		    err_line());
	return e == ERR_NOMEM ? e : 0;
}

static uint32_t
locate_device(const struct engine *e, const struct engine_dev *dev, struct split_place *place)
{
	uint32_t number;

	if (e->accel == NULL || e->accel->locate(dev, &number, place->bus) < 0)
		return 0;
	snprintf(place->name, sizeof(place->name), "gpu:%u", number);
	return 1;
}

uint32_t
split_places(const struct engine *e, const struct engine_dev *dev, struct split_place place[SPLIT_MOST])
{
	uint32_t n = 0;

	if (e != &split && e != &split_joined)
		return locate_device(e, dev, place);
	for (uint32_t k = 0; k < dev->n; k++)
		n += locate_device(dev->part[k].engine, dev->part[k].dev, &place[n]);
	return n;
}

const char *
split_remark(const struct engine *e, const struct engine_dev *dev)
{
	return e == &split && dev->why[0] != 0 ? dev->why : NULL;
}

int
split_open(const char *devices, unsigned threads, const struct engine **e, struct engine_dev **dev)
{
	struct engine_dev *d;
	char *list;
	int err;

	if (devices == NULL)
		return engine_open(e, 0, threads, dev);
	d = calloc(1, sizeof(*d));
	list = strdup(devices);
	err = d == NULL || list == NULL ? err_nomem() : parse_parts(list, d);
	free(list);
	if (err < 0 && d != NULL) {
		d->n = 0;	/* none is open */
		err_within("--devices %s", devices);
	}
	if (err < 0 || (err = open_parts(d, threads)) < 0 || (err = join_parts(d)) < 0) {
		split_close(d);
		return err;
	}
	if (d->n > 1) {
		*e = d->joined && d->part[0].engine->device_opt != NULL ? &split_joined : &split;
		*dev = d;
	} else {
		*e = d->part[0].engine;
		*dev = d->part[0].dev;
		free(d);
	}
	return 0;
}
