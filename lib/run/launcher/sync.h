/*
 * sync - a directory copied to all hosts by rsync(1), over the remote shell of the job.
 *
 * What is newer or other here goes there; what is only there stays.  The path meets no shell on its way, whatever is in it.
 * The first host is copied to alone: where hosts share a file system, two that make one directory hinder each other, and
 * the others find all done.  Then SYNC_ATONCE at a time.
 * Threads: for one thread.
 */
#ifndef RUN_LAUNCHER_SYNC_H
#define RUN_LAUNCHER_SYNC_H

#include "run/launcher/hosts.h"
#include "run/words.h"

#define SYNC_ATONCE 32

struct sync_opt {
	const struct hosts *hosts;
	uint32_t	 nhosts;	/* the first so many of them */
	const struct words *rsh;	/* template (words_fill); NULL: this machine itself */
	const char	*from;		/* directory here */
	const char	*to;		/* and there; parents are made */
	int		 signals;	/* a signalfd(2) of SIGCHLD and others, which end it */
	/* A line for people about a host. */
	void		(*say)(void *arg, const struct host *host, const char *line);
	void		*arg;
};

/*
 * Returns 0; ERR_PEER when a host was not reached; ERR_STOP after a signal, which is *signo; ERR_SYS, also when rsync failed
 * otherwise; ERR_NOMEM.
 */
int	 sync_run(const struct sync_opt *opt, int *signo);

#endif
