/* pworker_learn - the options that say how weights change: optimizer, rate, decay. */
#include "pworker.h"
#include "front.h"

#include "base/err.h"
#include "ps/hello.h"

#include <math.h>
#include <string.h>

static const char help[] =
    "usage: pworker ... [options that say how weights change]\n"
    "  --lr RATE (0.1)         the rate, and how it changes, parts with commas between:\n"
    "       warmup:E[:FROM],RATE  up from FROM (0) in E epochs  ,xFACTOR@EPOCH  any number\n"
    "       ,cosine[:END]@E    a curve to END (0) at E      ,linear[:END]@E\n"
    "       ,poly:P[:END]@E    ,exp:F  by epoch             ,triangle:LOW@PERIOD\n"
    "  --optimizer sgd|nesterov|adam|adamw|rmsprop|lars|muon (sgd)\n"
    "  --momentum M (0.9)      adam's beta1; rmsprop: 0; muon: 0.95\n"
    "  --beta2 B (0.999)       rmsprop: 0.99; muon: 0.9, the momentum of what is no matrix\n"
    "  --epsilon E (1e-8)      lars: 0; muon: 1e-7\n"
    "  --trust X (0.001)       of lars                      --turns N (5), --unit  of muon\n"
    "  --wd DECAY (1e-5)       --l1 X (0)                   --clip C  each number of a gradient\n"
    "  --clip-norm X           the norm of all gradients together\n"
    "  --on-nan stop|skip (stop)  the run, or the batch, whose loss is no number\n"
    "  --lr-mult PATTERN=X     the rate of the arrays of these names, as fc*=10; again for more\n"
    "  --lr-scale none|sqrt|linear  every rate times the number of workers, or its root\n"
    "  --ema DECAY, --swa EPOCH or --lookahead K:ALPHA  keep and validate an average of the weights too\n"
    "  --wd-mult PATTERN=X     their decay\n";

enum {
	O_BETA2, O_CLIP, O_CLIPNORM, O_EMA, O_EPSILON, O_HELP, O_L1, O_LOOKAHEAD, O_LR, O_LRMULT, O_LRSCALE, O_MOMENTUM, O_ONNAN,
	O_OPTIMIZER, O_SWA, O_TRUST, O_TURNS, O_UNIT,
	O_WD, O_WDMULT
};

static const struct option longs[] = {
	{ "beta2", required_argument, NULL, O_BETA2 },
	{ "clip", required_argument, NULL, O_CLIP },
	{ "clip-norm", required_argument, NULL, O_CLIPNORM },
	{ "ema", required_argument, NULL, O_EMA },
	{ "epsilon", required_argument, NULL, O_EPSILON },
	{ "help-learn", no_argument, NULL, O_HELP },
	{ "l1", required_argument, NULL, O_L1 },
	{ "lookahead", required_argument, NULL, O_LOOKAHEAD },
	{ "lr", required_argument, NULL, O_LR },
	{ "lr-mult", required_argument, NULL, O_LRMULT },
	{ "lr-scale", required_argument, NULL, O_LRSCALE },
	{ "momentum", required_argument, NULL, O_MOMENTUM },
	{ "on-nan", required_argument, NULL, O_ONNAN },
	{ "optimizer", required_argument, NULL, O_OPTIMIZER },
	{ "swa", required_argument, NULL, O_SWA },
	{ "trust", required_argument, NULL, O_TRUST },
	{ "turns", required_argument, NULL, O_TURNS },
	{ "unit", no_argument, NULL, O_UNIT },
	{ "wd", required_argument, NULL, O_WD },
	{ "wd-mult", required_argument, NULL, O_WDMULT },
	{ NULL, 0, NULL, 0 }
};

static void
add_rule(struct worker_learn *l, const char *option, const char *kind, const char *rule)
{
	if (strpbrk(rule, ";\n") != NULL || strchr(rule, '=') == NULL)
		front_wrong("%s: '%.64s' is not PATTERN=X", option, rule);
	if (buf_put_fmt(&l->mults, "%s%s:%s", l->mults.n > 0 ? ";" : "", kind, rule) < 0)
		front_die(option, ERR_NOMEM);
	if (l->mults.n >= HELLO_MULTS)
		front_wrong("%s: the rules are more than %d bytes", option, HELLO_MULTS - 1);
}

static void
one_average(struct worker_learn *l, enum average_kind kind)
{
	if (l->average.kind != AVERAGE_NONE && l->average.kind != kind)
		front_wrong("--%s: there is one average, and --%s asks for it", average_name(kind),
		    average_name(l->average.kind));
	l->average.kind = kind;
}

/* K:ALPHA */
static void
lookahead(struct worker_learn *l, char *text)
{
	char *alpha = strchr(text, ':');

	if (alpha == NULL)
		front_wrong("--lookahead: '%.64s' is not K:ALPHA, as in 5:0.5", text);
	*alpha++ = 0;
	one_average(l, AVERAGE_LOOKAHEAD);
	l->average.every = (uint32_t)front_num("--lookahead", text, 1, UINT32_MAX);
	l->average.rate = (float)front_real("--lookahead", alpha, 0, 1);
}

