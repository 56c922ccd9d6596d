/*
 * words - lists of words: command lines, environments, and the template of a remote shell.
 *
 * A struct words of zeros is empty.  Ownership: the list owns its texts.
 */
#ifndef RUN_WORDS_H
#define RUN_WORDS_H

#include "base/buf.h"

#include <stdbool.h>

#define WORDS_MOST	4096	/* bytes of a word of words_split or words_fill, with its zero */

struct words {
	char	**v;	/* [n], then NULL; NULL while nothing was added */
	size_t	 n;
};

/* Adds a word.  Returns 0 or ERR_NOMEM. */
int	 words_add(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds all words of a list that ends with NULL.  Returns 0 or ERR_NOMEM. */
int	 words_add_all(struct words *w, char *const *list);
/*
 * Adds the words of text.  Blanks separate words; within '...' or "..." no character is special.
 * Returns 0, ERR_FORMAT (a quote that is not closed), ERR_LIMIT or ERR_NOMEM.
 */
int	 words_split(struct words *w, const char *text);
/*
 * Adds the words of a template, with {host} and {port} replaced.  If port is 0, words that contain
 * {port} are left out.  Returns 0, ERR_LIMIT or ERR_NOMEM.
 */
int	 words_fill(struct words *w, const struct words *tpl, const char *host, uint16_t port);
/* Does a shell read this word as itself without quotes? */
bool	 words_is_plain(const char *word);
/* Appends a list that ends with NULL as a shell command, quoted where necessary.  Returns 0 or ERR_NOMEM. */
int	 words_text(char *const *list, struct buf *out);
void	 words_free(struct words *w);	/* the list is empty again */

#endif
