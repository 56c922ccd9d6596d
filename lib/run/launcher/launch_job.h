/*
 * launch_job - the state of a launched job, which the files of launch share.
 *
 * Ownership and threads: launch_run's own.
 */
#ifndef RUN_LAUNCHER_LAUNCH_JOB_H
#define RUN_LAUNCHER_LAUNCH_JOB_H

#include "run/ctl.h"
#include "run/launcher/launch.h"
#include "run/launcher/remote.h"
#include "run/outq.h"

#define LAUNCH_REPORT_S 3.0	/* time until a wait is first reported; later reports double it */

struct launch {
	const struct launch_opt *opt;
	struct roster	*roster;
	struct remote	*remote;	/* [roster->hosts] */
	uint32_t	 first;		/* host whose turn is first in this round */
	struct pollfd	*fd;		/* signals, out, err, in, then REMOTE_FDS a host */
	struct outq	 out, err;
	bool		 scales;	/* another number of workers is wanted */
	bool		 sets;		/* a change of settings is wanted */
	uint64_t	 set_id;	/* the one that worker 0 was asked for; 0: none */
	char		 set_text[SETTINGS_TEXT];
	double		 set_again_at;	/* when it is asked for again */
	bool		 closed;	/* agents know that no worker is started any more */
	uint32_t	 in_flight;	/* bytes of INPUT that were sent and not TAKEN */
	bool		 in_end;	/* all input was sent */
	double		 started_at;
	double		 report_at;	/* when a wait is reported next */
	bool		 started;	/* CTL_GO was sent: all processes run */
	int		 signo;		/* the user's signal; 0: none */
	double		 term_at, kill_at;	/* when the remaining processes are signalled; 0: not set */
	bool		 changed;	/* the state differs from the saved one */
	double		 saved_at;	/* when the state was last saved */
	struct job_record_signal sent[JOB_RECORD_SIGNALS];	/* signals for hosts that missed them */
	uint32_t	 nsent;
	double		 peer_lost_until;	/* a peer was lost: time for others to end by themselves; 0: not */
	const struct member *lost_peer;	/* a process that ended because it lost a peer, not reported yet; NULL: none */
	struct outq	 held;		/* lines of processes that lost a peer (launch_cause.c); no descriptor */
	double		 held_since;	/* when the first process said or showed that it lost a peer; 0: none has */
};

