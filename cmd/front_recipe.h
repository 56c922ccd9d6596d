/*
 * front_recipe - the command line of a tool that takes recipes (run/recipe.h) for options.
 *
 * One command line a process.
 */
#ifndef CMD_FRONT_RECIPE_H
#define CMD_FRONT_RECIPE_H

#include <getopt.h>

/*
 * As front_getopt(), and reads recipes: a word @NAME where an option may stand is replaced, in argc and argv, by the
 * words that recipe NAME has for this tool.  The first call gets main's argc and argv.  The new words live as long as
 * the process.  An error in a recipe ends the process with one line, which names the recipe's file and line.
 */
int	 front_recipe_getopt(int *argc, char ***argv, const char *shorts, const struct option *longs);
/* Returns "FILE:LINE" of the option just read, or NULL if no recipe has it or all options have been read. */
const char *front_option_from(void);
/* Prints the recipes of share/recipes with their descriptions, a line each, and exits with 0. */
void	 front_recipes(void) __attribute__((noreturn));

#endif
