/*
 * jobdir - a job's directory: what was started and where, what it printed, whether it runs, how it ended.
 *
 *	JOB/command	the words of its command line, a zero byte behind each
 *	JOB/dir		where it was started
 *	JOB/lock	its launcher's process id; locked (flock(2)) while that lives
 *	JOB/out, err	what a detached job printed
 *	JOB/status	its exit status, once it has ended
 *
 * Jobs are in $XDG_STATE_HOME/tally/jobs, or in ~/.local/state/tally/jobs (XDG Base Directory Specification).
 * Threads: no state of its own.
 */
#ifndef RUN_JOBDIR_H
#define RUN_JOBDIR_H

#include "run/words.h"

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#define JOBDIR_NAME	64u		/* bytes of a name, its zero counted */
#define JOBDIR_MOST	(1u << 20)	/* bytes of a file of it that is read */

struct jobdir {
	char	 name[JOBDIR_NAME];
	int	 dir;		/* a descriptor of the directory */
	int	 lock;		/* the launcher's; -1: not held */
};

struct jobdir_state {
	bool	 running;	/* its launcher lives */
	pid_t	 pid;		/* of that; 0: not known */
	int	 status;	/* -1: none was written: it runs, or its launcher was lost */
	time_t	 since;		/* when it was started last */
};

/*
 * Makes the directory of a job that was not there, or has ended, and locks it; name NULL: the next free number.
 * Returns 0, ERR_ARG (no name for a job; it runs), ERR_SYS or ERR_NOMEM.  The lock is every process's that is forked.
 */
int	 jobdir_make(struct jobdir *d, const char *name, char *const *argv, const char *cwd);
/* Opens one that is there.  Returns 0, ERR_ARG (no such job) or ERR_SYS. */
int	 jobdir_open(struct jobdir *d, const char *name);
void	 jobdir_close(struct jobdir *d);
/* Locks one that was opened, to run it again.  Returns 0, ERR_ARG (it runs) or ERR_SYS. */
int	 jobdir_lock(struct jobdir *d);
/* This process is its launcher, from now on.  Returns 0 or ERR_SYS. */
int	 jobdir_mine(struct jobdir *d);
/* It ended.  Returns 0 or ERR_SYS. */
int	 jobdir_end(struct jobdir *d, int status);

int	 jobdir_look(const struct jobdir *d, struct jobdir_state *s);	/* 0 or ERR_SYS */
/* Fills an empty list with its command line, and *cwd, to be freed.  Returns 0, ERR_SYS, ERR_LIMIT or ERR_NOMEM. */
int	 jobdir_command(const struct jobdir *d, struct words *argv, char **cwd);
/* Fills an empty list with the names of all jobs, sorted: numbers first, by their value.  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 jobdir_all(struct words *names);

#endif