/* Writes a message with the tool's name before it. */
void	 launch_report(struct launch *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sends a message.  e < 0 says that b could not be built; the host is then hung up. */
void	 launch_send(struct remote *r, enum ctl_type type, const struct buf *b, int e);
/* Sends a message of n numbers. */
void	 launch_send_u32s(struct remote *r, enum ctl_type type, const uint32_t *v, size_t n);
/* Sends a signal to the processes of all hosts.  Processes that are not started yet never start. */
void	 launch_signal(struct launch *l, enum ctl_target whom, int signo);

/* Ends the job early: SIGTERM for all processes now, SIGKILL after the grace. */
void	 launch_end(struct launch *l);
void	 launch_kill(struct launch *l);
/* Ends a started job in order: SIGTERM for the workers, which save their state, and SIGKILL after the grace. */
void	 launch_stop(struct launch *l);
/* Ends the job as launch_stop does, with exit status 1, as output cannot be written; what is "" or names the file. */
void	 launch_lose_output(struct launch *l, const char *what);
/* Ends the job early and sets its exit status (roster_fail). */
void	 launch_fail(struct launch *l, int code);
/* Marks the processes of a host that have not ended as lost. */
void	 launch_mark_lost(struct launch *l, uint32_t h);
/* Gives up a host and its processes, which its agent ends when it notices. */
void	 launch_lose(struct launch *l, struct remote *r, const char *why, int code);

/* Fills empty argv with the command that runs the agent on host h with an option. */
int	 launch_build_argv(const struct launch *l, uint32_t h, const char *option, struct words *argv);

/* launch_detached.c */
bool	 launch_is_detached(const struct launch *l);
/* Restores the state from launch_detached.from.  Returns 0, or ERR_FORMAT if that is of another job. */
int	 launch_restore(struct launch *l);
/* Marks a connection or an agent as lost; launch_check_away calls the host again. */
void	 launch_lose_link(struct launch *l, struct remote *r, const char *why);
/* Calls the away hosts that are due again, and gives up those past their limit. */
void	 launch_check_away(struct launch *l);
/*
 * Saves the changed state, if `now` or if it is due, and credits what agents need not keep any longer.
 * Does nothing unless the job is detached.
 */
void	 launch_save(struct launch *l, bool now);
/* Sends CTL_RESUME, the answer to CTL_HELLO.  Returns 0 or ERR_NOMEM. */
int	 launch_send_resume(struct remote *r);
/* Handles CTL_STATE.  Returns 0 or ERR_FORMAT. */
int	 launch_handle_state(struct launch *l, struct remote *r, const struct frame *f);

/* Sends the successor of a killed agent the state of a job that is not detached. */
void	 launch_hand_over(struct launch *l, struct remote *r);
/* Notes a message of a process: if the agent is a successor, it has found the processes. */
void	 launch_note_adopted(struct launch *l, struct remote *r);

/* launch_handle.c: sends CTL_JOB to an agent. */
void	 launch_send_job(struct launch *l, struct remote *r);
/* Sends CTL_GO to an agent. */
int	 launch_send_go(struct launch *l, struct remote *r);
/* Handles a message.  Returns 0, ERR_FORMAT (no agent sends this) or ERR_NOMEM. */
int	 launch_handle(struct launch *l, struct remote *r, const struct frame *f);

/*
 * launch_cause.c: a process that loses its peer may say so (run/consequence.h), or end, before the peer's end is known
 * here.  What it says is held until that cause is reported, or the job ends, or none comes.
 *
 * Whether lines are held: not once the job is being ended.
 */
bool	 launch_holds(const struct launch *l);
/* Holds error lines.  Returns 0 or ERR_NOMEM. */
int	 launch_hold_lines(struct launch *l, const char *name, const char *text, size_t n);
/* Notes the end of a process that lost its peer, to be reported if no cause is. */
void	 launch_note_lost_peer(struct launch *l, const struct member *m);
/* Writes the lines that are held: the cause was reported just before. */
void	 launch_release(struct launch *l);
/* Writes them if no cause has come in time or none can come any more, and reports the end that was noted. */
void	 launch_check_cause(struct launch *l);

/* launch_scale.c: a worker of the job, which may not be in it. */
struct member *launch_worker(const struct launch *l, uint32_t rank);
/* Once all processes run, changes the number of workers as it is wanted. */
void	 launch_check_scale(struct launch *l);
/* Tells an agent of an elastic job the number of workers, or that no worker is started any more. */
void	 launch_send_scale(struct launch *l, struct remote *r);
/* Does so with all agents. */
void	 launch_scale_all(struct launch *l);
/* A worker has left, as it was asked to. */
void	 launch_note_leave(struct launch *l, const struct remote *r, struct member *m);
/* A worker has ended.  Returns true if the job goes on without it, as it could not join. */
bool	 launch_note_unjoined(struct launch *l, const struct remote *r, struct member *m, int status);

/* launch_set.c: once all processes run, asks worker 0 for changes of settings that are wanted. */
void	 launch_check_set(struct launch *l);
/* Worker 0 has answered; why "": it is not refused. */
void	 launch_note_settled(struct launch *l, uint64_t id, uint64_t from, const char *why);

/* launch_input.c: true if the input may be read, as worker 0 can take more. */
bool	 launch_wants_input(const struct launch *l);
/* Reads input that is ready, and sends it. */
void	 launch_send_input(struct launch *l);

#endif
