/* watch - what the GPU does when: marks that know their time before and behind each piece of a step. */
#include "engine/cuda/watch.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME	(2 * GRAPH_NAME + 32)
#define ROW	32

struct watch {
	struct engine_profile how;
	struct device_mark *base;	/* when this was the host's clock: */
	uint64_t	    base_ns;
	char		    row[DEVICE_STREAMS][ROW];
	struct {
		struct device_mark *from, *to;
		char	 name[NAME];
		bool	 is;		/* begun and ended, and not told */
	} span[WATCH_SPANS];
};

static enum device_stream
stream_of(uint32_t span)
{
	return span >= WATCH_SUM ? DEVICE_COPY : span == WATCH_BATCH || span == WATCH_AHEAD ? DEVICE_UP : DEVICE_MAIN;
}

/* "backward fc1 to conv5" */
static void
slice_name(const struct engine_plan *p, struct watch *w, uint32_t k)
{
	const struct graph_node *node = p->graph->node;
	const char *first = node[p->step[p->slice[k]].node].name, *last = node[p->step[p->slice[k + 1] - 1].node].name;

	snprintf(w->span[WATCH_BACK + k].name, NAME, "backward %s to %s", first, last);
	snprintf(w->span[WATCH_SUM + k].name, NAME, "sum of devices, %s to %s", first, last);
	snprintf(w->span[WATCH_DOWN + k].name, NAME, "gradients of %s to %s", first, last);
}

static void
name_rows(const struct engine_plan *p, struct watch *w)
{
	static const char *const name[] = {
		[WATCH_BATCH] = "batch up", [WATCH_AHEAD] = "next batch up", [WATCH_WEIGHTS] = "weights",
		[WATCH_FORWARD] = "forward and loss",
		[WATCH_EVALUATE] = "evaluation", [WATCH_RESULT] = "loss down", [WATCH_UPDATE] = "optimizer" };
	static const char *const row[] = { [DEVICE_MAIN] = "", [DEVICE_COPY] = " down", [DEVICE_UP] = " up" };

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		snprintf(w->span[i].name, NAME, "%s", name[i]);
	for (uint32_t k = 0; k < p->nslice; k++)
		slice_name(p, w, k);
	for (int s = 0; s < DEVICE_STREAMS; s++)
		snprintf(w->row[s], ROW, "gpu:%d%s", device_number(p->dev->d), row[s]);
}

static int
start_watching(struct engine_plan *p, const struct engine_profile *how)
{
	struct device *d = p->dev->d;
	struct watch *w = calloc(1, sizeof(*w));
	int e;

	if (w == NULL)
		return plan_nomem(p);
	p->watch = w;
	w->how = *how;
	name_rows(p, w);
	for (uint32_t s = 0; s < WATCH_SPANS; s++)
		if ((e = device_mark_timed(d, &w->span[s].from)) < 0 || (e = device_mark_timed(d, &w->span[s].to)) < 0)
			return e;
	if ((e = device_mark_timed(d, &w->base)) < 0 || (e = device_mark_put(d, w->base, DEVICE_MAIN)) < 0 ||
	    (e = device_mark_wait(d, w->base)) < 0)
		return e;
	w->base_ns = p->dev->host->now();
	return 0;
}

void
watch_free(struct engine_plan *p)
{
	if (p->watch == NULL)
		return;
	for (uint32_t s = 0; s < WATCH_SPANS; s++) {
		device_mark_free(p->watch->span[s].from);
		device_mark_free(p->watch->span[s].to);
	}
	device_mark_free(p->watch->base);
	free(p->watch);
	p->watch = NULL;
}

int
watch_set(struct engine_plan *p, const struct engine_profile *how)
{
	int e = device_enter(p->dev->d);

	if (e < 0 || (e = device_wait(p->dev->d)) < 0 || (e = watch_tell(p)) < 0)
		return e;
	watch_free(p);
	if (how != NULL && (e = start_watching(p, how)) < 0)
		watch_free(p);
	return e;
}

int
watch_from(struct engine_plan *p, uint32_t span)
{
	return p->watch == NULL ? 0 : device_mark_put(p->dev->d, p->watch->span[span].from, stream_of(span));
}

int
watch_to(struct engine_plan *p, uint32_t span)
{
	if (p->watch == NULL)
		return 0;
	p->watch->span[span].is = true;
	return device_mark_put(p->dev->d, p->watch->span[span].to, stream_of(span));
}

int
watch_tell(struct engine_plan *p)
{
	struct watch *w = p->watch;
	double from, length;
	int e = 0;

	for (uint32_t s = 0; w != NULL && s < WATCH_SPANS && e == 0; s++) {
		if (!w->span[s].is)
			continue;
		w->span[s].is = false;
		if ((e = device_mark_us(p->dev->d, w->base, w->span[s].from, &from)) < 0 ||
		    (e = device_mark_us(p->dev->d, w->span[s].from, w->span[s].to, &length)) < 0)
			return e;
		w->how.span(w->how.arg, w->row[stream_of(s)], w->span[s].name, w->base_ns + (uint64_t)(from * 1e3),
		    w->base_ns + (uint64_t)((from + length) * 1e3));
	}
	return e;
}
