/*
 * proc - one process of a job on this host, from its start to its end.
 *
 * Threads: one thread.
 */
#ifndef RUN_AGENT_PROC_H
#define RUN_AGENT_PROC_H

#include "run/attach/attach.h"
#include "run/ctl.h"
#include "run/lines.h"
#include "run/outq.h"
#include "run/role.h"

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#define PROC_ADDR	300	/* bytes of "host:port\n" and a zero */
#define PROC_FDS	5	/* polled: output, errors, address, input, shim */
#define PROC_HOLD_S	10.0	/* how long the process of a job that is not detached goes on without an agent */

/* PROC_LEFT: a worker has ended and left its elastic job, and may join it again. */
enum proc_state { PROC_WAITING, PROC_RUNNING, PROC_LEFT, PROC_ENDED };

struct proc {
	struct job_child child;
	enum proc_state	 state;
	bool		 leaving;	/* it was asked to leave its elastic job, by this agent or an earlier one */
	pid_t		 pid;		/* process id of its shim, also after its end; 0: none */
	int		 shim;		/* the connection to its shim, also after its end; -1: none */
	uint64_t	 passed;	/* bit n: an earlier agent has passed it signal n */
	bool		 adopted;	/* its shim is not this process's child */
	char		 name[ATTACH_NAME];	/* name of its shim; "": no other agent can adopt it */
	double		 hold_s;	/* how long it goes on without an agent */
	pid_t		 command;	/* its process id and process group */
	struct lines	*line[2];	/* its output and errors; NULL: none, or at their end */
	struct outq	 in;		/* bytes for its standard input; the descriptor is -1 without one */
	bool		 in_end;	/* the end of the input has been received */
	uint32_t	 in_unreported;	/* input bytes received and not yet returned by proc_feed */
	int		 ready;		/* a server's address arrives here; -1: no longer */
	char		 addr[PROC_ADDR];
	size_t		 addr_len;
	double		 started_at;
	/* Socket and address of a server or shard; memories of a process that is started again, and of its shard. */
	int		 listen_fd, memory_fd, shard_fd;	/* -1: none */
	int		 mailbox_fd;	/* worker 0's mailbox (ps/mailbox.h); -1: none */
	int		 attach_fd;	/* the socket of its name; -1: none */
	char		 listen[PROC_ADDR];
	double		 hour_at;	/* the beginning of the hour in which it was started again `again` times */
	uint32_t	 again;
	int		 status;	/* status as of wait(2), once it has ended */
	uint32_t	 ms;		/* its running time, once it has ended */
	uint32_t	 peak_kib;	/* the highest peak memory of it and of those that it replaced */
	enum ctl_type	 end_sent;	/* CTL_EXITED or CTL_LEFT; 0: its end was not sent */
};

/* agent: the name under which another agent finds its processes; "": none does.  i: its number in the job. */
void	 proc_init(struct proc *p, const struct job *j, uint32_t i, const char *agent, double hold_s);
void	 proc_free(struct proc *p);	/* closes the descriptors and kills what is left of the process */
void	 proc_close_pipes(struct proc *p);	/* only those of the process that has ended */

/* 1 if the process must listen before the others start; else 0. */
int	 proc_starts_first(const struct job *j, const struct proc *p);
/*
 * Opens the socket on which a worker's shard will listen at `host`, and sets addr.  The system accepts connections
 * before the worker does.  Returns 0, ERR_SYS or ERR_FORMAT.
 */
int	 proc_listen(struct proc *p, const char *host);
/*
 * Starts it with the pipes of its role.  key_fd and ready_fd of `at` are ignored.  Returns 0,
 * ERR_SYS (errno, and the error line names the command) or ERR_NOMEM.
 */
int	 proc_start(struct proc *p, const struct job *j, const struct role_place *at);
/*
 * Whether a process that a signal ended can be started again: it has used its memory.  A worker declines it if its job
 * or data do not allow a successor, and pworker(1) may die before it does either.  Another command uses none.
 */
bool	 proc_has_successor(const struct proc *p, const struct job *j);
/* Starts it again.  Returns 0, ERR_LIMIT (the job does not allow it again within an hour) or as proc_start. */
int	 proc_start_again(struct proc *p, const struct job *j, const struct role_place *at);
/* Refuses connections to the socket of a process that has ended for good: its shim and this agent still hold it. */
void	 proc_stop_listening(const struct proc *p);
/* Makes a worker that has left PROC_WAITING, as at first. */
void	 proc_renew(struct proc *p);
/*
 * Takes it over from an agent that has ended, with the key of its job.  Returns 0, or as shim_adopt:
 * ERR_PEER if no such process is left.
 */
int	 proc_adopt(struct proc *p, char key[JOB_KEY + 1]);
/* Ends what an earlier attempt left of it.  Its name is free soon after. */
void	 proc_end_orphan(const struct proc *p);
/* Signals it and all that it started. */
void	 proc_signal(struct proc *p, int signo);
/* Tells a server that workers may join an elastic job (pserver(1)). */
void	 proc_announce_joins(const struct proc *p);
void	 proc_poll(const struct proc *p, int with_lines, struct pollfd fd[PROC_FDS]);
/* After poll: returns 1 once, when `addr` holds the address for the other processes; else 0. */
int	 proc_ready(struct proc *p);
/* Lines of output (which 0) or errors (1), as lines_next. */
int	 proc_next_lines(struct proc *p, int which, const char **text, size_t *n);
/* Queues input; n 0 is its end.  Returns 0, ERR_FORMAT (more than may wait, or after the end) or ERR_NOMEM. */
int	 proc_input(struct proc *p, const void *text, size_t n);
/*
 * After poll: writes input.  Returns the number of bytes that were written or dropped since it last
 * returned more than 0; input that nobody reads is dropped.
 */
uint32_t proc_feed(struct proc *p, bool ready);
/*
 * Returns 1 and the status, and updates the peak memory, once it and all that it started have ended; else 0.  If its
 * shim was killed, *stray says that what it started may be left.
 */
int	 proc_ended(struct proc *p, int *status, bool *stray);

#endif
