/*
 * front_option - getopt_long(3) for all tools: -h, and messages that name what is near.
 */
#ifndef CMD_FRONT_OPTION_H
#define CMD_FRONT_OPTION_H

#include <getopt.h>

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
