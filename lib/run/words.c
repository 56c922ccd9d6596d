/* words - lists of words: command lines, environments, and the template of a remote shell. */
#include "run/words.h"

#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
words_add(struct words *w, const char *fmt, ...)
{
	char **v = realloc(w->v, (w->n + 2) * sizeof(*v)), *text = NULL;
	va_list ap;
	int n;

	if (v == NULL)
		return err_nomem();
	w->v = v;
	v[w->n] = NULL;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return err_nomem();
	v[w->n++] = text;
	v[w->n] = NULL;
	return 0;
}

int
words_add_all(struct words *w, char *const *list)
{
	for (; *list != NULL; list++)
		ERR_TRY(words_add(w, "%s", *list));
	return 0;
}

/* Reads the word at *text without its quotes, and moves *text after it. */
static int
split_word(const char **text, char word[WORDS_MOST])
{
	const char *p = *text;
	char quote = 0;
	size_t n = 0;

	for (; *p != 0 && (quote != 0 || strchr(" \t\n", *p) == NULL); p++) {
		if (quote == 0 && (*p == '\'' || *p == '"'))
			quote = *p;
		else if (*p == quote)
			quote = 0;
		else if (n < WORDS_MOST - 1)
			word[n++] = *p;
		else
			return err_fail(ERR_LIMIT, "a word longer than %d bytes", WORDS_MOST - 1);
	}
	if (quote != 0)
		return err_fail(ERR_FORMAT, "a %c that is not closed in: %s", quote, *text);
	word[n] = 0;
	*text = p;
	return 0;
}

int
words_split(struct words *w, const char *text)
{
	char word[WORDS_MOST];
	int e = 0;

	for (text += strspn(text, " \t\n"); *text != 0 && e == 0; text += strspn(text, " \t\n"))
		if ((e = split_word(&text, word)) == 0)
			e = words_add(w, "%s", word);
	return e;
}

/* Adds one word with every {host} and {port} replaced. */
static int
fill_word(struct words *w, const char *from, const char *host, const char *port)
{
	char word[WORDS_MOST];
	size_t n = 0;

	while (*from != 0) {
		const char *put = NULL;
		size_t k = 1, skip = 1;

		if (strncmp(from, "{host}", 6) == 0)
			put = host;
		else if (strncmp(from, "{port}", 6) == 0)
			put = port;
		if (put != NULL) {
			k = strlen(put);
			skip = 6;
		}
		if (n + k >= sizeof(word))
			return err_fail(ERR_LIMIT, "a word longer than %d bytes", WORDS_MOST - 1);
		memcpy(word + n, put != NULL ? put : from, k);
		n += k;
		from += skip;
	}
	word[n] = 0;
	return words_add(w, "%s", word);
}

int
words_fill(struct words *w, const struct words *tpl, const char *host, uint16_t port)
{
	char digits[8];

	snprintf(digits, sizeof(digits), "%u", port);
	for (size_t i = 0; i < tpl->n; i++)
		if (port != 0 || strstr(tpl->v[i], "{port}") == NULL)
			ERR_TRY(fill_word(w, tpl->v[i], host, digits));
	return 0;
}

bool
words_is_plain(const char *word)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:@%,=-";

	return *word != 0 && word[strspn(word, plain)] == 0;
}

int
words_text(char *const *list, struct buf *out)
{
	const char *blank = "";
	int e = 0;

	for (; *list != NULL && e == 0; list++, blank = " ") {
		const char *w = *list, *quote = words_is_plain(w) ? "" : "'";

		e = buf_put_fmt(out, "%s%s", blank, quote);
		/* Within single quotes only a single quote is special. */
		for (; *w != 0 && e == 0; w++)
			e = *w == '\'' ? buf_put(out, "'\\''", 4) : buf_put(out, w, 1);
		if (e == 0)
			e = buf_put_fmt(out, "%s", quote);
	}
	return e == 0 ? buf_terminate(out) : e;
}

void
words_free(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
	*w = (struct words){ 0 };
}
