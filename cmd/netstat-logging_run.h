/* netstat-logging_run - watches interfaces or a command, and writes rows and the summary. */
#ifndef CMD_NETSTAT_LOGGING_RUN_H
#define CMD_NETSTAT_LOGGING_RUN_H

#include "watch/meter.h"

#include <regex.h>

#define SOURCES	64	/* most interfaces */

struct netstat_opt {
	const char	*interface[SOURCES];
	size_t		 interfaces;
	char *const	*argv;		/* a command, or NULL */
	/* file of the rows; NULL: standard output, or none with a command or a filter */
	const char	*output;
	regex_t		 mark;		/* if marks is true */
	double		 period_s, duration_s;	/* a duration of 0 lasts until a signal */
	enum meter_by	 by;
	bool		 filter, json, marks, quiet;
};

/* Returns the exit status. */
int	 netstat_run(const struct netstat_opt *o);

#endif
