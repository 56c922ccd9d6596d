/* options_device - the options that say what a worker computes on, and in which numbers. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { O_AUTOTUNE, O_DETERMINISTIC, O_DEVICES, O_DTYPE, O_ENGINE, O_THREADS };

static const struct option longs[] = {
	{ "autotune", no_argument, NULL, O_AUTOTUNE },
	{ "deterministic", no_argument, NULL, O_DETERMINISTIC },
	{ "devices", required_argument, NULL, O_DEVICES },
	{ "dtype", required_argument, NULL, O_DTYPE },
	{ "engine", required_argument, NULL, O_ENGINE },
	{ "threads", required_argument, NULL, O_THREADS },
	{ NULL, 0, NULL, 0 }
};

static void
apply_device_option(struct pworker *p, int c, char *text)
{
	switch (c) {
	case O_AUTOTUNE: p->train.tune.measure = true; break;
	case O_DETERMINISTIC: p->train.tune.deterministic = true; break;
	case O_DEVICES:	p->train.devices = text; break;
	case O_DTYPE:
		if (!engine_precision_find(text, &p->train.precision))
			front_wrong("--dtype: '%.64s' is none of f32, tf32, bf16 and f16", text);
		break;
	case O_ENGINE:	p->engine = text; break;
	case O_THREADS:	p->train.threads = (unsigned)front_num("--threads", text, 1, 1024); break;
	}
}

/* Where kernels that won are kept, the folders made. */
static void
choices_path(char path[PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	/* The specification has a relative path ignored. */
	if (cache != NULL && *cache == '/')
		n = snprintf(path, PATH_MAX, "%s/tally/cuda-autotune.tsv", cache);
	else if (home != NULL && *home == '/')
		n = snprintf(path, PATH_MAX, "%s/.cache/tally/cuda-autotune.tsv", home);
	else
		front_wrong("--autotune: neither XDG_CACHE_HOME nor HOME says where choices are kept");
	if (n >= PATH_MAX)
		front_wrong("--autotune: the path of the cache is too long");
	for (char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
		*p = 0;
		mkdir(path, 0700);	/* where it fails so does the file */
		*p = '/';
	}
}

static void
open_choices(struct pworker *p)
{
	char path[PATH_MAX];
	uint32_t strange;

	choices_path(path);
	if (autotune_cache_open(&p->choices, path, &strange) < 0) {
		front_say("--autotune: choices are not kept: %s", err_line());
		return;
	}
	if (strange > 0)
		front_say("%s: %u lines are no choices of kernels, and are passed over", path, strange);
	p->train.tune.arg = p->choices;
	p->train.tune.find = autotune_cache_find;
	p->train.tune.keep = autotune_cache_keep;
}

static void
settle_device_options(struct pworker *p)
{
	if (p->train.tune.measure)
		open_choices(p);
	if (p->train.devices != NULL && p->engine != NULL)
		front_wrong("--devices: names the engines: leave --engine out");
}

const struct worker_theme worker_device_theme = { longs, apply_device_option, settle_device_options };
