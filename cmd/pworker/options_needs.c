/* options_needs - options that have nothing to do without others are refused, so that none is lost in silence. */
#include "pworker/pworker.h"
#include "front.h"
#include "front_recipe.h"

#include "dataset/dataset_client.h"
#include "record/recs_stream.h"

#include <string.h>

/* What decides; the text is the rest of the line. */
static const char *
describe_eval_mode(const struct pworker *p)
{
	static const char *const name[] = {
		[WORKER_SCORE] = "--eval", [WORKER_ROWS] = "--predict", [WORKER_STATISTICS] = "--statistics",
	};

	return p->judged != NULL ? name[p->verdict] : NULL;
}

static bool
does_train(const struct pworker *p)
{
	return p->judged == NULL;
}

static bool
does_evaluate(const struct pworker *p)
{
	return p->judged != NULL;
}

static bool
does_predict(const struct pworker *p)
{
	return p->judged != NULL && p->verdict == WORKER_ROWS;
}

/* Records go by in an order, or only so many of them. */
static bool
does_iterate_records(const struct pworker *p)
{
	return p->judged == NULL || p->verdict == WORKER_STATISTICS;
}

static bool
does_score(const struct pworker *p)
{
	return p->judged == NULL || p->verdict == WORKER_SCORE;
}

static bool
does_average_views(const struct pworker *p)
{
	return p->judged != NULL ? p->verdict != WORKER_STATISTICS : p->train.val != NULL;
}

static bool
has_net(const struct pworker *p)
{
	return p->net != NULL;
}

static bool
takes_names(const struct pworker *p)
{
	return p->judged != NULL ? p->net != NULL : p->train.start != NULL;
}

static bool
does_crop(const struct pworker *p)
{
	return p->train.data.aug.resized_crop;
}

/* Is anything of a picture beyond its edges? */
static bool
does_pad(const struct pworker *p)
{
	const struct aug *a = &p->train.data.aug;

	return a->pad > 0 || a->angles > 0 || a->turn.hi > 0 || a->shear.hi > 0 || a->side.hi > 0;
}

static bool
may_rotate(const struct pworker *p)
{
	return p->train.data.aug.angles == 0;
}

static bool
does_shuffle(const struct pworker *p)
{
	return p->train.data.shuffle;
}

static bool
reads_remote_records(const struct pworker *p)
{
	return (p->train.data.path != NULL && dataset_client_is_addr(p->train.data.path)) ||
	    (p->train.val != NULL && dataset_client_is_addr(p->train.val));
}

static bool
can_rewind(const struct pworker *p)
{
	return p->train.data.path == NULL || !recs_stream_is(p->train.data.path);
}

static const struct need {
	const char	*option;
	bool		(*met)(const struct pworker *p);
	const char	*why;		/* NULL: it is of a training */
} need[] = {
	{ "accumulate", does_train, NULL },
	{ "async", does_train, NULL },
	{ "best", does_train, NULL },
	{ "beta2", does_train, NULL },
	{ "cache", does_train, NULL },
	{ "cache", can_rewind, "does not go with a pipe, whose records come once" },
	{ "classes", has_net, "needs --net" },
	{ "clip", does_train, NULL },
	{ "clip-norm", does_train, NULL },
	{ "data-key-file", reads_remote_records, "needs --data or --val HOST:PORT" },
	{ "ema", does_train, NULL },
	{ "epochs", does_train, NULL },
	{ "epsilon", does_train, NULL },
	{ "fill-value", does_pad, "needs --pad, or what turns, shears or bounds pictures" },
	{ "flip", does_average_views, "needs --val, --eval or --predict" },
	{ "freeze", does_train, NULL },
	{ "frequent", does_train, NULL },
	{ "init", does_train, NULL },
	{ "keep", does_train, NULL },
	{ "l1", does_train, NULL },
	{ "label-at", does_score, "needs a training or --eval" },
	{ "log-style", does_train, NULL },
	{ "lookahead", does_train, NULL },
	{ "lr", does_train, NULL },
	{ "lr-mult", does_train, NULL },
	{ "lr-scale", does_train, NULL },
	{ "max-rotate-angle", may_rotate, "does not go with --rotate" },
	{ "momentum", does_train, NULL },
	{ "net-opt", has_net, "needs --net" },
	{ "no-average", does_evaluate, "needs --eval, --predict or --statistics" },
	{ "no-shuffle", does_iterate_records, "needs a training or --statistics" },
	{ "on-nan", does_train, NULL },
	{ "optimizer", does_train, NULL },
	{ "patience", does_train, NULL },
	{ "print", does_train, NULL },
	{ "random-area", does_crop, "needs --rand-resized-crop" },
	{ "resume", does_train, NULL },
	{ "resume-last", does_train, NULL },
	{ "save", does_train, NULL },
	{ "shape", has_net, "needs --net" },
	{ "shift", does_average_views, "needs --val, --eval or --predict" },
	{ "shuffle-buffer", does_iterate_records, "needs a training or --statistics" },
	{ "shuffle-buffer", does_shuffle, "does not go with --no-shuffle" },
	{ "slack", does_train, NULL },
	{ "start", does_train, NULL },
	{ "start-rename", takes_names, "needs --start, or --eval or --predict with --net" },
	{ "steps", does_iterate_records, "needs a training or --statistics" },
	{ "swa", does_train, NULL },
	{ "top", does_predict, "needs --predict" },
	{ "trace", does_train, NULL },
	{ "trust", does_train, NULL },
	{ "turns", does_train, NULL },
	{ "unit", does_train, NULL },
	{ "val", does_train, NULL },
	{ "wd", does_train, NULL },
	{ "wd-mult", does_train, NULL },
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
			front_wrong("--%s: is of a training, and does not go with %s", need[i].option,
			    describe_eval_mode(p));
		front_wrong("--%s: %s", need[i].option, need[i].why);
	}
}
