/*
 * sync - copies a directory to all hosts by rsync(1), over the remote shell of the job.
 *
 * Files that differ from ours are replaced; files that only the host has stay.  No shell interprets
 * the path, whatever characters it contains.  The first host gets its copy alone, because hosts
 * may share a file system, where copies that make the same directory at once would collide.  Then
 * SYNC_ATONCE copies run at a time, which find nothing to do on such hosts.
 * Threads: one thread.
 */
#ifndef RUN_LAUNCHER_SYNC_H
#define RUN_LAUNCHER_SYNC_H

#include "run/launcher/hosts.h"
#include "run/words.h"

#include <limits.h>

#define SYNC_ATONCE 32

struct sync_opt {
	const struct hosts *hosts;
	uint32_t	 nhosts;	/* copies go to the first nhosts of them */
	const struct words *rsh;	/* template (words_fill); NULL: this machine itself */
	const char	*from;		/* directory here */
	const char	*to;		/* directory there; missing parents are made */
	int		 signals;	/* signalfd(2) of SIGCHLD and of signals that end the copies */
	/* Reports a line about a host. */
	void		(*say)(void *arg, const struct host *host, const char *line);
	void		*arg;
};

/*
 * Reads "DIR" or "DIR:TO": finds the absolute path of DIR.  *to is in text, or is `from`.  Returns 0, ERR_SYS or
 * ERR_NOMEM.
 */
int	 sync_parse(const char *text, char from[PATH_MAX], const char **to);
/*
 * Returns 0; ERR_PEER if a host was not reached, whose index is *host; ERR_STOP after a signal, which is *signo;
 * ERR_SYS, also if rsync failed for another reason; ERR_NOMEM.
 */
int	 sync_run(const struct sync_opt *opt, int *signo, uint32_t *host);

#endif
