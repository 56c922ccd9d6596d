/*
 * record - how far a detached job is, as the bytes from which another launcher takes it over when its own was lost.
 *
 *	"tally job\n" | u32 RECORD_FORMAT | text id | u32 attempt | u32 flags | u32 code | u32 signo
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
 * Ownership: a record from record_get is freed by record_free.  For record_put all is the caller's.
 */
#ifndef RUN_RECORD_H
#define RUN_RECORD_H

#include "run/ctl.h"
#include "run/roster.h"

#define RECORD_FORMAT	1u
#define RECORD_ID	32u		/* hexadecimal digits of an id */
#define RECORD_SIGNALS	8u		/* most that a job is sent */
#define RECORD_MOST	(64u << 20)	/* bytes of a record that is read */

struct record_host {
	bool		 ended, lost;
	uint64_t	 log;
};

struct record_member {
	enum roster_state state;
	uint32_t	 pid, status, ms, peak_kib;
	char		 where[ROSTER_WHERE];
	uint64_t	 out, err;	/* sizes of its own files (run/outfile.h); 0 without them */
};

struct record_signal {
	enum ctl_whom	 whom;
	uint32_t	 signo;
};

struct record {
	char		 id[RECORD_ID + 1];	/* the agent of host i is behind the door "ID-i" (run/door.h) */
	uint32_t	 attempt;		/* from 0 */
	bool		 gone, stopped, asked, termed, killed;
	uint32_t	 code, signo;
	uint64_t	 out, err;		/* sizes of what the whole job printed */
	struct record_host *host;		/* [hosts] */
	uint32_t	 hosts;
	struct record_member *m;		/* [n] */
	uint32_t	 n;
	struct record_signal signal[RECORD_SIGNALS];	/* that were sent, in their order */
	uint32_t	 signals;
};

/* Appends the bytes.  Returns 0 or ERR_NOMEM. */
int	 record_put(const struct record *r, struct buf *b);
/* Reads them.  Returns 0, ERR_FORMAT or ERR_NOMEM; *r then needs no free. */
int	 record_get(struct record *r, const void *p, size_t n);
void	 record_free(struct record *r);

#endif
