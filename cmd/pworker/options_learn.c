/* options_learn - how the weights change: optimizer, learning rate, decay. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"
#include "ps/hello.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char learn_help[] =
    "usage: pworker ... [options of training]; tally-training(7) has the formulas\n"
    "Learning rate (of the net; adam, adamw, rmsprop: 0.001; muon: 0.02; lars: 0.1):\n"
    "  --lr RATE            or [warmup:E[:FROM],]RATE[,xFACTOR@E]...[,CURVE]; CURVE\n"
    "                       is cosine[:END]@E, linear[:END]@E, poly:P[:END]@E,\n"
    "                       exp:FACTOR or triangle:LOW@E; E are epochs\n"
    "  --lr-find            try rates, and propose one\n"
    "  --lr-scale none|sqrt|linear  multiply rates by the number of workers\n"
    "  --lr-mult PATTERN=X  multiply the rate of these arrays, as in fc*=10\n"
    "Optimizer:\n"
    "  --optimizer sgd|nesterov|descent|adam|adamw|rmsprop|lars|muon (sgd)\n"
    "  --momentum M (0.9)   rmsprop: 0; muon: 0.95\n"
    "  --beta2 B (0.999)    rmsprop: 0.99; muon: 0.9, the momentum of other arrays\n"
    "  --epsilon X (1e-8)   lars: 0; muon: 1e-7\n"
    "  --trust T (0.001)    lars only                --turns N (5), --unit  muon only\n"
    "  --wd D (1e-5)        --wd-mult PATTERN=X  multiply the decay of these arrays\n"
    "  --clip C             limit each number of the gradient\n"
    "  --clip-norm C        limit its norm           --l1 A (0)\n"
    "Loss:\n"
    "  --class-weights CLASS=W,...  or balanced: multiply the loss of a class (1)\n"
    "  --on-nan stop|skip   end the run (stop), or skip the batch, if a loss is NaN\n"
    "Averages of the weights, to validate and to store; one of:\n"
    "  --ema DECAY          moving average           --swa EPOCH  mean from it on\n"
    "  --lookahead K:ALPHA  after K updates move slow weights, and go on from them\n";

/* A number between 0 and 1: either bound would make an average of one summand. */
static float
parse_fraction(const char *option, const char *text)
{
	float v = (float)front_real(option, text, 0, 1);

	if (v <= 0 || v >= 1)
		front_wrong("%s: '%.64s' is not above 0 and below 1", option, text);
	return v;
}

/* --lr-mult and --wd-mult: a rule begins with the option's first two letters. */
static void
add_group_rule(struct pworker *p, const char *option, char *rule)
{
	struct buf *mults = &p->learn.mults;

	if (strpbrk(rule, ";\n") != NULL || strchr(rule, '=') == NULL)
		front_wrong("%s: '%.64s' is not PATTERN=X", option, rule);
	if (buf_put_fmt(mults, "%s%.2s:%s", mults->n > 0 ? ";" : "", option + 2, rule) < 0)
		front_die(option, ERR_NOMEM);
	if (mults->n >= HELLO_MULTS)
		front_wrong("%s: the rules are more than %d bytes", option, HELLO_MULTS - 1);
}

static void
set_average(struct pworker_learn *l, enum average_kind kind)
{
	if (l->average.kind != AVERAGE_NONE && l->average.kind != kind)
		front_wrong("--%s: does not go with --%s", average_name(kind), average_name(l->average.kind));
	l->average.kind = kind;
}

static void
parse_ema(struct pworker *p, const char *option, char *text)
{
	set_average(&p->learn, AVERAGE_EMA);
	p->learn.average.rate = parse_fraction(option, text);
}

static void
parse_swa(struct pworker *p, const char *option, char *text)
{
	set_average(&p->learn, AVERAGE_SWA);
	p->train.swa = (uint64_t)front_num(option, text, 0, UINT32_MAX);
}

/* K:ALPHA */
static void
parse_lookahead(struct pworker *p, const char *option, char *text)
{
	char *alpha = strchr(text, ':');

	if (alpha == NULL)
		front_wrong("%s: '%.64s' is not K:ALPHA, as in 5:0.5", option, text);
	*alpha++ = 0;
	set_average(&p->learn, AVERAGE_LOOKAHEAD);
	p->learn.average.every = (uint32_t)front_num(option, text, 1, UINT32_MAX);
	p->learn.average.rate = parse_fraction(option, alpha);
}

