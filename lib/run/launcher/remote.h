/*
 * remote - a host as the launcher sees it: the remote shell, its agent, and the pipe between them.
 *
 * Threads: one thread at a time.
 */
#ifndef RUN_LAUNCHER_REMOTE_H
#define RUN_LAUNCHER_REMOTE_H

#include "run/chan.h"
#include "run/lines.h"

#include <sys/types.h>

#define REMOTE_FDS	3	/* polled: channel in and out, the remote shell's errors */
#define REMOTE_LAST	256	/* bytes of a text that is kept, with its zero */

enum remote_state {
	REMOTE_CALLED,	/* the remote shell runs, but the agent has not answered yet */
	REMOTE_UP,
	REMOTE_AWAY,	/* the launcher lost the agent, or the connection of a detached job, and calls again */
	REMOTE_DONE,	/* all processes of the host have ended, and the launcher has all their lines */
	REMOTE_GONE	/* the launcher lost the host before that */
};

struct remote {
	const char	*name;			/* name in messages */
	enum remote_state state;
	struct chan	*chan;			/* NULL after its end */
	pid_t		 pid;			/* process id of the remote shell; 0 after its end */
	int		 status;		/* status of the remote shell, after its end */
	struct lines	*err;			/* its standard error; NULL after the end */
	char		 last[REMOTE_LAST];	/* the last line of err that is not blank */
	char		 why[REMOTE_LAST];	/* the channel's error; "": none */
	double		 ended_at;		/* when shell or channel ended; 0: neither has */
	uint32_t	 uncredited;		/* bytes of log frames received since the last credit */
	bool		 detached;		/* the agent outlives its connection */
	bool		 silent;		/* the launcher has reported that it waits for the agent */
	bool		 greeted;		/* the agent has answered on this connection */
	bool		 adopting;		/* it follows a killed one, and has not found the processes yet */
	uint64_t	 received;		/* bytes of the host's log frames, over all connections */
	/* While the host is away: */
	double		 away_since;		/* when the connection was lost */
	double		 call_at, called_at;	/* the next and the last call */
	double		 report_at;		/* when the launcher next reports that it waits */
	unsigned	 tries;
	char		 reason[REMOTE_LAST];	/* why the host is away */
};

/*
 * Starts the remote shell, for the first time or again.  The members for detached jobs keep their values.  Returns 0,
 * ERR_SYS if the shell cannot run, or ERR_NOMEM.
 */
int	 remote_call(struct remote *r, const char *name, char *const *argv);
/* lines: also polls for what the remote shell prints. */
void	 remote_poll(const struct remote *r, struct pollfd fd[REMOTE_FDS], bool lines);
/* After poll: reads and writes; if a child has died, checks whether it was the remote shell. */
void	 remote_run(struct remote *r, bool died);
/* Before poll: writes queued messages as far as possible. */
void	 remote_push(struct remote *r);
/* Gives lines of the remote shell's standard error, with their newlines.  Returns false if there are none. */
bool	 remote_line(struct remote *r, const char **text, size_t *n);
/* Whether the host is lost: shell or channel ended too early, and the reason is known or a second has passed. */
bool	 remote_lost(const struct remote *r);
/* Writes one line that says why the host was lost.  *code is 75, or 1 if another attempt would fail, too. */
void	 remote_why(const struct remote *r, char text[2 * REMOTE_LAST], int *code);
/* Closes the pipe, which ends the agent.  Unless signo is 0, sends it to a remote shell that still runs. */
void	 remote_hang_up(struct remote *r, int signo);
void	 remote_free(struct remote *r);

#endif