/* The power of the number of workers. */
static double
lr_scale(const char *text)
{
	if (strcmp(text, "none") != 0 && strcmp(text, "sqrt") != 0 && strcmp(text, "linear") != 0)
		front_wrong("--lr-scale: '%.64s' is none of none, sqrt and linear", text);
	return *text == 'l' ? 1 : *text == 's' ? 0.5 : 0;
}

static void
take(struct pworker *p, int c, char *text)
{
	struct worker_learn *l = &p->learn;

	switch (c) {
	case O_BETA2:	l->beta2 = front_real("--beta2", text, 0, 1); break;
	case O_CLIP:	l->clip = front_real("--clip", text, 0, 1e30); break;
	case O_CLIPNORM: l->clip_norm = front_real("--clip-norm", text, 0, 1e30); break;
	case O_EMA:
		one_average(l, AVERAGE_EMA);
		l->average.rate = (float)front_real("--ema", text, 0, 1);
		break;
	case O_EPSILON:	l->eps = front_real("--epsilon", text, 0, 1e30); break;
	case O_HELP:	worker_help(help);
	case O_L1:	l->l1 = front_real("--l1", text, 0, 1e30); break;
	case O_LOOKAHEAD: lookahead(l, text); break;
	case O_LR:
		if (sched_parse(text, &p->train.sched) < 0)
			front_wrong("--lr: %s", err_line());
		break;
	case O_LRMULT:	add_rule(l, "--lr-mult", "lr", text); break;
	case O_LRSCALE:	p->train.lr_scale = lr_scale(text); break;
	case O_MOMENTUM: l->momentum = front_real("--momentum", text, 0, 1); break;
	case O_ONNAN:
		p->train.skip_nan = strcmp(text, "skip") == 0;
		if (!p->train.skip_nan && strcmp(text, "stop") != 0)
			front_wrong("--on-nan: '%.64s' is neither stop nor skip", text);
		break;
	case O_OPTIMIZER:
		if (!opt_find(text, &l->rule))
			front_wrong("--optimizer: '%.64s' is none of sgd, nesterov, adam, adamw, rmsprop, lars and muon", text);
		break;
	case O_SWA:
		one_average(l, AVERAGE_SWA);
		p->train.swa = (uint64_t)front_num("--swa", text, 0, UINT32_MAX);
		break;
	case O_TRUST:	l->trust = front_real("--trust", text, 0, 1e30); break;
	case O_TURNS:	l->turns = (double)front_num("--turns", text, 0, OPT_TURNS); break;
	case O_UNIT:	l->unit = true; break;
	case O_WD:	l->wd = front_real("--wd", text, 0, 1e30); break;
	case O_WDMULT:	add_rule(l, "--wd-mult", "wd", text); break;
	}
}

/* What belongs to one optimizer and was given with another would be lost in silence. */
static void
check(const struct pworker *p)
{
	const struct worker_learn *l = &p->learn;

	if (!isnan(l->trust) && l->rule != OPT_LARS)
		front_wrong("--trust: is of --optimizer lars, not of %s", opt_name(l->rule));
	if ((!isnan(l->turns) || l->unit) && l->rule != OPT_MUON)
		front_wrong("%s: is of --optimizer muon, not of %s", l->unit ? "--unit" : "--turns", opt_name(l->rule));
	if (hello_check(&p->train.ps.hyper, p->train.ps.slack) < 0)
		front_wrong("%s: %s", l->average.kind == AVERAGE_SWA ? "--swa" : l->rule == OPT_LARS ? "--optimizer" :
		    "--clip-norm", err_line());
}

static void
settle(struct pworker *p)
{
	struct opt_hyper *h = &p->train.ps.hyper;
	struct worker_learn *l = &p->learn;

	opt_usual(l->rule, h);
	h->momentum = isnan(l->momentum) ? h->momentum : (float)l->momentum;
	h->beta2 = isnan(l->beta2) ? h->beta2 : (float)l->beta2;
	h->eps = isnan(l->eps) ? h->eps : (float)l->eps;
	h->wd = (float)l->wd;
	h->l1 = (float)l->l1;
	h->clip = (float)l->clip;
	h->clip_norm = (float)l->clip_norm;
	h->trust = isnan(l->trust) ? h->trust : (float)l->trust;
	h->turns = isnan(l->turns) ? h->turns : (uint32_t)l->turns;
	h->unit = l->unit;
	h->average = l->average;
	check(p);
	if (buf_terminate(&l->mults) < 0)
		front_die("--lr-mult", ERR_NOMEM);
	p->train.ps.mults = (const char *)l->mults.p;
}

const struct worker_theme worker_learn_theme = { longs, take, settle };
