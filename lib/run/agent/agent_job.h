/*
 * agent_job - an agent's job as the files of agent share it: its state, and what it says of it.
 *
 * Ownership and threads: agent_run's own.
 */
#ifndef RUN_AGENT_AGENT_JOB_H
#define RUN_AGENT_AGENT_JOB_H

#include "run/agent/agent.h"
#include "run/chan.h"
#include "run/ctl.h"
#include "run/here.h"
#include "run/agent/proc.h"

#define AGENT_FDS	6	/* polled: the channel's two, the signals, the door, the caller's two; then PROC_FDS a process */

struct agent {
	const struct agent_opt *opt;
	struct chan	*chan;		/* NULL: the launcher is gone; shut: it may come back */
	struct chan	*caller;	/* who came through the door and has not said RESUME yet; or NULL */
	struct job	 job;
	struct proc	*proc;		/* [job.nchildren], numbered as in the job; NULL before it */
	struct pollfd	*fd;
	char		 addr[HERE_ADDR];
	char		*go;		/* NULL: not come yet */
	uint32_t	 signals;	/* how many CTL_SIGNAL have come */
	bool		 done;		/* CTL_DONE is said */
	double		 door_at;	/* the door stays shut until then, as this process lacks what lets somebody in */
	int		 why;		/* the launcher is gone */
	double		 kill_at;	/* when patience with the processes ends then */
	double		 full_at;	/* since then the log has had no room; 0: it has */
	double		 full_s;	/* that it had none before, since a launcher was told */
};

/* The launcher is gone: nothing can be done for it, and the processes are asked to end, and later made to. */
void	 agent_lose(struct agent *a, int why);
/* Says a frame of numbers and, unless it is NULL, a text. */
void	 agent_say(struct agent *a, enum ctl_type type, const uint32_t *word, size_t n, const char *text);
/* Says lines of child i: output (which 0) or errors (1). */
void	 agent_say_lines(struct agent *a, uint32_t i, int which, const char *text, size_t n);
/* That child i has ended, as its struct proc says. */
void	 agent_say_exit(struct agent *a, uint32_t i);

/* Takes what the launcher says.  Returns 0, or ERR_FORMAT when it is no launcher's, ERR_SYS, ERR_ARG, ERR_LIMIT, ERR_NOMEM. */
int	 agent_take(struct agent *a, const struct frame *f);

/* agent_door.c: says who we are, which comes first.  Returns 0 or ERR_NOMEM. */
int	 agent_greet(struct chan *c, const char *version);
/* Lets the next caller in, who takes the place of one that has said nothing yet.  Without a descriptor or memory for it: later. */
void	 agent_door(struct agent *a);
/* Hears the caller, and makes it the launcher when it says RESUME. */
void	 agent_hear(struct agent *a);

#endif