static void
parse_rate(struct pworker *p, const char *option, char *text)
{
	if (sched_parse(text, &p->train.sched) < 0)
		front_wrong("%s: %s", option, err_line());
}

/* The power of the number of workers. */
static void
parse_rate_scale(struct pworker *p, const char *option, char *text)
{
	if (strcmp(text, "none") != 0 && strcmp(text, "sqrt") != 0 && strcmp(text, "linear") != 0)
		front_wrong("%s: '%.64s': choose none, sqrt or linear", option, text);
	p->train.lr_scale = *text == 'l' ? 1 : *text == 's' ? 0.5 : 0;
}

static void
parse_on_nan(struct pworker *p, const char *option, char *text)
{
	p->train.skip_nan = strcmp(text, "skip") == 0;
	if (!p->train.skip_nan && strcmp(text, "stop") != 0)
		front_wrong("%s: '%.64s' is neither stop nor skip", option, text);
}

static void
parse_optimizer(struct pworker *p, const char *option, char *text)
{
	if (!opt_find(text, &p->learn.rule))
		front_wrong("%s: '%.64s' is none of sgd, nesterov, descent, adam, adamw, rmsprop, lars and muon",
		    option, text);
}

#define LEARN(m) PWORKER_MEMBER(learn.m)

static const struct pworker_option learn_options[] = {
	{ "beta2", PWORKER_REAL, LEARN(beta2), 0, 1, .needs = NEED_TRAINING },
	{ "clip", PWORKER_REAL, LEARN(clip), 0, 1e30, .needs = NEED_TRAINING },
	{ "clip-norm", PWORKER_REAL, LEARN(clip_norm), 0, 1e30, .needs = NEED_TRAINING },
	{ "ema", PWORKER_VALUE, .apply = parse_ema, .needs = NEED_TRAINING },
	{ "epsilon", PWORKER_REAL, LEARN(eps), 0, 1e30, .needs = NEED_TRAINING },
	{ "help-learn", PWORKER_HELP, .text = learn_help },
	{ "local-steps", PWORKER_WHOLE, PWORKER_MEMBER(local_steps), 1, 65536, .needs = NEED_TRAINING },
	{ "l1", PWORKER_REAL, LEARN(l1), 0, 1e30, .needs = NEED_TRAINING },
	{ "lookahead", PWORKER_VALUE, .apply = parse_lookahead, .needs = NEED_TRAINING },
	{ "class-weights", PWORKER_TEXT, PWORKER_MEMBER(class_weights), .needs = NEED_TRAINING },
	{ "lr", PWORKER_VALUE, .apply = parse_rate, .needs = NEED_TRAINING },
	{ "lr-find", PWORKER_FLAG, PWORKER_MEMBER(lr_find), .needs = NEED_TRAINING | NEED_RUN },
	{ "lr-mult", PWORKER_VALUE, .apply = add_group_rule, .needs = NEED_TRAINING },
	{ "lr-scale", PWORKER_VALUE, .apply = parse_rate_scale, .needs = NEED_TRAINING },
	{ "momentum", PWORKER_REAL, LEARN(momentum), 0, 1, .needs = NEED_TRAINING },
	{ "on-nan", PWORKER_VALUE, .apply = parse_on_nan, .needs = NEED_TRAINING },
	{ "optimizer", PWORKER_VALUE, .apply = parse_optimizer, .needs = NEED_TRAINING },
	{ "swa", PWORKER_VALUE, .apply = parse_swa, .needs = NEED_TRAINING },
	{ "trust", PWORKER_REAL, LEARN(trust), 0, 1e30, .needs = NEED_TRAINING },
	{ "turns", PWORKER_WHOLE, LEARN(turns), 1, OPT_TURNS, .needs = NEED_TRAINING },
	{ "unit", PWORKER_FLAG, LEARN(unit), .needs = NEED_TRAINING },
	{ "wd", PWORKER_REAL, LEARN(wd), 0, 1e30, .needs = NEED_TRAINING },
	{ "wd-mult", PWORKER_VALUE, .apply = add_group_rule, .needs = NEED_TRAINING },
	{ 0 }
};

/* "adam, adamw or rmsprop" */
static void
list_rule_names(unsigned rules, struct buf *b)
{
	int e = 0;

	for (unsigned r = 0; rules != 0 && e == 0; r++) {
		if ((rules & (1u << r)) == 0)
			continue;
		rules &= ~(1u << r);
		e = buf_put_fmt(b, "%s%s", b->n == 0 ? "" : rules != 0 ? ", " : " or ", opt_name((enum opt_rule)r));
	}
	if (e < 0 || buf_terminate(b) < 0)
		front_die("--optimizer", ERR_NOMEM);
}

