/*
 * job_record - how far a detached job is, as the bytes from which another launcher takes it over when its own was lost.
 *
 *	"tally job\n" | u32 JOB_RECORD_FORMAT | text id | u32 attempt | u32 flags | u32 code | u32 signo
 *	u64 out | u64 err | u32 hosts | u32 processes | u32 signals
 *	each host:    u32 state (0 goes on, 1 has ended all, 2 is lost) | u64 log
 *	each process: u32 state | pid | status | milliseconds | KiB | text where | u64 out | u64 err
 *	each signal:  u32 whom | u32 number
 *
 * Numbers and texts are those of run/ctl.h, a u64 two numbers, the low one first.  flags: 1 all were told to go, 2 stopped by
 * the user, 4 workers were asked to end, 8 all were, 16 all were killed.  log is how much of the host's log
 * (struct ctl_resume) is in the files whose sizes are out and err: the next launcher cuts those there, and asks for the
 * log from there.
 *
 * Ownership: a record from job_record_get is freed by job_record_free.  For job_record_put all is the caller's.
 */
#ifndef RUN_LAUNCHER_JOB_RECORD_H
#define RUN_LAUNCHER_JOB_RECORD_H

#include "run/ctl.h"
#include "run/launcher/roster.h"

#define JOB_RECORD_FORMAT	1u
#define JOB_RECORD_ID	32u		/* hexadecimal digits of an id */
#define JOB_RECORD_SIGNALS	8u		/* most that a job is sent */
#define JOB_RECORD_MOST	(64u << 20)	/* bytes of a record that is read */

struct job_record_host {
	bool		 ended, lost;
	uint64_t	 log;
};

struct job_record_member {
	enum roster_state state;
	uint32_t	 pid, status, ms, peak_kib;
	char		 where[ROSTER_WHERE];
	uint64_t	 out, err;	/* sizes of its own files (run/outfile.h); 0 without them */
};

struct job_record_signal {
	enum ctl_whom	 whom;
	uint32_t	 signo;
};

struct job_record {
	char		 id[JOB_RECORD_ID + 1];	/* the agent of host i is behind the door "ID-i" (run/attach/attach.h) */
	uint32_t	 attempt;		/* from 0 */
	bool		 gone, stopped, asked, termed, killed;
	uint32_t	 code, signo;
	uint64_t	 out, err;		/* sizes of what the whole job printed */
	struct job_record_host *host;		/* [hosts] */
	uint32_t	 hosts;
	struct job_record_member *m;		/* [n] */
	uint32_t	 n;
	struct job_record_signal signal[JOB_RECORD_SIGNALS];	/* that were sent, in their order */
	uint32_t	 signals;
};

/* Appends the bytes.  Returns 0 or ERR_NOMEM. */
int	 job_record_put(const struct job_record *r, struct buf *b);
/* Reads them.  Returns 0, ERR_FORMAT or ERR_NOMEM; *r then needs no free. */
int	 job_record_get(struct job_record *r, const void *p, size_t n);
void	 job_record_free(struct job_record *r);

#endif
