/* front_option - getopt_long(3) for all tools: -h, and messages that name what is near. */
#include "front_option.h"
#include "front.h"

#include "base/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SHORTS	64	/* bytes of the short options */
#define NAME	64	/* bytes of a long one; a longer one is unknown */

const char *
front_nearest(const char *word, const struct option *longs)
{
	struct nearest n = { .word = word };

	for (; longs->name != NULL; longs++)
		nearest_try(&n, longs->name);
	return n.best;
}

/* Two options that begin with a name; false if there are not two. */
static bool
find_ambiguous(const char *name, const struct option *longs, const char *two[2])
{
	size_t n = 0;

	for (; longs->name != NULL && n < 2; longs++)
		if (strncmp(longs->name, name, strlen(name)) == 0)
			two[n++] = longs->name;
	return n == 2;
}

/* What getopt_long(3) found wrong: a letter, or a long option with a needless value, which optopt names. */
static void
refuse_known(const struct option *longs)
{
	for (; longs->name != NULL; longs++)
		if (longs->val == optopt && longs->has_arg == no_argument)
			front_wrong("--%s: takes no value", longs->name);
	front_wrong("-%c: no such option; --help lists the options", optopt);
}

static void
refuse_option(const char *word, const struct option *longs)
{
	char name[NAME];
	const char *two[2], *near;

	if (optopt != 0)
		refuse_known(longs);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	if (find_ambiguous(name, longs, two))
		front_wrong("--%s: may be --%s or --%s", name, two[0], two[1]);
	if ((near = front_nearest(name, longs)) != NULL)
		front_wrong("--%s: no such option; did you mean --%s?", name, near);
	front_wrong("--%s: no such option; --help lists the options", name);
}

int
front_getopt(int argc, char *argv[], const char *shorts, const struct option *longs)
{
	bool plus = *shorts == '+', own = !plus || shorts[1] != ':';
	char all[SHORTS];
	int c;

	snprintf(all, sizeof(all), "%s%s%sh", plus ? "+" : "", own ? ":" : "", shorts + plus);
	opterr = 0;
	c = getopt_long(argc, argv, all, longs, NULL);
	if (c == 'h')
		front_help();
	if (own && c == ':')
		front_wrong("%s: needs a value", argv[optind - 1]);
	if (own && c == '?')
		refuse_option(argv[optind - 1], longs);
	return c;
}
