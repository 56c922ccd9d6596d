/*
 * words - lists of words: command lines, environments, and the template of a remote shell.
 *
 * A struct words of zeros is empty.  Ownership: the texts belong to the list.
 */
#ifndef RUN_WORDS_H
#define RUN_WORDS_H

#include "base/buf.h"

#define WORDS_MOST	4096	/* bytes of a word that words_split makes */

struct words {
	char	**v;	/* [n], then NULL; NULL while nothing was added */
	size_t	 n;
};

/* Adds a word.  Returns 0 or ERR_NOMEM. */
int	 words_add(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Adds all of a list that ends with NULL.  Returns 0 or ERR_NOMEM. */
int	 words_add_all(struct words *w, char *const *list);
/*
 * Adds the words of text, which blanks part; between '...' or "..." all is
 * itself.  Returns 0, ERR_FORMAT (a quote without its end), ERR_LIMIT, ERR_NOMEM.
 */
int	 words_split(struct words *w, const char *text);
/*
 * Adds the words of a template, {host} and {port} replaced.  Without a port (0)
 * the words that hold {port} are left out.  Returns 0, ERR_LIMIT or ERR_NOMEM.
 */
int	 words_fill(struct words *w, const struct words *tpl, const char *host, uint16_t port);
/* Appends words that end with NULL as a shell reads them, quoted where they must be.  Returns 0 or ERR_NOMEM. */
int	 words_text(char *const *list, struct buf *out);
void	 words_free(struct words *w);	/* and is empty again */

#endif