#define RULE(x)	(1u << OPT_##x)
#define ALL_RULES	((1u << OPT_RULES) - 1)

/* Refuses options that the optimizer does not use.  A recipe's are ignored: its optimizer may have been replaced. */
static void
check_rule(const struct pworker *p)
{
	static const struct {
		const char	*option;
		unsigned	 rules;		/* optimizers that use it, a bit each */
	} used[] = {
		{ "momentum", ~RULE(DESCENT) & ALL_RULES },
		{ "beta2", RULE(ADAM) | RULE(ADAMW) | RULE(RMSPROP) | RULE(MUON) },
		{ "epsilon", RULE(ADAM) | RULE(ADAMW) | RULE(RMSPROP) | RULE(LARS) | RULE(MUON) },
		{ "trust", RULE(LARS) },
		{ "turns", RULE(MUON) },
		{ "unit", RULE(MUON) },
	};
	struct buf b = { 0 };

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		if (pworker_given(p, used[i].option) == PWORKER_GIVEN && (used[i].rules & (1u << p->learn.rule)) == 0) {
			list_rule_names(used[i].rules, &b);
			front_wrong("--%s: needs --optimizer %s, not %s", used[i].option, (char *)b.p,
			    opt_name(p->learn.rule));
		}
}

/* With a rate of 1 the bias correction divides by 0, or the mean never sees a gradient. */
static void
check_means(const struct pworker_learn *l, const struct opt_hyper *h)
{
	bool adam = l->rule == OPT_ADAM || l->rule == OPT_ADAMW;

	if (adam && h->momentum >= 1)
		front_wrong("--momentum: must be below 1 with --optimizer %s", opt_name(l->rule));
	if ((adam || l->rule == OPT_RMSPROP) && h->beta2 >= 1)
		front_wrong("--beta2: must be below 1 with --optimizer %s", opt_name(l->rule));
}

/* Finds what lies after the last epoch.  A schedule only warns, since a run may be a short trial of a longer one. */
static void
check_epochs(const struct pworker *p)
{
	const struct train_opt *t = &p->train;
	const struct sched *s = &t->sched;
	double epochs = (double)t->epochs;

	if (pworker_given(p, "swa") == PWORKER_GIVEN && t->swa >= t->epochs)
		front_wrong("--swa: epoch %" PRIu64 ", counted from 0, is not reached with --epochs %" PRIu64, t->swa,
		    t->epochs);
	if (pworker_given(p, "lr") != PWORKER_GIVEN || t->ps.rank != 0 || p->mode != PWORKER_TRAIN)
		return;
	if (s->base <= 0)
		front_say("--lr 0: the weights stay as they are");
	/* A run may end by its steps before; the epochs that they take are not known yet. */
	if ((s->curve == SCHED_COSINE || s->curve == SCHED_POLY) && s->end <= 0 && s->until < epochs && t->steps == 0)
		front_say("--lr: the rate is 0 from epoch %g on, and --epochs is %" PRIu64 "; end the curve at @%"
		    PRIu64, s->until, t->epochs, t->epochs);
	if ((s->curve == SCHED_COSINE || s->curve == SCHED_POLY) && s->until > epochs)
		front_say("--lr: its curve ends at epoch %g, and the run with --epochs %" PRIu64, s->until, t->epochs);
	if (s->warmup > epochs)
		front_say("--lr: a warm-up of %g epochs does not end with --epochs %" PRIu64, s->warmup, t->epochs);
	for (uint32_t i = 0; i < s->n; i++)
		if (s->part[i].at >= epochs) {
			front_say("--lr: its change at epoch %g is not reached with --epochs %" PRIu64, s->part[i].at,
			    t->epochs);
			break;
		}
}

/* The rate without --lr, which the net's script may replace. */
static double
choose_default_rate(enum opt_rule rule)
{
	switch (rule) {
	case OPT_ADAM: case OPT_ADAMW: case OPT_RMSPROP:	return 0.001;
	case OPT_MUON:	return 0.02;
	default:	return 0.1;
	}
}

static void
set_if_given(float *to, double v)
{
	if (!isnan(v))
		*to = (float)v;
}

