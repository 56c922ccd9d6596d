/* pworker_keep - the options that say where weights come from and where they are kept. */
#include "pworker.h"
#include "front.h"

#include "base/err.h"
#include "ps/last.h"

enum { O_LAST, O_RESUME, O_SAVE, O_START, O_STARTNAME };

static const struct option longs[] = {
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
take(struct pworker *p, int c, char *text)
{
	struct train_opt *t = &p->train;

	switch (c) {
	case O_LAST:	p->last = true; break;
	case O_RESUME:	t->resume = text; break;
	case O_SAVE:
		if (*(t->save = text) == 0)
			front_wrong("--save: a prefix of no letters");
		break;
	case O_START:	t->start = text; break;
	case O_STARTNAME: start_rule(p, text); break;
	}
}

static void
settle(struct pworker *p)
{
	if (p->last && p->train.save == NULL)
		front_wrong("--resume-last: needs --save");
}

const struct worker_theme worker_keep_theme = { longs, take, settle };

/* A run that has no checkpoint yet begins as it would without the option. */
void
worker_find_last(struct pworker *p)
{
	int e;

	if (!p->last || p->train.ps.rank != 0)
		return;
	if ((e = last_find(p->train.save, &p->found)) < 0)
		front_die("--resume-last", e);
	if (e > 0)
		p->train.resume = p->found;
	front_say("resumes from %s", p->train.resume != NULL ? p->train.resume : "the beginning: there is no checkpoint yet");
}
