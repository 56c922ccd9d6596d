/* netstat-logging_run - what netstat-logging does once its command line is read. */
#ifndef CMD_NETSTAT_LOGGING_RUN_H
#define CMD_NETSTAT_LOGGING_RUN_H

#include "watch/meter.h"

#include <regex.h>

#define SOURCES	64	/* most interfaces */

struct options {
	const char	*interface[SOURCES];
	size_t		 interfaces;
	char *const	*argv;		/* a command, or NULL */
	/* where rows go; NULL: nowhere with a command or as a filter, else standard output */
	const char	*output;
	const regex_t	*mark;		/* or NULL */
	double		 period_s, duration_s;	/* duration 0: until a signal */
	enum meter_by	 by;
	bool		 filter, json, quiet;
};

/* The exit status. */
int	 run(const struct options *o);

#endif
