/* rename - rules that rename tensors. */
#include "net/rename.h"
#include "base/err.h"
#include "net/alias.h"

#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>

#define GROUPS	10
#define LONGEST	65536u
#define FROM	"from:"
#define TO	"to:"

struct rule {
	struct alias *alias;	/* a table; NULL: the rule is from and to */
	regex_t	 from;
	char	*to;
	char	*text;		/* as it was given */
	bool	 used;		/* has changed a name */
};

struct rename_rules {
	struct rule	 rule[RENAME_RULES];
	unsigned	 n;
};

int
rename_new(struct rename_rules **r)
{
	*r = calloc(1, sizeof(**r));
	return *r != NULL ? 0 : err_nomem();
}

void
rename_free(struct rename_rules *r)
{
	if (r == NULL)
		return;
	for (unsigned i = 0; i < r->n; i++) {
		if (r->rule[i].alias == NULL)
			regfree(&r->rule[i].from);
		alias_free(r->rule[i].alias);
		free(r->rule[i].to);
		free(r->rule[i].text);
	}
	free(r);
}

static int
compile_rename_rule(struct rule *rule, const char *from, const char *to)
{
	char why[128];
	int e = regcomp(&rule->from, from, REG_EXTENDED);

	if (e != 0) {
		regerror(e, &rule->from, why, sizeof(why));
		return err_fail(ERR_ARG, "'%.80s': %s", from, why);
	}
	for (const char *p = to; *p != 0; p++)
		if (*p == '\\' && *++p != '\\' && (*p < '1' || *p > '9' || (size_t)(*p - '0') > rule->from.re_nsub)) {
			regfree(&rule->from);
			return err_fail(ERR_ARG, "'%.80s': a \\ is not followed by a group's number", to);
		}
	if ((rule->to = strdup(to)) == NULL) {
		regfree(&rule->from);
		return err_nomem();
	}
	return 0;
}

static int
add_rename_rule(struct rename_rules *r, const char *text)
{
	const char *to = strrchr(text, '=');
	char *from;
	int e;

	if (to == NULL && (strncmp(text, FROM, strlen(FROM)) == 0 || strncmp(text, TO, strlen(TO)) == 0)) {
		bool back = text[0] == TO[0];

		if ((e = alias_load(text + strlen(back ? TO : FROM), back, &r->rule[r->n].alias)) == 0)
			r->n++;
		return e;
	}
	if (to == NULL || to == text)
		return err_fail(ERR_ARG, "'%.80s' is not REGEX=TEXT, from:TABLE or to:TABLE", text);
	if ((from = strndup(text, (size_t)(to - text))) == NULL)
		return err_nomem();
	if ((e = compile_rename_rule(&r->rule[r->n], from, to + 1)) == 0)
		r->n++;
	free(from);
	return e;
}

int
rename_add(struct rename_rules *r, const char *text)
{
	char *copy;
	int e;

	if (r->n == RENAME_RULES)
		return err_fail(ERR_LIMIT, "more than %d rules", RENAME_RULES);
	if ((copy = strdup(text)) == NULL)
		return err_nomem();
	if ((e = add_rename_rule(r, text)) < 0)
		free(copy);
	else
		r->rule[r->n - 1].text = copy;
	return e;
}

static int
put_text(const char *to, const char *name, const regmatch_t *m, struct buf *out)
{
	for (; *to != 0; to++)
		if (*to != '\\' || *++to == '\\')
			ERR_TRY(buf_put(out, to, 1));
		else if (m[*to - '0'].rm_so >= 0)
			ERR_TRY(buf_put(out, name + m[*to - '0'].rm_so,
			    (size_t)(m[*to - '0'].rm_eo - m[*to - '0'].rm_so)));
	return 0;
}

/* As in sed(1), an empty match directly after another match is none: '.*' matches a name once. */
static int
apply_rename_rule(const struct rule *rule, const char *name, struct buf *out)
{
	regmatch_t m[GROUPS];
	bool after_match = false;
	int e = 0, flags = 0;

	while (e == 0 && regexec(&rule->from, name, GROUPS, m, flags) == 0) {
		bool empty = m[0].rm_eo == m[0].rm_so;

		e = buf_put(out, name, (size_t)m[0].rm_so);
		if (e == 0 && !(empty && after_match && m[0].rm_so == 0))
			e = put_text(rule->to, name, m, out);
		if (e < 0)
			break;
		name += m[0].rm_eo;
		flags = REG_NOTBOL;
		after_match = !empty;
		if (empty && *name == 0)
			break;
		if (empty)
			e = buf_put(out, name++, 1);
		if (out->n > LONGEST)
			return err_fail(ERR_LIMIT, "a name of more than %u bytes", LONGEST);
	}
	if (e == 0 && (e = buf_put(out, name, strlen(name))) == 0)
		e = buf_terminate(out);
	return e;
}

int
rename_apply(struct rename_rules *r, const char *name, struct buf *out)
{
	struct buf was = { 0 };
	int e = 0;

	out->n = 0;
	if ((e = buf_put(out, name, strlen(name))) == 0)
		e = buf_terminate(out);
	for (unsigned i = 0; e == 0 && i < r->n; i++) {
		struct buf swap = was;

		was = *out;
		*out = swap;
		out->n = 0;
		if (r->rule[i].alias == NULL)
			e = apply_rename_rule(&r->rule[i], (const char *)was.p, out);
		else if ((e = alias_apply(r->rule[i].alias, (const char *)was.p, out)) == 0)
			e = buf_terminate(out);
		r->rule[i].used |= e == 0 && (out->n != was.n || memcmp(out->p, was.p, was.n) != 0);
	}
	buf_free(&was);
	return e;
}

const char *
rename_idle_rule(const struct rename_rules *r)
{
	for (unsigned i = 0; i < r->n; i++)
		if (!r->rule[i].used)
			return r->rule[i].text;
	return NULL;
}
