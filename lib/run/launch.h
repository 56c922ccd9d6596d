/*
 * launch - one command on many hosts as one: one start, one output, one exit status, one end.
 *
 * An agent (run/agent.h) is started on every host through the remote shell and
 * told by run/ctl.h what to run.  The servers start first; when all have said
 * where they listen, the workers do.  What the processes print comes out line
 * by line, errors behind the name of the process.  The first failure ends the
 * others; a lost host is a failure; the launcher's own end is every agent's.
 * Nothing is waited for in silence.
 */
#ifndef RUN_LAUNCH_H
#define RUN_LAUNCH_H

#include "run/roster.h"
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

struct launch_opt {
	const struct hosts *hosts;
	const struct words *rsh;	/* template of a remote shell (words_fill); none: the agent is started as a child */
	const char	*agent;		/* path of dlaunch on the hosts */
	const char	*version;	/* of tally, and the agents' as well */
	const char	*tool;		/* in front of our own lines */
	struct job	 job;		/* but addr, host and children, which are each agent's own */
	double		 start_s;	/* the most that hosts and servers may take to be there */
	double		 grace_s;	/* between SIGTERM and SIGKILL */
	int		 signals;	/* a signalfd(2) of SIGCHLD, SIGINT, SIGTERM, SIGHUP, which are blocked; SIGPIPE is blocked too */
	int		 in;		/* what worker 0 reads, as job.input says; -1: nothing */
	int		 out, err;	/* where all goes */
	bool		 verbose;	/* what the remote shells say too */
	bool		 wait;		/* a failure does not end the others, once all run */
	struct launch_watch watch;
	const char	*dir;		/* where each process's lines go (run/outfile.h) rather than to out and err; NULL: nowhere */
};

/*
 * Runs the processes of a roster.  Returns the exit status of all: 0; that of the
 * first process that failed; 75 when a host went away or was not reached;
 * 128 + n after signal n; 1 for what is none of these.  The roster then knows how each ended.
 */
int	 launch_run(const struct launch_opt *opt, struct roster *roster);

#endif
