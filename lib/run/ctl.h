/*
 * ctl - the messages between the launcher and an agent, over the remote shell's pipe.
 *
 * Each side begins with CTL_MARK.  Frames (base/frame.h) of the types below follow.  Numbers are
 * u32, little-endian.  A text is its length as u32, its bytes and a zero byte.
 *
 *	agent:    HELLO                      the protocol and version, before all else
 *	launcher: JOB                        the agent starts the processes whose addresses others need
 *	agent:    STARTED, READY ...         for each of these processes
 *	launcher: GO                         all addresses; the agent starts the other processes
 *	agent:    STARTED, LINES, EXITED ...
 *	agent:    DONE                       all processes have ended and all their lines are sent
 *	launcher: closes the pipe            the agent ends
 *
 * The agent of a detached job outlives its connections.  Each connection begins with HELLO:
 *
 *	agent:    HELLO
 *	launcher: RESUME                     how much of the log it has; the agent closes the old connection
 *	agent:    STATE                      which messages it has received so far
 *	launcher: JOB, GO, SIGNAL ...        those that it has not
 *	agent:    STARTED, READY, EXITED     of each process again; of a worker that has left LEFT alone
 *	agent:    LINES, DONE                the log, from where the launcher has it
 *	launcher: CREDIT                     for what it has saved, which no later launcher needs again
 *	agent:    closes the connection      when DONE is credited; it ends
 *
 * If an agent is killed, the launcher starts another one, which adopts the processes.  A connection then begins with
 * HELLO and JOB as at the start, or with STATE, which says that the agent has received nothing.  JOB says which
 * processes were started and which have ended; GO and SIGNAL follow if they were sent before.
 *
 * LINES wait for CREDIT, so that the launcher can always read and store what it receives.  All
 * other messages overtake them (run/chan.h).
 */
#ifndef RUN_CTL_H
#define RUN_CTL_H

#include "base/buf.h"

#include <stdbool.h>

#define CTL_PROTOCOL	9u
#define CTL_MARK	"\001tally agent\n"
#define CTL_INPUT_MOST	(256u << 10)	/* most bytes of INPUT that were sent and not TAKEN */
#define CTL_MOST	(1u << 20)	/* most bytes of a frame's payload */

enum ctl_type {
	CTL_BEAT = 1,	/* both: a sign of life */
	/* agent to launcher */
	CTL_HELLO,	/* number CTL_PROTOCOL, text version */
	CTL_READY,	/* number child, text "host:port" */
	CTL_STARTED,	/* number child, number pid */
	CTL_EXITED,	/* number child, number status as of wait(2), number milliseconds it ran,
			 * number KiB of its peak memory */
	CTL_FAILED,	/* text: why the job cannot run on this host */
	CTL_LINES,	/* number child, number descriptor (1 or 2), then whole lines up to the frame's end */
	CTL_DONE,
	CTL_TAKEN,	/* number child, number of INPUT bytes that were passed to it */
	/* launcher to agent */
	CTL_JOB,	/* run/job.h */
	CTL_GO,		/* text: "host:port,host:port" of the READY messages, by rank */
	CTL_SIGNAL,	/* number enum ctl_target, number of the signal */
	CTL_CREDIT,	/* number of further LINES bytes that the agent may send, frame heads included */
	CTL_INPUT,	/* number child, then bytes of its standard input; no bytes: its end */
	/* detached jobs only */
	CTL_RESUME,	/* launcher to agent: struct ctl_resume */
	CTL_STATE,	/* agent to launcher: struct ctl_state */
	CTL_ABANDON,	/* launcher to agent: end all processes; no launcher comes back */
	/*
	 * launcher to agent, elastic jobs: number of workers.  The agent starts those below it, after GO, and asks the
	 * others to leave with SIGUSR1.  It tells its servers with SIGURG that workers may join.  0: no worker is
	 * started any more.  A repetition changes nothing.
	 */
	CTL_SCALE,
	/*
	 * launcher to the agent of worker 0: u64 id, text: a change of settings (ps/mailbox.h).  A repetition
	 * is answered again.
	 */
	CTL_SET,
	/* agent to launcher: number child, u64 id, u64 step from which on it holds, text: why it is refused, or "" */
	CTL_SETTLED,
	/* agent to launcher: as EXITED, of a worker that has left its elastic job and may join it again */
	CTL_LEFT
};

enum ctl_target { CTL_WORKERS, CTL_ALL };

/* Each appends to b and returns 0 or ERR_NOMEM. */
int	 ctl_put_u32(struct buf *b, uint32_t v);
int	 ctl_put_u32s(struct buf *b, const uint32_t *v, size_t n);
int	 ctl_put_u64(struct buf *b, uint64_t v);	/* as two u32, the lower half first */
int	 ctl_put_text(struct buf *b, const char *text);

/*
 * A payload that is being read.  If the next value is not there or is malformed, the functions set
 * bad and return 0 or "".
 */
struct ctl_in {
	const uint8_t	*p;
	size_t		 n;
	bool		 bad;
};

uint32_t ctl_get_u32(struct ctl_in *in);
uint64_t ctl_get_u64(struct ctl_in *in);
const char *ctl_get_text(struct ctl_in *in);	/* points into the payload */

/* Bytes of LINES and DONE with their frame heads, from the agent's first on. */
struct ctl_resume {
	uint64_t	received;	/* by the launcher */
	uint64_t	credited;	/* bytes credited of them; the CREDIT itself may have been lost */
};

/* The messages that an agent has received, and how long its processes were blocked. */
struct ctl_state {
	uint32_t	job, go;	/* 1: received; 0: not */
	uint32_t	signals;	/* number of SIGNAL messages */
	uint32_t	waited_ms;	/* time that processes waited because the log was full */
};

/* Each appends a payload; returns 0 or ERR_NOMEM. */
int	 ctl_put_resume(struct buf *b, const struct ctl_resume *r);
int	 ctl_put_state(struct buf *b, const struct ctl_state *s);
/* Each reads a whole payload.  Returns 0 or ERR_FORMAT. */
int	 ctl_get_resume(const void *p, size_t n, struct ctl_resume *r);
int	 ctl_get_state(const void *p, size_t n, struct ctl_state *s);

#endif
