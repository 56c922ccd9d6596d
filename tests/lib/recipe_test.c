/* recipe_test - tests recipe against its header. */
#include "tap.h"

#include "base/err.h"
#include "run/recipe.h"

#include <stdlib.h>

static int
parse(struct recipe *r, const char *text, const char *tool)
{
	return recipe_parse("r", text, strlen(text), tool, r);
}

/* Joins the words with blanks. */
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

	is(parse(&r, text, "pworker"), 0, "a recipe with every syntax is read");
	is_str(joined(&r), "--seed 1 --wd-mult *_bias=0 --init a#b --save x # y",
	    "pworker gets its words and those for all tools");
	is(r.line[0], 3, "a word has its line number");
	is(r.line[7], 5, "the last word has its line number");
	is_str(r.path, "r", "the recipe has its path");
	recipe_free(&r);
	is(parse(&r, text, "dlaunch"), 0, "the same recipe is read for dlaunch");
	is_str(joined(&r), "--seed 1 -n 2", "dlaunch gets its words and those for all tools");
	recipe_free(&r);
	is(parse(&r, "", "pworker"), 0, "an empty recipe is read");
	is((long)r.words.n, 0, "an empty recipe has no words");
	recipe_free(&r);
}

static void
test_bad(void)
{
	static const struct {
		const char *text, *line;
	} bad[] = {
		{ "--lr 0.1\nlr 0.1\n", "r:2: 'lr' is neither an option nor dlaunch nor pworker" },
		{ "pworker --lr 'x\n--seed 1'\n", "r:1: a ' that is not closed in: 'x" },
		{ "dlaunch -n 2\npworker @other\n", "r:2: @other: a recipe cannot include another" },
		{ "pwork --lr 1", "r:1: 'pwork' is neither an option nor dlaunch nor pworker" },
	};
	struct recipe r;
	char *big = malloc(RECIPE_FILE + 2);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is(parse(&r, bad[i].text, "pworker"), ERR_FORMAT, "faulty recipe %zu is refused", i);
		is_str(err_line(), bad[i].line, "the error names file, line and fault");
	}
	is(recipe_parse("r", "--a\0--b", 7, "pworker", &r), ERR_FORMAT, "a zero byte is refused");
	is_str(err_line(), "r:1: a zero byte", "the error names the zero byte");
	if (big == NULL)
		exit(1);
	for (size_t i = 0; i < RECIPE_FILE + 1; i++)
		big[i] = i % 2 == 0 ? '-' : '\n';
	is(recipe_parse("r", big, RECIPE_FILE + 1, "pworker", &r), ERR_LIMIT, "a file that is too long is refused");
	is(recipe_parse("r", big, RECIPE_FILE, "pworker", &r), ERR_LIMIT, "too many words are refused");
	is_str(err_line(), "r:1025: more than 1024 words", "the error gives the limit");
	free(big);
}

int
main(void)
{
	struct recipe r;

	test_good();
	test_bad();
	is(recipe_read("/nonexistent/recipe", "pworker", &r), ERR_SYS, "a missing file is refused");
	is(recipe_read("", "pworker", &r), ERR_SYS, "an empty name is refused");
	return done();
}
