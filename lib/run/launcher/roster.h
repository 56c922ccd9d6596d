/*
 * roster - all processes of a job as its launcher sees them, and the job's exit status.
 *
 * Order: the scheduler (dmlc), servers by rank, workers by rank.  hosts_place says on which host
 * process i runs; the scheduler shares the first place.
 */
#ifndef RUN_LAUNCHER_ROSTER_H
#define RUN_LAUNCHER_ROSTER_H

#include "run/job.h"
#include "run/launcher/hosts.h"

#define ROSTER_ADDR	300	/* bytes of "host:port" and a zero */
#define ROSTER_AGAIN	75	/* EX_TEMPFAIL of sysexits.h: a peer or host was lost */

enum roster_state {
	ROSTER_WAITING,	/* not started, or a worker that has left its elastic job */
	ROSTER_RUNNING,	/* in reserve: it was asked to leave */
	ROSTER_ENDED,	/* its status is known */
	ROSTER_LOST	/* its host was lost */
};

struct member {
	struct job_child child;
	uint32_t	 host;			/* index */
	enum roster_state	 state;
	uint32_t	 pid;			/* process id on its host; 0: never started */
	int		 status;		/* status as of wait(2), once ended */
	double		 seconds;		/* its running time, once ended */
	uint32_t	 peak_kib;		/* its peak memory, once ended */
	char		 addr[ROSTER_ADDR];	/* "host:port" of a process that others need; "": not known yet */
};

struct roster {
	struct member	*m;			/* [n] */
	uint32_t	 n;
	uint32_t	 nlisteners;		/* the first processes; no worker starts before all of these listen */
	uint32_t	 hosts;			/* number of hosts with a process, the first of the hosts file */
	/*
	 * An elastic job: its workers now, of those that the roster has, and the least number.  0: all are in the job.
	 * The others, of higher ranks, are in reserve.
	 */
	uint32_t	 workers, least;
	int		 code;			/* exit status of the job so far */
	bool		 stopped;		/* the user stopped the job with a signal */
	/* The launcher sent SIGTERM to the workers, or SIGTERM or SIGKILL to all.  Who dies of that has not failed. */
	bool		 asked, termed, killed;
};

/* Returns 0 or ERR_NOMEM. */
int	 roster_make(const struct hosts *h, bool dmlc, uint32_t servers, uint32_t workers, struct roster *c);
void	 roster_free(struct roster *c);

/* Whether a process is a worker that is not in the job now. */
bool	 roster_reserve(const struct roster *c, const struct member *m);
/* "worker 1" */
void	 roster_name(const struct member *m, char name[32]);
/* The status as a shell gives it: 0..255, 128 + n for signal n. */
int	 roster_code(int status);
/* "exit status 3", "signal 9 (Killed)" */
void	 roster_end_text(int status, char text[64]);

/*
 * Records the end of a process and returns whether it failed.  The job exits with the status of its first failure
 * other than ROSTER_AGAIN, or with ROSTER_AGAIN if there is no other.
 */
bool	 roster_end(struct roster *c, struct member *m, int status, double seconds);
/* Sets the job's exit status if it is 0 or ROSTER_AGAIN. */
void	 roster_fail(struct roster *c, int code);

/* Whether every process has been started. */
bool	 roster_started(const struct roster *c);
/* Returns the first listener that has not told its address, or NULL. */
const struct member *roster_unknown(const struct roster *c);
/* Returns the addresses of the listeners, "host:port,host:port", for the caller to free; NULL: out of memory. */
char	*roster_addrs(const struct roster *c);
/* Whether a worker has ended by itself, not by a signal: it may have told the servers. */
bool	 roster_worker_exited(const struct roster *c);
/* Returns a process that has not ended, preferably a worker, or NULL. */
const struct member *roster_unfinished(const struct roster *c);
/* The same of those that run. */
const struct member *roster_running(const struct roster *c);

#endif
