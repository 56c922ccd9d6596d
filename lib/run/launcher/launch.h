/*
 * launch - the launcher: runs a job on many hosts, with one output and one exit status.
 *
 * lib/run/launcher runs on the host of the user.  Read it in this order:
 *	launch, launch_job	the launcher, and the state that its files share
 *	roster			the processes of a job
 *	remote, rsh		a host, and the shell that reaches it
 *	hosts, nodelist		which hosts
 *	sync			copies a folder to them
 *	job_record		the saved state of a detached job
 *
 * It starts an agent (run/agent/agent.h) on every host through the remote shell, and tells it by the messages of
 * run/ctl.h what to run.  The servers start first.  When all of them listen, the workers start.  The output of the
 * processes is written line by line; the name of its process stands before each error line.  The first failure ends the
 * other processes, and a lost host is a failure.  If the launcher ends, every agent ends its processes.  If an agent is
 * killed, the launcher starts another one, which takes the processes over.  Long waits are reported.
 *
 * The agents of a detached job outlive their connections and the launcher.  A launcher that loses a connection calls
 * the host again until it answers or is given up.  It gives a host up after the job's silence, after start_s and
 * outage_s if other hosts answer, or when the job is being killed.  The launcher saves its state often, and agents keep
 * the part of their log that is not covered by the saved state.  Thus a later launcher can continue, and no line is
 * lost or written twice.
 */
#ifndef RUN_LAUNCHER_LAUNCH_H
#define RUN_LAUNCHER_LAUNCH_H

#include "ps/settings.h"
#include "run/launcher/job_record.h"
#include "run/launcher/roster.h"
#include "run/words.h"

/*
 * Draws the progress of the job at the bottom of a terminal.  The launcher calls lines for output that
 * it has received, hide before it writes to out or err, and draw repeatedly while nothing waits to be
 * written.  A function may be NULL.
 */
struct launch_watch {
	void		*arg;
	/* Whole lines that a process printed on standard output (out) or error. */
	void		(*lines)(void *arg, const struct member *m, bool out, const char *text, size_t n);
	/* Whether a line of a process's standard output, with its newline, is written to out. */
	bool		(*shows)(void *arg, const char *line, size_t n);
	void		(*hide)(void *arg, bool err);
	void		(*draw)(void *arg);
};

struct launch_detached {
	bool		 on;		/* the job is detached */
	uint32_t	 attempt;	/* from 0 */
	const struct job_record *from;	/* take the job over from this record; NULL: start it */
	int		 (*save)(void *arg, const void *p, size_t n);	/* replaces the record; 0 or an error */
	void		(*started)(void *arg);	/* all processes were started; called in each round from then on */
	void		(*lost)(void *arg, const char *why);	/* the record or the output cannot be written */
	void		*arg;
};

/* Jobs whose number of workers changes, job.elastic.  SIGUSR1 says that another number is wanted. */
struct launch_scale {
	uint32_t	 most_places;	/* most processes for which the hosts have slots; 0: no limit */
	uint32_t	(*wanted)(void *arg);	/* the number that is wanted; 0: none */
	void		(*changed)(void *arg, uint32_t workers);	/* the job has another number */
	/* Called when the job has the number that was wanted, or refuses it: `why`, else NULL. */
	void		(*answer)(void *arg, const char *why);
	void		*arg;
};

/* Changes of settings (ps/settings.h).  SIGUSR1 says that one is wanted. */
struct launch_set {
	/* Whether a change is wanted; its id, not 0, and text.  It answers at once what the job cannot have. */
	bool		(*wanted)(void *arg, uint64_t *id, char text[SETTINGS_TEXT]);
	/* Called when it is decided that it holds after step `from`, or that it is refused: `why`, else NULL. */
	void		(*answer)(void *arg, uint64_t id, const char *text, uint64_t from, const char *why);
	void		*arg;
};

struct launch_opt {
	const struct hosts *hosts;
	const struct words *rsh;	/* template of the remote shell (words_fill); NULL: the agent is a child */
	const char	*agent;		/* path of dlaunch on the hosts */
	const char	*id;		/* [JOB_RECORD_ID] digits that name the agents; NULL: a killed one is lost */
	const char	*version;	/* version of tally; agents must have the same */
	const char	*tool;		/* the name before our own messages */
	struct job	 job;		/* addr, host and children are set for each agent */
	double		 start_s;	/* limit for hosts to answer and servers to listen */
	double		 outage_s;	/* outage that a detached job's host survives if others answer; 0: none */
	double		 grace_s;	/* from SIGTERM to SIGKILL, and for others to end after a lost peer */
	/* signalfd(2) of SIGCHLD, SIGINT, SIGTERM, SIGHUP and SIGUSR1, which are blocked as SIGPIPE is */
	int		 signals;
	int		 in;		/* the input of worker 0, if job.input; else -1 */
	int		 out, err;	/* the job's output; for a detached job, files of this job alone */
	bool		 verbose;	/* write also what remote shells print before agents answer */
	bool		 wait;		/* a failure does not end the other processes, once all run */
	struct launch_watch watch;
	struct launch_detached detached;
	struct launch_scale scale;
	struct launch_set set;
	const char	*dir;		/* replaces out and err by files a process (run/outfile.h); or NULL */
};

/*
 * Runs the processes of a roster.  Returns the exit status of the job: 0; the status of the first
 * process that failed; 75 if a host was lost or not reached; 128 + n after signal n; 1 for any other
 * failure.  Afterwards the roster holds how each process ended.
 */
int	 launch_run(const struct launch_opt *opt, struct roster *roster);

#endif
