/*
 * remote - a host as the launcher holds it: the remote shell, the agent behind it, the pipe between.
 *
 * Threads: for one thread at a time.
 */
#ifndef RUN_LAUNCHER_REMOTE_H
#define RUN_LAUNCHER_REMOTE_H

#include "run/chan.h"
#include "run/lines.h"

#include <sys/types.h>

#define REMOTE_FDS	3	/* polled: channel in and out, the remote shell's errors */
#define REMOTE_LAST	256	/* bytes of a line kept */

enum remote_state {
	REMOTE_CALLED,	/* the remote shell runs, the agent has not answered */
	REMOTE_UP,
	REMOTE_AWAY,	/* a detached job's: the connection was lost, the agent is called again */
	REMOTE_DONE,	/* all processes there have ended, all lines have come */
	REMOTE_GONE	/* went away before */
};

struct remote {
	const char	*name;			/* for messages */
	enum remote_state state;
	struct chan	*chan;			/* NULL after its end */
	pid_t		 pid;			/* of the remote shell; 0 after its end */
	int		 status;		/* its status then */
	struct lines	*err;			/* its errors; NULL after their end */
	char		 last[REMOTE_LAST];	/* the last line of them that says something */
	char		 why[REMOTE_LAST];	/* what was wrong with the channel */
	double		 ended;			/* when shell or channel ended; 0: neither has */
	uint32_t	 owed;			/* bytes of log frames that came since the last credit */
	bool		 kept;			/* the agent outlives its connection; and then */
	bool		 met;			/* the agent has answered on this connection */
	uint64_t	 got;			/* bytes of its log frames that came, on all connections */
	double		 away, again, called;	/* when the connection was lost; when to call again; when that was done */
	double		 told;			/* when it is said next that it is waited for */
	unsigned	 tries;
	char		 reason[REMOTE_LAST];	/* why it is away */
};

/* Starts the remote shell, or again: what is known of a host stays.  Returns 0, ERR_SYS (it cannot be run) or ERR_NOMEM. */
int	 remote_call(struct remote *r, const char *name, char *const *argv);
void	 remote_poll(const struct remote *r, struct pollfd fd[REMOTE_FDS]);
/* After poll: moves bytes both ways, and where a process has ended sees whether it was the remote shell. */
void	 remote_run(struct remote *r, bool died);
/* Before poll: what was said since goes now, as far as it can. */
void	 remote_push(struct remote *r);
/* The next line of the remote shell's own, newline included: true; false when there is none. */
bool	 remote_line(struct remote *r, const char **text, size_t *n);
/* Has it ended before it was done?  True once it is known why, or a second later. */
bool	 remote_lost(const struct remote *r);
/* One line for people: why.  code: 75, or 1 where trying again does not help. */
void	 remote_why(const struct remote *r, char text[2 * REMOTE_LAST], int *code);
/* Closes the pipe, which ends the agent; the remote shell gets the signal if it still runs, unless that is 0. */
void	 remote_hang_up(struct remote *r, int signo);
void	 remote_free(struct remote *r);

#endif
