/*
 * child - starts a process in a session of its own, connected by pipes.
 *
 * The session keeps a terminal's signals from the process, and lets one signal reach all that it
 * starts.  No signal but child_opt.held is blocked in the process.  It ends with its parent (prctl(2),
 * PR_SET_PDEATHSIG).  The caller has one thread and marks all other descriptors close-on-exec.
 */
#ifndef RUN_CHILD_H
#define RUN_CHILD_H

#include "run/agent/shim.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child_opt {
	char *const	*argv;		/* argv[0] is searched for in the PATH that env sets */
	char *const	*env;		/* "NAME=VALUE", added to this process's own, ending with NULL; or NULL */
	const int	*inherit;	/* further descriptors that it gets, ending with -1; or NULL */
	bool		 has_in;	/* its standard input is a pipe, not /dev/null */
	int		 death;		/* the signal that it gets when its parent ends */
	int		 held;		/* a signal that waits until the process unblocks it; 0: none */
	bool		 signalled;	/* it has got that signal already */
	const struct shim_opt *shim;	/* a shim (run/agent/shim.h) is its parent, and the caller's child; or NULL */
};

struct child {
	pid_t		 pid;		/* the caller's child: the process or its shim */
	pid_t		 command;	/* the process */
	int		 in, out, err;	/* our ends, which the caller closes; in is -1 without has_in */
	int		 shim;		/* the connection to the shim, for shim_release; -1 without one */
};

/* Returns 0 or ERR_SYS ("pworker: No such file or directory"). */
int	 child_start(const struct child_opt *opt, struct child *c);
/* Sends SIGKILL to the session of pid, or another signal to its group; nothing if pid is 0.  See also shim_signal. */
void	 child_signal(pid_t pid, int signo);
/*
 * Reaps the process.  Returns true and its status if it has ended, false while it runs; never
 * blocks.  Unless peak_kib is NULL, *peak_kib is the peak memory of the process or of a process
 * that it waited for.
 */
bool	 child_ended(pid_t pid, int *status, uint32_t *peak_kib);

#endif
