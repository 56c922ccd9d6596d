/*
 * agent_job - the state of an agent's job, which the files of agent share.
 *
 * Ownership and threads: agent_run's own.
 */
#ifndef RUN_AGENT_AGENT_JOB_H
#define RUN_AGENT_AGENT_JOB_H

#include "run/agent/agent.h"
#include "ps/mailbox.h"
#include "run/agent/proc.h"
#include "run/chan.h"
#include "run/ctl.h"
#include "run/here.h"

#define AGENT_FDS	6	/* polled: chan's two, signals, attach_fd, incoming's two; then PROC_FDS a process */

struct agent {
	const struct agent_opt *opt;
	struct chan	*chan;		/* NULL: the launcher is lost; shut: it may come back */
	struct chan	*incoming;	/* a new connection that has not sent RESUME yet; or NULL */
	struct job	 job;
	struct proc	*proc;		/* [job.nchildren], numbered as in the job; NULL until JOB */
	struct pollfd	*fd;
	char		 addr[HERE_ADDR];
	char		*go;		/* the text of CTL_GO; NULL until then */
	uint32_t	 workers;	/* elastic job: workers of this rank or above are not in it (CTL_SCALE) */
	bool		 closed;	/* elastic job: no worker is started any more */
	struct mailbox	 box;		/* mailbox of worker 0, once it was used */
	uint64_t	 set_id;	/* its request that was not answered; 0: none */
	uint32_t	 signals;	/* number of CTL_SIGNAL messages received */
	bool		 done;		/* CTL_DONE is queued */
	double		 accept_at;	/* no connection is accepted before, as descriptors or memory ran out */
	int		 end_error;	/* why the launcher is lost */
	char		 end_line[ERR_LINE];
	double		 kill_at;	/* when the processes of a lost launcher are killed */
	double		 log_full_since; /* 0: the log has room */
	double		 log_full_s;	/* seconds without room that were not yet reported */
};

/* Where its processes run. */
struct role_place agent_place(const struct agent *a);
/* Gives the launcher up: closes its connections and sends SIGTERM to the processes; SIGKILL follows at kill_at. */
void	 agent_lose_launcher(struct agent *a, int why);
/* Sends a message of numbers and, unless it is NULL, a text. */
void	 agent_send(struct agent *a, enum ctl_type type, const uint32_t *word, size_t n, const char *text);
/* Sends lines of child i: output (which 0) or errors (1). */
void	 agent_send_lines(struct agent *a, uint32_t i, int which, const char *text, size_t n);
/*
 * Sends CTL_STARTED for child i.  Not of a worker that this agent found leaving and that its launcher does not miss:
 * the launcher may have reported already that it has left.
 */
void	 agent_send_start(struct agent *a, uint32_t i);
/* Sends the end of child i, as it was sent before, from its struct proc. */
void	 agent_send_end(struct agent *a, uint32_t i);
/*
 * Sends CTL_EXITED or CTL_LEFT at the end of the process, after its last lines, which may be the cause.  To a launcher
 * that comes back it precedes the log, which may end with CTL_DONE.
 */
void	 agent_end_process(struct agent *a, uint32_t i, enum ctl_type how);

/* Whether process i is a worker that is not in the job now, and may join it. */
bool	 agent_reserve(const struct agent *a, uint32_t i);
/* A worker has left: starts it again if it is to join meanwhile. */
void	 agent_rejoin(struct agent *a, uint32_t i);

/* agent_set.c: handles CTL_SET.  Returns 0, ERR_FORMAT or ERR_SYS. */
int	 agent_handle_set(struct agent *a, const struct frame *f);
/* Reports an answer of worker 0. */
void	 agent_check_set(struct agent *a);

/* Handles a message.  Returns 0, ERR_FORMAT (no launcher sends this), ERR_SYS, ERR_ARG, ERR_LIMIT or ERR_NOMEM. */
int	 agent_handle(struct agent *a, const struct frame *f);

/* agent_attach.c: sends CTL_HELLO, the first message.  Returns 0 or ERR_NOMEM. */
int	 agent_send_hello(struct chan *c, const char *version);
/* Accepts a connection, which replaces an incoming one.  Without a descriptor or memory for it, tries later. */
void	 agent_accept(struct agent *a);
/* Reads from the incoming connection; after RESUME it becomes the launcher's. */
void	 agent_handle_incoming(struct agent *a);

#endif
