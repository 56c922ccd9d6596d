/*
 * launch - one command on many hosts as one: one start, one output, one exit status, one end.
 *
 * An agent (run/agent/agent.h) is started on every host through the remote shell and
 * told by run/ctl.h what to run.  The servers start first; when all have said
 * where they listen, the workers do.  What the processes print comes out line
 * by line, errors behind the name of the process.  The first failure ends the
 * others; a lost host is a failure; the launcher's own end is every agent's.
 * Nothing is waited for in silence.
 *
 * A detached job's agents outlive their connections, and the launcher.  A launcher that loses a connection calls the
 * host again, until it answers or is given up: after the job's silence; after start_s when other hosts
 * answer; or when the job is at its end anyway.  What a launcher after this one needs is saved again and again, and agents keep the
 * part of their logs that is not in what was saved: nothing is lost or comes twice.
 */
#ifndef RUN_LAUNCHER_LAUNCH_H
#define RUN_LAUNCHER_LAUNCH_H

#include "run/launcher/job_record.h"
#include "run/launcher/roster.h"
#include "run/words.h"

/*
 * For a picture of the job that stands at the bottom of a terminal, below the lines: what workers and servers print is
 * told as it comes; the picture is taken away before anything is written to out, or err, and put back when all of it is
 * written, and then again and again.  Functions of NULL: nobody looks.
 */
struct launch_watch {
	void		*arg;
	void		(*took)(void *arg, const struct member *m, const char *text, size_t n);	/* whole lines */
	void		(*hide)(void *arg, bool err);
	void		(*show)(void *arg);
};

/* Of a detached job. */
struct launch_keep {
	const char	*id;		/* [JOB_RECORD_ID] digits; NULL: it is not detached, and agents end with the launcher */
	uint32_t	 attempt;	/* from 0 */
	const struct job_record *from;	/* this launcher takes the job over, in whose files is what the record says; or NULL */
	int		 (*save)(void *arg, const void *p, size_t n);	/* a record, in place of the one before; 0 or an error */
	void		*arg;
};

struct launch_opt {
	const struct hosts *hosts;
	const struct words *rsh;	/* template of a remote shell (words_fill); none: the agent is started as a child */
	const char	*agent;		/* path of dlaunch on the hosts */
	const char	*version;	/* of tally, and the agents' as well */
	const char	*tool;		/* in front of our own lines */
	struct job	 job;		/* but addr, host and children, which are each agent's own */
	double		 start_s;	/* the most that hosts and servers may take to be there */
	double		 grace_s;	/* between SIGTERM and SIGKILL; and for ends of their own, of those whose peer is lost */
	int		 signals;	/* a signalfd(2) of SIGCHLD, SIGINT, SIGTERM, SIGHUP, which are blocked; SIGPIPE is blocked too */
	int		 in;		/* what worker 0 reads, as job.input says; -1: nothing */
	int		 out, err;	/* where all goes */
	bool		 verbose;	/* what the remote shells say too */
	bool		 wait;		/* a failure does not end the others, once all run */
	struct launch_watch watch;
	struct launch_keep keep;	/* out and err are files then, of this job alone */
	const char	*dir;		/* where each process's lines go (run/outfile.h) rather than to out and err; NULL: nowhere */
};

/*
 * Runs the processes of a roster.  Returns the exit status of all: 0; that of the
 * first process that failed; 75 when a host went away or was not reached;
 * 128 + n after signal n; 1 for what is none of these.  The roster then knows how each ended.
 */
int	 launch_run(const struct launch_opt *opt, struct roster *roster);

#endif
