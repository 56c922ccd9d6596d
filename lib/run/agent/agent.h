/*
 * agent - the one process of a job that dlaunch starts on a host, and that starts all others there.
 *
 * It speaks run/ctl.h on its standard input and output, over the remote shell's
 * pipe.  When the launcher is gone (the pipe ends, or says nothing for the
 * time the job gives), it sends its children SIGTERM, and SIGKILL after
 * AGENT_GRACE_S; when it is killed itself, the wardens of its children (run/agent/shim.h)
 * end them.  Either way nothing is left on the host.
 *
 * The agent of a detached job has a door (run/attach/attach.h) through which launchers come, one after the other: when a connection
 * is lost the processes go on, and what they print waits (run/chan.h) for a launcher that comes back, or for
 * another in its place.  When none has given a sign of life for the job's silence, the launcher is gone as above.
 */
#ifndef RUN_AGENT_AGENT_H
#define RUN_AGENT_AGENT_H

#define AGENT_GRACE_S	2.5	/* with what a launcher's end takes to be seen, or 2 s of silence: under 5 s */
#define AGENT_SILENCE_S	60.0	/* until the job says another time */

struct agent_opt {
	int		 in, out;	/* become the agent's; -1: launchers come through the door */
	int		 door;		/* of attach_open, the caller's; -1: none */
	int		 signals;	/* a signalfd(2) of SIGCHLD and SIGTERM, which are blocked; SIGPIPE is blocked too */
	const char	*version;	/* of tally */
	const char	*bin;		/* the directory of this program */
};

/*
 * Returns when all children have ended and the launcher is gone: 0, ERR_PEER when it went before they ended,
 * ERR_STOP after SIGTERM, ERR_FORMAT when it is no launcher, ERR_SYS, ERR_NOMEM.
 */
int	 agent_run(const struct agent_opt *opt);

#endif
