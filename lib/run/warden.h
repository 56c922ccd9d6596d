/*
 * warden - a process that ends the others when the one that started it is gone.
 *
 * prctl(2) ends an agent's children with it, but not what these started.  The
 * warden holds the end of a pipe, is told every group of processes that begins
 * or has ended, and when the pipe ends kills those that are left.
 */
#ifndef RUN_WARDEN_H
#define RUN_WARDEN_H

#include <sys/types.h>

struct warden {
	int	 fd;	/* -1: none */
	pid_t	 pid;
};

#define WARDEN_MOST	4096	/* groups watched at a time; those over it are not */

/* Forks; to be called before other descriptors than the standard ones are open.  Returns 0 or ERR_SYS. */
int	 warden_start(struct warden *w);
void	 warden_watch(struct warden *w, pid_t group);
void	 warden_forget(struct warden *w, pid_t group);
/* It kills what it still watches and ends; waits for that. */
void	 warden_stop(struct warden *w);

#endif
