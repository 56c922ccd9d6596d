/* job_in - what the files of job share: its processes. */
#ifndef TESTS_LAW_JOB_IN_H
#define TESTS_LAW_JOB_IN_H

#include "law/hand.h"
#include "law/job.h"
#include "law/sim/disk.h"
#include "law/sim/sim.h"

#include "ps/worker/worker.h"
#include "train/train_in.h"

#define JOB_STEPS	7
/* What a connection survives.  Only synchronous jobs survive its end at any time. */
#define JOB_SILENCE_S(j)	((j)->x.slack == STALE_SYNC ? 2.0 : 60.0)

struct job;

/* A server or worker, in all its lives. */
#define JOB_WAS	32768

struct job_process {
	struct job	*job;
	uint32_t	 index, host;
	bool		 server;
	int		 proc;		/* number of its process; -1: none runs */
	bool		 over;		/* it has ended with success */
	struct memory	 memory;
	float		*was;		/* [JOB_WAS] the first bytes of the memory after the last store */
	uint64_t	 stores, dies_at;	/* to its memory, in all lives; the one after which it dies, 0: none */
	/* A worker's: what it has read after its last step, `last`, once it is complete. */
	float		*w, *aux, *exact, *state, *average;
	uint32_t	 averaged;
	uint64_t	 last;
	bool		 complete;
	uint64_t	 pushed;	/* steps whose gradients it has begun to push, in any life */
};

struct job {
	struct world	 x;
	struct job_process process[WORLD_SERVERS + WORLD_WORKERS];	/* the servers first */
	uint32_t	 n;
	char		 address[WORLD_SERVERS][32];
	char		*server[WORLD_SERVERS];
	bool		 streams;	/* a sum precedes all that a step waits for */
	bool		 shm;		/* processes of one machine share memory */
	uint64_t	 cut;		/* steps from one cut to the next; 0: no checkpoints and cuts */
	uint32_t	 copies;	/* workers after rank 0 that make them too */
	uint64_t	 newest;	/* the step of the newest of them when the processes were lost last */
	enum job_fault	 one;		/* the only fault; JOB_FAULTS: what is drawn */
	unsigned	 kinds;		/* bits of enum job_fault that may happen */
	unsigned	 left;		/* faults that may still happen */
	unsigned	 losses;	/* of all processes at cuts, besides these */
	unsigned	 lenders;	/* deaths of workers that lend what they pushed, besides these */
	uint64_t	 outage;	/* nanoseconds of outages that may still happen */
	struct job_figures *figures;
};

/* One life of a worker. */
struct job_life {
	struct job_process *p;
	struct world	*x;
	struct kept	 kept;
	struct worker	*wk;
	struct loan	 lends;		/* where g is */
	float		*g, *stats, *state;
	uint64_t	 step, first;	/* first: at which it, or its first predecessor, joined */
	bool		 returned;
	double		 running;	/* its figures of the epoch so far */
	/* With cuts: */
	struct train_opt o;
	struct train	 t;
	char		 save[DISK_PATH + 8], *cuts, *found;
};

/* job_worker.c: the main function of a worker. */
void	 job_worker_main(void *arg);
/* job.c: all processes die with their memories, and start again. */
void	 job_lose(struct job *j);
#define JOB_OTHER_EPOCH	9u	/* later than all of a job */

/* job_cut.c: leaves a sealed cut of an earlier run on the disk of a host, at JOB_OTHER_EPOCH. */
void	 job_cut_leave(struct job *j, uint32_t host);
/* job_cut.c: before worker_open(); what the job starts with; after worker_begin(). */
int	 job_cut_open(struct job_life *l, const struct worker_opt *ps);
int	 job_cut_first(struct job_life *l, struct worker_first *first);
int	 job_cut_join(struct job_life *l);
/* Before a step, before its first gradient, after the sums of an epoch's end, and after the last step. */
int	 job_cut_step(struct job_life *l);
void	 job_cut_keep(struct job_life *l, double figure);
int	 job_cut_epoch(struct job_life *l);
int	 job_cut_end(struct job_life *l);
void	 job_cut_close(struct job_life *l);
/* job_fault.c: now and then, something fails. */
void	 job_fault_draw(struct job *j);
bool	 job_fault_needs_cuts(enum job_fault f);
bool	 job_fault_needs_sync(enum job_fault f);
void	 job_fault_turn(struct job *j);
/* For processes: a moment at which something may well fail. */
void	 job_fault_soon(struct job *j);
/* For a worker that shares memory and has pushed: it may die before others have, while servers read what it lends. */
void	 job_fault_lender(struct job_process *p);
/* For a worker that is about to say goodbye: a server may be unreachable, which must not pass for one that has ended. */
void	 job_fault_parting(struct job_process *p);
/* For disk_watch() of a job: all may be lost. */
void	 job_fault_saver(void *arg);
/* Takes a part of the outages that may still happen: 1 ms or more, seldom seconds. */
uint64_t job_fault_outage(struct job *j);

#endif
