/* options_learn - the options that say how weights change: optimizer, rate, decay. */
#include "pworker/pworker.h"
#include "front.h"
#include "front_recipe.h"

#include "base/err.h"
#include "ps/hello.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char help[] =
    "usage: pworker ... [options that say how weights change]; sources are in pworker(1)\n"
    "  --lr RATE (0.1)  and how it changes, parts with commas between; p: the part of a curve's way that is done\n"
    "       warmup:E[:FROM],RATE  FROM + (RATE - FROM) (s + 1) / steps at step s     ,xFACTOR@EPOCH  any number\n"
    "       ,cosine[:END]@E  END + (RATE - END) (1 + cos(pi p)) / 2     ,linear[:END]@E  ... times 1 - p\n"
    "       ,poly:P[:END]@E  ... (1 - p)^P     ,exp:F  RATE F^epoch     ,triangle:LOW@PERIOD  down and up\n"
    "  --optimizer sgd|nesterov|adam|adamw|rmsprop|lars|muon (sgd)          d: the mean gradient, t: the update\n"
    "       sgd       m = M m - lr (d + D w);  w = w + m                                           MXNet's\n"
    "       nesterov  d = d + D w;  m = M m + d;  w = w - lr (d + M m)                   PyTorch's, and so\n"
    "       adam      d = d + D w;  m = M m + (1-M) d;  v = B v + (1-B) d^2;  w = w - lr m' / (sqrt(v') + X)\n"
    "       adamw     w = w - lr D w, then adam without D           (m' = m / (1 - M^t), v' = v / (1 - B^t))\n"
    "       rmsprop   d = d + D w;  v = B v + (1-B) d^2;  m = M m + d / (sqrt(v) + X);  w = w - lr m\n"
    "       lars      sgd with lr T |w| / (|d| + D |w| + X) for lr                 You et al.'s and MXNet's\n"
    "       muon      matrices: w = w - lr (D w + sqrt(max(1, rows / columns)) orthogonal(d + M m))   Jordan's\n"
    "  --momentum M (0.9)  rmsprop: 0; muon: 0.95    --beta2 B (0.999)  rmsprop: 0.99; muon: 0.9, M of the rest\n"
    "  --epsilon X (1e-8)  lars: 0; muon: 1e-7       --trust T (0.001)  --turns N (5), --unit  of muon\n"
    "  --wd D (1e-5)       --l1 A (0)  d + A sign(w)           --clip C  each number of d, as clip_grad_value_\n"
    "  --clip-norm C       d of all arrays together, as clip_grad_norm_\n"
    "  --lr-mult PATTERN=X the rate of the arrays of these names, as fc*=10; again for more\n"
    "  --wd-mult PATTERN=X their decay\n"
    "  --lr-scale none|sqrt|linear  rates times the number of workers, or its root; linear as Horovod's\n"
    "  --ema R             keep and validate a = R a + (1 - R) w, as PyTorch's swa_utils do, or\n"
    "  --swa EPOCH         a, the mean of w at the ends of the epochs from this one on, likewise, or\n"
    "  --lookahead K:A     after every K-th update a = a + A (w - a), w = a; Zhang et al.'s\n"
    "  --on-nan stop|skip (stop)  the run, or the batch, whose loss is no number\n";

enum {
	O_BETA2, O_CLIP, O_CLIPNORM, O_EMA, O_EPSILON, O_HELP, O_L1, O_LOOKAHEAD, O_LR, O_LRMULT, O_LRSCALE, O_MOMENTUM,
	    O_ONNAN,
	O_OPTIMIZER, O_SWA, O_TRUST, O_TURNS, O_UNIT,
	O_WD, O_WDMULT,
	OPTIONS
};
_Static_assert(OPTIONS <= 32, "a bit each in `said`");

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

