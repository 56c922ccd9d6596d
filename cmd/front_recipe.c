/* front_recipe - the command line of a tool that takes recipes for options. */
#include "front_recipe.h"
#include "front.h"
#include "front_option.h"

#include "base/err.h"
#include "base/io.h"
#include "run/recipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A command line, and the recipe of each word. */
static struct {
	char		**argv;
	struct origin {
		const struct recipe *recipe;	/* NULL: the command line itself */
		uint32_t line;
	}		*origin;
} given;

/* The recipes that were read: words and origins point into them. */
static struct kept {
	struct recipe	 recipe;
	struct kept	*next;
} *kept;

static void *
allocate_zeroed(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (p == NULL)
		front_die(NULL, err_nomem());
	return p;
}

/* Puts the words of a recipe in the place of its name, word `at`. */
static void
insert_recipe(const struct recipe *r, int at, int *argc, char ***argv)
{
	size_t n = (size_t)*argc - 1 + r->words.n;
	char **v = allocate_zeroed(n + 1, sizeof(*v));
	struct origin *from = allocate_zeroed(n + 1, sizeof(*from));

	for (size_t i = 0, k = 0; i < n; i++) {
		if (i >= (size_t)at && i - (size_t)at < r->words.n) {
			v[i] = r->words.v[i - (size_t)at];
			from[i] = (struct origin){ r, r->line[i - (size_t)at] };
			continue;
		}
		k = i < (size_t)at ? i : i - r->words.n + 1;
		v[i] = (*argv)[k];
		if (given.origin != NULL)
			from[i] = given.origin[k];
	}
	free(given.argv);
	free(given.origin);
	given.argv = *argv = v;
	given.origin = from;
	*argc = (int)n;
}

/* Reads the recipe at the next word.  The tool's name is that of the program without its folder. */
static void
take_recipe(int *argc, char ***argv)
{
	struct kept *k = allocate_zeroed(1, sizeof(*k));
	int e;

	k->next = kept;
	kept = k;
	if ((e = recipe_read((*argv)[optind] + 1, io_base_name(**argv), &k->recipe)) == ERR_NOMEM)
		front_die(NULL, e);
	if (e < 0)
		front_wrong("%s", err_line());
	insert_recipe(&k->recipe, optind, argc, argv);
}

int
front_recipe_getopt(int *argc, char ***argv, const char *shorts, const struct option *longs)
{
	int c;

	while ((c = front_getopt(*argc, *argv, shorts, longs)) == -1 && optind < *argc &&
	    (*argv)[optind][0] == '@' && strcmp((*argv)[optind - 1], "--") != 0)
		take_recipe(argc, argv);
	if (given.origin == NULL)
		return c;
	/* The value of a recipe's last option must be in the recipe. */
	if (c != -1 && optarg != NULL && optarg == (*argv)[optind - 1] &&
	    given.origin[optind - 1].recipe != given.origin[optind - 2].recipe) {
		optind--;
		front_wrong("%s: needs a value", (*argv)[optind - 1]);
	}
	if (c == -1 && optind < *argc && given.origin[optind].recipe != NULL)
		front_wrong("'%.64s' is no option", (*argv)[optind++]);
	if (c == -1) {
		free(given.origin);
		given.origin = NULL;
	}
	return c;
}

const char *
front_option_from(void)
{
	static char text[PATH_MAX + 16];
	const struct origin *o = given.origin != NULL ? &given.origin[optind - 1] : NULL;

	if (o == NULL || o->recipe == NULL)
		return NULL;
	snprintf(text, sizeof(text), "%s:%u", o->recipe->path, o->line);
	return text;
}

void
front_recipes(void)
{
	struct words names = { 0 };
	char about[RECIPE_ABOUT];
	int e = recipe_names(&names);

	for (size_t i = 0; i < names.n && e == 0; i++)
		if ((e = recipe_about(names.v[i], about)) == 0)
			printf("%s\t%s\n", names.v[i], about);
	if (e < 0)
		front_die(NULL, e);
	words_free(&names);
	front_flush();
	exit(0);
}
