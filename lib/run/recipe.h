/*
 * recipe - a file of options, read as the words of a tool's command line.
 *
 *	# mnist-lenet - LeNet on MNIST
 *	--seed 1			for every tool that reads the recipe
 *	dlaunch --num-workers 2		for dlaunch alone
 *	pworker --net lenet		for pworker alone
 *
 * A line is a part of a command line: words separated by blanks, with the quotes of words_split.
 * `#` at the start of a word begins a comment.  No other character is special, as no shell reads
 * the file.  A line begins with an option, or with the name of the tool that it is for.  No word
 * begins with `@`: a recipe cannot include another.
 *
 * Ownership: the recipe owns its words until recipe_free.
 */
#ifndef RUN_RECIPE_H
#define RUN_RECIPE_H

#include "run/words.h"

#include <limits.h>
#include <stdint.h>

#define RECIPE_FILE	65536u	/* most bytes of a file */
#define RECIPE_WORDS	1024u	/* most words for a tool */
#define RECIPE_ABOUT	256u	/* bytes of the first line's text with its zero */

struct recipe {
	char		 path[PATH_MAX];
	struct words	 words;		/* words of the tool that asked */
	uint32_t	 line[RECIPE_WORDS];	/* the line of each word, from 1 */
};

/*
 * Reads the words for `tool` from text [n]; path is the file's name in messages.  Returns 0,
 * ERR_FORMAT or ERR_LIMIT (the error line names file and line), or ERR_NOMEM.  After an error *r
 * needs no free.
 */
int	 recipe_parse(const char *path, const void *text, size_t n, const char *tool, struct recipe *r);
/* The same for a recipe of share/recipes (base/datadir.h), else for the file at that path; ERR_SYS too. */
int	 recipe_read(const char *name, const char *tool, struct recipe *r);
void	 recipe_free(struct recipe *r);

/* Adds the names in share/recipes, sorted, to an empty list.  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 recipe_names(struct words *names);
/* The description of a recipe: its first line after "# NAME - ".  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 recipe_about(const char *name, char about[RECIPE_ABOUT]);

#endif
