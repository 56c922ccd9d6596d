/*
 * agent - the process that dlaunch starts on each host, and that starts the job's processes there.
 *
 * lib/run/agent runs on each host of a job.  Read it in this order: agent with agent_job; proc (one process of the
 * job); shim (the process above each of them, which outlives the agent).
 *
 * It exchanges the messages of run/ctl.h over its standard input and output, the remote shell's
 * pipe.  The launcher is lost when the pipe ends, or is silent for the time that the job sets.  The
 * agent then sends its processes SIGTERM, and SIGKILL after AGENT_GRACE_S, so that nothing is left
 * on the host.  If the agent itself is killed, its processes go on for a while, and the launcher
 * starts another agent, which adopts them from their shims (run/agent/shim.h).  What the agent had read of their
 * output and not sent is lost.  If no agent comes, the shims kill the processes.
 *
 * The agent of a detached job listens on an attach socket (run/attach/attach.h), to which launchers
 * connect one after the other.  If a connection is lost, the processes go on and their output waits
 * (run/chan.h) for the same launcher or another one.  The launcher is lost only when none has given
 * a sign of life for the time that the job sets.
 */
#ifndef RUN_AGENT_AGENT_H
#define RUN_AGENT_AGENT_H

#include <stdbool.h>

#define AGENT_GRACE_S	2.5	/* nothing is left after 5 s, with --silence 1 or a pipe that ends */
#define AGENT_SILENCE_S	60.0	/* the limit of silence until the job sets another */

struct agent_opt {
	int		 in, out;	/* the agent owns them; -1: launchers connect to attach_fd */
	int		 attach_fd;	/* listening socket of attach_listen, owned by the caller; -1: none */
	int		 signals;	/* signalfd(2) of SIGCHLD and SIGTERM; the caller blocks them and SIGPIPE */
	const char	*name;		/* the name by which another agent finds its processes; "": none does */
	bool		 adopts;	/* takes over the processes of an agent of the same name that has ended */
	const char	*version;	/* version of tally */
	const char	*bin;		/* the directory of this program */
};

/*
 * Returns when all processes have ended and the launcher is gone: 0; ERR_PEER if it was lost
 * before they ended; ERR_STOP after SIGTERM; ERR_FORMAT if it is no launcher; ERR_SYS; ERR_NOMEM.
 */
int	 agent_run(const struct agent_opt *opt);

#endif
