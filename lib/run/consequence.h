/*
 * consequence - marks the line by which a process reports that it lost its peer.
 *
 * Such a line may reach the launcher before the peer's own end, which another agent reports.  The launcher holds marked
 * lines until it has reported the cause (run/launcher/launch_cause.c), and removes the mark.
 *
 * The agent sets a variable to device and inode of the pipe that it reads, so that a process marks no line that goes to
 * a file or a terminal (systemd's JOURNAL_STREAM does the same; systemd.exec(5)).
 */
#ifndef RUN_CONSEQUENCE_H
#define RUN_CONSEQUENCE_H

#include <stdbool.h>

#define CONSEQUENCE_MARK '\001'	/* first byte of the line */

/* In a process before exec, whose standard error is the agent's pipe.  Returns 0 or ERR_SYS. */
int	 consequence_announce(void);
/* Whether an agent reads standard error. */
bool	 consequence_is_read(void);

#endif
