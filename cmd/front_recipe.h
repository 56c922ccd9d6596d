/*
 * front_recipe - the command line of a tool that takes recipes (run/recipe.h) for options.
 *
 * One command line a process.
 */
#ifndef CMD_FRONT_RECIPE_H
#define CMD_FRONT_RECIPE_H

#include <getopt.h>

/*
 * front_getopt(), where a word @NAME in the place of an option stands for those that the recipe NAME has for this tool.
 * argc and argv are the command line, in which recipes are replaced by their words; the first call gets main's.  The
 * process owns the new words.  An error in a recipe ends the process with a line that names the recipe's file and line.
 */
int	 front_recipe_getopt(int *argc, char ***argv, const char *shorts, const struct option *longs);
/* "FILE:LINE" of the last option if it is in a recipe, until all options are read; else NULL. */
const char *front_option_from(void);
/* Prints the recipes of share/recipes with their descriptions, a line each, and exits with 0. */
void	 front_recipes(void) __attribute__((noreturn));

#endif
