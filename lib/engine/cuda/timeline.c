/* timeline - when the GPU does what: timed events before and after each span of a step. */
#include "engine/cuda/timeline.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME	(2 * GRAPH_NAME + 32)
#define ROW	32

struct timeline {
	struct engine_timeline how;
	struct device_event *base;	/* the host's clock showed base_ns then */
	uint64_t	    base_ns;
	char		    row[DEVICE_STREAMS][ROW];
	struct {
		struct device_event *from, *to;
		char	 name[NAME];
		bool	 ended;		/* ended and not reported */
	} span[TIMELINE_SPANS];
};

static enum device_stream
get_stream(uint32_t span)
{
	if (span >= TIMELINE_SUM)
		return DEVICE_DOWNLOAD;
	return span == TIMELINE_BATCH || span == TIMELINE_AHEAD ? DEVICE_UPLOAD : DEVICE_MAIN;
}

static void
name_slice(const struct engine_plan *p, struct timeline *t, uint32_t k)
{
	const struct graph_node *node = p->graph->node;
	const char *first = node[p->step[p->slice[k]].node].name, *last = node[p->step[p->slice[k + 1] - 1].node].name;

	snprintf(t->span[TIMELINE_BACK + k].name, NAME, "backward %s to %s", first, last);
	snprintf(t->span[TIMELINE_SUM + k].name, NAME, "sum of devices, %s to %s", first, last);
	snprintf(t->span[TIMELINE_DOWN + k].name, NAME, "gradients of %s to %s", first, last);
}

static void
name_rows(const struct engine_plan *p, struct timeline *t)
{
	static const char *const name[] = {
		[TIMELINE_BATCH] = "batch up", [TIMELINE_AHEAD] = "next batch up", [TIMELINE_WEIGHTS] = "weights",
		[TIMELINE_FORWARD] = "forward and loss", [TIMELINE_EVALUATE] = "evaluation",
		[TIMELINE_RESULT] = "loss down", [TIMELINE_UPDATE] = "optimizer",
	};
	static const char *const row[] = { [DEVICE_MAIN] = "", [DEVICE_DOWNLOAD] = " down", [DEVICE_UPLOAD] = " up" };

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		snprintf(t->span[i].name, NAME, "%s", name[i]);
	for (uint32_t k = 0; k < p->nslice; k++)
		name_slice(p, t, k);
	for (int s = 0; s < DEVICE_STREAMS; s++)
		snprintf(t->row[s], ROW, "gpu:%d%s", device_number(p->dev->d), row[s]);
}

static int
start_timeline(struct engine_plan *p, const struct engine_timeline *how)
{
	struct device *d = p->dev->d;
	struct timeline *t = calloc(1, sizeof(*t));
	int e;

	if (t == NULL)
		return device_nomem(p->dev->host);
	p->timeline = t;
	t->how = *how;
	name_rows(p, t);
	for (uint32_t s = 0; s < TIMELINE_SPANS; s++)
		if ((e = device_event_new(d, true, &t->span[s].from)) < 0 ||
		    (e = device_event_new(d, true, &t->span[s].to)) < 0)
			return e;
	if ((e = device_event_new(d, true, &t->base)) < 0 || (e = device_event_record(d, t->base, DEVICE_MAIN)) < 0 ||
	    (e = device_event_wait(d, t->base)) < 0)
		return e;
	t->base_ns = p->dev->host->now();
	return 0;
}

void
timeline_free(struct engine_plan *p)
{
	if (p->timeline == NULL)
		return;
	for (uint32_t s = 0; s < TIMELINE_SPANS; s++) {
		device_event_free(p->timeline->span[s].from);
		device_event_free(p->timeline->span[s].to);
	}
	device_event_free(p->timeline->base);
	free(p->timeline);
	p->timeline = NULL;
}

int
timeline_set(struct engine_plan *p, const struct engine_timeline *how)
{
	int e = device_make_current(p->dev->d);

	if (e < 0 || (e = device_wait(p->dev->d)) < 0 || (e = timeline_report(p)) < 0)
		return e;
	timeline_free(p);
	if (how != NULL && (e = start_timeline(p, how)) < 0)
		timeline_free(p);
	return e;
}

int
timeline_begin(struct engine_plan *p, uint32_t span)
{
	return p->timeline == NULL ? 0 : device_event_record(p->dev->d, p->timeline->span[span].from, get_stream(span));
}

int
timeline_end(struct engine_plan *p, uint32_t span)
{
	if (p->timeline == NULL)
		return 0;
	p->timeline->span[span].ended = true;
	return device_event_record(p->dev->d, p->timeline->span[span].to, get_stream(span));
}

int
timeline_report(struct engine_plan *p)
{
	struct timeline *t = p->timeline;
	double from, length;
	int e = 0;

	for (uint32_t s = 0; t != NULL && s < TIMELINE_SPANS && e == 0; s++) {
		if (!t->span[s].ended)
			continue;
		t->span[s].ended = false;
		if ((e = device_event_elapsed_us(p->dev->d, t->base, t->span[s].from, &from)) < 0 ||
		    (e = device_event_elapsed_us(p->dev->d, t->span[s].from, t->span[s].to, &length)) < 0)
			return e;
		t->how.span(t->how.arg, t->row[get_stream(s)], t->span[s].name, t->base_ns + (uint64_t)(from * 1e3),
		    t->base_ns + (uint64_t)((from + length) * 1e3));
	}
	return e;
}
