/*
 * ctl - what the launcher and an agent say to each other over the remote shell's pipe.
 *
 * Each side begins with CTL_MARK, then come frames (base/frame.h) of the types
 * below.  Numbers are u32, little-endian; a text is its length as u32, its
 * bytes and a zero byte.
 *
 *	agent:    HELLO                      the versions come first
 *	launcher: JOB                        the agent starts those that others must know the address of
 *	agent:    STARTED, READY ...         each with its child's number
 *	launcher: GO                         with all addresses; the agent starts the others
 *	agent:    STARTED, LINES, EXITED ...
 *	agent:    DONE                       all children have ended and all their lines are sent
 *	launcher: closes the pipe            the agent ends
 *
 * The agent of a detached job outlives its connection, and begins each with HELLO:
 *
 *	agent:    HELLO
 *	launcher: RESUME                     how much of the log it has, nothing at first; the connection before is over
 *	agent:    BACK                       what it has been told so far
 *	launcher: JOB, GO, SIGNAL ...        what it has not
 *	agent:    STARTED, READY, EXITED     of each child again
 *	agent:    LINES, DONE                the log, from where the launcher has it
 *	launcher: CREDIT                     only for what it has safely: what a launcher after this one need not ask for
 *	agent:    closes the connection      when DONE is credited: it ends
 *
 * LINES wait for CREDIT, so that the launcher can always read and hold what it
 * is sent; everything else passes in front of them (run/chan.h).
 */
#ifndef RUN_CTL_H
#define RUN_CTL_H

#include "base/buf.h"

#include <stdbool.h>

#define CTL_PROTOCOL	4u
#define CTL_MARK	"\001tally agent\n"
#define CTL_INPUT_MOST	(256u << 10)	/* bytes of INPUT that were sent and not TAKEN */
#define CTL_MOST	(1u << 20)	/* most bytes of a frame's payload */

enum ctl_type {
	CTL_BEAT = 1,	/* both: I am here */
	/* agent to launcher */
	CTL_HELLO,	/* number CTL_PROTOCOL, text version */
	CTL_READY,	/* number child, text "host:port" */
	CTL_STARTED,	/* number child, number pid */
	CTL_EXITED,	/* number child, number status as of wait(2), number milliseconds it ran,
			 * number KiB of memory it had at most */
	CTL_FAILED,	/* text: why the job cannot run on this host */
	CTL_LINES,	/* number child, number descriptor (1 or 2), then whole lines up to the frame's end */
	CTL_DONE,
	CTL_TAKEN,	/* number child, number: so many bytes of INPUT have gone on to it */
	/* launcher to agent */
	CTL_JOB,	/* run/job.h */
	CTL_GO,		/* text: "host:port,host:port" of what was READY, by rank */
	CTL_SIGNAL,	/* number enum ctl_whom, number of the signal */
	CTL_CREDIT,	/* number: so many bytes more of LINES, heads counted */
	CTL_INPUT,	/* number child, then bytes of its standard input; none: its end.  CTL_INPUT_MOST wait at most. */
	/* of detached jobs */
	CTL_RESUME,	/* launcher to agent: struct ctl_resume */
	CTL_BACK,	/* agent to launcher: struct ctl_back */
	CTL_LEAVE	/* launcher to agent: all is to end, nobody comes back */
};

enum ctl_whom { CTL_WORKERS, CTL_ALL };

/* Each appends to b and returns 0 or ERR_NOMEM. */
int	 ctl_put(struct buf *b, uint32_t v);
int	 ctl_put_all(struct buf *b, const uint32_t *v, size_t n);
int	 ctl_put_long(struct buf *b, uint64_t v);	/* two of these, the lower half first */
int	 ctl_put_text(struct buf *b, const char *text);

/* A payload being read.  Where it ends too early or is not what is asked for, bad is set and what is given is 0 or "". */
struct ctl_in {
	const uint8_t	*p;
	size_t		 n;
	bool		 bad;
};

uint32_t ctl_get(struct ctl_in *in);
uint64_t ctl_get_long(struct ctl_in *in);
const char *ctl_get_text(struct ctl_in *in);	/* points into the payload */

/* Bytes of LINES and DONE with their heads, counted from the agent's first: as two numbers each, the low one first. */
struct ctl_resume {
	uint64_t	got;	/* came here */
	uint64_t	done;	/* of them, those that were credited; a credit may have been lost */
};

struct ctl_back {
	uint32_t	job, go;	/* 1: it has come; 0 */
	uint32_t	signals;	/* so many have come */
	uint32_t	waited_ms;	/* that processes had to wait, since their log was full while nobody took it */
};

/* Each appends a payload; returns 0 or ERR_NOMEM. */
int	 ctl_put_resume(struct buf *b, const struct ctl_resume *r);
int	 ctl_put_back(struct buf *b, const struct ctl_back *k);
/* Each reads a whole payload.  Returns 0 or ERR_FORMAT. */
int	 ctl_get_resume(struct ctl_resume *r, const void *p, size_t n);
int	 ctl_get_back(struct ctl_back *k, const void *p, size_t n);

#endif
