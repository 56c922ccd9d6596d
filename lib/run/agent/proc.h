/*
 * proc - one process of a job on this host, from its start to its end.
 *
 * Threads: for one thread.
 */
#ifndef RUN_AGENT_PROC_H
#define RUN_AGENT_PROC_H

#include "run/lines.h"
#include "run/outq.h"
#include "run/role.h"

#include <poll.h>
#include <sys/types.h>

#define PROC_WHERE	300	/* bytes of "host:port\n" and a zero */
#define PROC_FDS	4	/* polled: output, errors, address, input */

enum proc_state { PROC_WAITING, PROC_RUNNING, PROC_ENDED };

struct proc {
	struct job_child what;
	enum proc_state	 state;
	pid_t		 pid;		/* of its warden, to be signalled by that; 0: does not run */
	pid_t		 command;	/* of it and its group */
	struct lines	*line[2];	/* its output and errors; NULL: none, or at their end */
	struct outq	 in;		/* on its way to its standard input; its descriptor is -1 without one */
	bool		 in_end;	/* nothing comes behind that */
	uint32_t	 in_owed;	/* bytes that came and were not told to have gone on */
	int		 ready;		/* a server's address comes here; -1: no more */
	char		 where[PROC_WHERE];
	size_t		 nwhere;
	double		 since;		/* when it was started */
	int		 status;	/* once ended, as of wait(2), */
	uint32_t	 ms, peak_kib;	/* the time that it ran, and the most memory it had */
	bool		 told;		/* the launcher has been told of its end */
};

void	 proc_init(struct proc *p, const struct job_child *what);
void	 proc_free(struct proc *p);	/* its descriptors; it is not ended by that */

/* Must it be there before the others start, which are told where it is? */
int	 proc_first(const struct job *j, const struct proc *p);
/*
 * Starts it with the pipes of its role; key_fd and ready_fd of `at` are not
 * read.  Returns 0, ERR_SYS (the line says what cannot be run, errno why) or ERR_NOMEM.
 */
int	 proc_start(struct proc *p, const struct job *j, const struct role_place *at);
void	 proc_poll(const struct proc *p, int with_lines, struct pollfd fd[PROC_FDS]);
/* After poll: 1 when `where` has the address that others are to be told, once; else 0. */
int	 proc_ready(struct proc *p);
/* Lines of output (which 0) or errors (1): as lines_next. */
int	 proc_lines(struct proc *p, int which, const char **text, size_t *n);
/* Input for it: n 0 is its end.  Returns 0, or ERR_FORMAT (more than may wait, or behind the end) or ERR_NOMEM. */
int	 proc_input(struct proc *p, const void *text, size_t n);
/* After poll: moves input on.  Bytes that have gone on since this was not 0, or were dropped as nobody reads them. */
uint32_t proc_feed(struct proc *p, bool ready);
/* The status and peak memory once it has ended: 1, and what it started has ended with it; 0 while it runs. */
int	 proc_ended(struct proc *p, int *status, uint32_t *peak_kib);

#endif