/* A number between 0 and 1, which would both make an average that is none. */
static float
parse_fraction(const char *option, const char *text)
{
	float v = (float)front_real(option, text, 0, 1);

	if (v <= 0 || v >= 1)
		front_wrong("%s: '%.64s' is not above 0 and below 1", option, text);
	return v;
}

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
parse_lookahead(struct worker_learn *l, char *text)
{
	char *alpha = strchr(text, ':');

	if (alpha == NULL)
		front_wrong("--lookahead: '%.64s' is not K:ALPHA, as in 5:0.5", text);
	*alpha++ = 0;
	one_average(l, AVERAGE_LOOKAHEAD);
	l->average.every = (uint32_t)front_num("--lookahead", text, 1, UINT32_MAX);
	l->average.rate = parse_fraction("--lookahead", alpha);
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
apply_learn_option(struct pworker *p, int c, char *text)
{
	struct worker_learn *l = &p->learn;

	if (front_option_from() == NULL)
		l->said |= 1u << c;
	switch (c) {
	case O_BETA2:	l->beta2 = front_real("--beta2", text, 0, 1); break;
	case O_CLIP:	l->clip = front_real("--clip", text, 0, 1e30); break;
	case O_CLIPNORM: l->clip_norm = front_real("--clip-norm", text, 0, 1e30); break;
	case O_EMA:
		one_average(l, AVERAGE_EMA);
		l->average.rate = parse_fraction("--ema", text);
		break;
	case O_EPSILON:	l->eps = front_real("--epsilon", text, 0, 1e30); break;
	case O_HELP:	worker_help(help);
	case O_L1:	l->l1 = front_real("--l1", text, 0, 1e30); break;
	case O_LOOKAHEAD: parse_lookahead(l, text); break;
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
			front_wrong("--optimizer: '%.64s' is none of sgd, nesterov, adam, adamw, rmsprop, "
			    "lars and muon", text);
		break;
	case O_SWA:
		one_average(l, AVERAGE_SWA);
		p->train.swa = (uint64_t)front_num("--swa", text, 0, UINT32_MAX);
		break;
	case O_TRUST:	l->trust = front_real("--trust", text, 0, 1e30); break;
	case O_TURNS:	l->turns = (double)front_num("--turns", text, 1, OPT_TURNS); break;
	case O_UNIT:	l->unit = true; break;
	case O_WD:	l->wd = front_real("--wd", text, 0, 1e30); break;
	case O_WDMULT:	add_rule(l, "--wd-mult", "wd", text); break;
	}
}

#define RULE(x)	(1u << OPT_##x)

/* What not all optimizers read. */
static const struct {
	int		 option;
	const char	*name;
	unsigned	 rules;		/* those that do, a bit each */
} of[] = {
	{ O_BETA2, "--beta2", RULE(ADAM) | RULE(ADAMW) | RULE(RMSPROP) | RULE(MUON) },
	{ O_EPSILON, "--epsilon", RULE(ADAM) | RULE(ADAMW) | RULE(RMSPROP) | RULE(LARS) | RULE(MUON) },
	{ O_TRUST, "--trust", RULE(LARS) },
	{ O_TURNS, "--turns", RULE(MUON) },
	{ O_UNIT, "--unit", RULE(MUON) },
};

/* "adam, adamw or rmsprop" */
static void
list_rule_names(unsigned rules, struct buf *b)
{
	for (unsigned r = 0; rules != 0; r++) {
		if ((rules & (1u << r)) == 0)
			continue;
		rules &= ~(1u << r);
		if (buf_put_fmt(b, "%s%s", b->n == 0 ? "" : rules != 0 ? ", " : " or ", opt_name((enum opt_rule)r)) < 0)
			front_die("--optimizer", ERR_NOMEM);
	}
	if (buf_terminate(b) < 0)
		front_die("--optimizer", ERR_NOMEM);
}

/*
 * What is said to another optimizer would be lost in silence; a recipe's may be, where its
 * optimizer was taken from it.
 */
static void
check_rule(const struct worker_learn *l)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (l->said & (1u << of[i].option) && (of[i].rules & (1u << l->rule)) == 0) {
			list_rule_names(of[i].rules, &b);
			front_wrong("%s: is of --optimizer %s, not of %s", of[i].name, (char *)b.p, opt_name(l->rule));
		}
}

/* A mean that keeps all of what was divides by nothing in its correction, or never sees a gradient. */
static void
check_means(const struct worker_learn *l, const struct opt_hyper *h)
{
	bool adam = l->rule == OPT_ADAM || l->rule == OPT_ADAMW;

	if (adam && h->momentum >= 1)
		front_wrong("--momentum: of --optimizer %s it is below 1", opt_name(l->rule));
	if ((adam || l->rule == OPT_RMSPROP) && h->beta2 >= 1)
		front_wrong("--beta2: of --optimizer %s it is below 1", opt_name(l->rule));
}

/* What would come after the end of the run.  Its rates are said alone: a run may be a short one for a trial. */
static void
check_epochs(const struct pworker *p)
{
	const struct train_opt *t = &p->train;
	const struct sched *s = &t->sched;
	double epochs = (double)t->epochs;

	if (p->learn.said & (1u << O_SWA) && t->swa >= t->epochs)
		front_wrong("--swa: epoch %" PRIu64 ", counted from 0, does not come with --epochs %" PRIu64, t->swa,
		    t->epochs);
	if ((p->learn.said & (1u << O_LR)) == 0 || t->ps.rank != 0 || p->judged != NULL)
		return;
	if (s->warmup > epochs)
		front_say("--lr: a warm-up of %g epochs does not end with --epochs %" PRIu64, s->warmup, t->epochs);
	for (uint32_t i = 0; i < s->n; i++)
		if (s->part[i].at >= epochs) {
			front_say("--lr: its change at epoch %g does not come with --epochs %" PRIu64, s->part[i].at,
			    t->epochs);
			break;
		}
}

static void
check_learn_options(const struct pworker *p)
{
	const struct worker_learn *l = &p->learn;

	check_rule(l);
	check_means(l, &p->train.ps.hyper);
	check_epochs(p);
	if (l->said & (1u << O_WDMULT) && l->wd == 0)
		front_wrong("--wd-mult: nothing decays with --wd 0");
	if (hello_check(&p->train.ps.hyper, p->train.ps.slack) < 0)
		front_wrong("%s: %s", l->average.kind == AVERAGE_SWA ? "--swa" : l->rule == OPT_LARS ? "--optimizer" :
		    "--clip-norm", err_line());
}

static void
settle_learn_options(struct pworker *p)
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
	h->trust = isnan(l->trust) || l->rule != OPT_LARS ? h->trust : (float)l->trust;
	h->turns = isnan(l->turns) || l->rule != OPT_MUON ? h->turns : (uint32_t)l->turns;
	h->unit = l->unit && l->rule == OPT_MUON;
	h->average = l->average;
	check_learn_options(p);
	if (buf_terminate(&l->mults) < 0)
		front_die("--lr-mult", ERR_NOMEM);
	p->train.ps.mults = (const char *)l->mults.p;
}

const struct worker_theme worker_learn_theme = { longs, apply_learn_option, settle_learn_options };
