/*
 * front_option - the options of a tool as a table, and messages that name what is near.
 */
#ifndef CMD_FRONT_OPTION_H
#define CMD_FRONT_OPTION_H

#include <getopt.h>
#include <stddef.h>

/* How the value of an option is read. */
enum front_kind {
	FRONT_FLAG,		/* no value; the bool becomes true */
	FRONT_SET,		/* no value; the integer becomes lo */
	FRONT_TEXT,		/* char pointer */
	FRONT_WHOLE,		/* integer of 1, 4 or 8 bytes, lo to hi */
	FRONT_REAL,		/* float or double, lo to hi */
	FRONT_WORD,		/* one of `words`; the integer becomes its code */
	FRONT_HELP,		/* no value; prints text and exits with 0 */
	FRONT_VALUE,		/* apply() reads the value */
	FRONT_ACTION,		/* apply() without a value */
	FRONT_KINDS
};

struct front_word {
	const char	*name;
	int		 code;
};

struct front_option {
	const char	*name;
	enum front_kind	 kind;
	size_t		 at, size;	/* the member of the struct of options */
	double		 lo, hi;	/* bounds; hi of 2^63 and more: none */
	void		(*apply)(void *options, const char *option, char *text);	/* option: with its hyphens */
	const struct front_word *words;	/* the last has no name */
	const char	*text;		/* FRONT_HELP; of FRONT_WORD what another word is: "neither stop nor wait" */
	char		 letter;	/* its short form, or 0 */
};
#define FRONT_MEMBER(type, m) .at = offsetof(type, m), .size = sizeof(((type *)NULL)->m)

/* FRONT_FIRST: options end at the first operand.  FRONT_RECIPES: so, and recipes as in front_recipe.h. */
enum front_operands { FRONT_ANYWHERE, FRONT_FIRST, FRONT_RECIPES };

/*
 * Reads the options of a table, whose last row has no name, into the struct at `options`; then optind is the index of
 * the first operand.  All tools have -h, --help and --version.  What is wrong ends the process with one line and
 * status 2.
 */
void	 front_options(int *argc, char ***argv, enum front_operands operands, const struct front_option *table,
	    void *options);
/* Reads one value, of an option of a kind before FRONT_VALUE. */
void	 front_option_set(const struct front_option *o, const char *option, char *text, void *options);

/*
 * Returns an option as getopt_long(3) does.  -h prints the help and exits with 0.  An unknown or ambiguous option, and
 * a missing or needless value, print one line and exit with 2.  If shorts begins with "+:" these return '?' and ':'.
 */
int	 front_getopt(int argc, char *argv[], const char *shorts, const struct option *longs);
/*
 * The option that other programs call by a word of a command line, or else the one whose name is most like it; NULL:
 * none is.
 */
const char *front_nearest(const char *word, const struct option *longs);

#endif
