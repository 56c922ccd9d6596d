/*
 * split_opt - the device optimizer of several joined devices: each has all weights and does all updates.
 *
 * The devices add up gradients and statistics in backward(), so their updates have the same bits.
 */
#include "engine/split/split_in.h"

static int
begin_lanes(struct engine_plan *p, const struct engine_opt *how)
{
	struct engine_opt joined = *how;
	int e = 0;

	if (p->n < p->dev->n)
		return err_fail(ERR_NOTSUP, "a batch smaller than the number of devices");
	joined.joined = true;
	for (uint32_t k = 0; k < p->n && e == 0; k++) {
		if ((e = split_load_lane(&p->lane[k])) == 0)
			e = p->lane[k].engine->device_opt->begin(p->lane[k].plan, &joined);
		if (k > 0 && e == ERR_NOTSUP)
			e = ERR_SYS;	/* the first lane has begun, so the caller cannot go on without */
	}
	p->learning = e == 0;
	return e;
}

static int
step_lanes(struct engine_plan *p, uint64_t n, float rate, uint64_t t, bool mark)
{
	int e = n == 0 ? split_settle(p) : 0;

	for (uint32_t k = 0; k < p->n && e == 0; k++)
		e = p->lane[k].engine->device_opt->step(p->lane[k].plan, n, rate, t, mark);
	return e;
}

static int
show_lanes_average(struct engine_plan *p, bool on)
{
	int e = split_settle(p);

	for (uint32_t k = 0; k < p->n && e == 0; k++)
		e = p->lane[k].engine->device_opt->show_average(p->lane[k].plan, on);
	return e;
}

static int
fetch_first_lane(struct engine_plan *p, float *w, float *aux, float *state, float *average, uint32_t *averaged)
{
	ERR_TRY(split_settle(p));
	return p->lane[0].engine->device_opt->fetch(p->lane[0].plan, w, aux, state, average, averaged);
}

const struct engine_device_opt split_device_opt = {
	.begin = begin_lanes,
	.step = step_lanes,
	.show_average = show_lanes_average,
	.fetch = fetch_first_lane,
	.settle = split_settle,
};
