/*
 * child - a process started in a group of its own, with its ends of pipes.
 *
 * It leads a session, so that a terminal's signals do not reach it and one
 * signal reaches all it starts; no signal is blocked in it; it ends with its
 * parent (prctl(2), PR_SET_PDEATHSIG).  Descriptors are close-on-exec
 * everywhere else; the caller has one thread.
 */
#ifndef RUN_CHILD_H
#define RUN_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child_opt {
	char *const	*argv;		/* argv[0] is looked up on PATH as env leaves it */
	char *const	*env;		/* "NAME=VALUE" put over this process's own, ending with NULL; or NULL */
	const int	*keep;		/* descriptors that it has too, ending with -1; or NULL */
	bool		 has_in;	/* its standard input is a pipe, not /dev/null */
	int		 death;		/* the signal it gets when this process ends */
	bool		 warden;	/* it is kept by one (run/agent/shim.h), and gets that signal when that one ends */
};

struct child {
	pid_t		 pid;		/* whom to wait for: the process or its warden */
	pid_t		 command;	/* the process */
	int		 in, out, err;	/* our ends, the caller's to close; in is -1 without has_in */
};

/* Returns 0 or ERR_SYS ("pworker: No such file or directory"). */
int	 child_start(const struct child_opt *opt, struct child *c);
/* Sends a signal to all of its group, SIGKILL to all of its session; nothing when pid is 0.  A warden takes shim_signal. */
void	 child_signal(pid_t pid, int signo);
/*
 * The status once the process has ended, which is then gone: true; false while it runs.  Never blocks.  *peak_kib, where
 * peak_kib is not NULL: the most memory that it had, or a process that it waited for.
 */
bool	 child_ended(pid_t pid, int *status, uint32_t *peak_kib);

#endif
