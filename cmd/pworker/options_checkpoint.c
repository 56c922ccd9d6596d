/* options_checkpoint - the options that say where weights come from and where they are kept. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"
#include "train/checkpoint_find.h"

static const char help[] =
    "usage: pworker ... [options that say where weights come from and where they are kept]\n"
    "  --save PREFIX           a checkpoint each epoch, PREFIX-EEEE.safetensors\n"
    "  --keep N                of them the newest N         --best  the best too, PREFIX-best.safetensors\n"
    "  --patience N            ends after N epochs without a better validation\n"
    "  --resume FILE           goes on from a checkpoint    --resume-last  from the newest of --save\n"
    "  --start FILE            weights by name, of whatever net\n"
    "  --start-rename REGEX=TEXT  their names; again for more\n";

enum { O_BEST, O_HELP, O_KEEP, O_LAST, O_PATIENCE, O_RESUME, O_SAVE, O_START, O_STARTNAME };

static const struct option longs[] = {
	{ "best", no_argument, NULL, O_BEST },
	{ "help-keep", no_argument, NULL, O_HELP },
	{ "keep", required_argument, NULL, O_KEEP },
	{ "patience", required_argument, NULL, O_PATIENCE },
	{ "resume", required_argument, NULL, O_RESUME },
	{ "resume-last", no_argument, NULL, O_LAST },
	{ "save", required_argument, NULL, O_SAVE },
	{ "start", required_argument, NULL, O_START },
	{ "start-rename", required_argument, NULL, O_STARTNAME },
	{ NULL, 0, NULL, 0 }
};

static void
start_rule(struct pworker *p, const char *rule)
{
	if (p->start_rename == NULL && rename_new(&p->start_rename) < 0)
		front_die("--start-rename", ERR_NOMEM);
	if (rename_add(p->start_rename, rule) < 0)
		front_wrong("--start-rename: %s", err_line());
	p->train.start_rename = p->start_rename;
}

static void
apply_checkpoint_option(struct pworker *p, int c, char *text)
{
	struct train_opt *t = &p->train;

	switch (c) {
	case O_BEST:	t->best = true; break;
	case O_HELP:	worker_help(help);
	case O_KEEP:	t->keep = (uint32_t)front_num("--keep", text, 1, UINT32_MAX); break;
	case O_LAST:	p->last = true; break;
	case O_PATIENCE: t->patience = (uint32_t)front_num("--patience", text, 1, UINT32_MAX); break;
	case O_RESUME:	t->resume = text; break;
	case O_SAVE:	t->save = text; break;
	case O_START:	t->start = text; break;
	case O_STARTNAME: start_rule(p, text); break;
	}
}

static void
settle_checkpoint_options(struct pworker *p)
{
	if (p->last && p->train.save == NULL)
		front_wrong("--resume-last: needs --save");
	if (p->train.keep > 0 && p->train.save == NULL)
		front_wrong("--keep: needs --save");
	if (p->train.best && (p->train.save == NULL || p->train.val == NULL))
		front_wrong("--best: needs --save and --val");
	if (p->train.patience > 0 && p->train.val == NULL)
		front_wrong("--patience: needs --val");
}

const struct worker_theme worker_keep_theme = { longs, apply_checkpoint_option, settle_checkpoint_options };

/* A run that has no checkpoint yet begins as it would without the option. */
void
worker_find_last(struct pworker *p)
{
	int e;

	if (!p->last || p->train.ps.rank != 0)
		return;
	if ((e = checkpoint_find(p->train.save, &p->found)) < 0)
		front_die("--resume-last", e);
	if (e > 0)
		p->train.resume = p->found;
	front_say("resumes from %s", p->train.resume != NULL ? p->train.resume :
	    "the beginning: there is no checkpoint yet");
}
