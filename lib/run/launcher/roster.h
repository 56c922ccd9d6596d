/*
 * roster - all processes of a job as its launcher knows them: where each runs, how it ended, what that means for the job.
 *
 * Order: the scheduler (dmlc), servers by rank, workers by rank.  Process i is
 * on the host that hosts_place says; the scheduler shares the first place.
 */
#ifndef RUN_LAUNCHER_ROSTER_H
#define RUN_LAUNCHER_ROSTER_H

#include "run/launcher/hosts.h"
#include "run/job.h"

#define ROSTER_WHERE	300	/* bytes of "host:port" and a zero */
#define ROSTER_AGAIN	75	/* EX_TEMPFAIL of sysexits.h: a peer or host went away */

enum roster_state {
	ROSTER_WAITING,	/* not started */
	ROSTER_RUNNING,
	ROSTER_ENDED,	/* status is known */
	ROSTER_LOST	/* its host went away */
};

struct member {
	struct job_child what;
	uint32_t	 host;			/* index */
	enum roster_state	 state;
	uint32_t	 pid;			/* on its host; 0: never started */
	int		 status;		/* as of wait(2), once ended */
	double		 seconds;		/* it ran */
	uint32_t	 peak_kib;		/* of memory; once ended */
	char		 where[ROSTER_WHERE];	/* "host:port" of who must be known before the others start; "" before */
};

struct roster {
	struct member	*m;			/* [n] */
	uint32_t	 n, first;		/* first: so many at the front must be known before the others start */
	uint32_t	 hosts;			/* hosts that have a process, those in front */
	int		 code;			/* exit status of the job so far */
	bool		 stopped;		/* the user ended it by a signal */
	bool		 asked;			/* SIGTERM was sent to the workers, */
	bool		 termed, killed;	/* signals were sent to all: deaths by them are no failures */
};

/* Returns 0 or ERR_NOMEM. */
int	 roster_make(struct roster *c, const struct hosts *h, bool dmlc, uint32_t servers, uint32_t workers);
void	 roster_free(struct roster *c);

/* "worker 1" */
void	 roster_name(const struct member *m, char name[32]);
/* As a shell gives it: 0..255, 128 + n for a signal. */
int	 roster_code(int status);
/* "exit status 3", "signal 9 (Killed)" */
void	 roster_how(int status, char text[64]);

/* A process ended.  True when that is a failure; the job's code is then that of the first, but rather of one that is
 * not ROSTER_AGAIN. */
bool	 roster_end(struct roster *c, struct member *m, int status, double seconds);
/* The exit status of the job is `code`, unless a reason was there before. */
void	 roster_fail(struct roster *c, int code);

/* The first process of those that must be known and is not; NULL: all are. */
const struct member *roster_unknown(const struct roster *c);
/* "host:port,host:port" of those, to be freed; NULL when out of memory. */
char	*roster_go(const struct roster *c);
/* The first process that still waits or runs, workers first; NULL: all have ended. */
const struct member *roster_left(const struct roster *c);

#endif
