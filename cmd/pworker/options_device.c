/* options_device - the device that a worker computes on, and the types of its numbers. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void
parse_dtype(struct pworker *p, const char *option, char *text)
{
	if (!engine_precision_find(text, &p->train.precision))
		front_wrong("%s: '%.64s' is none of f32, tf32, bf16 and f16", option, text);
}

static const struct pworker_option device_options[] = {
	{ "autotune", PWORKER_FLAG, PWORKER_MEMBER(train.tune.measure), .needs = NEED_PLAN },
	{ "deterministic", PWORKER_FLAG, PWORKER_MEMBER(train.tune.deterministic), .needs = NEED_PLAN },
	{ "devices", PWORKER_TEXT, PWORKER_MEMBER(train.devices), .needs = NEED_PLAN },
	{ "dtype", PWORKER_VALUE, .apply = parse_dtype, .needs = NEED_PLAN },
	{ "engine", PWORKER_TEXT, PWORKER_MEMBER(engine), .needs = NEED_PLAN },
	{ "threads", PWORKER_WHOLE, PWORKER_MEMBER(train.threads), 1, 1024, .needs = NEED_PLAN },
	{ 0 }
};

/* The path of the autotune cache, whose directories are made. */
static void
make_cache_path(char path[PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int n;

	/* The XDG specification ignores a relative path. */
	if (cache != NULL && *cache == '/')
		n = snprintf(path, PATH_MAX, "%s/tally/cuda-autotune.tsv", cache);
	else if (home != NULL && *home == '/')
		n = snprintf(path, PATH_MAX, "%s/.cache/tally/cuda-autotune.tsv", home);
	else
		front_wrong("--autotune: no place for the cache; set XDG_CACHE_HOME or HOME");
	if (n >= PATH_MAX)
		front_wrong("--autotune: the path of the cache is too long");
	for (char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
		*p = 0;
		mkdir(path, 0700);	/* if it fails, so does opening the file */
		*p = '/';
	}
}

static void
open_autotune_cache(struct pworker *p)
{
	char path[PATH_MAX];
	uint32_t strange;

	make_cache_path(path);
	if (autotune_cache_open(path, &strange, &p->autotune) < 0) {
		front_say("--autotune: the kernels chosen will not be stored: %s", err_line());
		return;
	}
	if (strange > 0)
		front_say("%s: ignores %u lines that name no kernel", path, strange);
	p->train.tune.arg = p->autotune;
	p->train.tune.find = autotune_cache_find;
	p->train.tune.keep = autotune_cache_keep;
}

static void
settle_device_options(struct pworker *p)
{
	if (p->train.tune.measure)
		open_autotune_cache(p);
	if (p->train.devices != NULL && p->engine != NULL)
		front_wrong("--devices: does not go with --engine, since it names the engines");
}

const struct pworker_theme pworker_device_theme = { device_options, settle_device_options };
