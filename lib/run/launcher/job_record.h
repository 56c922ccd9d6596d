/*
 * job_record - the saved state of a detached job, from which another launcher takes it over.
 *
 *	"tally job\n" | u32 JOB_RECORD_FORMAT | text id | u32 attempt | u32 flags | u32 code | u32 signo
 *	u32 elastic | u32 workers | u64 out | u64 err | u32 hosts | u32 processes | u32 signals
 *	each host:    u32 state (0 runs, 1 all its processes ended, 2 lost) | u64 log
 *	each process: u32 state | pid | status | milliseconds | KiB | text addr | u64 out | u64 err
 *	each signal:  u32 target | u32 number
 *
 * Numbers and texts are those of run/ctl.h; a u64 is two numbers, the lower half first.  flags: 1 GO
 * was sent, 2 the user stopped the job, 4 SIGTERM was sent to the workers, 8 to all, 16 SIGKILL was
 * sent to all.  out and err are file sizes, and log is how much of the host's log (struct
 * ctl_resume) those files contain: the next launcher truncates the files to these sizes, and asks
 * for the log from there.
 *
 * Ownership: job_record_free frees a record from job_record_get.  The caller owns all that
 * job_record_put reads.
 */
#ifndef RUN_LAUNCHER_JOB_RECORD_H
#define RUN_LAUNCHER_JOB_RECORD_H

#include "run/ctl.h"
#include "run/launcher/roster.h"

#define JOB_RECORD_FORMAT	3u
#define JOB_RECORD_ID	32u		/* hexadecimal digits of an id */
#define JOB_RECORD_SIGNALS	8u		/* most signals that a job is sent */
#define JOB_RECORD_MOST	(64u << 20)	/* most bytes of a record that is read */

struct job_record_host {
	bool		 ended, lost;
	uint64_t	 log;
};

struct job_record_member {
	enum roster_state state;
	uint32_t	 pid, status, ms, peak_kib;
	char		 addr[ROSTER_ADDR];
	uint64_t	 out, err;	/* sizes of its own files (run/outfile.h); 0 without them */
};

struct job_record_signal {
	enum ctl_target	 whom;
	uint32_t	 signo;
};

struct job_record {
	char		 id[JOB_RECORD_ID + 1];	/* the agent of host i has the name "ID-i" (run/attach/attach.h) */
	uint32_t	 attempt;		/* from 0 */
	bool		 started, stopped, asked, termed, killed;
	uint32_t	 code, signo;
	uint32_t	 elastic, workers;	/* workers when the attempt began, and now; 0: the number is fixed */
	uint64_t	 out, err;		/* sizes of the job's output files */
	struct job_record_host *host;		/* [hosts] */
	uint32_t	 hosts;
	struct job_record_member *m;		/* [n] */
	uint32_t	 n;
	struct job_record_signal signal[JOB_RECORD_SIGNALS];	/* those that were sent, in their order */
	uint32_t	 signals;
};

/* Appends the bytes of a record.  Returns 0 or ERR_NOMEM. */
int	 job_record_put(const struct job_record *r, struct buf *b);
/* Reads them.  Returns 0, ERR_FORMAT or ERR_NOMEM; after an error *r needs no free. */
int	 job_record_get(const void *p, size_t n, struct job_record *r);
void	 job_record_free(struct job_record *r);

#endif
