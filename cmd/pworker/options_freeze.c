/*
 * options_freeze - the option that says which parts of a net stay as they are, into marks on it and
 * a rule of the job.
 */
#include "pworker/pworker.h"
#include "front.h"

#include "base/err.h"
#include "base/num.h"
#include "net/freeze.h"
#include "ps/hello.h"

#include <string.h>

static const struct option longs[] = {
	{ "freeze", required_argument, NULL, 0 },
	{ NULL, 0, NULL, 0 }
};

static void
apply_freeze_option(struct pworker *p, int c, char *text)
{
	(void)c;
	if (*text == 0 || strpbrk(text, ";\n") != NULL)
		front_wrong("--freeze: '%.64s' is neither a number of blocks nor a pattern of names", text);
	if (buf_put(&p->freeze, text, strlen(text) + 1) < 0)
		front_die("--freeze", ERR_NOMEM);
}

const struct worker_theme worker_freeze_theme = { longs, apply_freeze_option, NULL };

/* What one --freeze says, as a rule; 0 blocks need none. */
static int
rule_of(const char *what, const struct graph *g, struct buf *rule)
{
	uint64_t blocks;
	int e;

	if (what[strspn(what, "0123456789")] != 0)
		return buf_put_fmt(rule, "freeze:%s", what);
	if ((e = num_u64(what, 0, UINT32_MAX, &blocks)) < 0 || blocks == 0)
		return e;
	return freeze_blocks(g, (uint32_t)blocks, rule);
}

static int
add_freeze_rule(const char *what, const struct graph *g, struct buf *rules)
{
	struct buf rule = { 0 };
	int e = rule_of(what, g, &rule);

	if (e == 0 && rule.n > 0 && (e = buf_put(rules, ";", rules->n > 0)) == 0)
		e = buf_put(rules, rule.p, rule.n);
	buf_free(&rule);
	return e;
}

void
worker_freeze(struct pworker *p, struct graph *g)
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