/* The rates are those of the sweep, and its weights are of no use.  A recipe's options give way. */
static void
settle_rate_search(struct pworker *p)
{
	static const char *const without[] = { "lr", "epochs", "save", "val", "resume", "resume-last", "ema", "swa",
	    "lookahead", "lr-scale", "on-nan" };
	struct train_opt *t = &p->train;

	for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++)
		if (pworker_given(p, without[i]) == PWORKER_GIVEN)
			front_wrong("--lr-find: does not go with --%s", without[i]);
	if (t->steps == 0)
		t->steps = LR_FIND_STEPS;
	if (t->steps < 2)
		front_wrong("--lr-find: needs at least 2 --steps");
	t->sched = (struct sched){ .base = t->sched.base, .curve = SCHED_SWEEP, .from = LR_FIND_FROM,
	    .end = LR_FIND_TO, .steps = t->steps };
	t->epochs = UINT32_MAX;
	t->save = t->val = t->resume = NULL;
	t->keep = t->patience = 0;
	t->best = p->resume_last = false;
	p->learn.average = (struct average){ .kind = AVERAGE_NONE };
	t->skip_nan = true;
}

static void
settle_local_steps(struct pworker *p)
{
	struct train_opt *t = &p->train;

	if (opt_needs(&t->ps.hyper) != 0)
		front_wrong("--local-steps: goes with sgd, nesterov, descent, adam, adamw and rmsprop, "
		    "without --clip-norm");
	if (t->ps.slack != STALE_SYNC || t->ps.backup > 0)
		front_wrong("--local-steps: needs a synchronous job, without --async, --slack and --backup");
	if (pworker_given(p, "accumulate") == PWORKER_GIVEN || t->skip_nan)
		front_wrong("--local-steps: does not go with %s", t->skip_nan ? "--on-nan skip" : "--accumulate");
	t->local = true;
	t->accumulate = p->local_steps;
	t->local_hyper = t->ps.hyper;
	t->ps.hyper = (struct opt_hyper){ .rule = OPT_DESCENT, .average = t->local_hyper.average };
}

void
pworker_divide_rules(struct pworker *p)
{
	struct train_opt *t = &p->train;
	struct buf *rules = &p->server_rules;
	const char *at = t->ps.mults;
	size_t n;

	if (!t->local)
		return;
	for (; *at != 0; at += n + (at[n] == ';')) {
		n = strcspn(at, ";");
		if (n > 0 && strncmp(at, "lr:", 3) != 0 && strncmp(at, "wd:", 3) != 0)
			front_must("--local-steps", buf_put_fmt(rules, "%s%.*s", rules->n > 0 ? ";" : "", (int)n, at));
	}
	front_must("--local-steps", buf_terminate(rules));
	t->local_mults = t->ps.mults;
	t->ps.mults = (const char *)rules->p;
}

static void
settle_learn_options(struct pworker *p)
{
	struct opt_hyper *h = &p->train.ps.hyper;
	struct pworker_learn *l = &p->learn;

	if (p->lr_find)
		settle_rate_search(p);
	opt_usual(l->rule, h);
	if (pworker_given(p, "lr") == PWORKER_ABSENT)
		p->train.sched.base = choose_default_rate(l->rule);
	set_if_given(&h->momentum, l->momentum);
	set_if_given(&h->beta2, l->beta2);
	set_if_given(&h->eps, l->eps);
	if (l->rule == OPT_LARS)
		set_if_given(&h->trust, l->trust);
	if (l->rule == OPT_MUON && l->turns > 0)
		h->turns = l->turns;
	h->unit = l->unit && l->rule == OPT_MUON;
	h->wd = (float)l->wd;
	h->l1 = (float)l->l1;
	h->clip = (float)l->clip;
	h->clip_norm = (float)l->clip_norm;
	h->average = l->average;
	check_rule(p);
	check_means(l, h);
	check_epochs(p);
	if (pworker_given(p, "wd-mult") == PWORKER_GIVEN && l->wd == 0)
		front_wrong("--wd-mult: has no effect with --wd 0");
	if (hello_check(h, p->train.ps.slack) < 0)
		front_wrong("%s: %s", l->average.kind == AVERAGE_SWA ? "--swa" : l->rule == OPT_LARS ? "--optimizer" :
		    "--clip-norm", err_line());
	if (buf_terminate(&l->mults) < 0)
		front_die("--lr-mult", ERR_NOMEM);
	p->train.ps.mults = (const char *)l->mults.p;
	if (p->local_steps > 0)
		settle_local_steps(p);
}

const struct pworker_theme pworker_learn_theme = { learn_options, settle_learn_options };
