/* options - the command line of pworker into what it asks for: the themes' options, and those that have none. */
#include "pworker/pworker.h"
#include "front.h"
#include "front_recipe.h"

#include "base/err.h"
#include "net/init.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS	192	/* of the command line, with a zero behind them */
#define THEME	256	/* most options of a theme; theme i has the values from THEME * (i + 1) on */

enum {
	O_ACCUMULATE, O_BATCH, O_DATA, O_DATA_KEY, O_EPOCHS, O_HELP, O_INIT, O_MEAN, O_PRINT, O_RECIPES,
	O_SEED, O_STEPS, O_VAL, O_VERSION
};

static const struct option longs[] = {
	{ "accumulate", required_argument, NULL, O_ACCUMULATE },
	{ "batch", required_argument, NULL, O_BATCH },
	{ "data", required_argument, NULL, O_DATA },
	{ "data-key-file", required_argument, NULL, O_DATA_KEY },
	{ "epochs", required_argument, NULL, O_EPOCHS },
	{ "help", no_argument, NULL, O_HELP },
	{ "init", required_argument, NULL, O_INIT },
	{ "mean", required_argument, NULL, O_MEAN },
	{ "print", no_argument, NULL, O_PRINT },
	{ "recipes", no_argument, NULL, O_RECIPES },
	{ "seed", required_argument, NULL, O_SEED },
	{ "steps", required_argument, NULL, O_STEPS },
	{ "val", required_argument, NULL, O_VAL },
	{ "version", no_argument, NULL, O_VERSION },
	{ NULL, 0, NULL, 0 }
};

/* Given again, it adds to what was given before. */
static void
add_data_path(struct pworker *p, const char *path)
{
	if (p->data.n > 0)
		p->data.n--;
	if ((p->data.n > 0 && buf_put(&p->data, ",", 1) < 0) || buf_put(&p->data, path, strlen(path) + 1) < 0)
		front_die("--data", ERR_NOMEM);
	p->train.data.path = (char *)p->data.p;
}

static void
apply_main_option(struct pworker *p, int c, char *text)
{
	struct train_opt *t = &p->train;

	switch (c) {
	case O_ACCUMULATE: t->accumulate = (uint32_t)front_num("--accumulate", text, 1, 65536); break;
	case O_BATCH:	worker_batch_take(&p->batch, text); break;
	case O_DATA:	add_data_path(p, text); break;
	case O_DATA_KEY: p->data_key = text; break;
	case O_EPOCHS:	t->epochs = (uint64_t)front_num("--epochs", text, 0, UINT32_MAX); break;
	case O_HELP:	front_help();
	case O_INIT:
		if (init_check(t->init = text) < 0)
			front_wrong("--init: %s", err_line());
		break;
	case O_MEAN:	p->mean = text; break;
	case O_PRINT:	p->print = true; break;
	case O_RECIPES:	front_recipes();
	case O_SEED:	t->seed = (uint64_t)front_num("--seed", text, 0, INT64_MAX); break;
	case O_STEPS:	t->steps = (uint64_t)front_num("--steps", text, 1, INT64_MAX); break;
	case O_VAL:	t->val = text; break;
	case O_VERSION:	printf("pworker (tally) %s\n", TALLY_VERSION); front_flush(); exit(0);
	}
}

static void
settle_main_options(struct pworker *p)
{
	bool net = p->net != NULL, data = p->train.data.path != NULL;

	if (p->judged != NULL || (net && (data || p->print)))
		return;
	if (!net && !data && !p->print)
		front_usage();
	front_wrong("%s", net ? "--data: is missing: records to train on" : "--net: is missing");
}

static const struct worker_theme rest = { longs, apply_main_option, settle_main_options };

static const struct worker_theme *const theme[] = {
	&worker_data_theme, &worker_device_theme, &worker_freeze_theme, &worker_job_theme, &worker_judge_theme,
	    &worker_keep_theme,
	&worker_learn_theme, &worker_net_theme, &worker_tell_theme, &rest
};
#define THEMES	(sizeof(theme) / sizeof(*theme))

/* All themes' options in one table. */
static void
join_option_tables(struct option *all)
{
	size_t n = 0;

	for (size_t i = 0; i < THEMES; i++)
		for (const struct option *o = theme[i]->longs; o->name != NULL; o++) {
			assert(n < OPTIONS - 1 && o->val < THEME);
			all[n] = *o;
			all[n++].val += THEME * (int)(i + 1);
		}
}

static const char *
name_of(const struct option *all, int c)
{
	while (all->val != c)
		all++;
	return all->name;
}

/* The option that came is not said in full, and a net may have one of that name. */
static bool
is_short(const char *name, char *argv[])
{
	bool apart = optarg != NULL && optarg == argv[optind - 1];
	const char *word = argv[optind - (apart ? 2 : 1)] + 2;

	if (strcspn(word, "=") == strlen(name))
		return false;
	optind -= apart;
	return true;
}

void
worker_options(struct pworker *p, int argc, char *argv[])
{
	struct option all[OPTIONS] = { { 0 } };
	int c;

	*p = (struct pworker){ .frequent = 50,
	    .learn = { .rule = OPT_SGD, .momentum = NAN, .beta2 = NAN, .eps = NAN, .trust = NAN, .turns = NAN,
	    .wd = 1e-5 },
	    .train = { .epochs = 10, .accumulate = 1, .init = "uniform:0.07", .sched.base = 0.1,
	    .data = { .batch = 128, .shuffle = true, .aug.fill = 255 },
	    .ps = { .nworkers = 1 } } };
	join_option_tables(all);
	opterr = 0;
	while ((c = front_option(&argc, &argv, "+:", all)) != -1)
		if (c == ':')
			front_wrong("%s: needs a value", argv[optind - 1]);
		else if (c == '?' && optopt != 0 && optopt < THEME)	/* a letter; of a long one 0, or its number */
			front_wrong("-%c: no option of pworker", optopt);
		else if (c == '?' || is_short(name_of(all, c), argv))
			worker_net_option(p, argc, argv);
		else if (optarg != NULL && *optarg == 0)
			front_wrong("--%s: an empty value", name_of(all, c));
		else {
			worker_needs_note(p, name_of(all, c));
			theme[c / THEME - 1]->take(p, c % THEME, optarg);
		}
	p->picture = argv + optind;
	p->npicture = (size_t)(argc - optind);
	for (size_t i = 0; i < THEMES; i++)
		if (theme[i]->settle != NULL)
			theme[i]->settle(p);
	worker_needs_check(p);
}

void
worker_release(struct pworker *p)
{
	buf_free(&p->data);
	buf_free(&p->learn.mults);
	buf_free(&p->freeze);
	free(p->batch.each);
	free(p->found);
	free(p->list);
	rename_free(p->start_rename);
	if (autotune_cache_close(p->choices) < 0)
		front_say("--autotune: choices were not kept: %s", err_line());
}

void
worker_help(const char *text)
{
	fputs(text, stdout);
	front_flush();
	exit(0);
}
