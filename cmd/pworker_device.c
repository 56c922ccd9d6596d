/* pworker_device - the options that say what a worker computes on, and in which numbers. */
#include "pworker.h"
#include "front.h"

enum { O_DEVICES, O_DTYPE, O_ENGINE, O_THREADS };

static const struct option longs[] = {
	{ "devices", required_argument, NULL, O_DEVICES },
	{ "dtype", required_argument, NULL, O_DTYPE },
	{ "engine", required_argument, NULL, O_ENGINE },
	{ "threads", required_argument, NULL, O_THREADS },
	{ NULL, 0, NULL, 0 }
};

static void
take(struct pworker *p, int c, char *text)
{
	switch (c) {
	case O_DEVICES:	p->train.devices = text; break;
	case O_DTYPE:
		if (!engine_precision_find(text, &p->train.precision))
			front_wrong("--dtype: '%.64s' is none of f32, tf32, bf16 and f16", text);
		break;
	case O_ENGINE:	p->engine = text; break;
	case O_THREADS:	p->train.threads = (unsigned)front_num("--threads", text, 1, 1024); break;
	}
}

static void
settle(struct pworker *p)
{
	if (p->train.devices != NULL && p->engine != NULL)
		front_wrong("--devices: names the engines: leave --engine out");
}

const struct worker_theme worker_device_theme = { longs, take, settle };
