/*
 * launch_job - a launched job as the files of launch share it: its state, and how it comes to an end.
 *
 * Ownership and threads: launch_run's own.
 */
#ifndef RUN_LAUNCHER_LAUNCH_JOB_H
#define RUN_LAUNCHER_LAUNCH_JOB_H

#include "run/ctl.h"
#include "run/launcher/launch.h"
#include "run/outq.h"
#include "run/launcher/remote.h"

#define LAUNCH_PATIENCE_S 5.0	/* before it is said who is waited for; then twice that, and so on */

struct launch {
	const struct launch_opt *opt;
	struct roster	*roster;
	struct remote	*remote;	/* [roster->hosts] */
	struct pollfd	*fd;		/* signals, out, err, in, then REMOTE_FDS a host */
	struct outq	 out, err;
	uint32_t	 fed;		/* bytes of input that were sent and not taken */
	bool		 in_end;	/* it is all sent */
	double		 since;		/* the start */
	double		 patience;	/* when it is said who is waited for */
	bool		 gone;		/* CTL_GO is sent: all run */
	int		 signo;		/* the user's; 0: none */
	double		 term_at, kill_at;	/* when those left are signalled; 0: not yet known */
	bool		 changed;	/* the state differs from what was saved last */
	double		 saved;		/* when that was done last */
	struct job_record_signal sent[JOB_RECORD_SIGNALS];	/* signals of a detached job, for hosts that have missed them */
	uint32_t	 nsent;
	double		 cause_at;	/* a process lost its peer: the others' own ends are waited for until then; 0: nobody did */
};

/* A line of our own, behind the tool's name. */
void	 launch_note(struct launch *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sends a frame; e < 0 says that its bytes b could not be had: the host is then let go. */
void	 launch_send(struct remote *r, enum ctl_type type, const struct buf *b, int e);
/* Sends a signal to the processes of all hosts; those not started then never are. */
void	 launch_signal(struct launch *l, enum ctl_whom whom, int signo);

/* The job ends before its time: those that run are asked to, and made to when their grace is over. */
void	 launch_end(struct launch *l);
void	 launch_kill(struct launch *l);
/* The same, with the exit status of the job (roster_fail). */
void	 launch_fail(struct launch *l, int code);
/* A host is lost, and its processes with it: its agent ends them when it sees the same. */
void	 launch_lose(struct launch *l, struct remote *r, const char *why, int code);

/* The words of the command line that reach a host, and behind them those given; argv is empty before. */
int	 launch_words(const struct launch *l, uint32_t h, const char *option, struct words *argv);

/* launch_keep.c: is the job detached? */
bool	 launch_keeps(const struct launch *l);
/* Is where launch_keep.from says.  Returns 0, or ERR_FORMAT where that is of another job. */
int	 launch_restore(struct launch *l);
/* A connection is lost, and the host called again. */
void	 launch_away(struct launch *l, struct remote *r, const char *why);
/* Calls those that are due, and gives up those that are not worth it. */
void	 launch_mind_away(struct launch *l);
/* Saves what has changed, if now or when it is time, and tells agents what they need not keep.  Nothing for a job that is not detached. */
void	 launch_save(struct launch *l, bool now);
/* Takes HELLO and BACK of a detached job's agent.  Returns 0, ERR_FORMAT or ERR_NOMEM. */
int	 launch_take_hello(struct remote *r);
int	 launch_take_back(struct launch *l, struct remote *r, const struct frame *f);
/* launch_take.c: tells an agent what to run. */
void	 launch_send_job(struct launch *l, struct remote *r);
/* Where the others are. */
int	 launch_send_go(struct launch *l, struct remote *r);

/* The input can be polled: is there somebody to take it?  Once it is ready, launch_input sends a piece of it. */
bool	 launch_hungry(const struct launch *l);
void	 launch_input(struct launch *l);

/* Takes what an agent says.  Returns 0, ERR_FORMAT when it is no agent's, ERR_NOMEM. */
int	 launch_take(struct launch *l, struct remote *r, const struct frame *f);

#endif
