/* recipe_test - does recipe keep its header's word? */
#include "tap.h"

#include "base/err.h"
#include "run/recipe.h"

#include <stdlib.h>

static int
parse(struct recipe *r, const char *text, const char *tool)
{
	return recipe_parse(r, "r", text, strlen(text), tool);
}

/* The words with blanks between. */
static const char *
joined(const struct recipe *r)
{
	static char text[512];
	size_t n = 0;

	text[0] = 0;
	for (size_t i = 0; i < r->words.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 0 ? " " : "", r->words.v[i]);
	return text;
}

static void
test_good(void)
{
	static const char text[] = "# r - all there can be\n\n--seed 1\n  dlaunch\t-n 2 # two\r\n"
	    "pworker --wd-mult '*_bias=0' --init a#b --save \"x # y\"\ndlaunch\n# end";
	struct recipe r;

	is(parse(&r, text, "pworker"), 0, "a recipe with all there can be is read");
	is_str(joined(&r), "--seed 1 --wd-mult *_bias=0 --init a#b --save x # y", "pworker's words, and those for all");
	is(r.line[0], 3, "a word knows its line");
	is(r.line[7], 5, "the last one too");
	is_str(r.path, "r", "and the file");
	recipe_free(&r);
	is(parse(&r, text, "dlaunch"), 0, "the same for dlaunch");
	is_str(joined(&r), "--seed 1 -n 2", "dlaunch's words");
	recipe_free(&r);
	is(parse(&r, "", "pworker"), 0, "an empty one");
	is((long)r.words.n, 0, "has no words");
	recipe_free(&r);
}

static void
test_bad(void)
{
	static const struct {
		const char *text, *line;
	} bad[] = {
		{ "--lr 0.1\nlr 0.1\n", "r:2: 'lr' is neither an option nor dlaunch or pworker" },
		{ "pworker --lr 'x\n--seed 1'\n", "r:1: a ' without its end in: 'x" },
		{ "dlaunch -n 2\npworker @other\n", "r:2: @other: a recipe names no other" },
		{ "pwork --lr 1", "r:1: 'pwork' is neither an option nor dlaunch or pworker" },
	};
	struct recipe r;
	char *big = malloc(RECIPE_FILE + 2);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is(parse(&r, bad[i].text, "pworker"), ERR_FORMAT, "refused");
		is_str(err_line(), bad[i].line, "and why");
	}
	is(recipe_parse(&r, "r", "--a\0--b", 7, "pworker"), ERR_FORMAT, "a zero byte");
	is_str(err_line(), "r:1: a zero byte", "is named");
	if (big == NULL)
		exit(1);
	for (size_t i = 0; i < RECIPE_FILE + 1; i++)
		big[i] = i % 2 == 0 ? '-' : '\n';
	is(recipe_parse(&r, "r", big, RECIPE_FILE + 1, "pworker"), ERR_LIMIT, "a file that is too long");
	is(recipe_parse(&r, "r", big, RECIPE_FILE, "pworker"), ERR_LIMIT, "too many words");
	is_str(err_line(), "r:1025: more than 1024 words", "is said");
	free(big);
}

int
main(void)
{
	struct recipe r;

	test_good();
	test_bad();
	is(recipe_read(&r, "/nonexistent/recipe", "pworker"), ERR_SYS, "a file that is not there");
	is(recipe_read(&r, "", "pworker"), ERR_SYS, "no name");
	return done();
}
