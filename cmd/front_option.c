/* front_option - getopt_long(3) for all tools: -h, and messages that name what is near. */
#include "front_option.h"
#include "front.h"

#include "base/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SHORTS	64	/* bytes of the short options */
#define NAME	64	/* bytes of a long one; a longer one is unknown */

/* What other programs call an option; the first that a tool has is proposed. */
static const struct {
	const char *word, *option;
} synonyms[] = {
	{ "amp", "dtype" }, { "arch", "net" }, { "background", "detach" }, { "batch-size", "batch" },
	{ "bs", "batch" }, { "check", "verify" }, { "checkpoint", "resume" }, { "compare", "diff" },
	{ "convert", "to" }, { "cwd", "chdir" }, { "data-dir", "data" }, { "data-path", "data" },
	{ "data-train", "data" }, { "data-val", "val" }, { "dataset", "data" }, { "directory", "chdir" },
	{ "disp-batches", "frequent" }, { "early-stopping", "patience" }, { "exclude", "drop" }, { "format", "to" },
	{ "format", "encoding" }, { "fp16", "dtype" }, { "freq", "period" }, { "gpu", "engine" },
	{ "gpus", "devices" }, { "grad-accum", "accumulate" }, { "gradient-accumulation-steps", "accumulate" },
	{ "half", "dtype" }, { "hostfile", "hosts" }, { "image-shape", "shape" }, { "image-size", "shape" },
	{ "include", "pick" }, { "info", "list" }, { "input-size", "shape" }, { "inspect", "list" },
	{ "interval", "period" }, { "jobs", "threads" }, { "json", "format" }, { "launcher", "rsh" },
	{ "learning-rate", "lr" }, { "load", "resume" }, { "load-epoch", "resume" }, { "log-interval", "frequent" },
	{ "markdown", "format" }, { "max-epochs", "epochs" }, { "max-restarts", "restart" }, { "model", "net" },
	{ "model-prefix", "save" }, { "name", "job" }, { "network", "net" }, { "nnodes", "hosts" },
	{ "nodes", "hosts" }, { "np", "num-workers" }, { "nproc", "num-workers" },
	{ "nproc-per-node", "num-workers" }, { "num-classes", "classes" }, { "num-epochs", "epochs" },
	{ "num-workers", "read-threads" }, { "num-workers", "workers" }, { "out", "save" }, { "out", "png" },
	{ "output", "save" }, { "output", "png" }, { "output-dir", "save" }, { "port", "listen" },
	{ "precision", "dtype" }, { "pretrained", "start" }, { "print-freq", "frequent" }, { "rank", "worker" },
	{ "replace", "force" }, { "save-dir", "save" }, { "scheduler", "lr" }, { "show", "list" },
	{ "size", "resize" }, { "sync-dst-dir", "sync" }, { "test-only", "eval" }, { "train", "data" },
	{ "unpack", "extract" }, { "valid", "val" }, { "watch", "follow" }, { "weight-decay", "wd" },
	{ "weights", "start" }, { "workers", "num-workers" }, { "workers", "read-threads" }, { "workers", "threads" },
	{ "world-size", "worker" },
};

static const char *
find_synonym(const char *word, const struct option *longs)
{
	char hyphens[NAME];

	snprintf(hyphens, sizeof(hyphens), "%s", word);
	for (char *p = hyphens; *p != 0; p++)
		if (*p == '_')
			*p = '-';
	for (size_t i = 0; i < sizeof(synonyms) / sizeof(*synonyms); i++)
		for (const struct option *o = longs; strcmp(synonyms[i].word, hyphens) == 0 && o->name != NULL; o++)
			if (strcmp(o->name, synonyms[i].option) == 0)
				return o->name;
	return NULL;
}

const char *
front_nearest(const char *word, const struct option *longs)
{
	const char *same = find_synonym(word, longs);
	struct nearest n = { .word = word };

	if (same != NULL)
		return same;
	for (; longs->name != NULL; longs++)
		nearest_try(&n, longs->name);
	return n.best;
}

/* Two options that begin with a name; false if there are not two. */
static bool
find_ambiguous(const char *name, const struct option *longs, const char *two[2])
{
	size_t n = 0;

	for (; longs->name != NULL && n < 2; longs++)
		if (strncmp(longs->name, name, strlen(name)) == 0)
			two[n++] = longs->name;
	return n == 2;
}

/* What getopt_long(3) found wrong: a letter, or a long option with a needless value, which optopt names. */
static void
refuse_known(const struct option *longs)
{
	for (; longs->name != NULL; longs++)
		if (longs->val == optopt && longs->has_arg == no_argument)
			front_wrong("--%s: takes no value", longs->name);
	front_wrong("-%c: no such option; --help lists the options", optopt);
}

static void
refuse_option(const char *word, const struct option *longs)
{
	char name[NAME];
	const char *two[2], *near;

	if (optopt != 0)
		refuse_known(longs);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	if (find_ambiguous(name, longs, two))
		front_wrong("--%s: may be --%s or --%s", name, two[0], two[1]);
	if ((near = front_nearest(name, longs)) != NULL)
		front_wrong("--%s: no such option; did you mean --%s?", name, near);
	front_wrong("--%s: no such option; --help lists the options", name);
}

int
front_getopt(int argc, char *argv[], const char *shorts, const struct option *longs)
{
	bool plus = *shorts == '+', own = !plus || shorts[1] != ':';
	char all[SHORTS];
	int c;

	snprintf(all, sizeof(all), "%s%s%sh", plus ? "+" : "", own ? ":" : "", shorts + plus);
	opterr = 0;
	c = getopt_long(argc, argv, all, longs, NULL);
	if (c == 'h')
		front_help();
	if (own && c == ':')
		front_wrong("%s: needs a value", argv[optind - 1]);
	if (own && c == '?')
		refuse_option(argv[optind - 1], longs);
	return c;
}
