/* options_checkpoint - the file that weights come from, and the checkpoints that are written. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"
#include "train/checkpoint_find.h"

static const char help[] =
    "usage: pworker ... [options for checkpoints and initial weights]\n"
    "  --save PREFIX           write PREFIX-EEEE.safetensors after each epoch\n"
    "  --keep N                remove all but the newest N\n"
    "  --best                  keep the best by validation, too: PREFIX-best.safetensors\n"
    "  --patience N            end after N epochs without a better validation\n"
    "  --resume FILE.safetensors  continue from a checkpoint   --resume-last  from the newest of --save\n"
    "  --start FILE            take the weights whose names and shapes fit, from a file of any net\n"
    "  --start-rename REGEX=TEXT  rename them first; again for more\n";

static void
print_keep_help(struct pworker *p, const char *option, char *text)
{
	(void)p, (void)option, (void)text;
	worker_help(help);
}

static void
add_start_rename(struct pworker *p, const char *option, char *rule)
{
	if (p->start_rename == NULL && rename_new(&p->start_rename) < 0)
		front_die(option, ERR_NOMEM);
	if (rename_add(p->start_rename, rule) < 0)
		front_wrong("%s: %s", option, err_line());
	p->train.start_rename = p->start_rename;
}

static const struct worker_option checkpoint_options[] = {
	{ "best", WORKER_FLAG, WORKER_MEMBER(train.best), .needs = NEED_TRAINING },
	{ "help-keep", WORKER_ACTION, .apply = print_keep_help },
	{ "keep", WORKER_WHOLE, WORKER_MEMBER(train.keep), 1, UINT32_MAX, .needs = NEED_TRAINING },
	{ "patience", WORKER_WHOLE, WORKER_MEMBER(train.patience), 1, UINT32_MAX, .needs = NEED_TRAINING },
	{ "resume", WORKER_TEXT, WORKER_MEMBER(train.resume), .needs = NEED_TRAINING },
	{ "resume-last", WORKER_FLAG, WORKER_MEMBER(resume_last), .needs = NEED_TRAINING },
	{ "save", WORKER_TEXT, WORKER_MEMBER(train.save), .needs = NEED_TRAINING },
	{ "start", WORKER_TEXT, WORKER_MEMBER(train.start), .needs = NEED_TRAINING },
	{ "start-rename", WORKER_VALUE, .apply = add_start_rename, .needs = NEED_FOREIGN },
	{ 0 }
};

static void
settle_checkpoint_options(struct pworker *p)
{
	if (p->resume_last && p->train.save == NULL)
		front_wrong("--resume-last: needs --save");
	if (p->train.keep > 0 && p->train.save == NULL)
		front_wrong("--keep: needs --save");
	if (p->train.best && (p->train.save == NULL || p->train.val == NULL))
		front_wrong("--best: needs --save and --val");
	if (p->train.patience > 0 && p->train.val == NULL)
		front_wrong("--patience: needs --val");
}

const struct worker_theme worker_checkpoint_theme = { checkpoint_options, settle_checkpoint_options };

/* A run without a checkpoint starts as it does without the option. */
void
worker_find_last(struct pworker *p)
{
	int e;

	if (!p->resume_last || p->train.ps.rank != 0)
		return;
	if ((e = checkpoint_find(p->train.save, &p->found)) < 0)
		front_die("--resume-last", e);
	if (e > 0)
		p->train.resume = p->found;
	front_say("resumes from %s", p->train.resume != NULL ? p->train.resume :
	    "the beginning: there is no checkpoint yet");
}
