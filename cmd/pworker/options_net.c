/* options_net - the net, the options of its script, and the parts of it that stay frozen. */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"
#include "base/num.h"
#include "net/freeze.h"
#include "ps/hello.h"

#include <stdio.h>
#include <string.h>

static void
add_freeze(struct pworker *p, const char *option, char *text)
{
	if (strpbrk(text, ";\n") != NULL)
		front_wrong("%s: '%.64s' is neither a number of blocks nor a pattern of names", option, text);
	if (buf_put(&p->freeze, text, strlen(text) + 1) < 0)
		front_die(option, ERR_NOMEM);
}

static void
add_net_option(struct pworker *p, const char *option, char *text)
{
	if (script_opt_take(p->option, &p->noption, text) < 0)
		front_wrong("%s: %s", option, err_line());
}

/* An option of every net, which is checked before its script runs. */
static void
add_loss(struct pworker *p, const char *option, char *text)
{
	if (strcmp(text, "softmax") != 0 && strcmp(text, "sigmoid") != 0 && strcmp(text, "squared") != 0)
		front_wrong("%s: '%.64s' is none of softmax, sigmoid and squared", option, text);
	if (p->noption == SCRIPT_OPTS)
		front_wrong("%s: a net has at most %d options", option, SCRIPT_OPTS);
	p->option[p->noption++] = (struct script_opt){ "loss", text };
}

static void
parse_shape(struct pworker *p, const char *option, char *text)
{
	front_shape(option, text, &p->c, &p->h, &p->w);
}

static const struct pworker_option net_options[] = {
	{ "classes", PWORKER_WHOLE, PWORKER_MEMBER(classes), 1, 1 << 24, .needs = NEED_NET },
	{ "freeze", PWORKER_VALUE, .apply = add_freeze, .needs = NEED_TRAINING },
	{ "loss", PWORKER_VALUE, .apply = add_loss, .needs = NEED_NET },
	{ "net", PWORKER_TEXT, PWORKER_MEMBER(net) },
	{ "net-opt", PWORKER_VALUE, .apply = add_net_option, .needs = NEED_NET },
	{ "shape", PWORKER_VALUE, .apply = parse_shape, .needs = NEED_NET },
	{ 0 }
};

const struct pworker_theme pworker_net_theme = { net_options, NULL };

void
pworker_propose(const char *option)
{
	const char *near = pworker_nearest(option);

	/* An option of pworker is known: it lacks --net. */
	if (near != NULL && strcmp(near, option) != 0)
		front_wrong("--%s: no such option; did you mean --%s?", option, near);
}

void
pworker_net_option(struct pworker *p, int argc, char *argv[])
{
	char *key = argv[optind - 1], *value;

	if (key[2] == 0 || key[2] == '=')
		front_wrong("%s: no such option; --help lists the options", key);
	key += 2;
	if (p->noption == SCRIPT_OPTS)
		front_wrong("--%s: a net has at most %d options", key, SCRIPT_OPTS);
	if ((value = strchr(key, '=')) != NULL)
		*value++ = 0;
	else if (optind < argc)
		value = argv[optind++];
	else {
		pworker_propose(key);
		front_wrong("--%s: not an option of pworker; an option of a net needs a value", key);
	}
	p->option[p->noption++] = (struct script_opt){ key, value };
}

/* Adds the rule of one --freeze; 0 blocks need none. */
static int
add_freeze_rule(const char *what, const struct graph *g, struct buf *rules)
{
	bool pattern = what[strspn(what, "0123456789")] != 0;
	size_t before = rules->n;
	uint64_t blocks = 0;
	int e = 0;

	if (!pattern && ((e = num_u64(what, 0, UINT32_MAX, &blocks)) < 0 || blocks == 0))
		return e;
	if ((e = buf_put(rules, ";", before > 0)) == 0)
		e = pattern ? buf_put_fmt(rules, "freeze:%s", what) : freeze_blocks(g, (uint32_t)blocks, rules);
	if (rules->n == before + 1)	/* blocks without arrays add no rule */
		rules->n = before;
	return e;
}

static void
apply_freeze(struct pworker *p, struct graph *g)
{
	struct buf *rules = &p->learn.mults;
	int e = 0;

	for (size_t at = 0; at < p->freeze.n && e == 0; at += strlen((char *)p->freeze.p + at) + 1)
		e = add_freeze_rule((char *)p->freeze.p + at, g, rules);
	if (e == 0 && rules->n >= HELLO_MULTS)
		e = err_fail(ERR_ARG, "the rules are more than %d bytes", HELLO_MULTS - 1);
	if (e == 0 && (e = buf_terminate(rules)) == 0)
		e = freeze_rules(g, (char *)rules->p);
	if (e == ERR_NOMEM)
		front_die("--freeze", e);
	if (e < 0)
		front_wrong("%s: %s", p->freeze.n > 0 ? "--freeze" : p->net, err_line());
	p->train.ps.mults = (char *)rules->p;
}

/* Ends with the option of pworker that is near to one that the net lacks, if there is one. */
static void
propose_option(const struct pworker *p)
{
	char quoted[80];
	const char *near, *list = strstr(err_line(), "; it has ");
	int n = list != NULL ? (int)(list - err_line()) : (int)strlen(err_line());

	for (uint32_t i = 0; i < p->noption && strstr(err_line(), "did you mean") == NULL; i++) {
		snprintf(quoted, sizeof(quoted), "'%.64s'", p->option[i].key);
		if (strstr(err_line(), quoted) != NULL && (near = pworker_nearest(p->option[i].key)) != NULL)
			front_wrong("%.*s; did you mean --%s?", n, err_line(), near);
	}
}

/*
 * The rate is that of stochastic gradient descent; other optimizers have rates of their own.  It is for a loss whose
 * gradient is at most 1; that of an error of values is not bounded.
 */
static void
use_defaults(struct pworker *p, const struct graph *g)
{
	const struct graph_defaults *d = &g->defaults;

	if (d->init[0] != 0 && pworker_given(p, "init") == PWORKER_ABSENT)
		p->train.init = d->init;
	if (pworker_given(p, "lr") != PWORKER_ABSENT || (p->learn.rule != OPT_SGD && p->learn.rule != OPT_NESTEROV &&
	    p->learn.rule != OPT_DESCENT))
		return;
	if (d->rate > 0)
		p->train.sched.base = d->rate;
	if (g->node[g->n - 1].loss == GRAPH_LOSS_SQUARED)
		p->train.sched.base /= 10;
}

struct graph *
pworker_net(struct pworker *p)
{
	struct graph *g;
	int e = script_run(p->net, p->c, p->h, p->w, p->classes, p->option, p->noption, &g);

	if (e == ERR_ARG)
		propose_option(p);
	front_must(NULL, e);
	apply_freeze(p, g);
	use_defaults(p, g);
	pworker_describe_net(p);
	return g;
}
