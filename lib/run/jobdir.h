/*
 * jobdir - a job's directory: what was started and where, what it printed, whether it runs, how it ended.
 *
 *	JOB/command	the words of its command line, a zero byte behind each
 *	JOB/dir		where it was started
 *	JOB/lock	its launcher's process id; locked (flock(2)) while that lives
 *	JOB/out, err	what a detached job printed
 *	JOB/status	its exit status, once it has ended
 *	JOB/hosts	a detached job's hosts file, as it was
 *	JOB/record	how far a detached job is (run/launcher/job_record.h), until it has ended: what another launcher takes it over by
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
#define JOBDIR_MOST	(1u << 20)	/* bytes of a file of its own that it reads */

struct jobdir {
	char	 name[JOBDIR_NAME];
	int	 dir;		/* a descriptor of the directory */
	int	 lock;		/* the launcher's; -1: not held */
};

struct jobdir_state {
	bool	 running;	/* its launcher lives */
	bool	 kept;		/* it has not ended, and its hosts may go on without a launcher */
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
/* Locks one that was opened, to run it again.  Returns 0, ERR_ARG (it runs, or has a record) or ERR_SYS. */
int	 jobdir_lock(struct jobdir *d);
/* Locks one that has a record, to take it over.  Returns 0, ERR_ARG (it runs, or has none) or ERR_SYS. */
int	 jobdir_retake(struct jobdir *d);
/* This process is its launcher, from now on.  Returns 0 or ERR_SYS. */
int	 jobdir_mine(struct jobdir *d);
/* It ended.  Returns 0 or ERR_SYS. */
int	 jobdir_end(struct jobdir *d, int status);

/* Puts a file of it in place of the one before, at once.  Returns 0 or ERR_SYS. */
int	 jobdir_put(const struct jobdir *d, const char *file, const void *p, size_t n);
/* Reads one, a zero byte behind it that is not counted.  Returns 0, ERR_SYS, ERR_LIMIT beyond most bytes, or ERR_NOMEM. */
int	 jobdir_get(const struct jobdir *d, const char *file, size_t most, struct buf *b);
/* Cuts one that is longer there.  Returns 0 or ERR_SYS. */
int	 jobdir_cut(const struct jobdir *d, const char *file, uint64_t size);

int	 jobdir_look(const struct jobdir *d, struct jobdir_state *s);	/* 0 or ERR_SYS */
/* Fills an empty list with its command line, and *cwd, to be freed.  Returns 0, ERR_SYS, ERR_LIMIT or ERR_NOMEM. */
int	 jobdir_command(const struct jobdir *d, struct words *argv, char **cwd);
/* Fills an empty list with the names of all jobs, sorted: numbers first, by their value.  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 jobdir_all(struct words *names);

#endif
