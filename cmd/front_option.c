/* front_option - the options of a tool as a table, and messages that name what is near. */
#include "front_option.h"
#include "front.h"
#include "front_recipe.h"

#include "base/nearest.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS	64	/* most rows of a table, with --help and --version */
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

static void
set_integer(const struct front_option *o, int64_t v, void *to)
{
	if (o->size == sizeof(uint8_t))
		*(uint8_t *)to = (uint8_t)v;
	else if (o->size == sizeof(uint32_t))
		*(uint32_t *)to = (uint32_t)v;
	else
		*(uint64_t *)to = (uint64_t)v;
}

static void
set_real(const struct front_option *o, double v, void *to)
{
	if (o->size == sizeof(float))
		*(float *)to = (float)v;
	else
		*(double *)to = v;
}

static int
find_word(const struct front_option *o, const char *option, const char *text)
{
	for (const struct front_word *w = o->words; w->name != NULL; w++)
		if (strcmp(w->name, text) == 0)
			return w->code;
	front_wrong("%s: '%.64s' is %s", option, text, o->text);
}

static _Noreturn void
print_text(const char *text)
{
	fputs(text, stdout);
	front_flush();
	exit(0);
}

void
front_option_set(const struct front_option *o, const char *option, char *text, void *options)
{
	void *to = (char *)options + o->at;
	int64_t hi = o->hi < 0x1p63 ? (int64_t)o->hi : INT64_MAX;

	switch (o->kind) {
	case FRONT_FLAG:	*(bool *)to = true; break;
	case FRONT_SET:		set_integer(o, (int64_t)o->lo, to); break;
	case FRONT_TEXT:	*(char **)to = text; break;
	case FRONT_WHOLE:	set_integer(o, front_num(option, text, (int64_t)o->lo, hi), to); break;
	case FRONT_REAL:	set_real(o, front_real(option, text, o->lo, o->hi), to); break;
	case FRONT_WORD:	set_integer(o, find_word(o, option, text), to); break;
	case FRONT_HELP:	print_text(o->text);
	default:		o->apply(options, option, text);
	}
}

/* getopt's numbers: letters for short options, FIRST + row for long ones. */
#define FIRST	256

/* The table for getopt_long(3), with --help and --version at its end.  Returns the number of rows before these. */
static int
list_options(const struct front_option *table, struct option longs[OPTIONS + 1], char shorts[SHORTS])
{
	size_t at = strlen(shorts);
	int n = 0;

	for (; table[n].name != NULL; n++) {
		enum front_kind kind = table[n].kind;
		bool bare = kind == FRONT_FLAG || kind == FRONT_SET || kind == FRONT_HELP ||
		    kind == FRONT_ACTION;

		assert(n + 2 < OPTIONS && at + 2 < SHORTS);
		longs[n] = (struct option){ table[n].name, bare ? no_argument : required_argument, NULL, FIRST + n };
		if (table[n].letter == 0)
			continue;
		shorts[at++] = table[n].letter;
		if (!bare)
			shorts[at++] = ':';
	}
	longs[n] = (struct option){ "help", no_argument, NULL, FIRST + n };
	longs[n + 1] = (struct option){ "version", no_argument, NULL, FIRST + n + 1 };
	return n;
}

void
front_options(int *argc, char ***argv, enum front_operands operands, const struct front_option *table, void *options)
{
	struct option longs[OPTIONS + 1] = { { 0 } };
	char shorts[SHORTS] = "", option[NAME];
	const struct front_option *o;
	int c, n;

	if (operands != FRONT_ANYWHERE)
		shorts[0] = '+';
	n = list_options(table, longs, shorts);
	while ((c = operands == FRONT_RECIPES ? front_recipe_getopt(argc, argv, shorts, longs) :
	    front_getopt(*argc, *argv, shorts, longs)) != -1) {
		if (c == FIRST + n)
			front_help();
		if (c == FIRST + n + 1)
			front_version();
		o = c < FIRST ? table : &table[c - FIRST];
		snprintf(option, sizeof(option), "--%s", o->name);
		if (c < FIRST) {
			while (o->letter != c)
				o++;
			snprintf(option, sizeof(option), "-%c", c);
		}
		front_option_set(o, option, optarg, options);
	}
}
