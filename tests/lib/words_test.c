/* words_test - tests words against its header. */
#include "tap.h"

#include "base/err.h"
#include "run/words.h"

#include <stdlib.h>

static void
split(const char *text, size_t n, const char *const *want)
{
	struct words w = { 0 };
	int good = words_split(&w, text) == 0 && w.n == n;

	for (size_t i = 0; i < n && good; i++)
		good = strcmp(w.v[i], want[i]) == 0;
	ok(good && (n == 0 || w.v[n] == NULL), "split: %s", text);
	words_free(&w);
}

static void
test_split(void)
{
	struct words w = { 0 };
	char *longest = malloc(WORDS_MOST + 1);

	split("", 0, NULL);
	split("  \t ", 0, NULL);
	split("ssh -T  {host}", 3, (const char *const[]){ "ssh", "-T", "{host}" });
	split(" a 'b  c'd \"it's\" ''", 4, (const char *const[]){ "a", "b  cd", "it's", "" });
	is(words_split(&w, "a 'b c"), ERR_FORMAT, "a quote that is not closed is refused");
	is_str(err_line(), "a ' that is not closed in: 'b c", "the error shows the quote");
	words_free(&w);
	memset(longest, 'x', WORDS_MOST);
	longest[WORDS_MOST] = 0;
	is(words_split(&w, longest), ERR_LIMIT, "a word that is too long is refused");
	is(words_split(&w, longest + 1), 0, "a word of the longest length is read");
	words_free(&w);
	free(longest);
}

static void
test_fill(void)
{
	struct words tpl = { 0 }, w = { 0 };
	struct words wide = { 0 };

	words_split(&tpl, "ssh -oPort={port} x{host}y{host} {hos}");
	is(words_fill(&w, &tpl, "h", 22), 0, "a template is filled");
	is(w.n, 4, "the template gives four words");
	is_str(w.v[1], "-oPort=22", "{port} is replaced");
	is_str(w.v[2], "xhyh", "{host} is replaced twice in a word");
	is_str(w.v[3], "{hos}", "other braces are kept");
	words_free(&w);
	words_fill(&w, &tpl, "h", 0);
	is(w.n, 3, "a word with {port} is left out without a port");
	words_free(&w);
	for (int i = 0; i < 100; i++)
		words_add(&wide, "{host}");
	is(words_fill(&w, &wide, "a name", 0), 0, "a template with {host} in 100 words is filled");
	is(w.n, 100, "all 100 words are there");
	words_free(&w);
	words_free(&wide);
	words_free(&tpl);
}

static void
test_text(void)
{
	struct buf b = { 0 };
	char *list[] = { (char[]){ "a" }, (char[]){ "b c" }, (char[]){ "" }, (char[]){ "it's" }, (char[]){ "$x" }, NULL };

	is(words_text(list, &b), 0, "words_text formats a list");
	is_str((char *)b.p, "a 'b c' '' 'it'\\''s' '$x'", "words_text quotes where necessary");
	buf_free(&b);
}

int
main(void)
{
	test_split();
	test_text();
	test_fill();
	return done();
}
