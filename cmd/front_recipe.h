/*
 * front_recipe - the command line of a tool that takes recipes (run/recipe.h) for options.
 *
 * One command line a process.
 */
#ifndef CMD_FRONT_RECIPE_H
#define CMD_FRONT_RECIPE_H

#include <getopt.h>

/*
 * getopt_long(3), where a word @NAME in the place of an option stands for those that the recipe NAME has for this tool.
 * argc and argv are those of the command line so far, recipes in their places; the first call gets main's.  The new
 * words belong to the process.  What a recipe says wrongly ends the process, with its file and line.
 */
int	 front_option(int *argc, char ***argv, const char *shorts, const struct option *longs);
/* "FILE:LINE" of the option that came last, when a recipe has it, until all options were read; else NULL. */
const char *front_option_from(void);
/* The recipes of share/recipes and what they say of themselves, a line each; exit 0. */
void	 front_recipes(void) __attribute__((noreturn));

#endif
