/*
 * jobdir - the directory of a named job: its command line, lock, output, state and exit status.
 *
 *	JOB/command	the words of its command line, each followed by a zero byte
 *	JOB/dir		the directory in which it was started
 *	JOB/lock	its launcher's process id and host, and where that id counts; the launcher holds a lock
 *			(fcntl(2), F_OFD_SETLK) on it
 *	JOB/out, err	the output of a detached job
 *	JOB/status	its exit status, once it has ended
 *	JOB/workers	its number of workers
 *	JOB/question	an id, and what a user wants: "scale" and a number, or "set" and settings (ps/settings.h); the
 *			launcher, which gets SIGUSR1, removes the file
 *	JOB/answer	the id, from which step on it holds, and why it is refused, if it is
 *	JOB/settings	the changes of settings so far, with their steps
 *	JOB/asks	locked (fcntl(2)) by the process that waits for an answer
 *	JOB/hosts	the hosts file of a detached job, as it was at the start
 *	JOB/record	the state of a detached job that has not ended (run/launcher/job_record.h), from
 *			which another launcher can take it over
 *
 * Jobs are in $XDG_STATE_HOME/tally/jobs, or in ~/.local/state/tally/jobs (XDG Base Directory
 * Specification).  Threads: no state.
 */
#ifndef RUN_JOBDIR_H
#define RUN_JOBDIR_H

#include "run/words.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define JOBDIR_NAME	64u		/* bytes of a name with its zero */
#define JOBDIR_HOST	256u		/* bytes of a host's name with its zero */
#define JOBDIR_SPACE	128u		/* bytes of where a process id counts, with a zero */
#define JOBDIR_MOST	(1u << 20)	/* most bytes of command, dir, lock and status */

struct jobdir {
	char	 name[JOBDIR_NAME];
	int	 dir;		/* a descriptor of the directory */
	int	 lock;		/* the launcher's lock; -1: not held */
};

struct jobdir_state {
	bool	 running;	/* its launcher lives */
	bool	 has_record;	/* it has not ended, and its processes may run without a launcher */
	pid_t	 pid;		/* process id of the launcher; 0: not known */
	char	 host[JOBDIR_HOST];	/* where the launcher runs or ran; "": not known */
	bool	 here;		/* pid is one of this machine, since it was booted, and of this container */
	bool	 beside;	/* likewise of this machine, and of another container */
	int	 status;	/* -1: it runs, or its launcher was lost before it wrote one */
	time_t	 since;		/* the time of its last start */
};

/*
 * Makes and locks the directory of a new job.  If name is NULL, the job gets the next free number.
 * With `replace`, the job may replace one that has ended, which stays if the new one cannot be written.
 * Returns 0, ERR_ARG (not a valid name; the name is in use), ERR_SYS or ERR_NOMEM.  Forked processes share the lock.
 */
int	 jobdir_make(const char *name, bool replace, char *const *argv, const char *cwd, struct jobdir *d);
/* Opens an existing one.  Returns 0, ERR_ARG (no such job) or ERR_SYS. */
int	 jobdir_open(const char *name, struct jobdir *d);
void	 jobdir_close(struct jobdir *d);
/* Locks an open one to run the job again.  Returns 0, ERR_ARG (it runs, or has a record) or ERR_SYS. */
int	 jobdir_lock(struct jobdir *d);
/* Removes the status of the last run of a locked one, which is run again.  Returns 0 or ERR_SYS. */
int	 jobdir_begin(const struct jobdir *d);
/* Locks one that has a record, to take the job over.  Returns 0, ERR_ARG (it runs, or has no record) or ERR_SYS. */
int	 jobdir_take_over(struct jobdir *d);
/*
 * Removes the directory of a job that has ended; d holds its lock, or none, and is closed.  Returns 0,
 * ERR_ARG (it runs, or has a record) or ERR_SYS.
 */
int	 jobdir_remove(struct jobdir *d);
/* Writes this process's id and host as the launcher's.  Returns 0 or ERR_SYS. */
int	 jobdir_claim(struct jobdir *d);
/* Writes the exit status of a job that has ended, and removes its record in any case.  Returns 0 or ERR_SYS. */
int	 jobdir_end(struct jobdir *d, int status);

/* Replaces a file of the directory atomically: if it cannot be written, the old one stays.  Returns 0 or ERR_SYS. */
int	 jobdir_put(const struct jobdir *d, const char *file, const void *p, size_t n);
/*
 * Reads a file.  A zero byte follows the contents and is not counted.  Returns 0, ERR_ARG (there is none), ERR_SYS,
 * ERR_LIMIT (longer than `most` bytes) or ERR_NOMEM.
 */
int	 jobdir_get(const struct jobdir *d, const char *file, size_t most, struct buf *b);
/* Reads the number in a file; 0 if there is none. */
uint32_t jobdir_number(const struct jobdir *d, const char *file);
/* Truncates a file that is longer than `size` bytes.  Returns 0 or ERR_SYS. */
int	 jobdir_cut(const struct jobdir *d, const char *file, uint64_t size);

/* Returns 0, ERR_ARG (the job was removed) or ERR_SYS. */
int	 jobdir_read_state(const struct jobdir *d, struct jobdir_state *s);
/*
 * Fills an empty list with the command line, and *cwd with the directory, which the caller frees.
 * Returns 0, ERR_ARG (the job was removed), ERR_FORMAT (no words), ERR_SYS, ERR_LIMIT or ERR_NOMEM.
 */
int	 jobdir_command(const struct jobdir *d, struct words *argv, char **cwd);
/* Fills an empty list with the names of all jobs: numbers by value, then names.  Returns 0, ERR_SYS or ERR_NOMEM. */
int	 jobdir_list(struct words *names);

#endif
