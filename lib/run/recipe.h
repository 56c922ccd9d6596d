/*
 * recipe - a file of options turned into the words of a tool's command line.
 *
 *	# mnist-lenet - LeNet on MNIST
 *	--seed 1			for whichever tool reads it
 *	dlaunch --num-workers 2		for dlaunch alone
 *	pworker --net lenet		for pworker alone
 *
 * A line is a piece of a command line: words between blanks, quotes as those of
 * words_split; `#` at the start of a word begins a comment.  No shell reads it:
 * nothing else has a meaning.  A line begins with an option, or with the name of
 * the tool that it is for.  No word begins with `@`: a recipe names no other.
 *
 * Ownership: the words belong to the recipe, until recipe_free.
 */
#ifndef RUN_RECIPE_H
#define RUN_RECIPE_H

#include "run/words.h"

#include <limits.h>
#include <stdint.h>

#define RECIPE_FILE	65536u	/* bytes of a file */
#define RECIPE_WORDS	1024u	/* words of a tool */
#define RECIPE_ABOUT	256u	/* bytes of the first line's text */

struct recipe {
	char		 path[PATH_MAX];
	struct words	 words;		/* for the tool that asked */
	uint32_t	 line[RECIPE_WORDS];	/* of each word, from 1 */
};

/*
 * Takes from text [n] the words for `tool`.  path is its name in messages.  Returns 0, ERR_FORMAT or ERR_LIMIT (the line
 * names file and line), ERR_NOMEM; *r then needs no free.
 */
int	 recipe_parse(struct recipe *r, const char *path, const void *text, size_t n, const char *tool);
/* The same of a recipe of share/recipes (base/datadir.h), else of the file of that path; ERR_SYS too. */
int	 recipe_read(struct recipe *r, const char *name, const char *tool);
void	 recipe_free(struct recipe *r);

/* The names of share/recipes, sorted, into an empty list.  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 recipe_names(struct words *names);
/* What a recipe of share/recipes says of itself: its first line behind "# NAME - ".  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 recipe_about(const char *name, char about[RECIPE_ABOUT]);

#endif
