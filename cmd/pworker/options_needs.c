/* options_needs - options that have nothing to do without others are refused, so that none is lost in silence. */
#include "pworker/pworker.h"
#include "front.h"
#include "front_recipe.h"

#include "dataset/dataset_client.h"
#include "record/recs_stream.h"

#include <string.h>

/* What decides; the text is the rest of the line. */
static const char *
judging(const struct pworker *p)
{
	static const char *const name[] = {
		[WORKER_SCORE] = "--eval", [WORKER_ROWS] = "--predict", [WORKER_STATISTICS] = "--statistics",
	};

	return p->judged != NULL ? name[p->verdict] : NULL;
}

static bool
trains(const struct pworker *p)
{
	return p->judged == NULL;
}

static bool
judges(const struct pworker *p)
{
	return p->judged != NULL;
}

static bool
predicts(const struct pworker *p)
{
	return p->judged != NULL && p->verdict == WORKER_ROWS;
}

/* Records go by in an order, or only so many of them. */
static bool
draws(const struct pworker *p)
{
	return p->judged == NULL || p->verdict == WORKER_STATISTICS;
}

static bool
scores(const struct pworker *p)
{
	return p->judged == NULL || p->verdict == WORKER_SCORE;
}

static bool
views(const struct pworker *p)
{
	return p->judged != NULL ? p->verdict != WORKER_STATISTICS : p->train.val != NULL;
}

static bool
has_net(const struct pworker *p)
{
	return p->net != NULL;
}

static bool
renames(const struct pworker *p)
{
	return p->judged != NULL ? p->net != NULL : p->train.start != NULL;
}

static bool
crops(const struct pworker *p)
{
	return p->train.data.aug.resized_crop;
}

/* Is anything of a picture beyond its edges? */
static bool
fills(const struct pworker *p)
{
	const struct aug *a = &p->train.data.aug;

	return a->pad > 0 || a->angles > 0 || a->turn.hi > 0 || a->shear.hi > 0 || a->side.hi > 0;
}

static bool
turns(const struct pworker *p)
{
	return p->train.data.aug.angles == 0;
}

static bool
shuffles(const struct pworker *p)
{
	return p->train.data.shuffle;
}

static bool
afar(const struct pworker *p)
{
	return (p->train.data.path != NULL && dataset_client_is_addr(p->train.data.path)) ||
	    (p->train.val != NULL && dataset_client_is_addr(p->train.val));
}

static bool
rewinds(const struct pworker *p)
{
	return p->train.data.path == NULL || !recs_stream_is(p->train.data.path);
}

static const struct need {
	const char	*option;
	bool		(*met)(const struct pworker *p);
	const char	*why;		/* NULL: it is of a training */
} need[] = {
	{ "accumulate", trains, NULL },
	{ "async", trains, NULL },
	{ "best", trains, NULL },
	{ "beta2", trains, NULL },
	{ "cache", trains, NULL },
	{ "cache", rewinds, "does not go with a pipe, whose records come once" },
	{ "classes", has_net, "needs --net" },
	{ "clip", trains, NULL },
	{ "clip-norm", trains, NULL },
	{ "data-key-file", afar, "needs --data or --val HOST:PORT" },
	{ "ema", trains, NULL },
	{ "epochs", trains, NULL },
	{ "epsilon", trains, NULL },
	{ "fill-value", fills, "needs --pad, or what turns, shears or bounds pictures" },
	{ "flip", views, "needs --val, --eval or --predict" },
	{ "freeze", trains, NULL },
	{ "frequent", trains, NULL },
	{ "init", trains, NULL },
	{ "keep", trains, NULL },
	{ "l1", trains, NULL },
	{ "label-at", scores, "needs a training or --eval" },
	{ "log-style", trains, NULL },
	{ "lookahead", trains, NULL },
	{ "lr", trains, NULL },
	{ "lr-mult", trains, NULL },
	{ "lr-scale", trains, NULL },
	{ "max-rotate-angle", turns, "does not go with --rotate" },
	{ "momentum", trains, NULL },
	{ "net-opt", has_net, "needs --net" },
	{ "no-average", judges, "needs --eval, --predict or --statistics" },
	{ "no-shuffle", draws, "needs a training or --statistics" },
	{ "on-nan", trains, NULL },
	{ "optimizer", trains, NULL },
	{ "patience", trains, NULL },
	{ "print", trains, NULL },
	{ "random-area", crops, "needs --rand-resized-crop" },
	{ "resume", trains, NULL },
	{ "resume-last", trains, NULL },
	{ "save", trains, NULL },
	{ "shape", has_net, "needs --net" },
	{ "shift", views, "needs --val, --eval or --predict" },
	{ "shuffle-buffer", draws, "needs a training or --statistics" },
	{ "shuffle-buffer", shuffles, "does not go with --no-shuffle" },
	{ "slack", trains, NULL },
	{ "start", trains, NULL },
	{ "start-rename", renames, "needs --start, or --eval or --predict with --net" },
	{ "steps", draws, "needs a training or --statistics" },
	{ "swa", trains, NULL },
	{ "top", predicts, "needs --predict" },
	{ "trace", trains, NULL },
	{ "trust", trains, NULL },
	{ "turns", trains, NULL },
	{ "unit", trains, NULL },
	{ "val", trains, NULL },
	{ "wd", trains, NULL },
	{ "wd-mult", trains, NULL },
};
#define NEEDS	(sizeof(need) / sizeof(*need))

_Static_assert(NEEDS <= WORKER_NEEDS, "a bit each");

void
worker_needs_note(struct pworker *p, const char *option)
{
	if (front_option_from() != NULL)
		return;
	for (size_t i = 0; i < NEEDS; i++)
		p->said[i] |= strcmp(option, need[i].option) == 0;
}

void
worker_needs_check(const struct pworker *p)
{
	for (size_t i = 0; i < NEEDS; i++) {
		if (!p->said[i] || need[i].met(p))
			continue;
		if (need[i].why == NULL)
			front_wrong("--%s: is of a training, and does not go with %s", need[i].option, judging(p));
		front_wrong("--%s: %s", need[i].option, need[i].why);
	}
}
